"""Sequential stopping: stop as soon as the pass rate is known to be above or below a bound.

Peeking at a fixed-size interval after every run and stopping when it looks good is wrong far more
often than the interval says. A confidence sequence holds for all numbers of runs at once.

The one here is the beta-binomial mixture with a uniform prior (Robbins, 1970). After n runs with s
passes a rate p is excluded if (n + 1) C(n, s) p^s (1 - p)^(n - s) <= alpha. The reciprocal of the
left side is a martingale with mean 1 if p is the true rate, so by Ville's inequality the true rate
is ever excluded with probability alpha at most.
"""

import re
from decimal import Decimal, localcontext
from enum import StrEnum
from math import comb
from typing import Final

from msgspec import Struct

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import soak as faults
from affidavit.base.statistics import PRECISE, Interval, Rate, decimal_of
from affidavit.base.text import excerpt

METHOD: Final = "beta-binomial mixture, uniform prior"
_BOUND: Final = re.compile(r"(0?\.[0-9]{1,6})@([0-9]{1,2}(?:\.[0-9]{1,4})?)")


class RateBound(Struct, frozen=True):
    """A bound on the pass rate, and the confidence with which it is to be decided, in percent."""

    rate: float
    percent: float

    @property
    def alpha(self) -> float:
        """The probability of a wrong decision that is allowed."""
        return float(1 - decimal_of(self.percent) / 100)


def rate_bound_from(text: str) -> RateBound:
    """Return the bound of a text like `0.95@95`."""
    found = _BOUND.fullmatch(text)
    bound = None if found is None else RateBound(float(found[1]), float(found[2]))
    if bound is None or not (0 < bound.rate < 1 and bound.percent >= 50):
        raise AffidavitError(faults.SOAK_UNTIL, text=excerpt(text))
    return bound


class Side(StrEnum):
    """Where the pass rate is, as far as it is known."""

    ABOVE = "above"
    BELOW = "below"
    UNDECIDED = "undecided"


class SequentialTest:
    """Feed it one judged run after the other. The first decision stands."""

    def __init__(self, bound: RateBound) -> None:
        self.bound = bound
        self.passes = self.failures = 0
        self.side = Side.UNDECIDED
        self._left = 1.0

    def feed(self, passed: bool) -> Side:
        """Count a run and return what is known."""
        rate, runs = self.bound.rate, self.passes + self.failures
        # From n to n + 1 runs the left side of the criterion changes by one factor, so that only
        # products and quotients are needed, which are the same on every machine.
        if passed:
            self.passes += 1
            self._left *= (runs + 2) / self.passes * rate
        else:
            self.failures += 1
            self._left *= (runs + 2) / self.failures * (1 - rate)
        if self.side is Side.UNDECIDED and self._left <= self.bound.alpha:
            is_above = self.passes > rate * (runs + 1)
            self.side = Side.ABOVE if is_above else Side.BELOW
        return self.side


def confidence_sequence(rate: Rate, confidence: float = 0.95) -> Interval | None:
    """Return the rates that are not excluded; None without runs. It may be read at any time."""
    passes, runs = rate.numerator, rate.denominator
    if not runs:
        return None
    with localcontext(PRECISE):
        most = (1 - decimal_of(confidence)).ln() - Decimal((runs + 1) * comb(runs, passes)).ln()
        mode = Decimal(passes) / runs
        low = _crossing(rate, most, Decimal(0), mode) if passes else Decimal(0)
        high = _crossing(rate, most, Decimal(1), mode) if passes < runs else Decimal(1)
        return Interval(float(low), float(high))


def _crossing(rate: Rate, most: Decimal, outside: Decimal, inside: Decimal) -> Decimal:
    """Return the end of the interval between an excluded rate and one that is not excluded."""
    passes, failures = rate.numerator, rate.denominator - rate.numerator
    for _ in range(50):
        middle = (outside + inside) / 2
        likelihood = (passes * middle.ln() if passes else Decimal(0)) + (
            failures * (1 - middle).ln() if failures else Decimal(0)
        )
        outside, inside = (middle, inside) if likelihood <= most else (outside, middle)
    return outside
