"""This run against an earlier one, item by item: improved, regressed, or cannot tell, and why."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final, Literal

import msgspec

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.base.statistics import mcnemar_exact, rounded
from affidavit.gates.rows import placed_problem
from affidavit.gates.stored import report_of_kind
from affidavit.gates.tally import Listing, listing_of

SIGNIFICANT: Final = 0.05


class Change(StrEnum):
    """What can be said of the difference between two runs."""

    IMPROVED = "improved"
    HELD = "held"
    """Nothing that was right has become wrong: seen item by item, so chance has no part in it."""
    REGRESSED = "regressed"
    CANNOT_TELL = "cannot_tell"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs over the same items.

    `broken` passed before and fail now, `mended` the other way. An item that one of the runs did
    not measure, or does not have, is not compared and is counted; `lost` are those of them that
    passed before: they may have become wrong, so they keep a run from being called as good.
    """

    change: Change
    why: str
    compared: int
    p_value: float | None
    broken: Listing
    mended: Listing
    lost: Listing
    not_measured: int
    only_before: int
    only_now: int

    @property
    def is_open(self) -> bool:
        """Whether what was not measured could make it a regression, or nothing can be compared."""
        if self.change is Change.REGRESSED:
            return False
        broken, mended = self.broken.total, self.mended.total
        at_worst = _chance(broken + self.lost.total, mended, self.compared - broken - mended)
        if not self.compared or at_worst is None:
            return True
        return broken + self.lost.total > mended and at_worst < SIGNIFICANT

    def as_wire(self) -> dict[str, object]:
        """Return the comparison as a report shows it."""
        return {
            "change": self.change.value,
            "why": self.why,
            "compared": self.compared,
            "p_value": rounded(self.p_value),
            "test": "McNemar, exact, two-sided",
            "broken": self.broken.as_wire(),
            "mended": self.mended.as_wire(),
            "lost": self.lost.as_wire(),
            "not_measured": self.not_measured,
            "only_before": self.only_before,
            "only_now": self.only_now,
        }


def compare(before: Mapping[str, bool | None], now: Mapping[str, bool | None]) -> Comparison:
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
    p_value = _chance(broken.total, mended.total, agreeing)
    at_worst = _chance(broken.total + gone.total, mended.total, agreeing)
    change, why = _verdict(compared, broken.total, mended.total, gone.total, p_value, at_worst)
    return Comparison(
        change,
        why,
        compared,
        p_value,
        broken,
        mended,
        gone,
        not_measured,
        only_before,
        len(now) - (len(before) - only_before),
    )


def _chance(broken: int, mended: int, agreeing: int) -> float | None:
    return mcnemar_exact(only_first=broken, only_second=mended, agreeing=agreeing)


def _verdict(
    pairs: int, broken: int, mended: int, lost: int, p_value: float | None, at_worst: float | None
) -> tuple[Change, str]:
    """Return what can be said; `at_worst` is the p-value if all that is lost had become wrong."""
    if p_value is None or at_worst is None:
        return Change.CANNOT_TELL, "no item was measured in both runs"
    unseen = f", and {lost} that were right were not measured now" if lost else ""
    said = (
        f"of {pairs} items {mended} became right and {broken} wrong ({_in_words(p_value)}){unseen}"
    )
    if broken > mended and p_value < SIGNIFICANT:
        return Change.REGRESSED, f"{said}: chance alone does so in fewer than 1 of 20 runs"
    if mended > broken + lost and at_worst < SIGNIFICANT:
        return Change.IMPROVED, f"{said}: chance alone does so in fewer than 1 of 20 runs"
    if not broken and not lost:
        return Change.HELD, f"none of {pairs} items became wrong, and {mended} became right"
    if not broken:
        return Change.CANNOT_TELL, said
    return Change.CANNOT_TELL, f"{said}: chance alone does as much in 1 of 20 runs or more"


def _in_words(p_value: float) -> str:
    return f"p = {rounded(p_value, 4)}" if p_value >= 0.0001 else "p < 0.0001"


def regressions(comparison: Comparison | None) -> tuple[str, ...]:
    """Return why a run that is worse than its baseline must not ship."""
    if comparison is None or comparison.change is not Change.REGRESSED:
        return ()
    return (f"worse than the baseline: {comparison.why}",)


def doubts_of(comparison: Comparison | None) -> tuple[str, ...]:
    """Return why it is open whether a run is worse than its baseline.

    That is so if no item can be compared, or if items that were right and are not measured now
    would make it worse. Flips that may be chance are measured: they leave nothing open.
    """
    if comparison is None or not comparison.is_open:
        return ()
    return (f"whether it is worse than the baseline cannot be told: {comparison.why}",)


class _ItemGroupV1(msgspec.Struct, frozen=True):
    outcome: Literal["pass", "fail", "not_measured"]
    qids: tuple[str, ...]


class _BaselineV1(msgspec.Struct, frozen=True):
    schema_version: Annotated[str, msgspec.Meta(pattern=r"^affidavit-gate/1\Z")]
    kind: str
    items: tuple[_ItemGroupV1, ...]


OUTCOMES: Final[Mapping[str, bool | None]] = {"pass": True, "fail": False, "not_measured": None}


def outcomes_of_report(value: object, kind: str, file: str | None = None) -> dict[str, bool | None]:
    """Return the outcome of each item of a report of the same kind, as it was written."""
    try:
        baseline = msgspec.convert(report_of_kind(value, kind, file), _BaselineV1)
    except msgspec.ValidationError as error:
        problem, field = placed_problem(error)
        raise AffidavitError(
            faults.BASELINE_MALFORMED, Where(file=file, field=field), problem=problem
        ) from None
    return {qid: OUTCOMES[group.outcome] for group in baseline.items for qid in group.qids}
