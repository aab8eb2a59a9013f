"""Rates and means, confidence intervals for a rate (Wilson, Clopper-Pearson), and pass^k."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from math import factorial, fsum, isfinite, perm, sqrt
from typing import Final

from affidavit.base.statistics.arithmetic import PRECISE, tail_of

# Shares of counts, and means: nothing to measure is None, never 0, 1 or NaN.


@dataclass(frozen=True, slots=True)
class Rate:
    """So many of so many, kept as counts, so that parts can be merged without loss."""

    numerator: int
    denominator: int

    def __post_init__(self) -> None:
        if not 0 <= self.numerator <= self.denominator:
            raise ValueError(f"{self.numerator} of {self.denominator} is not a share")

    @classmethod
    def of(cls, outcomes: Iterable[bool]) -> "Rate":
        """Return how many of the outcomes are true."""
        seen = tuple(outcomes)
        return cls(sum(map(bool, seen)), len(seen))

    @property
    def value(self) -> float | None:
        """The double nearest to the share, or None when there is nothing to count.

        Both this and a threshold as written are rounded once, so 4 of 5 meets 0.8 exactly.
        """
        return self.numerator / self.denominator if self.denominator else None

    def __add__(self, other: "Rate") -> "Rate":
        return Rate(self.numerator + other.numerator, self.denominator + other.denominator)


def mean(values: Iterable[float]) -> float | None:
    """Return the arithmetic mean of finite numbers, whatever their order; None for no numbers."""
    seen = tuple(values)
    if not all(map(isfinite, seen)):
        raise ValueError("a mean is taken of finite numbers only")
    if not seen:
        return None
    try:
        return fsum(seen) / len(seen)
    except OverflowError:  # The sum is beyond the doubles; the mean is not.
        return float(sum(map(Fraction, seen)) / len(seen))


# pass^k: how likely it is that k trials all pass.


def pass_hat_k(passes: int, trials: int, k: int) -> float | None:
    """Return C(passes, k) / C(trials, k), rounded once; None with fewer trials than k.

    The share of the ways to pick k of the trials in which every one passed: the unbiased
    estimator of p^k. Origin: Yao et al., tau-bench (2024), section 4. The power of the pass rate,
    which some tools print under the same name, is biased upward.
    """
    if not 0 <= passes <= trials:
        raise ValueError(f"{passes} of {trials} trials cannot have passed")
    if k < 1:
        raise ValueError(f"k is at least 1, not {k}")
    if trials < k:
        return None
    failures = trials - passes
    # C(c,k)/C(n,k) is also C(n-k,f)/C(n,f); the one with fewer factors is quicker.
    if k <= failures:
        return perm(passes, k) / perm(trials, k)
    return perm(trials - k, failures) / perm(trials, failures)


# The quantile of the normal distribution that an interval needs.

_ROOT_OF_TWO_PI: Final = Decimal("2.506628274631000502415765284811045253006986740609938")
_CLOSE_ENOUGH: Final = Decimal("1e-20")  # A double holds 17 digits.
_NO_MORE_DIGITS: Final = Decimal("1e-40")


@lru_cache(maxsize=64)
def z_value(confidence: float) -> float:
    """Return z with P(-z < Z < z) = confidence, the double nearest to it: 1.96 for 0.95.

    Newton's method from 0: right of 0 the distribution function is concave, so the steps approach
    from the left and cannot overshoot.
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

    Origin: Abramowitz and Stegun, 26.2.11. All terms are positive: nothing cancels.
    """
    total = term = z
    odd = 1
    while term > total * _NO_MORE_DIGITS:
        odd += 2
        term *= z * z / odd
        total += term
    return total


# Where the tail of the binomial distribution reaches a given probability.

_LN_OF_TWO_PI: Final = Decimal("1.837877066409345483560659472811235279722794947275567")

# Stirling's series, Abramowitz and Stegun 6.1.41, as (divisor, power): from 256 on, the first
# term left out is below 1e-29.
_STIRLING_FROM: Final = 256
_STIRLING: Final = ((12, 1), (-360, 3), (1260, 5), (-1680, 7), (1188, 9))

# Newton doubles the digits with each step: after a step from this close, a double is settled.
_ONE_MORE_STEP: Final = Decimal("1e-9")
_NEGLIGIBLE: Final = 1e-18


def success_probability_at(successes: int, trials: int, tail: Decimal, start: float) -> Decimal:
    """Return p such that `successes` or more of the trials succeed with probability `tail`.

    At least one success is needed, and a tail below one half. `start` is any guess between 0
    and 1. Newton's method on ln P(X >= k) as a function of ln p: there it is concave, because its
    slope k * P(X = k) / P(X >= k) falls with p. So the steps come from the left after the first,
    whatever the start, and no bracket is needed.

    The sum that decides the last digits has only positive terms and is taken in doubles; the
    logarithms of huge numbers that cancel are taken in decimals.
    """
    with localcontext(PRECISE):
        ln_ways = ln_choose(trials, successes) - tail.ln()
        p = Decimal(start)
        while True:
            q = 1 - p
            tail_over_first = Decimal(_tail_over_first(successes, trials, float(p / q)))
            ln_first = ln_ways + successes * p.ln() + (trials - successes) * q.ln()
            excess = ln_first + tail_over_first.ln()
            p *= (-excess * tail_over_first / successes).exp()
            if abs(excess) < _ONE_MORE_STEP:
                return p


def _tail_over_first(successes: int, trials: int, odds: float) -> float:
    """Return P(X >= successes) / P(X = successes) where p / (1 - p) is `odds`."""
    total = term = 1.0
    for reached in range(successes, trials):
        term *= (trials - reached) * odds / (reached + 1)
        total += term
        if term < total * _NEGLIGIBLE:
            break
    return total


def ln_choose(trials: int, successes: int) -> Decimal:
    """Return the logarithm of C(trials, successes), good to 25 decimals up to a billion trials."""
    with localcontext(PRECISE):
        return _ln_factorial(trials) - _ln_factorial(successes) - _ln_factorial(trials - successes)


def _ln_factorial(n: int) -> Decimal:
    if n < _STIRLING_FROM:
        return Decimal(factorial(n)).ln()
    size = Decimal(n)
    ln_size = size.ln()
    main = size * ln_size - size + (ln_size + _LN_OF_TWO_PI) / 2
    return main + sum(1 / (divisor * size**power) for divisor, power in _STIRLING)


# Intervals for a rate.


@dataclass(frozen=True, slots=True)
class Interval:
    """From `low` to `high`, both included."""

    low: float
    high: float


def wilson(rate: Rate, confidence: float = 0.95) -> Interval | None:
    """Return Wilson's score interval, without continuity correction; None for no trials.

    Origin: Wilson (1927); formula as in Newcombe (1998), method 3. On average over the true rate
    it covers what it promises, and it stays inside 0 to 1, so it is the one that reports show.
    """
    if not rate.denominator:
        return None
    z = z_value(confidence)
    failures = rate.denominator - rate.numerator
    return Interval(
        _wilson_low(rate.numerator, failures, z), 1 - _wilson_low(failures, rate.numerator, z)
    )


def _wilson_low(hits: int, misses: int, z: float) -> float:
    # The two limits are the roots of a quadratic. The lower one is written as their product over
    # the upper one: nothing cancels, and no hits give exactly 0.
    trials = hits + misses
    spread = z * sqrt(hits * misses / trials + z * z / 4)
    return hits * hits / trials / (hits + z * z / 2 + spread)


def clopper_pearson(rate: Rate, confidence: float = 0.95) -> Interval | None:
    """Return the exact interval; None for no trials.

    Origin: Clopper and Pearson (1934); Newcombe (1998), method 5. Each limit is the rate at which
    the outcome seen, or one further out, has the probability (1 - confidence) / 2. It never covers
    less than it promises, so it is the one for a bar that must hold. Right to the last digit or
    the one before; the work grows with the square root of the trials.
    """
    if not rate.denominator:
        return None
    failures = rate.denominator - rate.numerator
    return Interval(
        _exact_share(rate.numerator, failures, confidence, complement=False),
        _exact_share(failures, rate.numerator, confidence, complement=True),
    )


def _exact_share(hits: int, misses: int, confidence: float, *, complement: bool) -> float:
    """Return the lower limit for the hits, or 1 minus it, rounded once."""
    if not hits:
        return float(complement)
    start = _wilson_low(hits, misses, z_value(confidence))
    limit = success_probability_at(hits, hits + misses, tail_of(confidence), start)
    return float(1 - limit if complement else limit)
