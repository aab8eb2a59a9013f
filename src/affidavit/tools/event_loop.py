"""An event loop for one request in a thread of its own, which leaves no other thread behind.

The usual loop looks names up in a pool whose threads the interpreter waits for when it ends: a
name server that hangs would hold the whole process. This one looks up in the request's own thread,
which may be left behind, and lets the caller say which addresses are fit.
"""

import asyncio
import socket
import sys
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from affidavit.tools.feed import FailureReason, SourceFailedError, SourceRequest

Result = TypeVar("Result")

if sys.platform == "win32":
    _Loop = asyncio.ProactorEventLoop
else:
    _Loop = asyncio.SelectorEventLoop


class RequestEventLoop(_Loop):
    """A loop that looks names up by itself."""

    def __init__(self, checked: Callable[[list[Any]], None] | None = None) -> None:
        super().__init__()
        self._checked = checked

    async def getaddrinfo(
        self,
        host: bytes | str | None,
        port: bytes | str | int | None,
        *,
        family: int = 0,
        type: int = 0,
        proto: int = 0,
        flags: int = 0,
    ) -> list[Any]:
        """Return the addresses of a host; the loop has nothing else to do meanwhile."""
        found = socket.getaddrinfo(host, port, family, type, proto, flags)
        if self._checked is not None:
            self._checked(found)
        return found


def run_request(
    work: Coroutine[Any, Any, Result],
    request: SourceRequest,
    checked: Callable[[list[Any]], None] | None = None,
    grace_s: float = 0.0,
) -> Result:
    """Run the work until it is done or its time is over; `grace_s` is for work that tidies up."""

    async def bounded() -> Result:
        return await asyncio.wait_for(work, request.seconds_left() + grace_s)

    try:
        with asyncio.Runner(loop_factory=lambda: RequestEventLoop(checked)) as runner:
            return runner.run(bounded())
    except TimeoutError:
        raise SourceFailedError(FailureReason.LATE, "the source did not answer in time") from None
    finally:
        work.close()
