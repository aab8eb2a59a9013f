"""Rates, means, Wilson's confidence interval for a rate, and pass^k."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from math import fsum, isfinite, perm, sqrt
from typing import Final

from affidavit.base.statistics.arithmetic import PRECISE, tail_of


@dataclass(frozen=True, slots=True)
class Rate:
    """A share, kept as two counts so that parts can be merged without loss."""

    numerator: int
    denominator: int

    def __post_init__(self) -> None:
        if not 0 <= self.numerator <= self.denominator:
            raise ValueError(f"{self.numerator} of {self.denominator} is not a share")

    @classmethod
    def of(cls, outcomes: Iterable[bool]) -> "Rate":
        """Return the rate of true outcomes."""
        seen = tuple(outcomes)
        return cls(sum(map(bool, seen)), len(seen))

    @property
    def value(self) -> float | None:
        """The double nearest to the share, or None if there is nothing to count.

        It and a written threshold are both rounded once, so 4 of 5 meets 0.8 exactly.
        """
        return self.numerator / self.denominator if self.denominator else None

    def __add__(self, other: "Rate") -> "Rate":
        return Rate(self.numerator + other.numerator, self.denominator + other.denominator)


def mean(values: Iterable[float]) -> float | None:
    """Return the mean of finite numbers, independent of their order; None for no numbers."""
    seen = tuple(values)
    if not all(map(isfinite, seen)):
        raise ValueError("a mean is taken of finite numbers only")
    if not seen:
        return None
    try:
        return fsum(seen) / len(seen)
    except OverflowError:  # The sum exceeds the largest double; the mean does not.
        return float(sum(map(Fraction, seen)) / len(seen))


def pass_hat_k(passes: int, trials: int, k: int) -> float | None:
    """Return C(passes, k) / C(trials, k), rounded once; None with fewer trials than k.

    pass^k is the probability that k trials all pass; this is the unbiased estimator of p^k. Origin:
    Yao et al., tau-bench (2024), section 4. Some tools print the k-th power of the pass rate under
    the same name, which is biased upward.
    """
    if not 0 <= passes <= trials:
        raise ValueError(f"{passes} of {trials} trials cannot have passed")
    if k < 1:
        raise ValueError(f"k is at least 1, not {k}")
    if trials < k:
        return None
    failures = trials - passes
    # C(c,k)/C(n,k) equals C(n-k,f)/C(n,f); use the one with fewer factors.
    if k <= failures:
        return perm(passes, k) / perm(trials, k)
    return perm(trials - k, failures) / perm(trials, failures)


_ROOT_OF_TWO_PI: Final = Decimal("2.506628274631000502415765284811045253006986740609938")
_CLOSE_ENOUGH: Final = Decimal("1e-20")  # A double has 17 digits.
_NO_MORE_DIGITS: Final = Decimal("1e-40")


@lru_cache(maxsize=64)
def z_value(confidence: float) -> float:
    """Return the double nearest to z with P(-z < Z < z) = confidence: 1.96 for 0.95.

    Newton's method starts from 0. Right of 0 the distribution function is concave, so the steps
    approach from the left and cannot overshoot.
    """
    with localcontext(PRECISE):
        above_middle = Decimal("0.5") - tail_of(confidence)
        z = Decimal(0)
        while True:
            density = (-z * z / 2).exp() / _ROOT_OF_TWO_PI
            step = (above_middle - density * _area_over_density(z)) / density
            z += step
            if step < _CLOSE_ENOUGH:
                return float(z)


def _area_over_density(z: Decimal) -> Decimal:
    """Return the area from 0 to z over the density at z: z + z^3/3 + z^5/(3*5) + ...

    Origin: Abramowitz and Stegun, 26.2.11. All terms are positive, so nothing cancels.
    """
    total = term = z
    odd = 1
    while term > total * _NO_MORE_DIGITS:
        odd += 2
        term *= z * z / odd
        total += term
    return total


@dataclass(frozen=True, slots=True)
class Interval:
    """From `low` to `high`, both included."""

    low: float
    high: float


def wilson(rate: Rate, confidence: float = 0.95) -> Interval | None:
    """Return Wilson's score interval, without continuity correction; None for no trials.

    Origin: Wilson (1927); formula as in Newcombe (1998), method 3. Averaged over
    the true rate its coverage is the nominal one, and it stays within 0 to 1; reports show it.
    """
    if not rate.denominator:
        return None
    z = z_value(confidence)
    failures = rate.denominator - rate.numerator
    return Interval(
        _wilson_low(rate.numerator, failures, z), 1 - _wilson_low(failures, rate.numerator, z)
    )


def _wilson_low(hits: int, misses: int, z: float) -> float:
    # The limits are the roots of a quadratic. The lower one is computed as their product over the
    # upper one: nothing cancels, and zero hits give exactly 0.
    trials = hits + misses
    spread = z * sqrt(hits * misses / trials + z * z / 4)
    return hits * hits / trials / (hits + z * z / 2 + spread)
