"""Neither the suite nor any Python that it starts can connect beyond this machine."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from loopback_only import BeyondLoopbackError, is_loopback
from tests.repository import ROOT

HOSTS = {
    "the usual loopback address": ("127.0.0.1", True),
    "any address of 127/8": ("127.8.9.10", True),
    "loopback of IPv6": ("::1", True),
    "loopback with a zone": ("::1%lo", True),
    "the name that stands for it": ("localhost", True),
    "the same, as bytes": (b"localhost", True),
    "no host at all": (None, True),
    "a name": ("example.com", False),
    "a name that only begins like it": ("localhost.example.com", False),
    "a documentation address": ("192.0.2.1", False),
    "a private address is another machine": ("10.0.0.1", False),
    "every interface": ("0.0.0.0", False),  # noqa: S104 - refused, not bound
    "every interface, as the empty name": ("", False),
    "a documentation address of IPv6": ("2001:db8::1", False),
    "not a host": (7, False),
}


@pytest.mark.parametrize(("host", "wanted"), HOSTS.values(), ids=HOSTS.keys())
def test_is_loopback(host: object, wanted: bool) -> None:
    assert is_loopback(host) is wanted


@pytest.mark.leaves_the_machine
def test_a_connection_is_refused() -> None:
    with socket.socket() as client, pytest.raises(BeyondLoopbackError, match=r"192\.0\.2\.1"):
        client.connect(("192.0.2.1", 9))


@pytest.mark.leaves_the_machine
def test_a_datagram_is_refused() -> None:
    with (
        socket.socket(type=socket.SOCK_DGRAM) as sender,
        pytest.raises(BeyondLoopbackError, match="sendto"),
    ):
        sender.sendto(b"x", ("192.0.2.1", 9))


@pytest.mark.leaves_the_machine
def test_a_lookup_is_refused() -> None:
    with pytest.raises(BeyondLoopbackError, match=r"example\.com"):
        socket.getaddrinfo("example.com", 443)


@pytest.mark.leaves_the_machine
def test_listening_to_everyone_is_refused() -> None:
    with socket.socket() as server, pytest.raises(BeyondLoopbackError, match="bind"):
        server.bind(("", 0))


def test_loopback_is_open() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname(), timeout=5) as client,
    ):
        assert client.getpeername() == server.getsockname()
    assert socket.getaddrinfo("localhost", 80)


def test_a_socket_of_files_is_open(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(tmp_path / "s"))


def test_a_python_child_is_guarded() -> None:
    attempt = "import socket; socket.create_connection(('192.0.2.1', 9), timeout=1)"
    child = subprocess.run(
        [sys.executable, "-c", attempt], capture_output=True, text=True, check=False
    )
    assert child.returncode == 1
    assert "BeyondLoopbackError" in child.stderr


SWALLOWED = """
import contextlib, socket, pytest

def reach():
    with contextlib.suppress(Exception):
        socket.create_connection(("192.0.2.1", 9), timeout=1)

def test_in_the_body():
    reach()

@pytest.fixture
def fetched():
    reach()

def test_in_a_fixture(fetched):
    pass
"""


def test_a_swallowed_refusal_fails_the_test(tmp_path: Path) -> None:
    (tmp_path / "test_swallowed.py").write_text(SWALLOWED, "utf-8")
    options = ("-q", "-p", "tests.conftest", "-p", "no:cacheprovider", "-c", os.devnull)
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 failed, 1 error" in run.stdout
    assert run.stdout.count("tried to leave this machine: socket.getaddrinfo '192.0.2.1'") >= 2
