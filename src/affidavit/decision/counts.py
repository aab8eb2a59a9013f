"""Counts that merge: parts added in any order and grouping equal one pass over all rows.

Each item marks each metric once. Whatever the figure, it is computed from the sums, so the number
of processes and the order of the rows cannot change its last digit.
"""

from collections.abc import Iterable
from enum import Enum
from typing import Annotated, Final

from msgspec import Meta, Struct

from affidavit.base.statistics.rates import Rate

Count = Annotated[int, Meta(ge=0)]
MAX_LISTED: Final = 100
"""How many names a listing keeps; its total counts them all."""


class ItemResult(Enum):
    """What one item says about one metric."""

    HIT = "hit"
    MISS = "miss"
    UNKNOWN = "unknown"
    """The item is concerned, but could not be measured."""
    ABSENT = "absent"
    """There is no run of the item, or no answer in it."""
    APART = "apart"
    """The metric does not speak of such items."""


class Tally(Struct, frozen=True):
    """How many items had each result."""

    hits: int = 0
    misses: int = 0
    unknown: int = 0
    absent: int = 0

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            self.hits + other.hits,
            self.misses + other.misses,
            self.unknown + other.unknown,
            self.absent + other.absent,
        )

    @property
    def rate(self) -> Rate:
        """The share of hits among what was measured."""
        return Rate(self.hits, self.hits + self.misses)

    @property
    def not_measured(self) -> int:
        """The items that should have been measured and were not."""
        return self.unknown + self.absent


def tally_results(marks: Iterable[tuple[ItemResult, int]]) -> Tally:
    """Return the tally of marks, each with how many items gave it."""
    sums = dict.fromkeys(ItemResult, 0)
    for mark, items in marks:
        sums[mark] += items
    return Tally(
        sums[ItemResult.HIT],
        sums[ItemResult.MISS],
        sums[ItemResult.UNKNOWN],
        sums[ItemResult.ABSENT],
    )


def result_from_bool(outcome: bool | None) -> ItemResult:
    """Return the mark of an item that a metric speaks of; None could not be measured."""
    if outcome is None:
        return ItemResult.UNKNOWN
    return ItemResult.HIT if outcome else ItemResult.MISS


class Listing(Struct, frozen=True):
    """How many there are, and the names of the first, sorted and without duplicates."""

    total: Count = 0
    first: tuple[str, ...] = ()

    def __add__(self, other: "Listing") -> "Listing":
        names = sorted({*self.first, *other.first})
        return Listing(self.total + other.total, tuple(names[:MAX_LISTED]))


EMPTY_LISTING: Final = Listing()


def listing_of(names: Iterable[str]) -> Listing:
    """Return the listing of some names, in whatever order they come."""
    ordered = sorted(names)
    return Listing(len(ordered), tuple(ordered[:MAX_LISTED]))


def all_hold(outcomes: Iterable[bool | None]) -> bool | None:
    """Return whether all hold: one that does not decides, one that is not measured leaves it open.

    Origin: the strong conjunction of Kleene's three-valued logic.
    """
    seen = set(outcomes)
    if False in seen:
        return False
    return None if None in seen else True
