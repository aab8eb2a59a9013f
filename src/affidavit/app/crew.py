"""A crew of daemon threads: each takes one piece of work after another; none holds the process.

A thread that hangs (a name server that does not answer, a mount that is gone) cannot be ended from
outside. It is left behind: it is a daemon, so the interpreter ends without it, and the crew counts
it, so a service cannot drown in them.
"""

from collections.abc import Callable
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Final, TypeAlias

Work: TypeAlias = Callable[[], None]

MAX_HANDS: Final = 256


class Crew:
    """Does work at the same time, as far as there are hands. Work must not raise."""

    def __init__(self, max_hands: int = MAX_HANDS) -> None:
        self._max_hands = max_hands
        self._waiting: SimpleQueue[Work] = SimpleQueue()
        self._turn = Lock()
        self._hands = 0
        self._free = 0

    def start(self, work: Work) -> bool:
        """Start the work now, or return False if every hand is busy."""
        with self._turn:
            if self._free:
                self._free -= 1
            elif self._hands < self._max_hands:
                self._hands += 1
                Thread(target=self._serve, name="affidavit-feed", daemon=True).start()
            else:
                return False
        self._waiting.put(work)
        return True

    def _serve(self) -> None:
        while True:
            self._waiting.get()()
            with self._turn:
                self._free += 1
