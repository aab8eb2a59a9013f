"""Compare two runs item by item: improved, held, regressed, or cannot tell, and why."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

import msgspec

from affidavit.base.statistics import mcnemar_exact, mcnemar_worse, rounded
from affidavit.decision.counts import EMPTY_LISTING, Count, Listing, listing_of

SIGNIFICANCE_LEVEL: Final = 0.05


class Change(StrEnum):
    """How one run compares with another."""

    IMPROVED = "improved"
    HELD = "held"
    """No item that was right has become wrong. This is counted, not estimated."""
    REGRESSED = "regressed"
    CANNOT_TELL = "cannot_tell"


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two runs over the same items.

    `broken` items passed before and fail now, `mended` ones the other way round. An item that one
    of the runs did not measure, or does not have, is counted but not compared. `lost` are those of
    them that passed before: they may have become wrong, so the run cannot be called as good.
    """

    change: Change
    why: str
    compared: Count = 0
    p_value: float | None = None
    test: str = "McNemar, exact, two-sided"
    p_worse: float | None = None
    """The p-value of the one-sided test, which decides whether the run is worse."""
    broken: Listing = EMPTY_LISTING
    mended: Listing = EMPTY_LISTING
    lost: Listing = EMPTY_LISTING
    not_measured: Count = 0
    only_before: Count = 0
    only_now: Count = 0

    @property
    def deciding_p(self) -> float | None:
        """The p-value of the test that decides: one-sided if more became wrong than right."""
        is_worse = self.p_worse is not None and self.broken.total > self.mended.total
        return self.p_worse if is_worse else self.p_value

    @property
    def listings(self) -> tuple[tuple[str, Listing], ...]:
        """The items that changed, under a title each, where there are any."""
        named = (
            ("Now wrong", self.broken),
            ("Now right", self.mended),
            ("Right before and not measured now", self.lost),
        )
        return tuple((name, listing) for name, listing in named if listing.total)

    @property
    def is_open(self) -> bool:
        """Whether items not measured could make it a regression, or nothing can be compared."""
        if self.change is Change.REGRESSED:
            return False
        if not self.compared:
            return True
        at_worst = self.broken.total + self.lost.total
        return _worse(at_worst, self.mended.total) < SIGNIFICANCE_LEVEL


def compare_outcomes(
    before: Mapping[str, bool | None], now: Mapping[str, bool | None]
) -> Comparison:
    """Compare the outcomes of items by McNemar's exact test over those that both runs measured."""
    flips: dict[bool, list[str]] = {True: [], False: []}
    lost: list[str] = []
    agreeing = not_measured = only_before = 0
    for name, was in before.items():
        is_now = now.get(name)
        if was is not None and is_now is not None:
            if was is is_now:
                agreeing += 1
            else:
                flips[was].append(name)
            continue
        if was:
            lost.append(name)
        if name in now:
            not_measured += 1
        else:
            only_before += 1
    broken, mended, gone = listing_of(flips[True]), listing_of(flips[False]), listing_of(lost)
    compared = agreeing + broken.total + mended.total
    p_value = _p_value(broken.total, mended.total, agreeing)
    at_worst = _p_value(broken.total + gone.total, mended.total, agreeing)
    change, why = _classify_change(
        pairs=compared,
        broken=broken.total,
        mended=mended.total,
        lost=gone.total,
        p_value=p_value,
        at_worst=at_worst,
    )
    return Comparison(
        change=change,
        why=why,
        compared=compared,
        p_value=rounded(p_value),
        p_worse=rounded(_worse(broken.total, mended.total)) if compared else None,
        broken=broken,
        mended=mended,
        lost=gone,
        not_measured=not_measured,
        only_before=only_before,
        only_now=len(now) - (len(before) - only_before),
    )


def _p_value(broken: int, mended: int, agreeing: int) -> float | None:
    return mcnemar_exact(only_first=broken, only_second=mended, agreeing=agreeing)


def _worse(broken: int, mended: int) -> float:
    return mcnemar_worse(only_first=broken, only_second=mended)


def _classify_change(
    *,
    pairs: int,
    broken: int,
    mended: int,
    lost: int,
    p_value: float | None,
    at_worst: float | None,
) -> tuple[Change, str]:
    """Return the change and why; `at_worst` is the p-value if all lost items were wrong now."""
    if p_value is None or at_worst is None:
        return Change.CANNOT_TELL, "no item was measured in both runs"
    unseen = f", and {lost} that were right were not measured now" if lost else ""
    worse = _worse(broken, mended)
    odds = _format_p_value(worse if broken > mended else p_value)
    said = f"of {pairs} items {mended} became right and {broken} wrong ({odds}){unseen}"
    # Whether a run is worse is a question about one direction, so its test is one-sided.
    if worse < SIGNIFICANCE_LEVEL:
        return Change.REGRESSED, f"{said}: chance alone does so in fewer than 1 of 20 runs"
    if mended > broken + lost and at_worst < SIGNIFICANCE_LEVEL:
        return Change.IMPROVED, f"{said}: chance alone does so in fewer than 1 of 20 runs"
    if not broken and not lost:
        return Change.HELD, f"none of {pairs} items became wrong, and {mended} became right"
    if not broken:
        return Change.CANNOT_TELL, said
    return Change.CANNOT_TELL, f"{said}: chance alone does as much in 1 of 20 runs or more"


def _format_p_value(p_value: float) -> str:
    return f"p = {rounded(p_value, 4)}" if p_value >= 0.0001 else "p < 0.0001"


def regression_reasons(comparison: Comparison | None) -> tuple[str, ...]:
    """Return why a run that is worse than its baseline must not ship."""
    if comparison is None or comparison.change is not Change.REGRESSED:
        return ()
    return (f"worse than the baseline: {comparison.why}",)


def comparison_doubts(comparison: Comparison | None) -> tuple[str, ...]:
    """Return why it cannot be told whether a run is worse than its baseline.

    No item can be compared, or items that were right before and are not measured now could make it
    worse. Changes that may be chance are measured, so they raise no doubt.
    """
    if comparison is None or not comparison.is_open:
        return ()
    return (f"whether it is worse than the baseline cannot be told: {comparison.why}",)


OUTCOME_NAMES: Final[Mapping[bool | None, str]] = {
    True: "pass",
    False: "fail",
    None: "not_measured",
}
OUTCOME_VALUES: Final[Mapping[str, bool | None]] = {
    name: outcome for outcome, name in OUTCOME_NAMES.items()
}
