"""One measured figure and its target."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure that a target speaks about.

    `target` is the target in words, `limit` the number in it, `ratio` what was measured: ours
    over the other's, taken side by side in one run, or seconds where the target names seconds.
    `detail` holds the figures that the ratio is made of.
    """

    name: str
    target: str
    ratio: float
    better: Literal["lower", "higher"]
    limit: float
    detail: str

    @property
    def met(self) -> bool:
        """Whether the figure is as good as the target, or better."""
        return self.ratio <= self.limit if self.better == "lower" else self.ratio >= self.limit


def best_cpu_seconds(rounds: int, *works: Callable[[], object]) -> tuple[float, ...]:
    """Return the least CPU time that each work took, in turns, so that all share the weather."""
    return _least(time.process_time, rounds, works)


def best_wall_seconds(rounds: int, *works: Callable[[], object]) -> tuple[float, ...]:
    """Return the same on the clock, for work that several processes share."""
    return _least(time.perf_counter, rounds, works)


def _least(
    clock: Callable[[], float], rounds: int, works: Sequence[Callable[[], object]]
) -> tuple[float, ...]:
    best = [float("inf")] * len(works)
    for _ in range(rounds):
        for index, work in enumerate(works):
            start = clock()
            work()
            best[index] = min(best[index], clock() - start)
    return tuple(best)
