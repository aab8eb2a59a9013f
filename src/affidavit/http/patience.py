"""How long somebody waits for an exchange, over all of its parts together."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Protocol


class Patience(Protocol):
    """Somebody who waits, and who ends the wait."""

    def seconds_left(self) -> float:
        """Return how long an answer still counts; 0 if it does not any more."""
        ...

    def ending(self, plug: socket.socket) -> AbstractContextManager[object]:
        """Shut the socket if the time is over while the context lasts."""
        ...


class Deadline:
    """Waits so many seconds from now.

    A socket's own timeout starts again with every byte, so a server that drips would hold us for
    hours; this one does not.
    """

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds
        self._has_ended = False

    def seconds_left(self) -> float:
        """Return how long an answer still counts; 0 if it does not any more."""
        return 0.0 if self._has_ended else max(self._until - time.monotonic(), 0.0)

    @contextmanager
    def ending(self, plug: socket.socket) -> Iterator[None]:
        """Shut the socket if the time is over while the context lasts."""
        timer = threading.Timer(self.seconds_left(), self._end, (plug,))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _end(self, plug: socket.socket) -> None:
        self._has_ended = True
        shut(plug)


def shut(plug: socket.socket) -> None:
    """End whatever waits on a socket; it may be called from any thread."""
    with suppress(OSError):
        # The plain socket's shutdown: the one of TLS may be used by one thread only.
        socket.socket.shutdown(plug, socket.SHUT_RDWR)
