"""OTLP to the service, from the official exporters: answers, limits, and no span lost by a kill."""

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from opentelemetry.exporter.otlp.json.http.trace_exporter import OTLPSpanExporter as JsonExporter
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import TraceServiceStub
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.cli.running import environment
from tests.repository import ROOT
from tests.telemetry.span_making import body, span, spans_in
from tests.web.service_client import (
    AT,
    Reply,
    Service,
    ask,
    make_api_key,
    make_project,
)
from tests.web.test_serve_command import serving

from affidavit.app.service import AnswerService, ServiceConfig, api_key_file
from affidavit.app.trace_receiving import ReceivedTraceSealer, ReceiverConfig
from affidavit.base.errors import AffidavitError
from affidavit.store.api_keys import ApiKeyScope
from affidavit.web.application import ServiceDependencies, build_application
from affidavit.web.otlp_grpc import GrpcConfig, reserved_port, started_server
from affidavit.web.request_log import RequestLog
from affidavit.web.settings import WebSettings

PROTOBUF = {"content-type": "application/x-protobuf"}
JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_project(tmp_path_factory.mktemp("otlp"))


class Receiving:
    """The service with a receiver, in this process."""

    def __init__(self, project: Path, folder: Path, **settings: Any) -> None:
        self.config = ReceiverConfig(folder=folder, **settings)
        self.base = Service(project, WebSettings(body_seconds=0.5))
        self.app = build_application(
            AnswerService(ServiceConfig(project=project)),
            self.base.settings,
            ServiceDependencies(
                api_key_file(project), RequestLog(self.base.log, lambda: AT), lambda: 0.0
            ),
            otlp=self.config,
        )

    def post(self, raw: bytes, path: str = "/v1/traces", **more: Any) -> Reply:
        given = {**JSON, **more.pop("headers", {})}
        return ask(self.app, more.pop("method", "POST"), path, body=raw, headers=given, **more)

    def sealed(self) -> list[Path]:
        sealer = ReceivedTraceSealer(self.config, lambda *_, **__: None)
        sealer.close()
        return sorted(self.config.folder.rglob("*.tar.gz"))


@pytest.fixture
def receiving(project: Path, tmp_path: Path) -> Receiving:
    return Receiving(project, tmp_path / "runs")


def protobuf_of(*names: str, trace: bytes = b"\xab" * 16) -> bytes:
    request = ExportTraceServiceRequest()
    scope = request.resource_spans.add().scope_spans.add()
    for number, name in enumerate(names, 1):
        scope.spans.add(trace_id=trace, span_id=number.to_bytes(8, "big"), name=name)
    return bytes(request.SerializeToString())


# Answers over HTTP.


def test_spans_are_acknowledged_and_sealed(receiving: Receiving) -> None:
    reply = receiving.post(body(span(1)))
    assert (reply.status, reply.headers["content-type"], reply.body) == (
        200,
        JSON["content-type"],
        b"{}",
    )
    reply = receiving.post(protobuf_of("a"), headers=PROTOBUF)
    assert (reply.status, reply.headers["content-type"], reply.body) == (
        200,
        "application/x-protobuf",
        b"",
    )
    (bundle,) = receiving.sealed()
    assert spans_in(bundle) == {f"{1:016x}"}


def test_a_part_that_is_rejected_is_named_in_the_answer(receiving: Receiving) -> None:
    raw = protobuf_of("good") + protobuf_of("odd", trace=b"")
    reply = receiving.post(raw, headers=PROTOBUF)
    partial = ExportTraceServiceResponse.FromString(reply.body).partial_success
    assert partial.rejected_spans == 1
    assert partial.error_message == "span 'odd' is left out: it has no trace id"
    lone = b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"eventName":"x"}]}]}]}'
    reply = receiving.post(lone, "/v1/logs")
    assert reply.json["partialSuccess"]["rejectedLogRecords"] == "1"


