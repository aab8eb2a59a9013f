"""How often somebody may ask: a bucket of tokens for each caller, filled at a steady rate."""

import math
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

BURST_SECONDS: Final = 2.0
MAX_CALLERS: Final = 10_000
"""Beyond this the one that was away the longest is forgotten: its bucket was full again anyway."""


class Rates:
    """The buckets of all callers of a kind. `now` is a clock that never goes back, in seconds."""

    def __init__(self, rate: float, now: Callable[[], float]) -> None:
        self.rate = rate
        self._size = max(1.0, rate * BURST_SECONDS)
        self._now = now
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def seconds_to_wait(self, caller: str) -> int:
        """Take a token: 0 if there was one, else after how many whole seconds there is one."""
        if self.rate <= 0:
            return 0
        moment = self._now()
        left, since = self._buckets.pop(caller, (self._size, moment))
        left = min(self._size, left + (moment - since) * self.rate)
        wait = 0 if left >= 1 else math.ceil((1 - left) / self.rate)
        self._buckets[caller] = (left - 1 if left >= 1 else left, moment)
        if len(self._buckets) > MAX_CALLERS:
            self._buckets.popitem(last=False)
        return wait
