"""Time as an argument: what has to wait or to keep a rate is given one of these."""

from typing import Protocol


class Clock(Protocol):
    """Time that passes; a test has its own."""

    def monotonic(self) -> float:
        """Return seconds since some moment."""
        ...

    def sleep(self, seconds: float, /) -> None:
        """Wait."""
        ...
