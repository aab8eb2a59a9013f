"""Exact tests for a difference between two runs: McNemar for paired outcomes, Fisher for rates.

Both are two-sided as in SciPy and R: the p-value is the probability, under no difference, of all
outcomes that are no likelier than the observed one.
"""

from collections.abc import Callable, Mapping
from typing import Final

from affidavit.base.statistics.rates import Rate

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
