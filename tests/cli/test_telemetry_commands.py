"""`affidavit export otel` and `affidavit evidence import --from`, through the real command line."""

import gzip
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import grpc
import pytest
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2, logs_service_pb2_grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc
from tests.app.test_evidence_recording import record_everything, recorder
from tests.cli.running import run
from tests.repository import ROOT

import affidavit
from affidavit.app import telemetry_export
from affidavit.telemetry.otlp_json import records_in
from affidavit.telemetry.protobuf import decode_logs, decode_traces, logs_from, spans_from
from affidavit.telemetry.sending import OtlpProtocol

SAMPLES = ROOT / "samples"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a recorded run and its bundle."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(telemetry_export, "PORTION", 3)
    with recorder(tmp_path, input="How many?") as recording:
        record_everything(recording)
    assert run("evidence", "seal", "run.jsonl", "-o", "run.tar.gz").exit_code == 0
    return tmp_path


def records(path: Path) -> list[Any]:
    return [one.record for line in path.read_bytes().splitlines() for one in records_in(line)]


def test_a_bundle_becomes_spans_events_and_a_loss_report(place: Path) -> None:
    result = run("export", "otel", "run.tar.gz", "-o", "otel")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("otel: 4 spans, 5 evaluation events\nMapping loss: ")
    spans = records(place / "otel" / "traces.jsonl")
    assert [one.name for one in spans] == [
        "retrieval",
        "chat m-1",
        "execute_tool search",
        "invoke_workflow run",
    ]
    events = records(place / "otel" / "logs.jsonl")
    assert {one.name for one in events} == {"gen_ai.evaluation.result"}
    loss = json.loads((place / "otel" / "mapping_loss.json").read_bytes())
    assert loss["target"]["schema_url"] == "https://opentelemetry.io/schemas/gen-ai/1.42.0"
    assert loss["unknown_events"]["affidavit.policy.decision"] == 1
    reasons = {one["name"]: one["reason"] for one in loss["attributes"]}
    assert (reasons["input"], reasons["usage.in"]) == ("opt_in_disabled", "no_target")


def test_content_is_exported_only_on_request(place: Path) -> None:
    run("export", "otel", "run.tar.gz", "-o", "without")
    run("export", "otel", "run.tar.gz", "-o", "with", "--include-content")
    for secret in (b"twelve", b"How many?"):
        for name in ("traces.jsonl", "logs.jsonl", "mapping_loss.json"):
            assert secret not in (place / "without" / name).read_bytes()
        assert secret in (place / "with" / "traces.jsonl").read_bytes()


def test_the_log_of_a_run_is_exported_as_its_bundle_is(place: Path) -> None:
    for subject in ("run.jsonl", "run.tar.gz"):
        assert run("export", "otel", subject, "-o", subject[:6] + "out").exit_code == 0
    assert (place / "run.jsout" / "traces.jsonl").read_bytes() == (
        place / "run.taout" / "traces.jsonl"
    ).read_bytes()


def test_results_are_evaluation_events(place: Path) -> None:
    gate = run(*("gate", "rag", str(SAMPLES / "gates" / "ragas.csv")), *("--report", "gate.json"))
    assert gate.exit_code == 1
    answer, sources = SAMPLES / "leave" / "answer.md", SAMPLES / "leave" / "sources"
    run("check", str(answer), "--sources", str(sources), "-o", "ledger.json")
    soak = {
        "schema_version": "soak-report-v1",
        "results": {"pass_all": False, "pass_rate": 0.5},
        "runs": [{"index": 1, "status": "pass"}, {"index": 2, "status": "fail"}],
    }
    (place / "soak.json").write_text(json.dumps(soak), "utf-8")
    names = {
        "gate.json": {"gate.rag", "gate.rag.precision"},
        "ledger.json": {"ledger", "ledger.clm_001"},
        "soak.json": {"soak.pass_all", "soak.trial"},
    }
    for file, wanted in names.items():
        result = run("export", "otel", file, "-o", f"{file}.otel", "--json")
        assert result.exit_code == 0, result.stderr
        assert json.loads(result.stdout)["mapping_loss"]["schema_version"]
        found = records(place / f"{file}.otel" / "logs.jsonl")
        assert wanted <= {one.attributes["gen_ai.evaluation.name"] for one in found}
    trials = records(place / "soak.json.otel" / "logs.jsonl")
    assert [one.attributes.get("gen_ai.evaluation.score.label") for one in trials] == [
        *("fail", "pass", "fail")
    ]


