"""The statistics of reports and gates, each with its published origin.

If there is nothing to measure the result is None, never 0, 1 or NaN. Figures are the same on every
machine, and only `rounded` rounds them for a report. A meaningless call (a negative count, a
confidence of 2) is a defect of the caller and raises ValueError.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import (
    ROUND_HALF_EVEN,
    Context,
    Decimal,
    DecimalException,
    DivisionByZero,
    InvalidOperation,
    Overflow,
    localcontext,
)
from fractions import Fraction
from functools import lru_cache
from hashlib import shake_256
from itertools import accumulate
from math import comb, floor, fsum, isfinite, perm, sqrt
from struct import unpack
from typing import Final, TypeVar, overload

# Arithmetic with the same digits on every machine, and the one rounding rule of reports.
# Equal inputs must give equal reports, so this package uses only operations whose last digit is
# defined: integers and fractions; `+ - * /` and the square root of IEEE 754; `math.fsum`; and the
# `decimal` module under the context below, whose `exp` and `ln` are correctly rounded. It does not
# use `math.exp`, `log`, `pow` and `lgamma`, which depend on the C library, nor `sum` over floats,
# which Python 3.12 changed.


def context_of(digits: int, *traps: type[DecimalException]) -> Context:
    """Return a context with every field set, because any other code can change the defaults."""
    return Context(
        prec=digits,
        rounding=ROUND_HALF_EVEN,
        Emin=-999_999,
        Emax=999_999,
        capitals=1,
        clamp=0,
        flags=[],
        traps=list(traps),
    )


# Far more digits than the 17 of a double, so that nothing is lost by cancellation.
PRECISE: Final = context_of(40, DivisionByZero, InvalidOperation, Overflow)


def decimal_of(value: float) -> Decimal:
    """Return the number as it is written: 0.95 is 95/100, not its nearest double."""
    return Decimal(repr(value))


def tail_of(confidence: float) -> Decimal:
    """Return the probability beyond each end of a two-sided interval: 0.025 for 0.95."""
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence must be between 0 and 1, not {confidence!r}")
    return PRECISE.divide(PRECISE.subtract(Decimal(1), decimal_of(confidence)), Decimal(2))


REPORT_DECIMALS: Final = 6

# The largest double has 309 digits before the point.
_WIDE: Final = context_of(400, InvalidOperation)


@overload
def rounded(value: float, decimals: int = ...) -> float: ...
@overload
def rounded(value: None, decimals: int = ...) -> None: ...
@overload
def rounded(value: float | None, decimals: int = ...) -> float | None: ...
def rounded(value: float | None, decimals: int = REPORT_DECIMALS) -> float | None:
    """Return the number with at most `decimals` decimals; None stays None.

    The shortest decimal text that reads back as the same double (as in JSON and RFC 8785) is
    rounded half to even. So 2.675 with two decimals is 2.68, as a reader of "2.675" expects;
    `round` uses the binary value and gives 2.67. There is no negative zero.
    """
    if value is None:
        return None
    if not isfinite(value):
        raise ValueError(f"only a finite number can be rounded, not {value!r}")
    step = Decimal((0, (1,), -decimals))
    return float(decimal_of(float(value)).quantize(step, context=_WIDE)) + 0.0


# Rates, means, Wilson's confidence interval for a rate, and pass^k.


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


def wilson(rate: Rate, confidence: float = 0.95, design_effect: float = 1.0) -> Interval | None:
    """Return Wilson's score interval, without continuity correction; None for no trials.

    Origin: Wilson (1927); formula as in Newcombe (1998), method 3. Averaged over
    the true rate its coverage is the nominal one, and it stays within 0 to 1; reports show it. With
    a design effect the trials count for as many independent ones as they are worth (Dean and
    Pagano, 2015, the modified Wilson interval).
    """
    if not rate.denominator:
        return None
    z = z_value(confidence)
    hits = rate.numerator / design_effect
    failures = (rate.denominator - rate.numerator) / design_effect
    return Interval(_wilson_low(hits, failures, z), 1 - _wilson_low(failures, hits, z))


def design_effect(rate: Rate, clusters: Iterable[Rate]) -> float:
    """Return by which factor clustering raises the variance of a rate; never less than 1.

    `clusters` are the rates of the clusters that have several trials; every other trial is a
    cluster of its own. Origin: Kish (1965), with the linearised variance of a ratio. If all trials
    came out alike, the variance within clusters is not known, and each cluster counts once.
    """
    seen = [each for each in clusters if each.denominator]
    hits, trials = rate.numerator, rate.denominator
    single_hits = hits - sum(each.numerator for each in seen)
    single = trials - sum(each.denominator for each in seen)
    count = single + len(seen)
    if count == trials:
        return 1.0
    if count == 1 or hits in (0, trials):
        return trials / count
    misses = trials - hits
    # Multiplied by the number of trials, every distance from the mean is an integer.
    squares = single_hits * misses**2 + (single - single_hits) * hits**2
    squares += sum((each.numerator * trials - hits * each.denominator) ** 2 for each in seen)
    return max(1.0, squares * count / ((count - 1) * trials * hits * misses))


def _wilson_low(hits: float, misses: float, z: float) -> float:
    # The limits are the roots of a quadratic. The lower one is computed as their product over the
    # upper one: nothing cancels, and zero hits give exactly 0.
    trials = hits + misses
    spread = z * sqrt(hits * misses / trials + z * z / 4)
    return hits * hits / trials / (hits + z * z / 2 + spread)


def beta_interval(passes: int, failures: int, confidence: float = 0.95) -> Interval:
    """Return the central credible interval of a rate under a uniform prior.

    The posterior is Beta(passes + 1, failures + 1). Its distribution function at x is the
    probability of more than `passes` successes in one trial more than there were, so it is a sum
    of binomial weights, and its quantiles are found by bisection.
    """
    tail = float(tail_of(confidence))
    return Interval(
        _beta_quantile(passes, failures, tail), _beta_quantile(passes, failures, 1 - tail)
    )


def _beta_quantile(passes: int, failures: int, share: float) -> float:
    low, high = 0.0, 1.0
    for _ in range(60):  # More halvings than a double has bits.
        middle = (low + high) / 2
        first, weights = _binomial(passes + failures + 1, middle)
        above = fsum(weights[max(0, passes + 1 - first) :]) / fsum(weights)
        low, high = (middle, high) if above < share else (low, middle)
    return (low + high) / 2


def difference_interval(first: Rate, second: Rate, confidence: float = 0.95) -> Interval | None:
    """Return the interval of the second rate minus the first; None if either has no trials.

    Origin: Newcombe (1998), method 10: the two Wilson intervals, combined.
    """
    before, after = wilson(first, confidence), wilson(second, confidence)
    if before is None or after is None:
        return None
    was, now = first.numerator / first.denominator, second.numerator / second.denominator
    down = sqrt((now - after.low) ** 2 + (before.high - was) ** 2)
    up = sqrt((after.high - now) ** 2 + (was - before.low) ** 2)
    return Interval(now - was - down, now - was + up)


# Percentiles, distribution-free intervals for them, and the seeded bootstrap.


def percentile(values: Iterable[float], percent: float | Fraction) -> float | None:
    """Return the value below which `percent` of 100 lie; None for no values.

    Interpolates linearly between the order statistics on either side of the position
    percent / 100 * (n - 1): type 7 of Hyndman and Fan (1996), the default of numpy and R. The
    interpolation is exact and rounded once, so a higher percent never gives a lower value.
    """
    ordered = sorted(values)
    if not all(map(isfinite, ordered)):
        raise ValueError("a percentile is taken of finite numbers only")
    return percentile_of_sorted(ordered, percent)


def percentile_of_sorted(ordered: Sequence[float], percent: float | Fraction) -> float | None:
    """Return the same for finite values in ascending order."""
    if not 0 <= percent <= 100:
        raise ValueError(f"a percentile must be between 0 and 100, not {percent}")
    if not ordered:
        return None
    share = percent if isinstance(percent, Fraction) else Fraction(decimal_of(percent))
    position = share * (len(ordered) - 1) / 100
    below = position.numerator // position.denominator
    low = Fraction(ordered[below])
    high = Fraction(ordered[min(below + 1, len(ordered) - 1)])
    return float(low + (high - low) * (position - below))


# The distribution-free interval for a quantile: David and Nagaraja, Order Statistics, 7.1. Its ends
# are two of the values. The number of values below the quantile is binomial whatever their
# distribution. Each tail gets at most half of 1 - confidence, so the coverage is at least the
# nominal one. With too few values there is no interval (P95 needs 72 values, P99 368).

_NEGLIGIBLE = 1e-18


def percentile_interval(
    ordered: Sequence[float], percent: float, confidence: float = 0.95
) -> Interval | None:
    """Return the interval of a percentile of values in ascending order; None if they are too few.

    Percentiles 0 and 100 are refused: the ends of a distribution have no such interval.
    """
    if not 0 < percent < 100 or not 0 < confidence < 1:
        raise ValueError(
            "a percentile and its confidence must be within their ranges, not at the ends"
        )
    count = len(ordered)
    if not count:
        return None
    tail = (1 - confidence) / 2
    first, weights = _binomial(count, percent / 100)
    total = sum(weights)
    # The weights below `low`, and those from `high` on, each sum to at most the tail.
    low = first + _taken(weights, tail * total)
    high = first + len(weights) - _taken(weights[::-1], tail * total)
    if low < 1 or high > count:
        return None
    return Interval(ordered[low - 1], ordered[high - 1])


def _binomial(count: int, share: float) -> tuple[int, list[float]]:
    """Return the first number of successes with a weight, and the weights from there on.

    Weights are relative to the likeliest number. Each follows from its neighbour by products and
    quotients only, so they are the same on every machine.
    """
    likeliest = min(count, floor((count + 1) * share))
    odds = share / (1 - share)
    above, below = [1.0], []
    for successes in range(likeliest + 1, count + 1):
        above.append(above[-1] * (count - successes + 1) / successes * odds)
        if above[-1] < _NEGLIGIBLE:
            break
    weight = 1.0
    for successes in range(likeliest, 0, -1):
        weight = weight * successes / (count - successes + 1) / odds
        below.append(weight)
        if weight < _NEGLIGIBLE:
            break
    return likeliest - len(below), [*below[::-1], *above]


def _taken(weights: Sequence[float], limit: float) -> int:
    """Return how many of the first weights sum to at most the limit."""
    return sum(1 for so_far in accumulate(weights) if so_far <= limit)


Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """A statistic, its interval, and the number of resamples.

    In `unmeasured` of them the statistic was None; the interval is over the others.
    """

    estimate: float | None
    interval: Interval | None
    resamples: int
    unmeasured: int


def bootstrap(
    items: Sequence[Item],
    statistic: Callable[[Sequence[Item]], float | None],
    *,
    seed: int,
    resamples: int = 2000,
    confidence: float = 0.95,
) -> Bootstrap:
    """Return the statistic with its percentile interval over resamples of whole items.

    Origin: Efron and Tibshirani (1993), chapter 13. The statistic returns None if it has
    nothing to measure; without items, or if it is None for them, the result is not measured.
    """
    tail = Fraction(tail_of(confidence))
    estimate = statistic(items) if items else None
    if estimate is None:
        return Bootstrap(None, None, resamples, resamples)
    outcomes = (
        statistic([items[position] for position in drawn_positions(seed, resample, len(items))])
        for resample in range(resamples)
    )
    measured = sorted(outcome for outcome in outcomes if outcome is not None)
    low = percentile_of_sorted(measured, 100 * tail)
    high = percentile_of_sorted(measured, 100 - 100 * tail)
    return Bootstrap(
        estimate=estimate,
        interval=None if low is None or high is None else Interval(low, high),
        resamples=resamples,
        unmeasured=resamples - len(measured),
    )


def drawn_positions(seed: int, resample: int, count: int) -> list[int]:
    """Return `count` positions drawn with replacement from 0 to count - 1.

    The generator can be reimplemented in any language: SHAKE-256 over the ASCII text
    "affidavit-bootstrap-1/<seed>/<resample>", read as little-endian 64-bit words; each word w gives
    the position floor(w * count / 2^64). Resamples are independent and can be drawn in any order.
    """
    name = f"affidavit-bootstrap-1/{seed}/{resample}"
    words = unpack(f"<{count}Q", shake_256(name.encode()).digest(8 * count))
    return [word * count >> 64 for word in words]


# Exact tests for a difference between two runs: McNemar for paired outcomes, Fisher for rates.
# Both are two-sided as in SciPy and R: the p-value is the probability, under no difference, of all
# outcomes that are no likelier than the observed one.

# Weights are integers in units of 2^-1200 of the likeliest outcome's weight (360 decimal digits).
# Anything smaller is below the smallest double, 2^-1074.
_LIKELIEST: Final = 1 << 1200
# The weights of equally likely outcomes differ only by rounding, which is far smaller than 2^-128
# unless the p-value is below 1e-300.
_TIE_BITS: Final = 128

Odds = Callable[[int], tuple[int, int]]
"""Maps an outcome to (a, b), where the next outcome is a / b times as likely."""


def mcnemar_exact(*, only_first: int, only_second: int, agreeing: int) -> float | None:
    """Return the p-value of McNemar's exact test; None for no pairs.

    Of the items judged in both runs, `only_first` passed only in the first run, `only_second` only
    in the second, and `agreeing` passed or failed in both. The agreeing items do not change the
    p-value; they distinguish "nothing changed" (1.0) from "nothing compared". Origin: McNemar
    (1947), with the binomial distribution instead of its approximation.
    """
    if min(only_first, only_second, agreeing) < 0:
        raise ValueError("counts of pairs must not be negative")
    changed = only_first + only_second
    if not changed + agreeing:
        return None
    weights = _weights(0, changed, changed // 2, lambda seen: (changed - seen, seen + 1))
    return _share_no_likelier(weights, only_first)


def mcnemar_worse(*, only_first: int, only_second: int) -> float:
    """Return the one-sided p-value of McNemar's exact test that the second run is worse.

    It is the probability that, of the items that changed, at least `only_first` passed only in the
    first run, if a change is as likely in either direction. Without a change it is 1.
    """
    if min(only_first, only_second) < 0:
        raise ValueError("counts of pairs must not be negative")
    changed = only_first + only_second
    return sum(comb(changed, count) for count in range(only_first, changed + 1)) / (1 << changed)


def fisher_exact(first: Rate, second: Rate) -> float | None:
    """Return the p-value of Fisher's exact test that two rates are equal.

    None if either has no trials. Origin: Fisher (1935).
    """
    if not first.denominator or not second.denominator:
        return None
    hits = first.numerator + second.numerator
    trials = first.denominator + second.denominator
    slack = second.denominator - hits  # If negative, so many hits must be in the first.
    weights = _weights(
        max(0, -slack),
        min(first.denominator, hits),
        (first.denominator + 1) * (hits + 1) // (trials + 2),
        lambda seen: ((first.denominator - seen) * (hits - seen), (seen + 1) * (slack + seen + 1)),
    )
    return _share_no_likelier(weights, first.numerator)


def _weights(lowest: int, highest: int, likeliest: int, odds: Odds) -> Mapping[int, int]:
    """Return the nonzero weights of the outcomes from `lowest` to `highest`.

    The walk goes from the likeliest outcome to both sides until the weight is zero, about forty
    standard deviations away.
    """
    weights = {likeliest: _LIKELIEST}
    weight, outcome = _LIKELIEST, likeliest
    while weight and outcome < highest:
        gain, loss = odds(outcome)
        outcome += 1
        weights[outcome] = weight = weight * gain // loss
    weight, outcome = _LIKELIEST, likeliest
    while weight and outcome > lowest:
        outcome -= 1
        gain, loss = odds(outcome)
        weights[outcome] = weight = weight * loss // gain
    return weights


def _share_no_likelier(weights: Mapping[int, int], seen: int) -> float:
    bar = weights.get(seen, 0)
    bar += bar >> _TIE_BITS
    return sum(weight for weight in weights.values() if weight <= bar) / sum(weights.values())


def holm_corrected(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return p-values of several tests, corrected for their number.

    Origin: Holm (1979). The smallest is multiplied by the number of tests, the next by one less,
    and none may be smaller than the one before it.
    """
    corrected = [0.0] * len(p_values)
    so_far = 0.0
    order = sorted(range(len(p_values)), key=lambda at: p_values[at])
    for rank, at in enumerate(order):
        so_far = max(so_far, min(1.0, p_values[at] * (len(p_values) - rank)))
        corrected[at] = so_far
    return tuple(corrected)
