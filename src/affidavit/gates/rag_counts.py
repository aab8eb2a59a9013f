"""The outcome of each RAG item as a small code, and the figures from sums over these codes."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from heapq import merge, nsmallest
from itertools import islice
from types import MappingProxyType
from typing import Final, NamedTuple

from affidavit.decision.counts import (
    EMPTY_LISTING,
    ItemResult,
    Listing,
    all_hold,
    listing_of,
    result_from_bool,
    tally_results,
)
from affidavit.decision.evaluation import Measure, measure_from_tally
from affidavit.gates.metrics import RAG_METRICS

# A profile has everything that figures, listings and comparisons need of an item. There are few
# different profiles, so a million items are a few sums. While rows are read, only the code of a
# profile is kept, which is a small number.


class AnswerState(StrEnum):
    """The state of the answer to a question."""

    # Millions of profiles are looked up, and the hash of an Enum is slow.
    __hash__ = str.__hash__

    SHIPPED = "shipped"
    REFUSED = "refused"
    SILENT = "no_answer"
    """There is a trace without an answer."""
    MISSING = "missing"
    """There is no trace."""


class ItemProfile(NamedTuple):
    """The outcome of one item; None was not measured, or does not apply."""

    answer_state: AnswerState
    answerable: bool
    contains: bool | None = None
    """C: the claim contains a gold substring."""
    cites: bool | None = None
    """H: a gold citation is cited, and everything cited was retrieved."""
    keeps: bool | None = None
    """K: the constraints are echoed, and the claim contradicts none; None without constraints."""
    constrained: bool = False
    recalls: bool | None = None
    """Every gold citation is among the first k retrieved."""
    reachable: bool | None = None
    """At least one is."""
    near_miss: bool = False
    """A shipped answer that contains the refusal token, or a refusal in other words."""


# A code is a sum of flags. Each of the three checks takes two bits: 0 not measured, 1 fails, 2
# holds.
SHIPPED, REFUSED, SILENT, MISSING = range(4)
ANSWERABLE: Final = 1 << 2
CONSTRAINED: Final = 1 << 3
C_FAILS, C_HOLDS = 1 << 4, 2 << 4
H_FAILS, H_HOLDS = 1 << 6, 2 << 6
K_FAILS, K_HOLDS = 1 << 8, 2 << 8
FOUND_NONE, FOUND_SOME, FOUND_ALL = 1 << 10, 2 << 10, 3 << 10
NEAR_MISS: Final = 1 << 12
CODE_BITS: Final = 13

_ANSWER_STATES: Final = tuple(AnswerState)
_HELD: Final = (None, False, True)
_RETRIEVED: Final = ((None, None), (False, False), (False, True), (True, True))


@lru_cache(maxsize=1 << CODE_BITS)
def decode_profile(code: int) -> ItemProfile:
    """Return the profile of a code; equal profiles are the same object."""
    recalls, reachable = _RETRIEVED[code >> 10 & 3]
    return ItemProfile(
        answer_state=_ANSWER_STATES[code & 3],
        answerable=bool(code & ANSWERABLE),
        contains=_HELD[code >> 4 & 3],
        cites=_HELD[code >> 6 & 3],
        keeps=_HELD[code >> 8 & 3],
        constrained=bool(code & CONSTRAINED),
        recalls=recalls,
        reachable=reachable,
        near_miss=bool(code & NEAR_MISS),
    )


# Origin: section 2 of the RAG document. S is shipped, R refused, A answerable, U unanswerable.
# `containment` is ours: C alone, for files of tools that keep no citations.

MAX_OFFENDERS: Final = 10_000
"""How many offenders a report has, the worst first. Section 6 of the RAG document asks for ten; a
reader who mends a pipeline needs them all. Beyond this the total says how many there are."""


def rightness(profile: ItemProfile) -> bool | None:
    """Return whether a shipped answer is right: answerable, with C, H and K where they apply."""
    if not profile.answerable:
        return False
    held = [profile.contains, profile.cites]
    return all_hold([*held, profile.keeps] if profile.constrained else held)


def outcome_of(profile: ItemProfile) -> bool | None:
    """Return whether an item was answered correctly, or correctly refused."""
    if profile.answer_state is AnswerState.SHIPPED:
        return rightness(profile)
    return not profile.answerable if profile.answer_state is AnswerState.REFUSED else None


def _is_absent(profile: ItemProfile) -> bool:
    return profile.answer_state in (AnswerState.MISSING, AnswerState.SILENT)


def _of_shipped(
    outcome: Callable[[ItemProfile], bool | None],
) -> Callable[[ItemProfile], ItemResult]:
    def mark(profile: ItemProfile) -> ItemResult:
        if profile.answer_state is AnswerState.REFUSED:
            return ItemResult.APART
        return ItemResult.ABSENT if _is_absent(profile) else result_from_bool(outcome(profile))

    return mark


def _of_constrained(
    outcome: Callable[[ItemProfile], bool | None],
) -> Callable[[ItemProfile], ItemResult]:
    shipped = _of_shipped(outcome)

    def mark(profile: ItemProfile) -> ItemResult:
        return shipped(profile) if profile.constrained else ItemResult.APART

    return mark


def _of_questions(seen: AnswerState, *, answerable: bool) -> Callable[[ItemProfile], ItemResult]:
    def mark(profile: ItemProfile) -> ItemResult:
        if profile.answerable is not answerable:
            return ItemResult.APART
        return (
            ItemResult.ABSENT
            if _is_absent(profile)
            else result_from_bool(profile.answer_state is seen)
        )

    return mark


def _of_answers(
    outcome: Callable[[ItemProfile], bool | None],
) -> Callable[[ItemProfile], ItemResult]:
    shipped = _of_shipped(outcome)

    def mark(profile: ItemProfile) -> ItemResult:
        return shipped(profile) if profile.answerable else ItemResult.APART

    return mark


def _of_retrieval(
    outcome: Callable[[ItemProfile], bool | None],
) -> Callable[[ItemProfile], ItemResult]:
    def mark(profile: ItemProfile) -> ItemResult:
        if not profile.answerable:
            return ItemResult.APART
        # Retrieval is measured even if the pipeline gave no answer.
        return (
            ItemResult.ABSENT
            if profile.answer_state is AnswerState.MISSING
            else result_from_bool(outcome(profile))
        )

    return mark


RESULT_BY_METRIC: Final[Mapping[str, Callable[[ItemProfile], ItemResult]]] = MappingProxyType(
    {
        "precision": _of_shipped(rightness),
        "chr": _of_shipped(lambda profile: profile.cites),
        "under_refusal": _of_questions(AnswerState.SHIPPED, answerable=False),
        "over_refusal": _of_questions(AnswerState.REFUSED, answerable=True),
        "scu": _of_constrained(lambda profile: profile.keeps),
        "scu_violations": _of_constrained(lambda profile: profile.keeps is False),
        "recall_at_k": _of_retrieval(lambda profile: profile.recalls),
        "chr_at_k": _of_retrieval(lambda profile: profile.reachable),
        "containment": _of_answers(lambda profile: profile.contains),
    }
)


def _is_shipped_answer(profile: ItemProfile) -> bool:
    return profile.answer_state is AnswerState.SHIPPED and profile.answerable


def _lacks_its_text(profile: ItemProfile) -> bool:
    return _is_shipped_answer(profile) and profile.contains is False


LISTING_RULES: Final[Mapping[str, Callable[[ItemProfile], bool]]] = MappingProxyType(
    {
        "missing_traces": lambda profile: profile.answer_state is AnswerState.MISSING,
        "no_answer": lambda profile: profile.answer_state is AnswerState.SILENT,
        "near_refusals": lambda profile: (
            profile.near_miss and profile.answer_state is AnswerState.SHIPPED
        ),
        "refused_in_words": lambda profile: (
            profile.near_miss and profile.answer_state is AnswerState.REFUSED
        ),
        "containment_not_measured": lambda profile: (
            _is_shipped_answer(profile) and profile.contains is None
        ),
        "citations_not_measured": lambda profile: (
            profile.answer_state is AnswerState.SHIPPED and profile.cites is None
        ),
        "recall_not_measured": lambda profile: (
            profile.answerable
            and profile.recalls is None
            and profile.answer_state is not AnswerState.MISSING
        ),
    }
)

Rank = tuple[int, int, str]


def is_offender(profile: ItemProfile) -> bool:
    """Tell whether an item is wrong."""
    return outcome_of(profile) is False


def rank_of(qid: str, profile: ItemProfile) -> Rank:
    """Return the rank of an offender, the worst first.

    Answers to unanswerable questions come first, then wrong answers by how many of C, H and K
    failed, then refusals of answerable questions; ties are broken by qid.
    """
    if profile.answer_state is AnswerState.REFUSED:
        return (2, 0, qid)
    failed = len(failed_checks(profile))
    return (1, -failed, qid) if profile.answerable else (0, -failed, qid)


def failed_checks(profile: ItemProfile) -> tuple[str, ...]:
    """Return which of C, H and K failed."""
    checks = {"C": profile.contains, "H": profile.cites, "K": profile.keeps}
    return tuple(name for name, held in checks.items() if held is False)


@dataclass(frozen=True, slots=True)
class RagCounts:
    """The counts of some gold items; counts of different qids can be added."""

    profiles: Mapping[ItemProfile, int] = field(default_factory=dict)
    listings: Mapping[str, Listing] = field(default_factory=dict)
    offenders: tuple[Rank, ...] = ()
    traces: int = 0
    duplicates: int = 0
    """Traces that a later trace with the same qid replaced."""
    strays: Listing = EMPTY_LISTING
    """Traces whose qid is not in the gold set, with their first qids."""
    repeats: tuple[tuple[ItemProfile, ...], ...] = ()
    """The items of each question that a result table asks several times."""

    def __add__(self, other: "RagCounts") -> "RagCounts":
        return RagCounts(
            profiles=dict(Counter(self.profiles) + Counter(other.profiles)),
            listings={
                name: self.listings.get(name, EMPTY_LISTING)
                + other.listings.get(name, EMPTY_LISTING)
                for name in LISTING_RULES
                if name in self.listings or name in other.listings
            },
            offenders=tuple(islice(merge(self.offenders, other.offenders), MAX_OFFENDERS)),
            traces=self.traces + other.traces,
            duplicates=self.duplicates + other.duplicates,
            strays=self.strays + other.strays,
            repeats=(*self.repeats, *other.repeats),
        )

    @property
    def questions(self) -> int:
        """How many different questions there are."""
        return self.items() - sum(len(each) - 1 for each in self.repeats)

    @property
    def wrong(self) -> int:
        """How many items are wrong; the offenders are the worst of them."""
        return sum(count for profile, count in self.profiles.items() if is_offender(profile))

    def items(self, state: AnswerState | None = None) -> int:
        """Return how many gold items there are, or how many in one state."""
        return sum(
            count
            for profile, count in self.profiles.items()
            if state in (None, profile.answer_state)
        )

    def uses_scu(self) -> bool:
        """Tell whether any gold item has constraints."""
        return any(profile.constrained for profile in self.profiles)

    def lacks_texts(self) -> bool:
        """Tell whether an answer lacks a gold text."""
        return any(map(_lacks_its_text, self.profiles))

    def measures(self, *, allow_missing: bool = False) -> dict[str, Measure]:
        """Return every figure by its name."""
        return {
            name: measure_from_tally(
                RAG_METRICS[name],
                tally_results((mark(profile), count) for profile, count in self.profiles.items()),
                allow_missing=allow_missing,
                clusters=(
                    tally_results((mark(profile), 1) for profile in each).rate
                    for each in self.repeats
                ),
            )
            for name, mark in RESULT_BY_METRIC.items()
        }


def count_profiles(items: Iterable[tuple[str, ItemProfile]]) -> RagCounts:
    """Return the counts of items, each with its qid, in one pass."""
    profiles: Counter[ItemProfile] = Counter()
    named = _NameCollector()
    for qid, profile in items:
        profiles[profile] += 1
        if named.wants(profile):
            named.add(qid, profile)
    return named.counts(profiles)


def count_codes(
    qids: Iterable[str],
    codes: Sequence[int],
    *,
    traces: int = 0,
    duplicates: int = 0,
    strays: Listing = EMPTY_LISTING,
    repeats: tuple[tuple[ItemProfile, ...], ...] = (),
) -> RagCounts:
    """Return the counts of items by the codes of their profiles: fast for millions of items."""
    counted = Counter(codes)
    named = _NameCollector()
    wanted = {code for code in counted if named.wants(decode_profile(code))}
    for qid, code in zip(qids, codes, strict=True):
        if code in wanted:
            named.add(qid, decode_profile(code))
    profiles = {decode_profile(code): count for code, count in counted.items()}
    return replace(
        named.counts(profiles),
        traces=traces,
        duplicates=duplicates,
        strays=strays,
        repeats=repeats,
    )


class _NameCollector:
    """The items that a report names; this is decided once for each profile."""

    def __init__(self) -> None:
        self._listed: dict[str, list[str]] = {name: [] for name in LISTING_RULES}
        self._failed: dict[ItemProfile, list[str]] = {}
        self._kinds: dict[ItemProfile, tuple[str, ...]] = {}

    def wants(self, profile: ItemProfile) -> bool:
        if profile not in self._kinds:
            kinds = [name for name, belongs in LISTING_RULES.items() if belongs(profile)]
            if is_offender(profile):
                self._failed[profile] = []
            self._kinds[profile] = tuple(kinds)
        return bool(self._kinds[profile]) or profile in self._failed

    def add(self, qid: str, profile: ItemProfile) -> None:
        for name in self._kinds[profile]:
            self._listed[name].append(qid)
        if profile in self._failed:
            self._failed[profile].append(qid)

    def counts(self, profiles: Mapping[ItemProfile, int]) -> RagCounts:
        return RagCounts(
            profiles=dict(profiles),
            listings={name: listing_of(names) for name, names in self._listed.items() if names},
            offenders=tuple(nsmallest(MAX_OFFENDERS, self._ranked())),
        )

    def _ranked(self) -> Iterator[Rank]:
        for profile, qids in self._failed.items():
            yield from (rank_of(qid, profile) for qid in nsmallest(MAX_OFFENDERS, qids))
