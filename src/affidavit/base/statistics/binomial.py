"""Where the tail of the binomial distribution reaches a given probability."""

from decimal import Decimal, localcontext
from math import factorial
from typing import Final

from affidavit.base.statistics.arithmetic import PRECISE

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