REFUSED: dict[str, tuple[dict[str, Any], int, str]] = {
    "no such method": ({"method": "GET"}, 405, "AF506"),
    "no OTLP": ({"raw": b"{}"}, 400, "AF809"),
    "another type": ({"headers": {"content-type": "text/plain"}}, 415, "AF810"),
    "another encoding": ({"headers": {"content-encoding": "br"}}, 415, "AF810"),
    "spans at the address of log records": ({"path": "/v1/logs"}, 400, "AF809"),
    "a body that is too large": ({"raw": bytes(17 * 1024 * 1024)}, 413, "AF503"),
    "a body that does not come": ({"body_comes": False}, 408, "AF508"),
    "a caller without a key": ({"client": ("192.0.2.1", 1)}, 401, "AF500"),
    "the name of another host": ({"headers": {"host": "evil.example"}}, 421, "AF509"),
    "metrics, which are no evidence": ({"path": "/v1/metrics"}, 404, "AF505"),
}


@pytest.mark.parametrize(("change", "status", "code"), REFUSED.values(), ids=REFUSED.keys())
def test_a_request_is_refused_whole(
    receiving: Receiving, change: dict[str, Any], status: int, code: str
) -> None:
    given = dict(change)
    reply = receiving.post(given.pop("raw", body(span(1))), **given)
    assert (reply.status, reply.json["code"]) == (status, code)
    assert receiving.sealed() == []


def test_a_full_receiver_says_when_to_come_back(project: Path, tmp_path: Path) -> None:
    receiving = Receiving(project, tmp_path, max_journal_bytes=400)
    assert receiving.post(body(span(1))).status == 200
    reply = receiving.post(body(span(2)))
    assert (reply.status, reply.headers["retry-after"], reply.json["code"]) == (503, "2", "AF808")
    (bundle,) = receiving.sealed()
    assert spans_in(bundle) == {f"{1:016x}"}


def test_a_sender_has_its_own_rate_of_spans(project: Path, tmp_path: Path) -> None:
    receiving = Receiving(project, tmp_path, key_spans=2)
    one, two = (make_api_key(project, name, ApiKeyScope.SPANS) for name in ("one", "two"))

    def send(key: str, count: int) -> Reply:
        spans = [span(number) for number in range(1, count + 1)]
        return receiving.post(body(*spans), headers={"authorization": f"Bearer {key}"})

    assert send(one, 10).status == 200  # A full bucket takes more than it holds, in advance.
    refused = send(one, 1)
    assert (refused.status, refused.headers["retry-after"]) == (429, "4")
    assert send(two, 1).status == 200


def test_a_key_needs_the_scope_and_has_its_workspace(project: Path, receiving: Receiving) -> None:
    other = make_api_key(project, "reader", ApiKeyScope.READ)
    reply = receiving.post(body(span(1)), headers={"authorization": f"Bearer {other}"})
    assert (reply.status, reply.json["code"]) == (403, "AF501")


def test_a_service_without_a_receiver_has_no_such_address(project: Path) -> None:
    reply = Service(project).ask("POST", "/v1/traces", body(span(1)), JSON)
    assert reply.status == 404


# gRPC.


@contextmanager
def grpc_receiver(project: Path, folder: Path, **settings: Any) -> Iterator[tuple[Any, list[Any]]]:
    """Run the gRPC receiver in this process; yield a stub and what it logs."""
    with reserved_port("127.0.0.1", 0) as reserved:
        config = GrpcConfig(
            receiver=ReceiverConfig(folder=folder, **settings),
            project=project,
            host="127.0.0.1",
            port=reserved.getsockname()[1],
            anonymous=settings.get("key_spans") is None,
            key_rate=0,
            address_rate=0,
        )
        lines: list[Any] = []
        server, receiver = started_server(config, lambda event, **held: lines.append(held))
        channel = grpc.insecure_channel(config.address)
        try:
            stub: Any = TraceServiceStub(channel)  # type: ignore[no-untyped-call]  # generated
            yield stub, lines
        finally:
            channel.close()
            server.stop(1).wait()
            receiver.close()


def failure_of(call: Callable[[], object]) -> Any:
    with pytest.raises(grpc.RpcError) as caught:
        call()
    return caught.value


