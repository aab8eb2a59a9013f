"""The types of claims, documents, passages, readings and findings that a ledger is made of."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

# The nouns of the ledger. Frozen all the way down, so that a verdict cannot change after the fact.
#
# Origin: evidence-ledger.md, sections 3.1 and 3.2.


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


BACKED: Final = frozenset({Verdict.SUPPORTED, Verdict.WEAK})
"""The verdicts that count as covered by evidence."""


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


class Exemption(StrEnum):
    """Why a sentence of an answer needs no evidence. Each is a rule of docs/ledger.md."""

    QUESTION = "question"
    GREETING = "greeting"
    META = "meta"
    """Talk about the answer or with the reader: "I hope this helps"."""
    ABSENCE = "absence"
    """Says what the sources do not say, which no passage can show."""
    INTRODUCTION = "introduction"
    """Introduces a list whose items carry it, or only labels what follows."""
    TOO_SHORT = "too_short"


class LeftOutKind(StrEnum):
    """What a stretch of an answer is that became no part of a claim."""

    HEADING = "heading"
    CODE = "code"
    TABLE_HEADER = "table_header"
    """Carried by the claims of the table's rows."""
    REFERENCE = "reference"
    CITATION = "citation"
    CONNECTIVE = "connective"
    """A lead-in ("Based on the documents,") or the word between two parts of a sentence."""
    MARKUP = "markup"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A stretch of an answer outside every claim, so that nothing is dropped in silence."""

    kind: LeftOutKind
    span: Span


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
    exemption: Exemption | None = None
    """Set if and only if `requires_citation` is False."""

    @property
    def is_material(self) -> bool:
        """Whether the claim counts in the rates: every importance but minor (decisions.md)."""
        return self.importance is not Importance.MINOR


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
    page_number: int | None = None
    """The page on which the snippet stands, where the chunk reaches over several."""


@dataclass(frozen=True, slots=True)
class JudgeIdentity:
    """Which judge spoke. `rederivable` is False where nobody else can reproduce its scores."""

    name: str
    version: str
    digest: str
    rederivable: bool

    def __str__(self) -> str:
        """Return the judge as reports name it, with what its word is worth to others."""
        standing = "re-derivable" if self.rederivable else "signed only, not re-derivable"
        return f"{self.name} {self.version} ({standing})"


# What the ledger noticed beside its verdicts: citations that do not hold, sentences it cut.


class FindingKind(StrEnum):
    """What is wrong."""

    UNRESOLVED_CITATION = "unresolved_citation"
    AMBIGUOUS_CITATION = "ambiguous_citation"
    MALFORMED_CITATION = "malformed_citation"
    STRAY_CITATION = "stray_citation"
    UNSUPPORTIVE_CITATION = "unsupportive_citation"
    """The passage that the answer cites does not support the claim; another one does."""
    LONG_SENTENCE = "long_sentence"
    SOURCE = "source"
    """Something about the sources, met while they were read."""


CITATION_KINDS: Final = frozenset(
    {
        FindingKind.UNRESOLVED_CITATION,
        FindingKind.AMBIGUOUS_CITATION,
        FindingKind.UNSUPPORTIVE_CITATION,
    }
)
"""What is found when citations are looked up, not when the answer is split."""


@dataclass(frozen=True, slots=True)
class LedgerFinding:
    """One finding, in words, with the claim and the place that it is about."""

    kind: FindingKind
    message: str
    claim_id: str | None
    span: Span | None
