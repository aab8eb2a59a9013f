"""Connections are handed to the processes of a service in turn, as long as they are there."""

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
    pytest.skip("this system hands no descriptors over", allow_module_level=True)

SECONDS = 10
MORE_THAN_MAY_WAIT = 800


def arrived(registration: WorkerRegistration) -> DispatchedSocket:
    """Return what a process has after it was given the registration."""
    made = DispatchedSocket(registration.registry.dup(), registration.family)
    made.settimeout(SECONDS)
    return made


@contextmanager
def handed_out() -> Iterator[tuple[ListenAddress, WorkerRegistration]]:
    with (
        listen_at(ListenAddress("127.0.0.1", 0)) as listening,
        dispatch_connections(listening) as registration,
    ):
        yield ListenAddress(*listening.getsockname()), registration


def connected(address: ListenAddress) -> socket.socket:
    return socket.create_connection((address.host, address.port), timeout=SECONDS)


def is_served(client: socket.socket, process: DispatchedSocket) -> bool:
    """Tell whether a process has a client's connection, and can speak over it."""
    connection, peer = process.accept()
    with connection:
        assert connection.proto == socket.IPPROTO_TCP  # Or asyncio would not send at once.
        connection.sendall(b"hello")
        same: bool = peer == client.getsockname()
        return same and client.recv(5) == b"hello"


def test_each_process_gets_its_turn() -> None:
    with handed_out() as (address, registration), ExitStack() as clients:
        processes = [arrived(registration) for _ in range(3)]
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


def test_a_connection_waits_until_somebody_serves() -> None:
    with (
        handed_out() as (address, registration),
        connected(address) as client,
        closing(arrived(registration)) as process,
    ):
        process.listen(1)
        assert is_served(client, process)


def test_a_process_that_has_gone_is_left_out() -> None:
    with handed_out() as (address, registration), closing(arrived(registration)) as stays:
        goes = arrived(registration)
        goes.listen(1)
        with connected(address) as client:
            assert is_served(client, goes)
        stays.listen(1)
        goes.close()
        for _ in range(4):
            with connected(address) as client:
                assert is_served(client, stays)


def test_where_all_have_gone_a_client_is_told_and_the_next_one_waits() -> None:
    with handed_out() as (address, registration):
        with closing(arrived(registration)) as goes:
            goes.listen(1)
            with connected(address) as client:
                assert is_served(client, goes)
        with connected(address) as client, suppress(ConnectionResetError):
            assert client.recv(1) == b""
        with connected(address) as client, closing(arrived(registration)) as comes:
            comes.listen(1)
            assert is_served(client, comes)


def test_a_client_that_left_is_no_error() -> None:
    with handed_out() as (address, registration), closing(arrived(registration)) as process:
        process.listen(1)
        with connected(address) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        with suppress(ConnectionAbortedError):  # Whether it is seen depends on the system.
            process.accept()[0].close()
        with connected(address) as client:
            assert is_served(client, process)


def test_a_process_that_takes_nothing_does_not_hold_up_the_others() -> None:
    with handed_out() as (address, registration), ExitStack() as open_ones:
        asleep, awake = arrived(registration), arrived(registration)
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
    """Let this process open nothing more for a while."""
    import resource  # Not there where nothing can be handed over.

    most = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest_free = os.dup(0)
    os.close(lowest_free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, most[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, most)


def test_a_process_without_a_free_descriptor_loses_a_connection_but_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raised: list[int] = []
    monkeypatch.setattr(signal, "raise_signal", raised.append)
    with handed_out() as (address, registration), closing(arrived(registration)) as process:
        process.listen(1)
        with connected(address):
            assert select.select([process], [], [], SECONDS)[0]
            # What asyncio knows as "try again in a second".
            with no_descriptor_free(), pytest.raises(OSError, match="Too many open files"):
                process.accept()
        with connected(address) as client:
            assert is_served(client, process)
    assert raised == []


def test_whoever_hands_them_out_goes_on_if_it_had_no_descriptor_free(
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
        handed_out() as (address, registration),
        closing(arrived(registration)) as process,
        connected(address) as client,
    ):
        with no_descriptor_free():
            socket.send_fds(registration.registry, [b"!"], [process.fileno()])
            assert looked.wait(SECONDS)
        process.listen(1)
        assert is_served(client, process)


def test_a_process_is_not_left_out_because_too_much_is_on_its_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Linux counts the descriptors that a user has on their way, over all processes together."""
    is_full, refused = threading.Event(), threading.Event()
    send = socket.send_fds

    def sent(end: socket.socket, *rest: Any) -> int:
        if is_full.is_set():
            refused.set()
            raise OSError(errno.ETOOMANYREFS, os.strerror(errno.ETOOMANYREFS))
        return send(end, *rest)

    monkeypatch.setattr(socket, "send_fds", sent)
    monkeypatch.setattr(signal, "raise_signal", lambda _: None)
    with handed_out() as (address, registration), closing(arrived(registration)) as process:
        process.listen(1)
        with connected(address) as client:
            assert is_served(client, process)
        is_full.set()
        with connected(address):
            assert refused.wait(SECONDS)
        is_full.clear()
        with connected(address) as client:
            assert is_served(client, process)


def test_without_anybody_to_hand_them_out_a_process_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    raised: list[int] = []
    monkeypatch.setattr(signal, "raise_signal", raised.append)
    with handed_out() as (_, registration):
        serves, just_started = arrived(registration), arrived(registration)
        serves.listen(1)
    just_started.listen(1)
    for process in (serves, just_started):
        with closing(process), pytest.raises(BlockingIOError):
            process.accept()
    assert raised == [signal.SIGTERM] * 2


def crossed(registration: Any) -> DispatchedSocket:
    """Return what pickling makes of it."""
    made: DispatchedSocket = copy(registration)
    return made


def test_an_registration_crosses_to_another_process() -> None:
    with (
        handed_out() as (address, registration),
        connected(address) as client,
        closing(crossed(registration)) as process,
    ):
        process.settimeout(SECONDS)
        process.listen(1)
        assert is_served(client, process)
    resource_sharer.stop(SECONDS)


def test_nothing_is_left_open() -> None:
    before = len(list(Path("/dev/fd").iterdir()))
    with handed_out() as (address, registration), closing(arrived(registration)) as process:
        process.listen(1)
        with connected(address) as client:
            assert is_served(client, process)
    assert len(list(Path("/dev/fd").iterdir())) == before
