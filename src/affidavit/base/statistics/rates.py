"""Shares of counts, and means: nothing to measure is None, never 0, 1 or NaN."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import fsum, isfinite


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
