"""Counts that merge: parts added in any order and grouping equal one pass over all rows.

Each item has one result per metric. Figures are computed from the sums, so neither the number of
processes nor the order of rows changes a digit.
"""

from collections.abc import Iterable
from enum import Enum
from typing import Annotated, Final

from msgspec import Meta, Struct

from affidavit.base.statistics import Rate

Count = Annotated[int, Meta(ge=0)]
MAX_LISTED: Final = 100
"""How many names a listing keeps; its total counts them all."""


class ItemResult(Enum):
    """The result of one item for one metric."""

    HIT = "hit"
    MISS = "miss"
    UNKNOWN = "unknown"
    """The metric applies, but the item could not be measured."""
    ABSENT = "absent"
    """The item has no run, or its run has no answer."""
    APART = "apart"
    """The metric does not apply to the item."""


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
        """How many items should have been measured and were not."""
        return self.unknown + self.absent


def tally_results(marks: Iterable[tuple[ItemResult, int]]) -> Tally:
    """Return the tally of results, each with its number of items."""
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
    """Return the result of an item to which a metric applies; None could not be measured."""
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
    """Return the listing of some names, which may come in any order."""
    ordered = sorted(names)
    return Listing(len(ordered), tuple(ordered[:MAX_LISTED]))


def all_hold(outcomes: Iterable[bool | None]) -> bool | None:
    """Return False if one is False, else None if one is None, else True.

    Origin: the strong conjunction of Kleene's three-valued logic.
    """
    seen = set(outcomes)
    if False in seen:
        return False
    return None if None in seen else True