def test_a_log_that_was_cut_off_is_exported_as_far_as_it_goes(place: Path) -> None:
    raw = (place / "run.jsonl").read_bytes()
    (place / "cut.jsonl").write_bytes(raw[:-10])
    result = run("export", "otel", "cut.jsonl", "-o", "cut")
    assert result.exit_code == 0
    assert "the last line of the log is torn: its " in result.stdout
    first = raw.index(b"\n") + 1
    for length in (first, first + 20):
        (place / "cut.jsonl").write_bytes(raw[:length])
        for target in (("-o", "otel"), ("--endpoint", "http://127.0.0.1:1")):
            nothing = run("export", "otel", "cut.jsonl", *target)
            assert (nothing.exit_code, nothing.stderr[:5]) == (3, "AF814")
    assert not (place / "otel").exists()


def test_a_tampered_bundle_is_not_exported(place: Path) -> None:
    raw = bytearray((place / "run.tar.gz").read_bytes())
    raw[-5] ^= 1  # of the checksum
    (place / "bad.tar.gz").write_bytes(raw)
    for target in (("-o", "otel"), ("--endpoint", "http://127.0.0.1:1")):
        result = run("export", "otel", "bad.tar.gz", *target)
        assert result.exit_code == 4
    assert not (place / "otel").exists()


BAD: dict[str, tuple[tuple[str, ...], str]] = {
    "missing file": (("missing.json", "-o", "x"), "AF010"),
    "empty file": (("empty.json", "-o", "x"), "AF02"),
    "another document": (("other.json", "-o", "x"), "AF800"),
    "an array": (("array.json", "-o", "x"), "AF800"),
    "a folder": ((".", "-o", "x"), "AF01"),
    "no target": (("run.tar.gz",), "AF001"),
    "two targets": (("run.tar.gz", "-o", "x", "--endpoint", "http://127.0.0.1:1"), "AF001"),
    "a header without an endpoint": (("run.tar.gz", "-o", "x", "--header", "a=b"), "AF001"),
    "a header of another form": (
        ("run.tar.gz", "--endpoint", "http://127.0.0.1:1", "--header", "a"),
        "AF001",
    ),
    "an address that is none": (("run.tar.gz", "--endpoint", "localhost"), "AF801"),
    "a file as the folder": (("run.tar.gz", "-o", "run.jsonl"), "AF01"),
}


