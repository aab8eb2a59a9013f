"""Intervals for a rate."""

from dataclasses import dataclass
from math import sqrt

from affidavit.base.statistics.arithmetic import tail_of
from affidavit.base.statistics.binomial import success_probability_at
from affidavit.base.statistics.normal import z_value
from affidavit.base.statistics.rates import Rate


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
