"""One thread that does short work, one piece after another, as long as the work is short.

Threads that compute at the same time gain nothing in one process: each time one of them looks into
a file it loses its turn and waits for all the others, and the loop that reads the requests waits
among them. Done one after another, the same work costs a third less, and waits less.

Whoever asks watches. If not one piece was finished for a while, the one at work hangs (a mount that
is gone) or was not short, and all who wait go another way. So does who has waited long in a line
that moves (a mount that is slow): there is a deadline to keep. The thread cannot be ended; it is
left alone until it has come back.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Any, Final, TypeAlias, TypeVar

Result = TypeVar("Result")
QueuedTask: TypeAlias = tuple[Callable[[], Any], "asyncio.Future[Any]"]

STALL_SECONDS: Final = 0.25
MAX_WAIT_SECONDS: Final = 0.5
"""How long anybody waits here: half of the least that is allowed to a request that comes here."""
RETRY_AFTER_STALL_SECONDS: Final = 1.0
"""How long nothing more is asked of it after it kept somebody waiting: to try again costs twice."""


class ShortTaskThread:
    """Does short work for one loop at a time. The thread begins with the first piece."""

    def __init__(
        self,
        patience_seconds: float = STALL_SECONDS,
        longest_seconds: float = MAX_WAIT_SECONDS,
        rest_seconds: float = RETRY_AFTER_STALL_SECONDS,
    ) -> None:
        self._patience_seconds = patience_seconds
        self._longest_seconds = longest_seconds
        self._rest_seconds = rest_seconds
        self._pieces: SimpleQueue[QueuedTask] = SimpleQueue()
        self._thread: Thread | None = None
        self._finished = 0
        self._missed_after: int | None = None
        self._rests_until = 0.0
        self.waiting = 0
        """How many wait for it."""

    async def find(self, work: Callable[[], Result | None]) -> Result | None:
        """Return what the work comes to; None if it does not come, or is not for this hand."""
        if not self._is_free():
            return None
        if self._thread is None:
            self._thread = Thread(target=self._serve, name="affidavit-quick", daemon=True)
            self._thread.start()
        coming: asyncio.Future[Result | None] = asyncio.get_running_loop().create_future()
        self.waiting += 1
        try:
            self._pieces.put((work, coming))
            return await self._watched(coming)
        finally:
            self.waiting -= 1
            coming.cancel()  # What nobody waits for any more is not begun.

    async def _watched(self, coming: "asyncio.Future[Result | None]") -> Result | None:
        until = time.monotonic() + self._longest_seconds
        while True:
            finished = self._finished
            await asyncio.wait((coming,), timeout=self._patience_seconds)
            if coming.done():
                return coming.result()
            if finished == self._finished or time.monotonic() >= until:
                self._missed_after = finished
                self._rests_until = time.monotonic() + self._rest_seconds
                return None

    def _is_free(self) -> bool:
        return self._missed_after != self._finished and time.monotonic() >= self._rests_until

    def _serve(self) -> None:
        while True:
            work, coming = self._pieces.get()
            if not coming.done():
                self._do(work, coming)
            self._finished += 1

    def _do(self, work: Callable[[], Any], coming: "asyncio.Future[Any]") -> None:
        value, error = None, None
        try:
            value = work()
        except BaseException as raised:
            error = raised
        with suppress(RuntimeError):  # The loop is closed: nobody is there to be told.
            coming.get_loop().call_soon_threadsafe(_resolve, coming, value, error)


def _resolve(coming: "asyncio.Future[Any]", value: object, error: BaseException | None) -> None:
    if coming.done():
        return
    if error is None:
        coming.set_result(value)
    else:
        coming.set_exception(error)
