"""The figures of the RAG gates, from sums over profiles.

Origin: section 2 of the RAG document. S is shipped, R refused, A answerable, U unanswerable.
`containment` is ours: C alone, for files of tools that keep no citations.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from heapq import merge
from itertools import islice
from types import MappingProxyType
from typing import Final

from affidavit.gates.decision import Measure, measure_of
from affidavit.gates.metrics import RAG
from affidavit.gates.rag_profiles import Profile, Seen
from affidavit.gates.tally import (
    NOTHING_LISTED,
    Listing,
    Mark,
    all_of,
    mark_of,
    tally_of,
)

TOP: Final = 10
"""Origin: section 6 of the RAG document, "the top 10 offenders"."""


def rightness(profile: Profile) -> bool | None:
    """Return whether a shipped answer is right: answerable, with C, H and K where they apply."""
    if not profile.answerable:
        return False
    held = [profile.contains, profile.cites]
    return all_of([*held, profile.keeps] if profile.constrained else held)


def outcome_of(profile: Profile) -> bool | None:
    """Return whether an item came out as it should: answered rightly, or refused rightly."""
    if profile.seen is Seen.SHIPPED:
        return rightness(profile)
    return not profile.answerable if profile.seen is Seen.REFUSED else None


def _is_absent(profile: Profile) -> bool:
    return profile.seen in (Seen.MISSING, Seen.SILENT)


def _of_shipped(outcome: Callable[[Profile], bool | None]) -> Callable[[Profile], Mark]:
    def mark(profile: Profile) -> Mark:
        if profile.seen is Seen.REFUSED:
            return Mark.APART
        return Mark.ABSENT if _is_absent(profile) else mark_of(outcome(profile))

    return mark


def _of_constrained(outcome: Callable[[Profile], bool | None]) -> Callable[[Profile], Mark]:
    shipped = _of_shipped(outcome)

    def mark(profile: Profile) -> Mark:
        return shipped(profile) if profile.constrained else Mark.APART

    return mark


def _of_questions(seen: Seen, *, answerable: bool) -> Callable[[Profile], Mark]:
    def mark(profile: Profile) -> Mark:
        if profile.answerable is not answerable:
            return Mark.APART
        return Mark.ABSENT if _is_absent(profile) else mark_of(profile.seen is seen)

    return mark


def _of_answers(outcome: Callable[[Profile], bool | None]) -> Callable[[Profile], Mark]:
    shipped = _of_shipped(outcome)

    def mark(profile: Profile) -> Mark:
        return shipped(profile) if profile.answerable else Mark.APART

    return mark


def _of_retrieval(outcome: Callable[[Profile], bool | None]) -> Callable[[Profile], Mark]:
    def mark(profile: Profile) -> Mark:
        if not profile.answerable:
            return Mark.APART
        # A pipeline that gave no answer has retrieved all the same.
        return Mark.ABSENT if profile.seen is Seen.MISSING else mark_of(outcome(profile))

    return mark


MARKS: Final[Mapping[str, Callable[[Profile], Mark]]] = MappingProxyType(
    {
        "precision": _of_shipped(rightness),
        "chr": _of_shipped(lambda profile: profile.cites),
        "under_refusal": _of_questions(Seen.SHIPPED, answerable=False),
        "over_refusal": _of_questions(Seen.REFUSED, answerable=True),
        "scu": _of_constrained(lambda profile: profile.keeps),
        "scu_violations": _of_constrained(lambda profile: profile.keeps is False),
        "recall_at_k": _of_retrieval(lambda profile: profile.recalls),
        "chr_at_k": _of_retrieval(lambda profile: profile.reachable),
        "containment": _of_answers(lambda profile: profile.contains),
    }
)


def _is_shipped_answer(profile: Profile) -> bool:
    return profile.seen is Seen.SHIPPED and profile.answerable


def _lacks_its_text(profile: Profile) -> bool:
    return _is_shipped_answer(profile) and profile.contains is False


LISTED_BY: Final[Mapping[str, Callable[[Profile], bool]]] = MappingProxyType(
    {
        "missing_traces": lambda profile: profile.seen is Seen.MISSING,
        "no_answer": lambda profile: profile.seen is Seen.SILENT,
        "near_refusals": lambda profile: profile.near_miss,
        "containment_not_measured": lambda profile: (
            _is_shipped_answer(profile) and profile.contains is None
        ),
        "citations_not_measured": lambda profile: (
            profile.seen is Seen.SHIPPED and profile.cites is None
        ),
        "recall_not_measured": lambda profile: (
            profile.answerable and profile.recalls is None and profile.seen is not Seen.MISSING
        ),
    }
)

Rank = tuple[int, int, str]


def is_offender(profile: Profile) -> bool:
    """Tell whether an item came out as it should not."""
    return outcome_of(profile) is False


def rank_of(qid: str, profile: Profile) -> Rank:
    """Return where an offender stands among the others, the worst first.

    An answer to what has no answer goes first, then wrong answers by how many of C, H and K
    failed, then refusals of what has an answer; among equals the qid decides.
    """
    if profile.seen is Seen.REFUSED:
        return (2, 0, qid)
    failed = len(failed_checks(profile))
    return (1, -failed, qid) if profile.answerable else (0, -failed, qid)


def failed_checks(profile: Profile) -> tuple[str, ...]:
    """Return which of C, H and K failed."""
    checks = {"C": profile.contains, "H": profile.cites, "K": profile.keeps}
    return tuple(name for name, held in checks.items() if held is False)


@dataclass(frozen=True, slots=True)
class RagCounts:
    """What is known of some gold items; parts with different qids are added."""

    profiles: Mapping[Profile, int] = field(default_factory=dict)
    listings: Mapping[str, Listing] = field(default_factory=dict)
    offenders: tuple[Rank, ...] = ()
    traces: int = 0
    duplicates: int = 0
    """Traces of which a later one with the same qid won."""
    strays: Listing = NOTHING_LISTED
    """Traces whose qid the gold set does not have, and their first qids."""

    def __add__(self, other: "RagCounts") -> "RagCounts":
        return RagCounts(
            dict(Counter(self.profiles) + Counter(other.profiles)),
            {
                name: self.listings.get(name, NOTHING_LISTED)
                + other.listings.get(name, NOTHING_LISTED)
                for name in LISTED_BY
                if name in self.listings or name in other.listings
            },
            tuple(islice(merge(self.offenders, other.offenders), TOP)),
            self.traces + other.traces,
            self.duplicates + other.duplicates,
            self.strays + other.strays,
        )

    def items(self, seen: Seen | None = None) -> int:
        """Return how many gold items there are, or how many of a kind."""
        return sum(
            count for profile, count in self.profiles.items() if seen in (None, profile.seen)
        )

    def uses_scu(self) -> bool:
        """Tell whether any gold item has constraints."""
        return any(profile.constrained for profile in self.profiles)

    def lacks_texts(self) -> bool:
        """Tell whether an answer does not hold a gold text that it should."""
        return any(map(_lacks_its_text, self.profiles))

    def measures(self, *, allow_missing: bool = False) -> dict[str, Measure]:
        """Return every figure by its name."""
        return {
            name: measure_of(
                RAG[name],
                tally_of((mark(profile), count) for profile, count in self.profiles.items()),
                allow_missing=allow_missing,
            )
            for name, mark in MARKS.items()
        }