def test_grpc_answers_as_http_does(project: Path, tmp_path: Path) -> None:
    with grpc_receiver(project, tmp_path) as (stub, _):
        request = ExportTraceServiceRequest.FromString(
            protobuf_of("good") + protobuf_of("odd", trace=b"")
        )
        partial = stub.Export(request).partial_success
        assert (partial.rejected_spans, partial.error_message[:10]) == (1, "span 'odd'")
    sealer = ReceivedTraceSealer(ReceiverConfig(folder=tmp_path), lambda *_, **__: None)
    sealer.close()
    assert len(list(tmp_path.glob("*.tar.gz"))) == 1


def test_a_full_grpc_receiver_says_when_to_come_back(project: Path, tmp_path: Path) -> None:
    with grpc_receiver(project, tmp_path, max_journal_bytes=10) as (stub, _):
        request = ExportTraceServiceRequest.FromString(protobuf_of("a"))
        error = failure_of(lambda: stub.Export(request))
    assert (error.code(), error.details()[:5]) == (grpc.StatusCode.UNAVAILABLE, "AF808")
    held = dict(error.trailing_metadata())
    # As the official exporter reads it: google.rpc.RetryInfo with a Duration of two seconds.
    assert held["google.rpc.retryinfo-bin"] == b"\x0a\x02\x08\x02"
    assert b"type.googleapis.com/google.rpc.RetryInfo" in held["grpc-status-details-bin"]


def test_grpc_needs_a_key_where_http_does(project: Path, tmp_path: Path) -> None:
    with grpc_receiver(project, tmp_path, key_spans=1) as (stub, _):
        request = ExportTraceServiceRequest.FromString(protobuf_of("a", "b", "c"))
        assert failure_of(lambda: stub.Export(request)).code() is grpc.StatusCode.UNAUTHENTICATED
        wrong = make_api_key(project, "grpc reader", ApiKeyScope.READ)
        right = make_api_key(project, "grpc sender", ApiKeyScope.SPANS)

        def send(key: str) -> object:
            return stub.Export(request, metadata=(("authorization", f"Bearer {key}"),))

        assert failure_of(lambda: send(wrong)).code() is grpc.StatusCode.PERMISSION_DENIED
        send(right)
        limited = failure_of(lambda: send(right))
        assert (limited.code(), limited.details()[:5]) == (grpc.StatusCode.UNAVAILABLE, "AF502")


