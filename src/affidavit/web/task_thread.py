"""One thread that runs short tasks one after another, with a time limit for callers.

Threads that compute at the same time gain nothing in one process: a thread that opens a file
releases the interpreter lock and then waits for all the others, and so does the event loop. Run one
after another, the same tasks cost a third less CPU time (docs/adr/0019-web-server.md).

If no task finishes for STALL_SECONDS, the current one hangs (a lost mount) or was not short, and
all waiting callers give up. A caller that has waited longer than MAX_WAIT_SECONDS gives up even if
the queue is moving, because its request has a deadline. The thread cannot be stopped, so it gets no
more tasks until the current one has returned.
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
"""Half of the shortest deadline of a request that is run here."""
RETRY_AFTER_STALL_SECONDS: Final = 1.0
"""After a stall no task is queued for so long: a request that has to be run again costs twice."""


class ShortTaskThread:
    """Runs short tasks for one event loop. The thread starts with the first task."""

    def __init__(
        self,
        stall_seconds: float = STALL_SECONDS,
        max_wait_seconds: float = MAX_WAIT_SECONDS,
        retry_seconds: float = RETRY_AFTER_STALL_SECONDS,
    ) -> None:
        self._stall_seconds = stall_seconds
        self._max_wait_seconds = max_wait_seconds
        self._retry_seconds = retry_seconds
        self._tasks: SimpleQueue[QueuedTask] = SimpleQueue()
        self._thread: Thread | None = None
        self._finished = 0
        self._stalled_at: int | None = None
        self._paused_until = 0.0
        self.waiting = 0
        """How many callers wait for a result."""

    async def run(self, task: Callable[[], Result | None]) -> Result | None:
        """Return the result of the task, or None if the thread is stalled or too slow."""
        if self._stalled_at == self._finished or time.monotonic() < self._paused_until:
            return None
        if self._thread is None:
            self._thread = Thread(target=self._serve, name="affidavit-short-tasks", daemon=True)
            self._thread.start()
        future: asyncio.Future[Result | None] = asyncio.get_running_loop().create_future()
        self.waiting += 1
        try:
            self._tasks.put((task, future))
            return await self._wait_for(future)
        finally:
            self.waiting -= 1
            future.cancel()  # A task that nobody waits for is not started.

    async def _wait_for(self, future: "asyncio.Future[Result | None]") -> Result | None:
        until = time.monotonic() + self._max_wait_seconds
        while True:
            finished = self._finished
            await asyncio.wait((future,), timeout=self._stall_seconds)
            if future.done():
                return future.result()
            if finished == self._finished or time.monotonic() >= until:
                self._stalled_at = finished
                self._paused_until = time.monotonic() + self._retry_seconds
                return None

    def _serve(self) -> None:
        while True:
            task, future = self._tasks.get()
            if not future.done():
                _run_task(task, future)
            self._finished += 1


def _run_task(task: Callable[[], Any], future: "asyncio.Future[Any]") -> None:
    value, error = None, None
    try:
        value = task()
    except BaseException as raised:
        error = raised
    with suppress(RuntimeError):  # The event loop is closed.
        future.get_loop().call_soon_threadsafe(_resolve, future, value, error)


def _resolve(future: "asyncio.Future[Any]", value: object, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(value)
    else:
        future.set_exception(error)
