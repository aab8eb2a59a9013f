"""Connections are dispatched to the registered worker processes in turn."""

import errno
import os
import select
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from copy import copy
from multiprocessing import resource_sharer
from pathlib import Path
from typing import Any

import pytest

from affidavit.web.connection_dispatcher import (
    DispatchedSocket,
    WorkerRegistration,
    dispatch_connections,
)
from affidavit.web.server import ListenAddress, listen_at

if not hasattr(socket, "send_fds"):
    pytest.skip("this system cannot send descriptors", allow_module_level=True)

SECONDS = 10
MORE_THAN_MAY_WAIT = 800


def worker_socket(registration: WorkerRegistration) -> DispatchedSocket:
    """Return the socket of a worker with this registration."""
    made = DispatchedSocket(registration.registry.dup(), registration.family)
    made.settimeout(SECONDS)
    return made


@contextmanager
def dispatching() -> Iterator[tuple[ListenAddress, WorkerRegistration]]:
    with (
        listen_at(ListenAddress("127.0.0.1", 0)) as listening,
        dispatch_connections(listening) as registration,
    ):
        yield ListenAddress(*listening.getsockname()), registration


def connected(address: ListenAddress) -> socket.socket:
    return socket.create_connection((address.host, address.port), timeout=SECONDS)


def is_served(client: socket.socket, process: DispatchedSocket) -> bool:
    """Say whether a worker has a client's connection and can use it."""
    connection, peer = process.accept()
    with connection:
        assert connection.proto == socket.IPPROTO_TCP  # Otherwise asyncio does not set TCP_NODELAY.
        connection.sendall(b"hello")
        same: bool = peer == client.getsockname()
        return same and client.recv(5) == b"hello"


def test_workers_get_connections_in_turn() -> None:
    with dispatching() as (address, registration), ExitStack() as clients:
        processes = [worker_socket(registration) for _ in range(3)]
        for process in processes:
            clients.enter_context(closing(process)).listen(1)
            # One at a time, so that their order is known.
            client = clients.enter_context(connected(address))
            turns = processes[: processes.index(process) + 1]
            for _ in turns[1:]:
                clients.enter_context(connected(address))
            served = [each.accept() for each in turns]
            for connection, _ in served:
                clients.enter_context(connection)
            assert len({connection.getpeername() for connection, _ in served}) == len(turns)
            assert client.getsockname() in {peer for _, peer in served}


def test_a_connection_waits_for_the_first_worker() -> None:
    with (
        dispatching() as (address, registration),
        connected(address) as client,
        closing(worker_socket(registration)) as process,
    ):
        process.listen(1)
        assert is_served(client, process)


def test_an_exited_worker_is_removed() -> None:
    with dispatching() as (address, registration), closing(worker_socket(registration)) as stays:
        goes = worker_socket(registration)
        goes.listen(1)
        with connected(address) as client:
            assert is_served(client, goes)
        stays.listen(1)
        goes.close()
        for _ in range(4):
            with connected(address) as client:
                assert is_served(client, stays)


def test_without_workers_one_client_is_disconnected_and_the_next_waits() -> None:
    with dispatching() as (address, registration):
        with closing(worker_socket(registration)) as goes:
            goes.listen(1)
            with connected(address) as client:
                assert is_served(client, goes)
        with connected(address) as client, suppress(ConnectionResetError):
            assert client.recv(1) == b""
        with connected(address) as client, closing(worker_socket(registration)) as comes:
            comes.listen(1)
            assert is_served(client, comes)


def test_a_disconnected_client_is_not_an_error() -> None:
    with dispatching() as (address, registration), closing(worker_socket(registration)) as process:
        process.listen(1)
        with connected(address) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        with suppress(ConnectionAbortedError):  # Whether it is seen depends on the system.
            process.accept()[0].close()
        with connected(address) as client:
            assert is_served(client, process)


