"""The nouns that a ledger is made of: claims, documents, passages, readings and findings.

Every noun is one frozen Struct, used inside and in the ledger's JSON. Unknown fields are refused.
Origin: evidence-ledger.md, sections 3.1 and 3.2.
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Final

from msgspec import Meta, Struct

Share = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=0)]
Day = Annotated[str, Meta(pattern=r"^\d{4}-\d{2}-\d{2}$")]


class ClaimType(StrEnum):
    """What a claim asserts, in the order in which the types are tried."""

    NUMERIC = "numeric"
    DEFINITION = "definition"
    POLICY = "policy"
    FACT = "fact"


class Importance(StrEnum):
    """How much depends on a claim. The rates of the summary count every importance but minor."""

    CRITICAL = "critical"
    MATERIAL = "material"
    MINOR = "minor"


class Verdict(StrEnum):
    """What the evidence says about a claim."""

    SUPPORTED = "supported"
    WEAK = "weak"
    CONTRADICTED = "contradicted"
    NOT_FOUND = "not_found"


BACKED: Final = frozenset({Verdict.SUPPORTED, Verdict.WEAK})
"""The verdicts that count as covered by evidence."""
UNBACKED: Final = frozenset(Verdict) - BACKED
"""The verdicts of an unsupported claim: contradicted and not_found. The only definition of it."""


class SupportLevel(StrEnum):
    """How much of a claim one passage supports."""

    FULL = "full"
    PARTIAL = "partial"
    NONE = "none"


class Span(Struct, frozen=True, forbid_unknown_fields=True):
    """A half-open range of characters (code points), `start <= at < end`."""

    start: Count
    end: Count


class Exemption(StrEnum):
    """Why a sentence of an answer needs no evidence. Each is a rule of docs/ledger.md."""

    QUESTION = "question"
    GREETING = "greeting"
    META = "meta"
    """Talk about the answer or with the reader: "I hope this helps"."""
    ABSENCE = "absence"
    """States what the sources do not say, which no passage can show."""
    INTRODUCTION = "introduction"
    """Introduces a list whose items are claims, or only labels what follows."""
    TOO_SHORT = "too_short"


class LeftOutKind(StrEnum):
    """What a part of an answer is that belongs to no claim."""

    HEADING = "heading"
    CODE = "code"
    TABLE_HEADER = "table_header"
    """Repeated in the claims of the table's rows."""
    REFERENCE = "reference"
    CITATION = "citation"
    CONNECTIVE = "connective"
    """A lead-in ("Based on the documents,") or the word between two parts of a sentence."""
    MARKUP = "markup"


class LeftOut(Struct, frozen=True, forbid_unknown_fields=True):
    """A part of an answer outside every claim. It is listed so that nothing is lost silently."""

    kind: LeftOutKind
    span: Span


class Claim(Struct, frozen=True, kw_only=True):
    """One assertion of an answer, with its place in the answer as the user wrote it."""

    id: str
    text: str
    span: Span
    type: ClaimType
    importance: Importance
    requires_citation: bool = True
    cites: tuple[str, ...] = ()
    """Chunk hashes (8 hex digits, lower case) or document references that the answer names."""
    exemption: Exemption | None = None
    """Set if and only if `requires_citation` is False."""
    read_as: str = ""
    """What the judge reads, where that is not `text`: with its subject, without a label."""
    sentence: Span | None = None
    """The place of the whole sentence, where the claim is a part of one."""
    language: str = "en"
    """A BCP 47 tag: `de`, or `und-Cyrl` where only the script is known."""

    @property
    def statement(self) -> str:
        """What the judge reads."""
        return self.read_as or self.text

    @property
    def is_in_english(self) -> bool:
        """Whether a judge that only reads English may vouch for the claim.

        A claim of few words in Latin letters may: "Price: 20 EUR".
        """
        return self.language in ("en", "und-Latn")


class Document(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A source document. `date` is the date that the document states about itself."""

    id: str
    filename: str
    digest: str
    media_type: str
    title: str
    date: Day | None
    page_count: int | None


class Chunk(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """A passage of a document. `span` is its place in the document's text."""

    id: str
    hash: str
    document_id: str
    index: int
    text: str
    span: Span
    page_number: int | None
    heading_path: tuple[str, ...]
    cited: bool = False
    """Whether the answer cites its place for the claim at hand. Only what a judge is given says so:
    a judge that does not read every chunk with the same care reads these with the most."""


_NUMBERED_HEADING: Final = re.compile(
    r"(?:section |\u00a7 ?|article |clause |chapter |part )?(\d{1,3}(?:\.\d+)*)\b", re.IGNORECASE
)


def section_of(heading_path: Sequence[str]) -> str | None:
    """Return the number of the innermost numbered heading: "4.2 Carryover" gives "4.2".

    Four digits are a year, not a number of a section.
    """
    numbers = (_NUMBERED_HEADING.match(heading) for heading in reversed(heading_path))
    return next((found[1] for found in numbers if found), None)


def is_within(section: str, cited: str) -> bool:
    """Tell whether a section is the cited one or a part of it: 2.5.1 is within 2.5."""
    return section == cited or section.startswith(f"{cited}.")


class Reading(Struct, frozen=True, kw_only=True):
    """What a judge reads in one chunk about one claim: raw scores, stored as evidence.

    `similarity` is the calibrated support score in [0, 1]; `contradiction` is calibrated too.
    `directness` is 1 for a direct statement and 0.5 for an inference. `snippet` is the deciding
    sentence and `snippet_span` its place in the chunk. `notes` names the token that decided.
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
    """The page of the snippet, where the chunk covers several pages."""


class JudgeIdentity(Struct, frozen=True, forbid_unknown_fields=True):
    """Which judge read the evidence. `rederivable`: others can reproduce its scores."""

    name: str
    version: str
    digest: str
    rederivable: bool

    def __str__(self) -> str:
        """Return the judge as reports name it."""
        standing = "re-derivable" if self.rederivable else "signed only, not re-derivable"
        return f"{self.name} {self.version} ({standing})"


class FindingKind(StrEnum):
    """What a finding is about."""

    UNRESOLVED_CITATION = "unresolved_citation"
    AMBIGUOUS_CITATION = "ambiguous_citation"
    MALFORMED_CITATION = "malformed_citation"
    STRAY_CITATION = "stray_citation"
    UNSUPPORTIVE_CITATION = "unsupportive_citation"
    """The cited passage does not support the claim; another one does."""
    LONG_SENTENCE = "long_sentence"
    UNREAD_LANGUAGE = "unread_language"
    """A claim in a language that the judge does not read: it was not judged."""
    SOURCE = "source"
    """A problem with a source, found while it was read."""


DERIVED_KINDS: Final = frozenset(
    {
        FindingKind.UNREAD_LANGUAGE,
        FindingKind.UNRESOLVED_CITATION,
        FindingKind.AMBIGUOUS_CITATION,
        FindingKind.UNSUPPORTIVE_CITATION,
    }
)
"""Found when the ledger is decided, not when the answer is split."""


class LedgerFinding(Struct, frozen=True, forbid_unknown_fields=True):
    """Something noticed beside the verdicts, with the claim and the place it is about."""

    kind: FindingKind
    message: str
    claim_id: str | None
    span: Span | None
