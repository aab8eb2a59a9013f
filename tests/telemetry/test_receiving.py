"""The receiver of spans: what a request holds, the journal, and when a trace is sealed."""

import json
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from tests.telemetry.span_making import TRACE, body, events_of, span, spans_in

from affidavit.app import telemetry_import, trace_receiving
from affidavit.app.span_journal import COMPLETE, OPEN, JournalReader, JournalWriter
from affidavit.app.trace_receiving import (
    BodyBudget,
    ReceivedTraceSealer,
    ReceiverConfig,
    SpanReceiver,
    unpacked_body,
)
from affidavit.base.errors import AffidavitError
from affidavit.telemetry.importing import OwnedSpan, TraceRecords
from affidavit.telemetry.otlp_json import OtlpFormatError
from affidavit.telemetry.receiving import frames_of, head_at, read_request, records_of
from affidavit.telemetry.spans import LogEvent, OtlpJson, TraceResource, TraceSpan


class Setting:
    """A receiver and a sealer over one folder, with a clock that is set by hand."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.config = ReceiverConfig(folder=folder, **settings)
        self.seconds = 0.0
        self.lines: list[dict[str, Any]] = []
        self.receiver = SpanReceiver(self.config)
        self.sealer = self.new_sealer()

    def new_sealer(self) -> ReceivedTraceSealer:
        return ReceivedTraceSealer(self.config, self.log, lambda: self.seconds)

    def log(self, event: str, **members: object) -> None:
        self.lines.append({"event": event, **members})

    def send(self, *spans: TraceSpan, workspace: str = "default", service: str = "shop") -> Any:
        raw = body(*spans, service=service)
        return self.receiver.take(raw, is_json=True, of_logs=False, workspace=workspace)

    def at(self, seconds: float) -> list[str]:
        """Let time pass, and return the bundles that are there."""
        self.seconds = seconds
        while self.sealer.run_round():
            continue
        return self.bundles

    @property
    def bundles(self) -> list[str]:
        folder = self.config.folder
        return sorted(str(one.relative_to(folder)) for one in folder.rglob("*.tar.gz"))

    @property
    def segments(self) -> list[Path]:
        journal = self.config.folder / ".journal"
        return [one for one in journal.iterdir() if one.suffix in (OPEN, COMPLETE)]


@pytest.fixture
def setting(tmp_path: Path) -> Iterator[Setting]:
    made = Setting(tmp_path / "runs")
    yield made
    made.sealer.close()
    made.receiver.close()


# When a trace is sealed.


def test_a_trace_is_sealed_when_its_root_is_there_and_it_is_quiet(setting: Setting) -> None:
    setting.send(span(2, 1))
    assert setting.at(30) == []  # A call of a model may take that long.
    setting.send(span(1))
    assert setting.at(34.9) == []
    assert setting.at(40) == [f"{TRACE}.tar.gz"]
    events = events_of(setting.config.folder / f"{TRACE}.tar.gz")
    types = [one["type"].removeprefix("affidavit.") for one in events]
    assert types == ["run.started", "environment", "model.call", "model.call", "run.finished"]


def test_a_trace_without_its_root_is_sealed_at_its_age(setting: Setting) -> None:
    setting.send(span(2, 1))
    assert (setting.at(1), setting.at(600.9)) == ([], [])
    assert setting.at(601.1) == [f"{TRACE}.tar.gz"]


def test_late_spans_become_a_bundle_of_their_own(setting: Setting) -> None:
    setting.send(span(1))
    setting.at(0)
    assert setting.at(6) == [f"{TRACE}.tar.gz"]
    setting.send(span(2, 1))
    setting.at(7)
    assert setting.at(700) == [f"{TRACE}-2.tar.gz", f"{TRACE}.tar.gz"]
    assert spans_in(setting.config.folder / f"{TRACE}-2.tar.gz") == {f"{2:016x}"}


def test_services_of_one_trace_share_its_bundle(setting: Setting) -> None:
    setting.send(span(2, 1), service="search")
    setting.send(span(1), service="shop")
    setting.at(1)
    assert setting.at(10) == [f"{TRACE}.tar.gz"]
    events = events_of(setting.config.folder / f"{TRACE}.tar.gz")
    assert events[0]["assayproducer"] == "shop"
    assert {one["data"]["span"].get("service") for one in events if "span" in one["data"]} == {
        None,
        "search",
    }


def test_workspaces_never_share_a_bundle(setting: Setting) -> None:
    setting.send(span(1))
    setting.send(span(2), workspace="acme")
    setting.at(1)
    assert setting.at(10) == [f"{TRACE}.tar.gz", f"acme/{TRACE}.tar.gz"]
    assert spans_in(setting.config.folder / "acme" / f"{TRACE}.tar.gz") == {f"{2:016x}"}


def test_a_span_that_was_sent_twice_is_one_event(setting: Setting) -> None:
    setting.send(span(1), span(2, 1))
    setting.send(span(1), span(2, 1))
    setting.at(1)
    setting.at(10)
    events = events_of(setting.config.folder / f"{TRACE}.tar.gz")
    assert [one["type"] for one in events].count("affidavit.model.call") == 2


def test_a_long_trace_is_sealed_in_parts(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_receiving, "MAX_TRACE_BYTES", 2000)
    for number in range(1, 13):
        setting.send(span(number, 99))
    found = setting.at(1)
    assert len(found) > 1
    setting.sealer.close()
    held = [spans_in(setting.config.folder / name) for name in setting.bundles]
    assert set.union(*held) == {f"{number:016x}" for number in range(1, 13)}
    assert sum(map(len, held)) == 12


def test_the_oldest_traces_are_sealed_when_there_is_little_room(tmp_path: Path) -> None:
    setting = Setting(tmp_path, max_journal_bytes=6000)
    for number in range(1, 13):
        setting.send(span(number, 99, f"{number:032x}"))
    found = setting.at(0)
    assert found[0] == f"{1:032x}.tar.gz"
    assert 0 < len(found) < 12


def test_log_records_belong_to_the_calls_of_their_trace(setting: Setting) -> None:
    message = {"role": "user", "content": "How many days?"}
    log = LogEvent(
        name="gen_ai.user.message",
        time_ns=10**18,
        trace_id=TRACE,
        span_id=f"{1:016x}",
        body=message,
        attributes={},
    )
    lone = LogEvent(name="startup", time_ns=10**18, attributes={})
    raw = OtlpJson(TraceResource({}), "1", "").logs([log, lone])
    taken = setting.receiver.take(raw, is_json=True, of_logs=True)
    assert (taken.rejected, taken.message) == (
        1,
        "log record 'startup' is left out: it has no trace id",
    )
    setting.send(span(1))
    setting.at(0)
    setting.at(10)
    (call,) = [
        one["data"]
        for one in events_of(setting.config.folder / f"{TRACE}.tar.gz")
        if one["type"] == "affidavit.model.call"
    ]
    assert "How many days?" in json.dumps(call["input"])


def test_log_records_without_spans_are_no_run(setting: Setting) -> None:
    log = LogEvent(name="gen_ai.choice", time_ns=1, trace_id=TRACE, attributes={})
    raw = OtlpJson(TraceResource({}), "1", "").logs([log])
    setting.receiver.take(raw, is_json=True, of_logs=True)
    setting.at(0)
    assert setting.at(601) == []
    assert setting.lines[-1]["said"] == "it has log records and no spans"


# The journal.


def test_segments_are_deleted_when_everything_is_in_bundles(setting: Setting) -> None:
    setting.send(span(1))
    assert len(setting.segments) == 1
    setting.receiver.close()
    setting.at(0)
    assert len(setting.segments) == 1
    setting.at(10)
    assert setting.segments == []


def test_what_was_received_is_sealed_by_the_next_process(setting: Setting) -> None:
    setting.send(span(1))
    setting.at(0)
    setting.receiver.close()
    setting.sealer = setting.new_sealer()
    setting.at(1)
    assert setting.at(10) == [f"{TRACE}.tar.gz"]


CRASHES: dict[str, tuple[bool, int]] = {
    "before the bundle was written": (False, 1),
    "after the bundle was written": (True, 0),
}


@pytest.mark.parametrize(("is_written", "left"), CRASHES.values(), ids=CRASHES.keys())
def test_a_crash_while_sealing_neither_loses_nor_repeats(
    tmp_path: Path, is_written: bool, left: int
) -> None:
    writer = JournalWriter(tmp_path)
    writer.append(list(frames_of(TraceRecords(TRACE, [OwnedSpan({}, "", span(1))]), "default")))
    reader = JournalReader(tmp_path)
    places = [place for place, _ in reader.poll()]
    reader.begin([("one.tar.gz", places)])
    if is_written:
        (tmp_path / "one.tar.gz").write_bytes(b"")
    assert len(list(JournalReader(tmp_path).poll())) == left
    # What is known stays known, also when the bundle has been fetched since.
    if is_written:
        (tmp_path / "one.tar.gz").unlink()
        assert list(JournalReader(tmp_path).poll()) == []
    writer.close()


def test_a_torn_frame_was_never_acknowledged(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path)
    frames = list(frames_of(TraceRecords(TRACE, [OwnedSpan({}, "", span(1))]), "default"))
    writer.append(frames)
    writer.close()
    (segment,) = (tmp_path / ".journal").glob(f"*{COMPLETE}")
    segment.write_bytes(segment.read_bytes() + frames[0][:-3])
    assert len(list(JournalReader(tmp_path).poll())) == 1


def test_a_damaged_segment_is_kept_for_people(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path)
    frames = list(frames_of(TraceRecords(TRACE, [OwnedSpan({}, "", span(1))]), "default"))
    writer.append([*frames, *frames])
    writer.close()
    (segment,) = (tmp_path / ".journal").glob(f"*{COMPLETE}")
    raw = bytearray(segment.read_bytes())
    raw[-2] ^= 1
    segment.write_bytes(raw)
    reader = JournalReader(tmp_path)
    assert len(list(reader.poll())) == 1
    assert "a checksum does not hold" in reader.problems[0]
    reader.delete_segments()
    assert segment.exists()


def test_a_segment_of_a_living_writer_is_not_taken_for_complete(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path, segment_bytes=1)
    reader = JournalReader(tmp_path)
    frames = list(frames_of(TraceRecords(TRACE, [OwnedSpan({}, "", span(1))]), "default"))
    for count in range(1, 4):
        writer.append(frames)
        assert len(list(reader.poll())) == 1, count
        reader.delete_segments()
    assert len(list((tmp_path / ".journal").glob("*.segment"))) == 3
    writer.close()


def test_a_full_journal_takes_nothing_of_a_request(tmp_path: Path) -> None:
    setting = Setting(tmp_path, max_journal_bytes=500)
    setting.send(span(1))
    with pytest.raises(AffidavitError, match="AF808") as caught:
        setting.send(span(2), span(3), span(4))
    assert caught.value.values["seconds"] == 2
    setting.sealer.close()
    assert spans_in(tmp_path / f"{TRACE}.tar.gz") == {f"{1:016x}"}


def test_a_trace_that_no_bundle_can_hold_is_kept_beside_them(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("unforeseen")

    setting.send(span(1))
    setting.at(0)
    monkeypatch.setattr(trace_receiving, "seal_trace", fail)
    assert setting.at(10) == []
    assert setting.lines[-1]["said"] == "RuntimeError: unforeseen"
    kept = (setting.config.folder / str(setting.lines[-1]["kept"])).read_bytes()
    assert records_of(TRACE, [kept]).spans[0].span.span_id == f"{1:016x}"


def test_a_folder_that_cannot_be_written_is_tried_again(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = telemetry_import.seal_trace

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    setting.send(span(1))
    setting.at(0)
    monkeypatch.setattr(trace_receiving, "seal_trace", fail)
    assert setting.at(10) == []
    monkeypatch.setattr(trace_receiving, "seal_trace", real)
    assert setting.at(11) == []
    assert setting.at(20) == [f"{TRACE}.tar.gz"]


# What a request holds.


def field(number: int, content: bytes) -> bytes:
    """Return a field of protobuf. The library itself writes nothing that is too deep."""
    size, lengths = len(content), bytearray()
    while size > 127:
        lengths.append(size & 127 | 128)
        size >>= 7
    return bytes((number << 3 | 2,)) + bytes(lengths) + bytes((size,)) + content


def deep(levels: int) -> bytes:
    """Return an AnyValue: lists in lists."""
    value = field(1, b"x")
    for _ in range(levels):
        value = field(5, field(1, value))
    return value


def deep_request(levels: int) -> bytes:
    """Return a request with a good span, one with a deep attribute, and another good one."""
    spans = []
    for number in (1, 2, 3):
        made = Span(
            trace_id=bytes.fromhex(TRACE), span_id=number.to_bytes(8, "big"), name=f"span {number}"
        ).SerializeToString()
        if number == 2:
            made += field(9, field(1, b"deep") + field(2, deep(levels)))
        spans.append(field(2, made))
    return field(1, field(2, field(1, field(1, b"agent")) + b"".join(spans)))


def request_with(change: Callable[[Any], None]) -> bytes:
    """Return a request with a good span, one that is changed, and another good one."""
    request = ExportTraceServiceRequest()
    owner = request.resource_spans.add()
    owner.resource.attributes.add(key="service.name").value.string_value = "shop"
    scope = owner.scope_spans.add()
    scope.scope.name = "agent"
    for number in (1, 2, 3):
        made = scope.spans.add(
            trace_id=bytes.fromhex(TRACE), span_id=number.to_bytes(8, "big"), name=f"span {number}"
        )
        made.attributes.add(key="gen_ai.request.model").value.string_value = "m-1"
        if number == 2:
            change(made)
    return bytes(request.SerializeToString())


def add_attribute(value: AnyValue, count: int = 1) -> Callable[[Any], None]:
    def change(made: Any) -> None:
        for number in range(count):
            made.attributes.add(key=f"x{number}").value.CopyFrom(value)

    return change


def set_name(made: Any) -> None:
    made.name = "caf" + "q" * 3


HOSTILE = {
    "10 MB": request_with(add_attribute(AnyValue(string_value="x" * 10_000_000))),
    "a hundred thousand attributes": request_with(add_attribute(AnyValue(int_value=1), 100_000)),
    "control characters": request_with(add_attribute(AnyValue(string_value="\x00\x1b[2J"))),
    "a value that is deep": deep_request(40),
    "a value deeper than protobuf allows": deep_request(400),
    "bytes that are no text": request_with(set_name).replace(b"cafqqq", b"caf\xff\xfe\xfd"),
    "a value without a type": request_with(add_attribute(AnyValue())),
}


@pytest.mark.parametrize("raw", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_span_costs_at_most_itself(setting: Setting, raw: bytes) -> None:
    taken = setting.receiver.take(raw, is_json=False, of_logs=False)
    assert taken.rejected == 0
    setting.at(0)
    assert setting.at(10) == [f"{TRACE}.tar.gz"]
    held = setting.config.folder / f"{TRACE}.tar.gz"
    assert spans_in(held) == {f"{number:016x}" for number in (1, 2, 3)}
    assert len(setting.lines[-1]["findings"]) + len(taken.problems) <= 1


def test_what_cannot_be_read_is_named(setting: Setting) -> None:
    raw = HOSTILE["a value deeper than protobuf allows"]
    taken = setting.receiver.take(raw, is_json=False, of_logs=False)
    assert taken.message == "span 2 of a scope: 1 of its fields cannot be read"


def test_a_deep_log_record_costs_its_body() -> None:
    good = field(9, bytes.fromhex(TRACE)) + field(12, b"good")
    bad = field(9, bytes.fromhex(TRACE)) + field(12, b"deep") + field(5, deep(400))
    raw = field(1, field(2, field(2, good) + field(2, bad)))
    found = read_request(raw, is_json=False, of_logs=True)
    assert [one.name for one in found.traces[0].logs] == ["good", "deep"]
    assert found.problems == ["log record 2 of a scope: 1 of its fields cannot be read"]


def test_json_that_is_too_deep_costs_its_attribute() -> None:
    value = b'{"arrayValue":{"values":[' * 3000 + b'{"stringValue":"]\\""}' + b"]}}" * 3000
    sound = body(span(1, None, TRACE, note="}\\"), span(2, 1))
    marked = body(span(1, None, TRACE, note="}\\", here="HERE"), span(2, 1))
    raw = marked.replace(b'{"stringValue":"HERE"}', value)
    found = read_request(raw, is_json=True, of_logs=False).traces[0].spans
    wanted = read_request(sound, is_json=True, of_logs=False).traces[0].spans
    assert found[1].span == wanted[1].span
    assert "too_deep" in str(found[0].span.attributes.pop("here"))
    assert found[0].span == wanted[0].span


ODD_IDS = {
    "no trace id": ({"trace_id": ""}, "it has no trace id"),
    "a trace id of zeros": ({"trace_id": "00" * 16}, "it has no trace id"),
    "a short trace id": ({"trace_id": "ab"}, "it has no trace id"),
    "no span id": ({"span_id": ""}, "it has no span id"),
    "a span id of zeros": ({"span_id": "00" * 8}, "it has no span id"),
}


@pytest.mark.parametrize(("change", "problem"), ODD_IDS.values(), ids=ODD_IDS.keys())
def test_a_span_that_belongs_nowhere_is_rejected(change: dict[str, str], problem: str) -> None:
    request = ExportTraceServiceRequest()
    scope = request.resource_spans.add().scope_spans.add()
    ids = {"trace_id": TRACE, "span_id": "01" * 8, **change}
    scope.spans.add(**{name: bytes.fromhex(text) for name, text in ids.items()}, name="odd")
    found = read_request(request.SerializeToString(), is_json=False, of_logs=False)
    assert (found.rejected, found.problems) == (1, [f"span 'odd' is left out: {problem}"])


NO_REQUESTS = {
    "no protobuf": (b"\xff\xff\xff", False),
    "protobuf that ends in a field": (b"\x0a\x7f\x01", False),
    "protobuf of another wire type": (b"\x0b\x0b", False),
    "a number without an end": (b"\x0a" + b"\xff" * 20, False),
    "no JSON": (b"{", True),
    "JSON of something else": (b"{}", True),
    "log records at the address of spans": (
        OtlpJson(TraceResource({}), "1", "").logs([LogEvent(name="x", time_ns=1, attributes={})]),
        True,
    ),
}


@pytest.mark.parametrize(("raw", "is_json"), NO_REQUESTS.values(), ids=NO_REQUESTS.keys())
def test_what_is_no_request_is_refused(raw: bytes, is_json: bool) -> None:
    with pytest.raises(OtlpFormatError):
        read_request(raw, is_json=is_json, of_logs=False)


def test_values_that_msgpack_cannot_hold_are_typed_forms() -> None:
    big = OwnedSpan({"r": 2**70}, "", span(1, None, TRACE, x=2**70, y=[b"\xff"]))
    log = LogEvent(
        name="gen_ai.choice", time_ns=1, trace_id=TRACE, body={"n": 2**70}, attributes={}
    )
    (frame,) = frames_of(TraceRecords(TRACE, [big], [log]), "default")
    head = head_at(frame, 0)
    assert head is not None
    assert (head[0].records, head[0].has_root, head[1]) == (2, True, len(frame))
    found = records_of(TRACE, [frame])
    assert found.spans[0].span.attributes["x"] == {"$int": str(2**70)}
    assert found.logs[0].body == {"n": {"$int": str(2**70)}}


def test_a_large_request_is_several_frames() -> None:
    spans = [OwnedSpan({}, "", span(number, 1)) for number in range(2, 12_002)]
    frames = list(frames_of(TraceRecords(TRACE, spans), "default"))
    assert len(frames) == 3
    assert len(records_of(TRACE, frames).spans) == 12_000


# Bodies.


def test_a_body_is_unpacked_within_its_limits() -> None:
    raw = body(span(1))
    for encoding, packed in (
        ("gzip", zlib.compressobj(wbits=31)),
        ("deflate", zlib.compressobj()),
    ):
        data = packed.compress(raw) + packed.flush()
        assert unpacked_body(data, encoding, lambda count: None) == raw
        with pytest.raises(AffidavitError, match="cut off"):
            unpacked_body(data[:-9], encoding, lambda count: None)


def test_a_body_that_unpacks_to_too_much_is_refused_early() -> None:
    packed = zlib.compressobj(wbits=31)
    bomb = packed.compress(bytes(200_000_000)) + packed.flush()
    taken: list[int] = []
    with pytest.raises(AffidavitError, match="AF503"):
        unpacked_body(bomb, "gzip", taken.append)
    assert sum(taken) <= 18 * 1024 * 1024


PACKED = {"another encoding": ("br", "AF810"), "no gzip": ("gzip", "AF809")}


@pytest.mark.parametrize(("encoding", "code"), PACKED.values(), ids=PACKED.keys())
def test_an_encoding_that_does_not_fit_is_refused(encoding: str, code: str) -> None:
    with pytest.raises(AffidavitError, match=code):
        unpacked_body(b"no packed data", encoding, lambda count: None)


def test_bodies_share_a_bounded_memory() -> None:
    budget = BodyBudget(100)
    with budget.hold() as first, budget.hold() as second:
        first(60)
        with pytest.raises(AffidavitError, match="AF507"):
            second(41)
        second(40)
    with budget.hold() as again:
        again(100)
