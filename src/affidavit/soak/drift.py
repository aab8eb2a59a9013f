"""Drift: whether a soak behaves like an earlier one.

Counts are compared by Fisher's exact test: passes among judged runs, infra errors among all runs,
and for each rule the runs that violated it. Holm's method corrects for their number. Without a
difference it is steady only if the interval of the change is narrow, because few runs show nothing.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from msgspec import Struct

from affidavit.base.statistics import (
    Rate,
    difference_interval,
    fisher_exact,
    holm_corrected,
    rounded,
)
from affidavit.soak.figures import Ci95, rounded_ci95
from affidavit.soak.policy import INFRA_ERRORS, PASS_RATE, SoakCounts

SIGNIFICANCE: Final = 0.05
MARGIN: Final = 0.1
"""A change of the pass rate that is surely smaller than this counts as steady."""
PASS_RATE_NAME: Final = PASS_RATE.name
INFRA_RATE_NAME: Final = INFRA_ERRORS.name


class DriftVerdict(StrEnum):
    """How a soak compares with its baseline."""

    DRIFTED = "drifted"
    STEADY = "steady"
    CANNOT_TELL = "cannot_tell"


class Shift(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One figure before and now, and how likely so large a difference is by chance."""

    name: str
    before: float
    now: float
    p_value: float
    p_corrected: float


class Drift(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The comparison with a baseline."""

    baseline: str
    verdict: DriftVerdict
    why: str
    test: str = "Fisher, exact, two-sided; Holm"
    change_ci95: Ci95 | None
    shifts: tuple[Shift, ...]


class Outcomes(Struct, frozen=True):
    """The counts of a soak, and in how many runs each rule was violated."""

    counts: SoakCounts
    violations: Mapping[str, int]

    def rates(self, rules: tuple[str, ...]) -> dict[str, Rate]:
        """Return the shares that are compared."""
        counts = self.counts
        found = {
            PASS_RATE_NAME: counts.rate,
            INFRA_RATE_NAME: Rate(counts.infra_errors, counts.runs),
        }
        for rule in rules:
            found[rule] = Rate(min(self.violations.get(rule, 0), counts.judged), counts.judged)
        return found


def compare_with_baseline(name: str, before: Outcomes, now: Outcomes) -> Drift:
    """Compare a soak with its baseline."""
    rules = tuple(sorted({*before.violations, *now.violations}))
    old, new = before.rates(rules), now.rates(rules)
    tested = {
        each: p_value for each in old if (p_value := fisher_exact(old[each], new[each])) is not None
    }
    corrected = dict(zip(tested, holm_corrected([*tested.values()]), strict=True))
    shifts = tuple(
        Shift(
            name=each,
            before=rounded(old[each].value or 0.0),
            now=rounded(new[each].value or 0.0),
            p_value=rounded(tested[each]),
            p_corrected=rounded(corrected[each]),
        )
        for each in tested
    )
    change = difference_interval(old[PASS_RATE_NAME], new[PASS_RATE_NAME])
    moved = [each for each in corrected if corrected[each] < SIGNIFICANCE]
    if moved:
        verdict, why = DriftVerdict.DRIFTED, f"changed by more than chance: {', '.join(moved)}"
    elif change is None:
        verdict, why = DriftVerdict.CANNOT_TELL, "one of the soaks has no judged run"
    elif change.low > -MARGIN and change.high < MARGIN:
        verdict, why = DriftVerdict.STEADY, f"the pass rate changed by less than {MARGIN}"
    else:
        verdict, why = (
            DriftVerdict.CANNOT_TELL,
            f"the runs are too few to exclude a change of the pass rate by {MARGIN}",
        )
    return Drift(
        baseline=name, verdict=verdict, why=why, change_ci95=rounded_ci95(change), shifts=shifts
    )
