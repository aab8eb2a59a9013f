"""Recording a run, sealing complete and torn logs, and importing stored files."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.json_values import TEXTS, VALUES
from tests.repository import ROOT
from tests.seal.bundle_making import members_of, sealed, verified

import affidavit
from affidavit.app.bundle_sealing import seal_run
from affidavit.app.recording import MAX_LINE_BYTES, Recorder, entry_line
from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit
from affidavit.packs.event_types import EVENT_TYPES
from affidavit.seal.bundle.writer import EventDraft

AT = "2026-01-31T14:30:00Z"


def ticking() -> Callable[[], str]:
    seconds = count()
    return lambda: f"2026-01-31T14:30:{next(seconds) % 60:02}Z"


def recorder(place: Path, name: str = "run.jsonl", **options: Any) -> Recorder:
    return affidavit.record(place / name, **{"clock": ticking(), "strict": True, **options})


def record_everything(run: Recorder) -> None:
    run.code_version("1.2.0", commit="abc")
    run.environment({"python": "3.11"})
    run.seed(7, "numpy")
    run.prompt("How many days?", template="t-1")
    run.retrieval("days", [{"id": "c-1", "text": "twelve"}])
    run.model_call(
        "m-1", provider="acme", input="q", output="12", parameters={"t": 0.5}, usage={"in": 3}
    )
    run.tool_call("search", input={"q": "days"}, output=[12])
    run.policy_decision("p-1", "allow", reason="listed")
    run.approval("ann", "approve", what="send")
    run.check_run({"claims": 3})
    run.receipt({"schema": "answer/v1"})
    run.ledger({"schema_version": "affidavit.ledger/1"})
    run.gate({"schema_version": "affidavit-gate/1", "decision": "ship"})
    run.soak_trial({"index": 1})
    run.incident("i-1", "serious", what="a wrong dose")
    run.incident_report("i-1", "the authority")
    run.verdict("ship", score=0.9)


def events_of(bundle: Path) -> list[dict[str, Any]]:
    raw = bundle.read_bytes()
    assert verified(raw).exit is Exit.YES
    return [json.loads(line) for line in members_of(raw)[1].splitlines()]


def manifest_of(bundle: Path) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads(members_of(bundle.read_bytes())[0])
    return manifest


def test_everything_that_can_be_recorded(tmp_path: Path) -> None:
    with recorder(tmp_path, input={"question": "How many?"}) as run:
        record_everything(run)
        run.process_exited(0, command="agent")
        run.event("affidavit.step", {"name": "plan"})
        run.event("affidavit.blob", {"digest": "sha256:0", "part": 1, "parts": 1, "text": "1"})
    sealed = seal_run(run.path, tmp_path / "run.tar.gz")
    events = events_of(tmp_path / "run.tar.gz")
    assert {event["type"] for event in events} == {each.name for each in EVENT_TYPES}
    assert sealed.finished
    assert manifest_of(tmp_path / "run.tar.gz")["x-affidavit"]["finished"] is True
    for event in events:
        kind = next(each for each in EVENT_TYPES if each.name == event["type"])
        assert set(kind.required) <= set(event["data"]) <= {*kind.required, *kind.optional}
    assert [event["time"] for event in events] == sorted(event["time"] for event in events)
    approval = next(event for event in events if event["type"].endswith("approval"))
    assert approval["assaypii"] is True


def test_the_same_log_makes_the_same_bytes(tmp_path: Path) -> None:
    with recorder(tmp_path) as run:
        run.verdict("ship")
    for name in ("a.tar.gz", "b.tar.gz"):
        seal_run(run.path, tmp_path / name)
    assert (tmp_path / "a.tar.gz").read_bytes() == (tmp_path / "b.tar.gz").read_bytes()


def test_a_run_that_raises_has_finished_with_an_error(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), recorder(tmp_path) as run:
        run.seed(1 // 0)
    seal_run(tmp_path / "run.jsonl", tmp_path / "run.tar.gz")
    last = events_of(tmp_path / "run.tar.gz")[-1]
    assert last["data"] == {"error": "ZeroDivisionError", "status": "error"}


def test_a_run_can_state_its_result(tmp_path: Path) -> None:
    with recorder(tmp_path) as run:
        run.finish("cancelled", output="none", absent_signals={"tool_calls": "no tools"})
    seal_run(run.path, tmp_path / "run.tar.gz")
    first, last = events_of(tmp_path / "run.tar.gz")
    assert last["data"]["absent_signals"] == {"tool_calls": "no tools"}
    assert first["type"] == "affidavit.run.started"


KILLED = """
import os, affidavit
with affidavit.record("run.jsonl") as run:
    run.tool_call("a", input=1, output=2)
    os._exit(9)
