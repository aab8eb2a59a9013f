"""The nouns of the ledger. Frozen all the way down, so that a verdict cannot change after the fact.

Origin: evidence-ledger.md, sections 3.1 and 3.2.
"""

from dataclasses import dataclass
from enum import StrEnum


class ClaimType(StrEnum):
    """What a claim asserts, in the order in which the types are tried."""

    NUMERIC = "numeric"
    DEFINITION = "definition"
    POLICY = "policy"
    FACT = "fact"


class Importance(StrEnum):
    """How much rests on a claim. Material, for the rates, is everything but minor."""

    CRITICAL = "critical"
    MATERIAL = "material"
    MINOR = "minor"


class Verdict(StrEnum):
    """What the evidence says of a claim."""

    SUPPORTED = "supported"
    WEAK = "weak"
    CONTRADICTED = "contradicted"
    NOT_FOUND = "not_found"


class SupportLevel(StrEnum):
    """How much of a claim one piece of evidence carries."""

    FULL = "full"
    PARTIAL = "partial"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of characters (code points), `start <= at < end`."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Claim:
    """One assertion of an answer, with its place in the answer as the user wrote it."""

    id: str
    text: str
    span: Span
    type: ClaimType
    importance: Importance
    requires_citation: bool
    cites: tuple[str, ...] = ()
    """Chunk hashes (8 hex, lower case) or document references that the answer itself names."""


@dataclass(frozen=True, slots=True)
class Document:
    """A source that was read. `date` is the document's own, as YYYY-MM-DD, if it states one."""

    id: str
    filename: str
    digest: str
    media_type: str
    title: str
    date: str | None
    page_count: int | None


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage of a document, and where it stands: `span` counts in the document's text."""

    id: str
    hash: str
    document_id: str
    index: int
    text: str
    span: Span
    page_number: int | None
    heading_path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """What a judge reads in one chunk about one claim: raw scores, kept as evidence.

    `similarity` is the calibrated support score in [0, 1], `contradiction` likewise; `directness`
    is 1 for a direct statement and 0.5 for an inference. `snippet` is the deciding sentence and
    `snippet_span` its place in the chunk's text. `notes` names the token that decided.
    """

    chunk_id: str
    support_level: SupportLevel
    contradicts: bool
    similarity: float
    contradiction: float
    directness: float
    snippet: str
    snippet_span: Span
    notes: str
    scores: tuple[tuple[str, float], ...] = ()