def test_a_worker_that_accepts_nothing_does_not_block_the_others() -> None:
    with dispatching() as (address, registration), ExitStack() as open_ones:
        asleep, awake = worker_socket(registration), worker_socket(registration)
        for process in (asleep, awake):
            open_ones.enter_context(closing(process))
            process.listen(1)
        taken = 0
        awake.settimeout(0.02)
        for _ in range(MORE_THAN_MAY_WAIT):
            with connected(address), suppress(TimeoutError):
                awake.accept()[0].close()
                taken += 1
                awake.settimeout(0.001)
        assert taken > MORE_THAN_MAY_WAIT / 2


@contextmanager
def no_descriptor_free() -> Iterator[None]:
    """Leave this process without a free descriptor."""
    import resource  # Does not exist on Windows.

    most = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest_free = os.dup(0)
    os.close(lowest_free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, most[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, most)


def test_a_worker_without_a_free_descriptor_loses_one_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raised: list[int] = []
    monkeypatch.setattr(signal, "raise_signal", raised.append)
    with dispatching() as (address, registration), closing(worker_socket(registration)) as process:
        process.listen(1)
        with connected(address):
            assert select.select([process], [], [], SECONDS)[0]
            # asyncio tries again after a second.
            with no_descriptor_free(), pytest.raises(OSError, match="Too many open files"):
                process.accept()
        with connected(address) as client:
            assert is_served(client, process)
    assert raised == []


def test_the_dispatcher_survives_a_lack_of_descriptors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked, receive = threading.Event(), socket.recv_fds

    def received(*given: Any) -> Any:
        try:
            return receive(*given)
        finally:
            looked.set()

    monkeypatch.setattr(socket, "recv_fds", received)
    monkeypatch.setattr(signal, "raise_signal", lambda _: None)
    with (
        dispatching() as (address, registration),
        closing(worker_socket(registration)) as process,
        connected(address) as client,
    ):
        with no_descriptor_free():
            socket.send_fds(registration.registry, [b"!"], [process.fileno()])
            assert looked.wait(SECONDS)
        process.listen(1)
        assert is_served(client, process)


def test_a_worker_is_kept_if_too_many_descriptors_are_in_flight(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Linux limits the descriptors in flight of a user over all processes."""
    is_full, refused = threading.Event(), threading.Event()
    send = socket.send_fds

    def sent(end: socket.socket, *rest: Any) -> int:
        if is_full.is_set():
            refused.set()
            raise OSError(errno.ETOOMANYREFS, os.strerror(errno.ETOOMANYREFS))
        return send(end, *rest)

    monkeypatch.setattr(socket, "send_fds", sent)
    monkeypatch.setattr(signal, "raise_signal", lambda _: None)
    with dispatching() as (address, registration), closing(worker_socket(registration)) as process:
        process.listen(1)
        with connected(address) as client:
            assert is_served(client, process)
        is_full.set()
        with connected(address):
            assert refused.wait(SECONDS)
        is_full.clear()
        with connected(address) as client:
            assert is_served(client, process)


def test_a_worker_exits_without_a_dispatcher(monkeypatch: pytest.MonkeyPatch) -> None:
    raised: list[int] = []
    monkeypatch.setattr(signal, "raise_signal", raised.append)
    with dispatching() as (_, registration):
        serves, just_started = worker_socket(registration), worker_socket(registration)
        serves.listen(1)
    just_started.listen(1)
    for process in (serves, just_started):
        with closing(process), pytest.raises(BlockingIOError):
            process.accept()
    assert raised == [signal.SIGTERM] * 2


def crossed(registration: Any) -> DispatchedSocket:
    """Return it after pickling and unpickling."""
    made: DispatchedSocket = copy(registration)
    return made


def test_a_registration_can_be_pickled() -> None:
    with (
        dispatching() as (address, registration),
        connected(address) as client,
        closing(crossed(registration)) as process,
    ):
        process.settimeout(SECONDS)
        process.listen(1)
        assert is_served(client, process)
    resource_sharer.stop(SECONDS)


def test_all_sockets_are_closed() -> None:
    before = len(list(Path("/dev/fd").iterdir()))
    with dispatching() as (address, registration), closing(worker_socket(registration)) as process:
        process.listen(1)
        with connected(address) as client:
            assert is_served(client, process)
    assert len(list(Path("/dev/fd").iterdir())) == before