def test_a_mistake_of_ours_is_logged_and_not_told(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a secret path")

    monkeypatch.setattr("affidavit.app.trace_receiving.read_request", fail)
    with grpc_receiver(project, tmp_path) as (stub, lines):
        request = ExportTraceServiceRequest.FromString(protobuf_of("a"))
        error = failure_of(lambda: stub.Export(request))
    assert error.code() is grpc.StatusCode.INTERNAL
    assert "secret" not in error.details()
    assert lines == [{"error": "RuntimeError", "said": "a secret path"}]


def test_a_port_that_is_taken_is_named() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(AffidavitError, match=f"AF811.*port {port}"):
            reserved_port("127.0.0.1", port)


# The service as processes.


def finished_spans(count: int) -> list[ReadableSpan]:
    """Return spans of one trace, as a program of the SDK ends them."""
    held = InMemorySpanExporter()
    provider = TracerProvider(
        resource=Resource.create({"service.name": "agent"}), shutdown_on_exit=False
    )
    provider.add_span_processor(SimpleSpanProcessor(held))
    tracer = provider.get_tracer("agent")
    with tracer.start_as_current_span("agent"):
        for number in range(count - 1):
            with tracer.start_as_current_span(
                "chat m-1", attributes={"gen_ai.operation.name": "chat", "n": number}
            ):
                pass
    return list(held.get_finished_spans())


def id_of(one: ReadableSpan) -> str:
    assert one.context is not None
    return f"{one.context.span_id:016x}"


def exporters(http: int, grpc_port: int, timeout: float) -> dict[str, SpanExporter]:
    """Return the official exporters."""
    address = f"http://127.0.0.1:{http}/v1/traces"
    return {
        "protobuf": HttpExporter(endpoint=address, timeout=timeout),
        "gzip": HttpExporter(endpoint=address, timeout=timeout, compression=Compression.Gzip),
        "JSON": JsonExporter(endpoint=address, timeout=timeout),
        "gRPC": GrpcExporter(
            endpoint=f"127.0.0.1:{grpc_port}",
            insecure=True,
            timeout=timeout,
        ),
    }


def test_the_official_exporters_send_to_the_service(project: Path, tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    options = ("--otlp", str(folder), "--otlp-grpc-port", "0", "--otlp-quiet-seconds", "0.2")
    with serving(project, *options) as service:
        grpc_port = service.shown["otlp_grpc_port"]
        wanted = set()
        port = int(service.url.rpartition(":")[2])
        for name, exporter in exporters(port, int(str(grpc_port)), 20).items():
            spans = finished_spans(3)
            assert exporter.export(spans) is SpanExportResult.SUCCESS, name
            wanted |= set(map(id_of, spans))
            exporter.shutdown()
        code, log = service.end()
    assert code == 0, log
    held = [spans_in(one) for one in folder.glob("*.tar.gz")]
    assert len(held) == 4
    assert set.union(*held) == wanted
    assert {line["event"] for line in log} == {"request", "sealed"}


KILLS = 20
SEED = 18


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class KilledReceiver:
    """The receiving processes of a service, which are killed and started again."""

    def __init__(self, *arguments: object) -> None:
        command = [sys.executable, "-m", "tests.web.killed_receiver", *map(str, arguments)]
        self.program = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.group = self.start()

    def start(self) -> int:
        assert self.program.stdin is not None
        assert self.program.stdout is not None
        self.program.stdin.write("start\n")
        self.program.stdin.flush()
        return int(self.program.stdout.readline())

    def kill(self, *, is_last: bool = False) -> None:
        os.killpg(self.group, signal.SIGKILL)
        if not is_last:
            self.group = self.start()
            return
        self.program.communicate(timeout=30)


class Senders:
    """The official exporters, each in a thread, and what was acknowledged to them."""

    def __init__(self, http: int, grpc_port: int) -> None:
        self.acknowledged: dict[str, set[str]] = {}
        self._is_over = threading.Event()
        self._threads = [
            threading.Thread(target=self._send, args=each)
            for each in exporters(http, grpc_port, 2.0).items()
        ]
        for thread in self._threads:
            thread.start()

    @property
    def count(self) -> int:
        return sum(map(len, self.acknowledged.values()))

    def _send(self, name: str, exporter: SpanExporter) -> None:
        held = self.acknowledged.setdefault(name, set())
        while not self._is_over.is_set():
            spans = finished_spans(5)
            if exporter.export(spans) is SpanExportResult.SUCCESS:
                held.update(map(id_of, spans))
        exporter.shutdown()

    def wait_for_more(self, seconds: float = 20) -> None:
        """Wait until something more is acknowledged."""
        before, until = self.count, time.monotonic() + seconds
        while self.count == before and time.monotonic() < until:
            time.sleep(0.01)

    def wait_for_each(self, seconds: float = 120) -> None:
        """Wait until something is acknowledged to every exporter."""
        until = time.monotonic() + seconds
        while not all(self.acknowledged.values()) and time.monotonic() < until:
            time.sleep(0.05)

    def stop(self) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()


def test_no_acknowledged_span_is_lost_by_a_kill(project: Path, tmp_path: Path) -> None:
    folder, http, grpc_port = tmp_path / "runs", free_port(), free_port()
    moments = random.Random(SEED)
    receiver = KilledReceiver(folder, project, http, grpc_port)
    senders = Senders(http, grpc_port)
    for _ in range(KILLS):
        senders.wait_for_more()
        time.sleep(moments.uniform(0.0, 0.6))
        receiver.kill()
    senders.wait_for_each()
    senders.stop()
    receiver.kill(is_last=True)
    ReceivedTraceSealer(ReceiverConfig(folder=folder), lambda *_, **__: None).close()
    found: set[str] = set().union(*map(spans_in, folder.glob("*.tar.gz")))
    assert [name for name, held in senders.acknowledged.items() if not held] == []
    assert set().union(*senders.acknowledged.values()) - found == set()
