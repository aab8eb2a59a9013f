"""The bootstrap, replayable from its seed in any language."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import shake_256
from struct import unpack
from typing import TypeVar

from affidavit.base.statistics.arithmetic import tail_of
from affidavit.base.statistics.intervals import Interval
from affidavit.base.statistics.percentiles import percentile_of_sorted

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """A statistic, its interval, and how many resamples there were.

    In `unmeasured` of them the statistic had nothing to measure; the interval is over the others.
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

    Origin: Efron and Tibshirani (1993), chapter 13. The statistic says None where it has nothing
    to measure. No items, or nothing to measure in them, is not measured.
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

    The generator: SHAKE-256 over the ASCII text "affidavit-bootstrap-1/<seed>/<resample>", read
    as little-endian words of 64 bits; each word w gives the position floor(w * count / 2^64).
    Resamples are independent of one another, so they can be drawn in any order and anywhere.
    """
    name = f"affidavit-bootstrap-1/{seed}/{resample}"
    words = unpack(f"<{count}Q", shake_256(name.encode()).digest(8 * count))
    return [word * count >> 64 for word in words]