"""


def test_a_process_that_is_killed_leaves_a_run_that_can_be_sealed(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED], cwd=tmp_path, check=False)
    assert done.returncode == 9
    sealed = seal_run(tmp_path / "run.jsonl", tmp_path / "run.tar.gz")
    assert (sealed.finished, sealed.torn_bytes) == (False, 0)
    assert len(events_of(tmp_path / "run.tar.gz")) == 2
    assert manifest_of(tmp_path / "run.tar.gz")["x-affidavit"]["finished"] is False


def test_a_log_cut_anywhere_is_sealed_or_refused_by_code(tmp_path: Path) -> None:
    with recorder(tmp_path) as run:
        run.tool_call("a", input="größe", output=[1])
    whole = run.path.read_bytes()
    header = whole.index(b"\n") + 1
    cut, target = tmp_path / "cut.jsonl", tmp_path / "cut.tar.gz"
    for at in range(len(whole)):
        cut.write_bytes(whole[:at])
        lines = whole[header:at].count(b"\n")
        if at < header or not lines:
            with pytest.raises(AffidavitError):
                seal_run(cut, target)
            assert not target.exists()
            continue
        sealed = seal_run(cut, target)
        assert sealed.written.contents.count == lines
        assert sealed.torn_bytes == at - whole.rindex(b"\n", 0, at) - 1
        torn = manifest_of(target)["x-affidavit"].get("torn_bytes", 0)
        assert torn == sealed.torn_bytes
        assert not sealed.finished
        target.unlink()


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


A_SET: Any = {1}
A_LIST: Any = [1]
A_NUMBER: Any = 1
SOME_BYTES: Any = b"x"
REFUSED: dict[str, tuple[Callable[[Recorder], object], str, str | None]] = {
    "a set": (lambda r: r.tool_call("a", input=A_SET, output=1), "canon.type", "data.input"),
    "bytes deep inside": (
        lambda r: r.model_call("m", input=[{"a": SOME_BYTES}], output=1),
        "canon.type",
        "data.input[0].a",
    ),
    "not a number": (
        lambda r: r.verdict("ship", score=float("nan")),
        "json.number_domain",
        "data.score",
    ),
    "a number beyond 53 bits": (lambda r: r.seed(2**60), "json.number_domain", "data.seed"),
    "half a surrogate": (lambda r: r.prompt("\ud800"), "json.unicode", "data.text"),
    "too large": (lambda r: r.prompt("a" * MAX_LINE_BYTES), "record.too_large", "data"),
    "a type that we do not have": (lambda r: r.event("affidavit.x", {}), "record.type", "type"),
    "a type that is empty": (lambda r: r.event("", {}), "record.value", "type"),
    "a type that is not text": (lambda r: r.event(A_NUMBER, {}), "record.value", "type"),
    "a subject that is not text": (
        lambda r: r.event("x", {}, subject=A_NUMBER),
        "record.value",
        "subject",
    ),
    "a flag that is a number": (
        lambda r: r.event("x", {}, personal_data=A_NUMBER),
        "record.value",
        "personal_data",
    ),
    "a level deeper than a bundle goes": (
        lambda r: r.event("x", nested(64)),
        "json.depth",
        f"data{'[0]' * 26}"[:79] + "…",
    ),
    "a key more than a bundle allows": (
        lambda r: r.event("x", {str(number): 1 for number in range(10_001)}),
        "limit.json_keys",
        "data['9999']",
    ),
    "two keys that look the same": (
        lambda r: r.event("x", {"\u00e9": 1, "e\u0301": 2}),
        "canon.unicode_collision",
        None,
    ),
    "a float that is written as an integer beyond 53 bits": (
        lambda r: r.event("x", 1e17),
        "json.number_domain",
        "data",
    ),
    "parameters that are a list": (
        lambda r: r.model_call("m", input=1, output=2, parameters=A_LIST),
        "record.value",
        "data.parameters",
    ),
    "an unknown signal": (
        lambda r: r.finish(absent_signals={"tools": "none"}),
        "record.value",
        "data.absent_signals",
    ),
    "an absent signal without a reason": (
        lambda r: r.finish(absent_signals={"tool_calls": " "}),
        "record.value",
        "data.absent_signals",
    ),
    "absent signals as a list": (
        lambda r: r.finish(absent_signals=A_LIST),
        "record.value",
        "data.absent_signals",
    ),
    "an absent signal that every run has": (
        lambda r: r.finish(absent_signals={"environment": "none"}),
        "record.value",
        "data.absent_signals",
    ),
}


@pytest.mark.parametrize(("call", "fault", "field"), REFUSED.values(), ids=REFUSED.keys())
def test_a_value_that_cannot_be_recorded_is_refused_at_the_call(
    tmp_path: Path, call: Callable[[Recorder], object], fault: str, field: str
) -> None:
    with recorder(tmp_path) as run:
        before = run.path.read_bytes()
        with pytest.raises(AffidavitError) as caught:
            call(run)
        assert run.path.read_bytes() == before
    assert (caught.value.fault.name, caught.value.where.field) == (fault, field)


BAD_RUNS: dict[str, tuple[dict[str, Any], str, str]] = {
    "a clock without a time": ({"clock": lambda: "noon"}, "record.value", "time"),
    "a clock without a zone": (
        {"clock": lambda: "2026-01-31T14:30:00"},
        "record.value",
        "time",
    ),
    "an input that is not a number": ({"input": float("nan")}, "json.number_domain", "data.input"),
    "a run id with a colon": ({"run_id": "a:b"}, "record.value", "run_id"),
    "a run id that is not text": ({"run_id": 1}, "record.value", "id"),
    "a run id of two thousand letters": ({"run_id": "a" * 2000}, "record.value", "run_id"),
    "a source that is not an address": ({"source": "here"}, "record.value", "source"),
    "a source that is not text": ({"source": 1}, "record.value", "source"),
    "a producer that is not text": ({"producer": 1}, "record.value", "producer"),
}


@pytest.mark.parametrize(("options", "fault", "field"), BAD_RUNS.values(), ids=BAD_RUNS.keys())
def test_a_run_that_cannot_be_sealed_is_not_started(
    tmp_path: Path, options: dict[str, Any], fault: str, field: str
) -> None:
    given = {"strict": True, **options}
    with pytest.raises(AffidavitError) as caught, affidavit.record(tmp_path / "a.jsonl", **given):
        pass
    assert (caught.value.fault.name, caught.value.where.field) == (fault, field)
    assert list(tmp_path.iterdir()) == []


@given(VALUES, TEXTS, st.none() | TEXTS)
def test_a_recorded_run_can_be_sealed_and_verifies(
    data: Any, kind: str, subject: str | None
) -> None:
    draft = EventDraft(kind, AT, data, subject)
    try:
        entry_line(draft)
    except AffidavitError:
        return
    assert verified(sealed([draft])).exit is Exit.YES


def test_the_largest_event_that_is_recorded_is_sealed(tmp_path: Path) -> None:
    with recorder(tmp_path) as run:
        room = MAX_LINE_BYTES - 200
        run.prompt("a" * room)
    seal_run(run.path, tmp_path / "run.tar.gz")
    assert len(events_of(tmp_path / "run.tar.gz")) == 3


def test_a_file_is_recorded_once(tmp_path: Path) -> None:
    with recorder(tmp_path) as run:
        pass
    with pytest.raises(AffidavitError) as caught, recorder(tmp_path):
        pass
    assert caught.value.fault.name == "record.exists"
    with pytest.raises(AffidavitError) as caught:
        run.seed(1)
    assert caught.value.fault.name == "record.closed"


def test_a_run_id_keeps_its_log_in_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with affidavit.record("nightly", source="urn:acme:ci", git="abc") as run:
        run.event("acme.step", {"n": 1}, subject="s", secrets=True)
    assert run.path == Path(".affidavit/runs/nightly.jsonl")
    seal_run(run.path, Path("run.tar.gz"))
    event = events_of(Path("run.tar.gz"))[1]
    assert (event["assayrunid"], event["source"], event["assaygit"]) == (
        "nightly",
        "urn:acme:ci",
        "abc",
    )
    assert (event["subject"], event["assaysecrets"]) == ("s", True)


@pytest.mark.parametrize("run_id", ["a:b", "../a", "a/b", "a\\b", ""])
def test_a_run_id_with_a_path_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_id: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AffidavitError):
        affidavit.record(run_id)
    assert list(tmp_path.iterdir()) == []


def test_a_path_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(AffidavitError) as caught:
        affidavit.record(tmp_path / "file" / "run.jsonl")
    assert caught.value.fault.name == "file.unwritable"
    with pytest.raises(AffidavitError) as caught, affidavit.record(tmp_path / f"{'a' * 300}.jsonl"):
        pass
    assert caught.value.fault.name == "file.unwritable"
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(AffidavitError), affidavit.record(tmp_path / "folder.jsonl"):
        pass


def test_a_run_continues_after_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    with recorder(tmp_path) as run:
        with monkeypatch.context() as patched:
            patched.setattr(os, "write", lambda handle, data: write(handle, data[:9]))
            with pytest.raises(AffidavitError):
                run.verdict("hold")
        run.verdict("ship")
    seal_run(run.path, tmp_path / "run.tar.gz")
    assert [event["data"] for event in events_of(tmp_path / "run.tar.gz")[1:-1]] == [
        {"verdict": "ship"}
    ]


def test_threads_take_turns(tmp_path: Path) -> None:
    with recorder(tmp_path) as run:

        def record_seeds() -> None:
            for number in range(20):
                run.seed(number)

        threads = [threading.Thread(target=record_seeds) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    seal_run(run.path, tmp_path / "run.tar.gz")
    assert len(events_of(tmp_path / "run.tar.gz")) == 82


LOGS: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "record.log"),
    "no header": (b'{"type":"a","time":"2026-01-31T14:30:00Z","data":1}\n', "record.log"),
    "another version": (
        b'{"affidavit_run":2,"git":"u","id":"a","producer":"p","producer_version":"1",'
        b'"source":"a:b"}\n',
        "record.log",
    ),
    "not JSON": (b"{\n", "json.syntax"),
    "binary": (bytes(range(256)), "json.encoding"),
}


@pytest.mark.parametrize(("log", "fault"), LOGS.values(), ids=LOGS.keys())
def test_a_file_that_is_not_a_log_is_refused(tmp_path: Path, log: bytes, fault: str) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(log)
    with pytest.raises(AffidavitError) as caught:
        seal_run(path, tmp_path / "run.tar.gz")
    assert caught.value.fault.name == fault
    assert caught.value.where.file == str(path)
    assert list(tmp_path.iterdir()) == [path]


INVALID_ENTRIES: dict[str, tuple[bytes, str]] = {
    "a member is missing": (b'{"type":"a"}', "record.log"),
    "a time that is none": (b'{"data":1,"time":"noon","type":"a"}', "record.value"),
    "an unknown member": (
        b'{"data":1,"more":1,"time":"2026-01-31T14:30:00Z","type":"a"}',
        "record.log",
    ),
    "no type": (b'{"data":1,"time":"2026-01-31T14:30:00Z","type":""}', "record.log"),
    "keys out of order": (
        b'{"type":"a","time":"2026-01-31T14:30:00Z","data":1}',
        "canon.noncanonical",
    ),
    "an empty line": (b"", "json.syntax"),
}


@pytest.mark.parametrize(("entry", "fault"), INVALID_ENTRIES.values(), ids=INVALID_ENTRIES.keys())
def test_an_invalid_line_is_reported(tmp_path: Path, entry: bytes, fault: str) -> None:
    with recorder(tmp_path) as run:
        pass
    run.path.write_bytes(run.path.read_bytes() + entry + b"\n")
    with pytest.raises(AffidavitError) as caught:
        seal_run(run.path, tmp_path / "run.tar.gz")
    assert caught.value.fault.name == fault
    assert (caught.value.where.file, caught.value.where.line) == (str(run.path), 4)
    assert not (tmp_path / "run.tar.gz").exists()


def test_the_sample_run_is_what_its_script_records(tmp_path: Path) -> None:
    samples = ROOT / "samples" / "runs"
    again = tmp_path / "support.jsonl"
    subprocess.run([sys.executable, str(samples / "record_run.py"), str(again)], check=True)
    assert again.read_bytes() == (samples / "support.jsonl").read_bytes()