@pytest.mark.parametrize(("words", "code"), BAD.values(), ids=BAD.keys())
def test_bad_input_gets_one_line(place: Path, words: tuple[str, ...], code: str) -> None:
    (place / "empty.json").write_bytes(b"")
    (place / "other.json").write_text('{"a": 1}', "utf-8")
    (place / "array.json").write_text("[]", "utf-8")
    result = run("export", "otel", *words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(code) or code in result.stderr
    assert result.stderr.count("\n") == 1


# Endpoints on loopback, with the classes of opentelemetry-proto.


class Collector:
    def __init__(self) -> None:
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self.refusals = 0
        self.status = 200
        self.takes_logs = True


@contextmanager
def http_collector(collector: Collector) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if collector.refusals:
                collector.refusals -= 1
                self.send_response(503)
                self.send_header("Retry-After", "0")
            else:
                headers = {name.lower(): value for name, value in self.headers.items()}
                kind = headers["content-type"]
                collector.requests.append((self.path, kind, headers, gzip.decompress(body)))
                is_refused = self.path == "/v1/logs" and not collector.takes_logs
                self.send_response(405 if is_refused else collector.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


@pytest.mark.parametrize("protocol", ["http/protobuf", "http/json"])
def test_spans_are_sent_over_http(place: Path, protocol: str) -> None:
    collector = Collector()
    collector.refusals = 2
    with http_collector(collector) as url:
        words = ("--endpoint", url, "--protocol", protocol, "--header", "X-Key=k 1")
        result = run("export", "otel", "run.tar.gz", *words)
    assert (result.exit_code, result.stderr) == (0, "")
    assert {path for path, *_ in collector.requests} == {"/v1/traces", "/v1/logs"}
    assert {headers["x-key"] for _, _, headers, _ in collector.requests} == {"k 1"}
    spans: list[Any] = []
    events: list[Any] = []
    for path, kind, _, body in collector.requests:
        if kind == "application/json":
            held = [one.record for one in records_in(body)]
            (spans if path == "/v1/traces" else events).extend(held)
        elif path == "/v1/traces":
            request = decode_traces(body)
            assert request is not None
            spans.extend(one for _, _, one in spans_from(request))
        else:
            logs = decode_logs(body)
            assert logs is not None
            events.extend(one for _, _, one in logs_from(logs))
    run("export", "otel", "run.tar.gz", "-o", "otel")
    assert spans == records(place / "otel" / "traces.jsonl")
    assert events == records(place / "otel" / "logs.jsonl")


def spans_of(body: bytes) -> list[Any]:
    request = decode_traces(body)
    assert request is not None
    return [span for _, _, span in spans_from(request)]


def test_a_service_without_log_records_gets_evaluations_on_the_span_of_the_run(
    place: Path,
) -> None:
    collector = Collector()
    with http_collector(collector) as url:
        collector.takes_logs = False
        refused = run("export", "otel", "run.tar.gz", "--endpoint", url)
        assert (refused.exit_code, "--events-on-spans" in refused.stderr) == (3, True)
        collector.requests.clear()
        done = run("export", "otel", "run.tar.gz", "--endpoint", url, "--events-on-spans")
    assert (done.exit_code, done.stderr) == (0, "")
    spans = [span for *_, body in collector.requests for span in spans_of(body)]
    assert [len(one.events) for one in spans] == [0, 0, 0, 5]
    assert {one.name for one in spans[-1].events} == {"gen_ai.evaluation.result"}


def test_events_without_any_span_get_one(place: Path) -> None:
    run(*("gate", "rag", str(SAMPLES / "gates" / "ragas.csv")), *("--report", "gate.json"))
    collector = Collector()
    with http_collector(collector) as url:
        done = run("export", "otel", "gate.json", "--endpoint", url, "--events-on-spans")
    assert done.exit_code == 0
    ((*_, body),) = collector.requests
    (span,) = spans_of(body)
    assert (span.name, len(span.events) > 3) == ("evaluation", True)


def test_a_log_without_an_event_is_not_exported(place: Path) -> None:
    first = (place / "run.jsonl").read_bytes().splitlines(keepends=True)[0]
    (place / "cut.jsonl").write_bytes(first + b'{"cut')
    result = run("export", "otel", "cut.jsonl", "-o", "otel")
    assert (result.exit_code, result.stderr[:5]) == (3, "AF814")
    assert not (place / "otel").exists()


def test_the_spans_of_a_run_are_one_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with affidavit.record("run.jsonl") as recording, recording.step("agent"):
        recording.tool_call("search", input=1, output=2)
    assert run("export", "otel", "run.jsonl", "-o", "otel").exit_code == 0
    tool, step, root = records(tmp_path / "otel" / "traces.jsonl")
    assert len({one.trace_id for one in (tool, step, root)}) == 1
    assert (tool.parent_id, step.parent_id) == (step.span_id, root.span_id)


def test_an_endpoint_that_refuses_is_could_not_tell(place: Path) -> None:
    collector = Collector()
    collector.status = 401
    with http_collector(collector) as url:
        result = run("export", "otel", "run.tar.gz", "--endpoint", url)
    assert (result.exit_code, "AF802" in result.stderr, "401" in result.stderr) == (3, True, True)
    gone = run("export", "otel", "run.tar.gz", "--endpoint", url)
    assert (gone.exit_code, "AF802" in gone.stderr) == (3, True)


class TraceService(trace_service_pb2_grpc.TraceServiceServicer):
    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.unavailable = 1

    def Export(self, request: Any, context: Any) -> Any:
        if self.unavailable:
            self.unavailable -= 1
            context.abort(grpc.StatusCode.UNAVAILABLE, "later")
        self.spans += [one for _, _, one in spans_from(request)]
        return trace_service_pb2.ExportTraceServiceResponse()


class LogsService(logs_service_pb2_grpc.LogsServiceServicer):
    def __init__(self) -> None:
        self.events: list[Any] = []

    def Export(self, request: Any, context: Any) -> Any:
        self.events += [one for _, _, one in logs_from(request)]
        return logs_service_pb2.ExportLogsServiceResponse()


def test_spans_are_sent_over_grpc(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    traces, logs = TraceService(), LogsService()
    server = grpc.server(ThreadPoolExecutor(2))
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(traces, server)  # type: ignore[no-untyped-call]  # generated
    logs_service_pb2_grpc.add_LogsServiceServicer_to_server(logs, server)  # type: ignore[no-untyped-call]  # generated
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    slept: list[float] = []
    try:
        report = telemetry_export.export_to_endpoint(
            place / "run.tar.gz",
            f"http://127.0.0.1:{port}",
            OtlpProtocol.GRPC,
            headers={"X-Key": "k"},
            include_content=True,
            sleep=slept.append,
        )
    finally:
        server.stop(None).wait()
    assert slept == [1.0]
    run("export", "otel", "run.tar.gz", "-o", "otel", "--include-content")
    assert traces.spans == records(place / "otel" / "traces.jsonl")
    assert logs.events == records(place / "otel" / "logs.jsonl")
    assert report.spans == len(traces.spans)
    monkeypatch.setattr("affidavit.telemetry.sending.ATTEMPTS", 1)
    words = ("--endpoint", f"http://127.0.0.1:{port}", "--protocol", "grpc")
    gone = run("export", "otel", "run.tar.gz", *words)
    assert (gone.exit_code, "AF802" in gone.stderr) == (3, True)


# Import.


def exported(place: Path) -> Path:
    assert run("export", "otel", "run.tar.gz", "-o", "otel", "--include-content").exit_code == 0
    return place / "otel"


def test_an_export_is_imported_as_the_same_run(place: Path) -> None:
    folder = exported(place)
    files = (str(folder / "traces.jsonl"), str(folder / "logs.jsonl"))
    result = run("evidence", "import", "--from", "otlp", *files, "-o", "back.tar.gz", "--json")
    assert result.exit_code == 0, result.stderr
    wire = json.loads(result.stdout)
    assert wire["bundles"][0]["run_id"] == "run"
    assert wire["mapping_loss"]["spans"] == 4
    shown = json.loads(run("evidence", "show", "back.tar.gz", "--events", "--json").stdout)
    tool = next(one for one in shown["events"] if one["type"] == "affidavit.tool.call")
    assert (tool["data"]["input"], tool["data"]["output"]) == ({"q": "days"}, [12])
    packed = place / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress((folder / "traces.jsonl").read_bytes()))
    again = run("evidence", "import", "--from", "otlp", str(packed), "-o", "two.tar.gz")
    assert (again.exit_code, "Mapping loss: 4 spans" in again.stdout) == (0, True)


def trace_file(path: Path, *traces: str) -> None:
    lines = [
        {
            "resourceSpans": [
                {
                    "scopeSpans": [
                        {"spans": [{"traceId": trace * 32, "spanId": "1" * 16, "name": "s"}]}
                    ]
                }
            ]
        }
        for trace in traces
    ]
    path.write_text("".join(json.dumps(one) + "\n" for one in lines), "utf-8")


def test_every_trace_is_a_bundle_of_its_own(place: Path) -> None:
    trace_file(place / "two.jsonl", "a", "b")
    words = ("evidence", "import", "--from", "otlp", "two.jsonl")
    refused = run(*words, "-o", "x.tar.gz")
    assert (refused.exit_code, "AF805" in refused.stderr) == (2, True)
    assert run(*words, "-o", "runs").exit_code == 0
    assert sorted(one.name[0] for one in (place / "runs").iterdir()) == ["a", "b"]
    assert run("evidence", "verify", "runs").exit_code == 0
    assert run(*words, "-o", "x.tar.gz", "--trace", "B" * 32).exit_code == 0
    missing = run(*words, "-o", "x.tar.gz", "--trace", "c" * 32)
    assert (missing.exit_code, "AF806" in missing.stderr) == (2, True)


IMPORTS: dict[str, tuple[tuple[str, ...], str, int]] = {
    "log records alone": (("logs.json",), "AF804", 3),
    "not OTLP": (("run.jsonl",), "AF803", 2),
    "a binary": (("run.tar.gz",), "AF803", 2),
    "a torn gzip": (("torn.json.gz",), "AF803", 2),
    "no protobuf": (("bad.pb",), "AF803", 2),
    "a missing file": (("missing.json",), "AF010", 2),
    "another convention": (("two.jsonl", "langfuse"), "AF807", 2),
    "a time": (("two.jsonl", "--at", "2026-01-31"), "AF001", 2),
}


@pytest.mark.parametrize(("words", "code", "exit_code"), IMPORTS.values(), ids=IMPORTS.keys())
def test_bad_spans_get_one_line(
    place: Path, words: tuple[str, ...], code: str, exit_code: int
) -> None:
    trace_file(place / "two.jsonl", "a", "b")
    (place / "logs.json").write_text('{"resourceLogs": []}', "utf-8")
    (place / "torn.json.gz").write_bytes(b"\x1f\x8bxx")
    (place / "bad.pb").write_bytes(b"\xff\xff\xff")
    dialect = "langfuse" if "langfuse" in words else "otlp"
    given = [word for word in words if word != "langfuse"]
    result = run("evidence", "import", "--from", dialect, *given, "-o", "x")
    assert (result.exit_code, result.stdout) == (exit_code, "")
    assert code in result.stderr
    assert result.stderr.count("\n") == 1


def test_trace_needs_from(place: Path) -> None:
    result = run("evidence", "import", "run.jsonl", "-o", "x.tar.gz", "--trace", "a")
    assert (result.exit_code, "--from" in result.stderr) == (2, True)
