"""How much rests on a claim: a score of stated parts, and two thresholds.

Origin: seed-origins C3 (query overlap, type, beginning, condition), with weights under which the
example of evidence-ledger.md, section 9.1, comes out. Rules I1 to I5 of docs/ledger.md.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from affidavit.ledger.grammar import word_set
from affidavit.ledger.model import ClaimType, Importance

OVERLAP_WEIGHT: Final = 40
OVERLAP_UNKNOWN: Final = 15
"""What stands in for the overlap where no question is known."""
FIRST_WEIGHT: Final = 15
CONDITION_WEIGHT: Final = -5
TYPE_WEIGHTS: Final[Mapping[ClaimType, int]] = MappingProxyType(
    {
        ClaimType.NUMERIC: 30,
        ClaimType.POLICY: 30,
        ClaimType.FACT: 20,
        ClaimType.DEFINITION: 15,
    }
)
_CONDITION: Final = re.compile(
    r"\b(?:if|unless|provided that|in case|in the event)\b", re.IGNORECASE
)
_WORD: Final = re.compile(r"[^\W_]+")
_STOP_WORDS: Final = word_set(
    """a about all an and any are as at be been by can could did do does for from get give had has
    have how i if in into is it its many may me much must my need not of on or our please shall
    should so some tell than that the their them there these they this those to under was we were
    what when where which who whom whose why will with would you your"""
)


class ImportanceThresholds(Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[importance]`: the scores from which a claim is critical or material."""

    critical_from: int = 55
    material_from: int = 30


DEFAULT_THRESHOLDS: Final = ImportanceThresholds()


def importance_score(text: str, kind: ClaimType, query: str | None, is_first: bool) -> int:
    """Return the score of a claim. `is_first` tells the first claim of its answer."""
    conditional = CONDITION_WEIGHT if _CONDITION.search(text) else 0
    first = FIRST_WEIGHT if is_first else 0
    return _overlap(text, query) + TYPE_WEIGHTS[kind] + first + conditional


def importance_from_score(
    score: int, thresholds: ImportanceThresholds = DEFAULT_THRESHOLDS
) -> Importance:
    """Return the importance that a score stands for."""
    if score >= thresholds.critical_from:
        return Importance.CRITICAL
    return Importance.MATERIAL if score >= thresholds.material_from else Importance.MINOR


def _overlap(text: str, query: str | None) -> int:
    """Return the points for the share of the question's words that the claim takes up."""
    asked = content_words(query or "")
    if not asked:
        return OVERLAP_UNKNOWN
    return OVERLAP_WEIGHT * len(asked & content_words(text)) // len(asked)


def content_words(text: str) -> frozenset[str]:
    """Return the words of `text` that carry its matter, without plural endings."""
    words = (found[0].lower() for found in _WORD.finditer(text))
    return frozenset(_singular(word) for word in words if word not in _STOP_WORDS)


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > len("ties"):
        return word[:-3] + "y"
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > len("gas"):
        return word[:-1]
    return word
