"""`affidavit serve` as a process: start, log and shutdown."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.cli.running import REAL, command_line, environment, run
from tests.repository import ROOT
from tests.web.mixed_requests import receipt_from, requests, send_all
from tests.web.service_client import CHECKS, JSON, Reply, make_api_key, make_project

from affidavit.app.service import ServiceConfig, api_key_file, revoke_api_key
from affidavit.base.errors import AffidavitError
from affidavit.store.api_keys import ApiKeyScope
from affidavit.web.server import ListenAddress, listen_at, require_keys_for

START_SECONDS = 60


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_project(tmp_path_factory.mktemp("process"))


@dataclass(frozen=True, slots=True)
class Process:
    """A running service."""

    process: subprocess.Popen[bytes]
    url: str
    log: Path
    shown: dict[str, object]

    def ask(self, method: str, path: str, body: bytes = b"") -> Reply:
        place = urlsplit(self.url).netloc
        with contextlib.closing(http.client.HTTPConnection(place, timeout=30)) as connection:
            connection.request(method, path, body, JSON)
            found = connection.getresponse()
            return Reply(found.status, dict(found.getheaders()), found.read())

    def post(self, value: object) -> Reply:
        return self.ask("POST", "/v1/answer", json.dumps(value).encode())

    def end(self) -> tuple[int, list[dict[str, object]]]:
        """Stop it and return its exit code and its log."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=START_SECONDS)
        lines = self.log.read_text("utf-8").splitlines()
        return self.process.returncode, [json.loads(line) for line in lines]


def limited(command: list[str], descriptors: int | None) -> list[str]:
    if descriptors is None:
        return command
    return ["sh", "-c", f'ulimit -n {descriptors} && exec "$@"', "sh", *command]


