"""One gold item and its trace: which of C, H and K hold, and what was retrieved.

Origin: section 2 of the RAG document. Everything that any figure, listing or comparison needs is
in the profile of an item; profiles are few, so a million items are counted by a few sums.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple

from affidavit.gates.rag_rows import AnswerV1, GoldV1, TraceV1
from affidavit.gates.scu import RULES, Locks, ScuRule, locked

REFUSAL: Final = "not in context"
SHORTEST_SUBSTRING: Final = 5
DEFAULT_K: Final = 5


class Seen(StrEnum):
    """What became of a question."""

    # Millions of profiles are looked up; an enumeration's own hash is not written in C.
    __hash__ = str.__hash__

    SHIPPED = "shipped"
    REFUSED = "refused"
    SILENT = "no_answer"
    """There is a trace, and no answer in it."""
    MISSING = "missing"
    """There is no trace."""


class Profile(NamedTuple):
    """How one item came out; None was not measured, or does not apply."""

    seen: Seen
    answerable: bool
    contains: bool | None = None
    """C: a gold substring stands in the claim."""
    cites: bool | None = None
    """H: a gold citation is cited, and nothing that was not retrieved."""
    keeps: bool | None = None
    """K: the constraints are echoed, and the claim contradicts none; None without constraints."""
    constrained: bool = False
    recalls: bool | None = None
    """Every gold citation is among the first k retrieved."""
    reachable: bool | None = None
    """At least one is."""
    near_miss: bool = False
    """A shipped answer that holds the refusal token, but is not exactly it."""


@dataclass(frozen=True, slots=True)
class RagSettings:
    """What a score depends on besides the rows."""

    k: int = DEFAULT_K
    refusal: str = REFUSAL
    scu_rules: tuple[ScuRule, ...] = RULES


DEFAULT_SETTINGS: Final = RagSettings()


_SHIPPED, _REFUSED, _SILENT, _MISSING = Seen  # A member's name is looked up in Python each time.

# A profile's fields, not yet made into one: most of them are known already.
_Found = tuple[
    Seen, bool, bool | None, bool | None, bool | None, bool, bool | None, bool | None, bool
]


class RagScorer:
    """Scores items under some settings. Equal profiles are one object, to save memory."""

    def __init__(self, settings: RagSettings = DEFAULT_SETTINGS) -> None:
        self._k = settings.k
        self._refusal = settings.refusal
        self._folded_refusal = " ".join(settings.refusal.casefold().split())
        self._last_word = self._folded_refusal.rpartition(" ")[2]
        self._locks = Locks(settings.scu_rules)
        self._known: dict[_Found, Profile] = {}
        self._locked = lru_cache(maxsize=4096)(locked)

    def score(self, gold: GoldV1, trace: TraceV1 | None) -> Profile:
        """Return the profile of a gold item with its last trace, or with none."""
        found = self._profile(gold, trace)
        known = self._known.get(found)
        if known is None:
            known = self._known[found] = Profile(*found)
        return known

    def _profile(self, gold: GoldV1, trace: TraceV1 | None) -> _Found:
        answerable = gold.answerable
        lock = self._locked(gold.constraints) if gold.constraints else frozenset()
        constrained = bool(lock)
        if trace is None:
            return (_MISSING, answerable, None, None, None, constrained, None, None, False)
        recalls = reachable = None
        if answerable and gold.gold_citations and trace.retrieved_ids is not None:
            top = trace.retrieved_ids[: self._k]
            found = [wanted in top for wanted in gold.gold_citations]
            recalls, reachable = False not in found, True in found
        answer = trace.answer_json
        if answer is None or answer.claim.strip() == self._refusal:
            seen = _SILENT if answer is None else _REFUSED
            return (seen, answerable, None, None, None, constrained, recalls, reachable, False)
        folded = answer.claim.casefold()
        return (
            _SHIPPED,
            answerable,
            contains(gold.gold_claim_substr, folded) if answerable else None,
            # Nothing is a hit for an unanswerable item, whatever was or was not recorded.
            cites(gold, answer.citations or (), trace.retrieved_ids)
            if answer.citations_recorded is not False or not answerable
            else None,
            self._keeps(gold, answer, lock, folded) if lock else None,
            constrained,
            recalls,
            reachable,
            self._last_word in folded and self._is_near_miss(folded),
        )

    def _keeps(self, gold: GoldV1, answer: AnswerV1, lock: frozenset[str], folded: str) -> bool:
        echo = answer.constraints_echo
        if echo is None or (echo != gold.constraints and locked(echo) != lock):
            return False
        return self._locks.contradiction(lock, answer.claim, folded) is None

    def _is_near_miss(self, folded: str) -> bool:
        return self._folded_refusal in " ".join(folded.split())


def contains(substrings: Iterable[str] | None, folded_claim: str) -> bool | None:
    """Return C: any gold substring of five characters or more stands in the claim, in any case."""
    usable = False
    for text in substrings or ():
        wanted = text.strip()
        if len(wanted) >= SHORTEST_SUBSTRING:
            usable = True
            if wanted.casefold() in folded_claim:
                return True
    return False if usable else None


def cites(
    gold: GoldV1, citations: tuple[str, ...], retrieved: tuple[str, ...] | None
) -> bool | None:
    """Return H: a gold citation is cited, and all that is cited was retrieved.

    An answerable item without gold citations does not say what a hit would be: not measured.
    Nothing is a hit for an unanswerable one. Without retrieved ids only a miss can be told.
    """
    if retrieved is not None:
        for cited in citations:
            if cited not in retrieved:
                return False
    if not gold.gold_citations:
        return None if gold.answerable else False
    for cited in citations:
        if cited in gold.gold_citations:
            return None if retrieved is None else True
    return False
