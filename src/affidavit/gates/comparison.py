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
from affidavit.gates.tally import Listing, listing_of

SIGNIFICANT: Final = 0.05


class Change(StrEnum):
    """What can be said of the difference between two runs."""

    IMPROVED = "improved"
    REGRESSED = "regressed"
    CANNOT_TELL = "cannot_tell"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs over the same items.

    `broken` passed before and fail now, `mended` the other way. An item that one of the runs did
    not measure, or does not have, is not compared and is counted.
    """

    change: Change
    why: str
    compared: int
    p_value: float | None
    broken: Listing
    mended: Listing
    not_measured: int
    only_before: int
    only_now: int

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
            "not_measured": self.not_measured,
            "only_before": self.only_before,
            "only_now": self.only_now,
        }


def compare(before: Mapping[str, bool | None], now: Mapping[str, bool | None]) -> Comparison:
    """Compare the outcomes of items by McNemar's exact test over those that both runs measured."""
    common = before.keys() & now.keys()
    pairs = {
        name: (was, is_now)
        for name in common
        if (was := before[name]) is not None and (is_now := now[name]) is not None
    }
    broken = listing_of(name for name, pair in pairs.items() if pair == (True, False))
    mended = listing_of(name for name, pair in pairs.items() if pair == (False, True))
    p_value = mcnemar_exact(
        only_first=broken.total,
        only_second=mended.total,
        agreeing=len(pairs) - broken.total - mended.total,
    )
    change, why = _verdict(len(pairs), broken.total, mended.total, p_value)
    return Comparison(
        change,
        why,
        len(pairs),
        p_value,
        broken,
        mended,
        len(common) - len(pairs),
        len(before.keys() - common),
        len(now.keys() - common),
    )


def _verdict(pairs: int, broken: int, mended: int, p_value: float | None) -> tuple[Change, str]:
    if p_value is None:
        return Change.CANNOT_TELL, "no item was measured in both runs"
    if not broken + mended:
        return Change.CANNOT_TELL, f"none of {pairs} items changed"
    said = f"of {pairs} items {mended} became right and {broken} wrong (p = {rounded(p_value, 4)})"
    if p_value >= SIGNIFICANT:
        return Change.CANNOT_TELL, f"{said}: chance alone does as much in 1 of 20 runs or more"
    change = Change.IMPROVED if mended > broken else Change.REGRESSED
    return change, f"{said}: chance alone does so in fewer than 1 of 20 runs"


class _ItemV1(msgspec.Struct, frozen=True):
    qid: str
    outcome: Literal["pass", "fail", "not_measured"]


class _BaselineV1(msgspec.Struct, frozen=True):
    schema_version: Annotated[str, msgspec.Meta(pattern=r"^affidavit-gate/1\Z")]
    kind: str
    items: tuple[_ItemV1, ...]


_OUTCOMES: Final[Mapping[str, bool | None]] = {"pass": True, "fail": False, "not_measured": None}


def outcomes_of_report(value: object, kind: str, file: str | None = None) -> dict[str, bool | None]:
    """Return the outcome of each item of a report of the same kind, as it was written."""
    try:
        baseline = msgspec.convert(value, _BaselineV1)
    except msgspec.ValidationError as error:
        problem, field = placed_problem(error)
        raise AffidavitError(
            faults.BASELINE_MALFORMED, Where(file=file, field=field), problem=problem
        ) from None
    if baseline.kind != kind:
        problem = f"it is of the gate {baseline.kind!r}, not {kind!r}"
        raise AffidavitError(
            faults.BASELINE_MALFORMED, Where(file=file, field="kind"), problem=problem
        )
    return {item.qid: _OUTCOMES[item.outcome] for item in baseline.items}