@contextlib.contextmanager
def serving(project: Path, *options: str, descriptors: int | None = None) -> Iterator[Process]:
    """Run the service, optionally with a limit of open descriptors, until the block ends."""
    place = ("--project", str(project), "--port", "0", "--json")
    log = project / "log.jsonl"  # A pipe that nobody reads would fill up.
    with (
        log.open("wb") as stderr,
        subprocess.Popen(
            limited(command_line(REAL, ("serve", *place, *options)), descriptors),
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            text = b""
            while b"}" not in text:
                line = process.stdout.readline()
                assert line, log.read_text("utf-8")
                text += line
            shown = json.loads(text)
            yield Process(process, shown["url"], log, shown)
        finally:
            if process.poll() is None:
                process.kill()


def test_a_service_from_start_to_end(project: Path) -> None:
    with serving(project, "--address-rate", "0") as service:
        reply = service.post(CHECKS)
        assert (reply.status, reply.json["verdict"]) == (200, "contradicted")
        assert "server" not in reply.headers
        head = service.ask("HEAD", "/healthz")
        assert (head.status, head.body) == (200, b"")
        statuses = send_all(service.url, requests(7, 400, receipt_from(service.url)))
        assert max(statuses) < 500, statuses
        assert min(statuses) > 0, statuses
        assert {200, 400, 404, 405, 415, 422} <= statuses.keys()
        code, log = service.end()
    assert code == 0
    assert len(log) >= 400
    assert {line["event"] for line in log} == {"request"}
    assert log[0]["request_id"] == reply.headers["x-request-id"]
    assert (log[0]["method"], log[0]["path"], log[0]["status"]) == ("POST", "/v1/answer", 200)


def test_running_requests_are_finished_at_shutdown(project: Path) -> None:
    with serving(project, "-q") as service:
        assert service.post(CHECKS).status == 200  # All is loaded, so the next one starts at once.
        slow = [{"id": "a", "tool": "slow", "args": {"seconds": 4}}]
        found: list[object] = []

        def ask() -> None:
            found.append(service.post(slow).json["verdict"])

        asking = threading.Thread(target=ask)
        asking.start()
        time.sleep(2)
        code, log = service.end()
        asking.join()
    assert (found, code, log) == (["evidenced"], 0, [])


def children_of(pid: int) -> list[int]:
    """Return the child processes of a process."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def sockets_of(pid: int) -> list[str]:
    """Return the open sockets of a process; none if it has exited."""
    with contextlib.suppress(OSError):
        links = [str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir()]
        return [link for link in links if link.startswith("socket:")]
    return []


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="/proc lists the processes")
def test_two_processes(project: Path) -> None:
    with serving(project, "--workers", "2", "-q") as service:
        assert service.post(CHECKS).status == 200
        children = children_of(service.process.pid)
        killed = max(children, key=lambda child: len(sockets_of(child)))
        os.kill(killed, signal.SIGKILL)
        until = time.monotonic() + START_SECONDS
        while b"worker_ended" not in service.log.read_bytes() and time.monotonic() < until:
            time.sleep(0.1)
        code, log = service.end()
        assert code == 0
        assert [(line["event"], line["pid"], line["exit_code"]) for line in log] == [
            ("worker_ended", killed, -signal.SIGKILL)
        ]
        assert log[0]["replaced_by"] not in children


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="/proc tells who has what open")
def test_simultaneous_connections_are_shared_between_the_processes(project: Path) -> None:
    with serving(project, "--workers", "2", "--job-workers", "0", "-q") as service:
        port = int(service.url.rpartition(":")[2])
        deadline = time.monotonic() + 60
        more: list[int] = []
        # Again until both serve: the second one may be ready later.
        while more != [0, 8, 8] and time.monotonic() < deadline:
            time.sleep(0.2)
            children = children_of(service.process.pid)
            before = [len(sockets_of(child)) for child in children]
            with contextlib.ExitStack() as clients:
                for _ in range(16):
                    made = socket.create_connection(("127.0.0.1", port), timeout=10)
                    clients.enter_context(made)
                time.sleep(0.3)
                after = [len(sockets_of(child)) for child in children]
            more = sorted(b - a for a, b in zip(before, after, strict=False))
        assert more == [0, 8, 8]  # Besides the two, there is one that counts semaphores.


def test_a_public_address_needs_an_api_key(tmp_path: Path) -> None:
    make_project(tmp_path)
    arguments = ("serve", "--host", "0.0.0.0", "--project", str(tmp_path))  # noqa: S104 - refused
    result = run(*arguments)
    assert (result.exit_code, result.stderr[:5]) == (2, "AF520")
    assert "affidavit apikeys new" in result.stderr


def test_only_active_keys_allow_a_public_address(tmp_path: Path) -> None:
    plan = ServiceConfig(project=tmp_path)
    make_api_key(tmp_path, "bot", *ApiKeyScope)
    require_keys_for("192.0.2.1", plan)
    revoke_api_key(api_key_file(tmp_path), "bot", "2026-01-02T00:00:00Z")
    require_keys_for("127.0.0.1", plan)
    with pytest.raises(AffidavitError, match="AF520"):
        require_keys_for("192.0.2.1", plan)


def test_a_port_in_use_is_reported(project: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = run("serve", "--port", str(port), "--project", str(project))
    assert (result.exit_code, result.stderr[:5]) == (2, "AF521")
    assert "something listens there already" in result.stderr


ADDRESSES = {
    "no address": ("", "no address is named"),
    "no name of a host": ("ü..x", "this is no name of a host"),
}


@pytest.mark.parametrize(("host", "reason"), ADDRESSES.values(), ids=ADDRESSES.keys())
def test_invalid_addresses(host: str, reason: str) -> None:
    with pytest.raises(AffidavitError) as refused:
        listen_at(ListenAddress(host, 0))
    assert (refused.value.fault.code, refused.value.values["reason"]) == ("AF521", reason)


def test_invalid_rates_are_refused(project: Path) -> None:
    result = run("serve", "--key-rate", "nan", "--project", str(project))
    assert (result.exit_code, result.stderr[:5]) == (2, "AF001")
    assert "'nan' is not a finite number" in result.stderr


def test_a_body_that_is_too_large_is_refused_early(project: Path) -> None:
    with serving(project, "-q") as service:
        whole = service.ask("POST", "/v1/answer", b" " * 5_000_000)
        assert (whole.status, whole.json["code"]) == (413, "AF503")
        assert whole.headers["content-type"] == "application/problem+json"
        place = urlsplit(service.url)
        with socket.create_connection((place.hostname, place.port), timeout=5) as claiming:
            head = f"POST /v1/verify HTTP/1.1\r\nhost: {place.netloc}\r\n"
            kind = "content-type: application/json\r\ncontent-length: 1000000000\r\n\r\n"
            claiming.sendall((head + kind).encode())
            assert claiming.recv(100).startswith(b"HTTP/1.1 413 ")


def test_without_a_signing_key_it_does_not_start(tmp_path: Path) -> None:
    result = run("serve", "--project", str(tmp_path))
    assert (result.exit_code, result.stderr[:5]) == (2, "AF339")


def test_small_responses_are_sent_at_once() -> None:
    # asyncio sets TCP_NODELAY only where the protocol is named; else each costs 40 ms.
    with listen_at(ListenAddress("127.0.0.1", 0)) as listening:
        assert listening.proto == socket.IPPROTO_TCP
