"""Takes the connections of a service, and hands them to its processes in turn.

Processes that wait at one socket do not share its connections: the one that wakes first takes all
that are there. A client opens its connections at once and keeps them, so one process would serve
them all, and the others would have nothing to do. Here one thread takes them, and hands each to the
next process over a socket of its own. A process makes itself known when it is ready to serve, and
is left out when it has gone.
"""

import errno
import os
import select
import signal
import socket
from collections import deque
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from threading import Thread
from typing import Any, Final

_MESSAGE: Final = b"!"
# What is started by a process of the service has no business with a connection.
_CLOSE_ON_EXEC: Final = getattr(socket, "MSG_CMSG_CLOEXEC", 0)


@dataclass(frozen=True, slots=True)
class WorkerRegistration:
    """Given to a process that is being started; what arrives there is a socket to serve from."""

    desk: socket.socket
    family: int

    def __reduce__(self) -> tuple[Any, ...]:
        """Cross to the process."""
        from multiprocessing.reduction import DupFd  # Not there where nothing can be handed over.

        return _socket_from_descriptor, (DupFd(self.desk.fileno()), self.family)


class DispatchedSocket(socket.socket):
    """To a server it is a socket that listens; its connections are handed to it."""

    __slots__ = ("_desk", "_family", "_other_end")

    def __init__(self, desk: socket.socket, family: int) -> None:
        ours, self._other_end = socket.socketpair()
        super().__init__(ours.family, ours.type, ours.proto, fileno=ours.detach())
        self._desk = desk
        self._family = family

    def listen(self, backlog: int = 0, /) -> None:
        """Make it known that this process serves; how many may wait is not for it to say."""
        # If the desk has gone, so has whoever hands them out, and `accept` will say so.
        with closing(self._desk), closing(self._other_end), suppress(OSError):
            socket.send_fds(self._desk, [_MESSAGE], [self._other_end.fileno()])

    def accept(self) -> tuple[socket.socket, Any]:
        """Return the next connection that was handed over."""
        handed = _receive_descriptor(self)
        if handed is None:
            # Whoever hands them out has gone, so no more will come: an orderly end.
            signal.raise_signal(signal.SIGTERM)
            raise BlockingIOError
        kind = (self._family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        connection = socket.socket(*kind, fileno=handed)
        try:
            return connection, connection.getpeername()
        except OSError:
            connection.close()
            raise ConnectionAbortedError from None


def _socket_from_descriptor(desk: Any, family: int) -> DispatchedSocket:
    return DispatchedSocket(socket.socket(fileno=desk.detach()), family)


def _receive_descriptor(end: socket.socket) -> int | None:
    said, handed, _, _ = socket.recv_fds(end, len(_MESSAGE), 1, _CLOSE_ON_EXEC)
    if said and not handed:
        # It was sent, and the system had no descriptor free for it here: that is not the end.
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    return handed[0] if handed else None


@contextmanager
def dispatch_connections(listening: socket.socket) -> Iterator[WorkerRegistration]:
    """Hand out the connections of a socket, in a thread, to whoever comes with the invitation."""
    desk, door = socket.socketpair()
    thread = Thread(target=_dispatch, args=(listening, desk), name="affidavit-usher", daemon=True)
    with closing(desk), closing(door):
        thread.start()
        try:
            yield WorkerRegistration(door, listening.family)
        finally:
            door.shutdown(socket.SHUT_RDWR)
            thread.join()


def _dispatch(listening: socket.socket, desk: socket.socket) -> None:
    """Hand out connections until the desk is closed."""
    processes: deque[socket.socket] = deque()
    listening.setblocking(False)
    while True:
        # While nobody serves, connections wait in the queue of the system.
        came, _, _ = select.select([desk, listening] if processes else [desk], [], [])
        with suppress(OSError):  # It left before it was let in, or there is no descriptor free.
            if desk in came:
                known = _receive_descriptor(desk)
                if known is None:
                    break
                process = socket.socket(fileno=known)
                process.setblocking(False)
                processes.append(process)
            if listening in came:
                _send_to_worker(listening.accept()[0], processes)
    for process in processes:
        process.close()


def _send_to_worker(connection: socket.socket, processes: "deque[socket.socket]") -> None:
    """Give a connection to the next process that takes it; one that has gone is left out."""
    with closing(connection):
        for _ in range(len(processes)):
            process = processes[0]
            try:
                socket.send_fds(process, [_MESSAGE], [connection.fileno()])
            except ConnectionError:
                processes.popleft().close()
            except OSError:
                # It has hundreds that it did not look at yet, or all have more than the system is
                # willing to keep for them.
                processes.rotate(-1)
            else:
                processes.rotate(-1)
                return
