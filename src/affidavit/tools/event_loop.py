"""An event loop for one request that resolves host names in its own thread.

The default loop resolves names in a thread pool, and the interpreter waits for that pool at exit: a
name server that hangs would block the whole process. The thread of a request is a daemon and can be
left behind. The caller can also check the resolved addresses.
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
    """Resolves host names in the thread of the loop."""

    def __init__(self, check_addresses: Callable[[list[Any]], None] | None = None) -> None:
        super().__init__()
        self._check_addresses = check_addresses

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
        """Return the addresses of a host. It blocks, as the loop runs nothing else."""
        found = socket.getaddrinfo(host, port, family=family, type=type, proto=proto, flags=flags)
        if self._check_addresses is not None:
            self._check_addresses(found)
        return found


def run_request(
    work: Coroutine[Any, Any, Result],
    request: SourceRequest,
    check_addresses: Callable[[list[Any]], None] | None = None,
    grace_s: float = 0.0,
) -> Result:
    """Run the coroutine until the deadline of the request, plus `grace_s` for its clean-up."""

    async def bounded() -> Result:
        return await asyncio.wait_for(work, request.seconds_left() + grace_s)

    try:
        with asyncio.Runner(loop_factory=lambda: RequestEventLoop(check_addresses)) as runner:
            return runner.run(bounded())
    except TimeoutError:
        raise SourceFailedError(FailureReason.LATE, "the source did not answer in time") from None
    finally:
        work.close()
