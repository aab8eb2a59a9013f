"""Accepts the connections of the service and dispatches them to its worker processes in turn.

Processes that share a listening socket do not share its connections evenly: the process that wakes
first accepts all that are there. A client opens its connections at once and keeps them, so one
process would serve them all. Here one thread accepts them and sends each to the next worker over a
socket pair. A worker registers when it is ready, and is removed when it has exited. The benchmark
against uvicorn's own workers and SO_REUSEPORT is in docs/adr/0019-web-server.md.
"""

import errno
import os
import select
import signal
import socket
import time
from collections import deque
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from threading import Thread
from typing import Any, Final

_MESSAGE: Final = b"!"
RETRY_SECONDS: Final = 0.1
"""The wait after a failed accept, which would fail again at once if no descriptor is free."""
# Connections are not inherited by processes that a worker starts.
_CLOSE_ON_EXEC: Final = getattr(socket, "MSG_CMSG_CLOEXEC", 0)


@dataclass(frozen=True, slots=True)
class WorkerRegistration:
    """Passed to a new worker process, where it is unpickled as the socket to serve from."""

    registry: socket.socket
    family: int

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as a duplicated descriptor."""
        from multiprocessing.reduction import DupFd  # Only exists where descriptors can be sent.

        return _socket_from_descriptor, (DupFd(self.registry.fileno()), self.family)


class DispatchedSocket(socket.socket):
    """Looks like a listening socket to the server, but gets its connections from the dispatcher."""

    __slots__ = ("_family", "_other_end", "_registry")

    def __init__(self, registry: socket.socket, family: int) -> None:
        own_end, self._other_end = socket.socketpair()
        super().__init__(own_end.family, own_end.type, own_end.proto, fileno=own_end.detach())
        self._registry = registry
        self._family = family

    def listen(self, backlog: int = 0, /) -> None:
        """Register this process as ready. The dispatcher decides on the backlog."""
        # If the dispatcher has exited, `accept` reports it.
        with closing(self._registry), closing(self._other_end), suppress(OSError):
            socket.send_fds(self._registry, [_MESSAGE], [self._other_end.fileno()])

    def accept(self) -> tuple[socket.socket, Any]:
        """Return the next connection from the dispatcher."""
        descriptor = _receive_descriptor(self)
        if descriptor is None:
            # The dispatcher has exited, so no more connections will come: shut down in order.
            signal.raise_signal(signal.SIGTERM)
            raise BlockingIOError
        kind = (self._family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        connection = socket.socket(*kind, fileno=descriptor)
        try:
            return connection, connection.getpeername()
        except OSError:
            connection.close()
            raise ConnectionAbortedError from None


def _socket_from_descriptor(registry: Any, family: int) -> DispatchedSocket:
    return DispatchedSocket(socket.socket(fileno=registry.detach()), family)


def _receive_descriptor(end: socket.socket) -> int | None:
    message, descriptors, _, _ = socket.recv_fds(end, len(_MESSAGE), 1, _CLOSE_ON_EXEC)
    if message and not descriptors:
        # This process has no free descriptor. The other end is still there.
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    return descriptors[0] if descriptors else None


@contextmanager
def dispatch_connections(listening: socket.socket) -> Iterator[WorkerRegistration]:
    """Dispatch the connections of a socket, in a thread, to the workers that register."""
    own_end, worker_end = socket.socketpair()
    thread = Thread(
        target=_dispatch, args=(listening, own_end), name="affidavit-dispatcher", daemon=True
    )
    with closing(own_end), closing(worker_end):
        thread.start()
        try:
            yield WorkerRegistration(worker_end, listening.family)
        finally:
            worker_end.shutdown(socket.SHUT_RDWR)
            thread.join()


def _dispatch(listening: socket.socket, registry: socket.socket) -> None:
    """Dispatch connections until the registry is closed."""
    workers: deque[socket.socket] = deque()
    listening.setblocking(False)
    while True:
        # Without workers, connections wait in the backlog of the listening socket.
        ready, _, _ = select.select([registry, listening] if workers else [registry], [], [])
        try:
            if registry in ready:
                descriptor = _receive_descriptor(registry)
                if descriptor is None:
                    break
                worker = socket.socket(fileno=descriptor)
                worker.setblocking(False)
                workers.append(worker)
            if listening in ready:
                _send_to_worker(listening.accept()[0], workers)
        except OSError:  # The client has gone, or there is no free descriptor.
            time.sleep(RETRY_SECONDS)
    for worker in workers:
        worker.close()


def _send_to_worker(connection: socket.socket, workers: "deque[socket.socket]") -> None:
    """Send a connection to the next worker that accepts it. Exited workers are removed."""
    with closing(connection):
        for _ in range(len(workers)):
            try:
                socket.send_fds(workers[0], [_MESSAGE], [connection.fileno()])
            except ConnectionError:
                workers.popleft().close()
            except OSError:  # Its queue is full.
                workers.rotate(-1)
            else:
                workers.rotate(-1)
                return
