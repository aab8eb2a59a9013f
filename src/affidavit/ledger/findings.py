"""What the ledger noticed beside its verdicts: citations that do not hold, sentences it cut."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from affidavit.ledger.model import Span


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
class Finding:
    """One finding, in words, with the claim and the place that it is about."""

    kind: FindingKind
    message: str
    claim_id: str | None
    span: Span | None
