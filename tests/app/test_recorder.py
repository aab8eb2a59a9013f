"""The recorder inside a program: it never raises, does not wait, and knows where it stands."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.telemetry.test_recordable import VALUES, Raising

import affidavit
from affidavit.app.bundle_sealing import seal_run
from affidavit.app.lint import closure_report, lint_bundle
from affidavit.app.log_writer import Durability, LogWriter
from affidavit.app.recording import Recorder, entry_line
from affidavit.app.tracing import position_from
from affidavit.base.canonical import jcs
from affidavit.base.digest import digest_of
from affidavit.base.errors import AffidavitError
from affidavit.seal.bundle.container import DEFAULT_LIMITS
from affidavit.seal.bundle.writer import EventDraft

MODES = ("event", "batch", "end")


def events_of(path: Path) -> list[dict[str, Any]]:
    """Return the events of a log; it must be one that can be sealed."""
    seal_run(path, path.with_suffix(".tar.gz"))
    return [json.loads(line) for line in path.read_bytes().splitlines()[1:]]


def data_of(path: Path, kind: str) -> list[Any]:
    return [one["data"] for one in events_of(path) if one["type"] == f"affidavit.{kind}"]


@pytest.mark.parametrize("mode", MODES)
def test_every_value_can_be_recorded(tmp_path: Path, mode: str) -> None:
    with affidavit.record(tmp_path / "run.jsonl", durability=mode, input=Raising()) as run:
        for value, _ in VALUES.values():
            run.tool_call("t", input=value, output=[value])
        assert run.problems == ()
    calls = data_of(tmp_path / "run.jsonl", "tool.call")
    assert [one["input"] for one in calls] == [wanted for _, wanted in VALUES.values()]


MISUSES: dict[str, Any] = {
    "a type of ours that does not exist": lambda run: run.event("affidavit.made.up", {}),
    "a time that is no time": lambda run: run.event("x", {}, subject=""),
    "parameters that are no mapping": lambda run: run.model_call(
        "m", input=1, output=2, parameters=5
    ),
    "a signal that does not exist": lambda run: run.finish(absent_signals={"nothing": "x"}),
    "an event after the end": lambda run: (run.finish(), run.verdict("ship")),
    "a type that is no text": lambda run: run.event(5, {}),
    "keys that are no texts": lambda run: run.environment({1: 2}),
}


@pytest.mark.parametrize("misuse", MISUSES.values(), ids=MISUSES.keys())
@pytest.mark.parametrize("mode", MODES)
def test_the_recorder_never_raises_into_the_program(tmp_path: Path, mode: str, misuse: Any) -> None:
    with affidavit.record(tmp_path / "run.jsonl", durability=mode) as run:
        misuse(run)
        run.seed(7)
    assert events_of(tmp_path / "run.jsonl")[-1]["type"] == "affidavit.run.finished"


def test_what_was_snapshotted_does_not_change(tmp_path: Path) -> None:
    held = {"n": [1]}
    with affidavit.record(tmp_path / "run.jsonl", durability="batch") as run:
        run.tool_call("t", input=held, output=1)
        held["n"].append(2)
    assert data_of(tmp_path / "run.jsonl", "tool.call")[0]["input"] == {"n": [1]}


def test_a_large_body_is_kept_once_in_parts(tmp_path: Path) -> None:
    body = {"text": "é" * 2_000_000}
    with affidavit.record(tmp_path / "run.jsonl") as run:
        run.tool_call("t", input={}, output=body)
        run.tool_call("t", input={}, output=body)
    first, second = data_of(tmp_path / "run.jsonl", "tool.call")
    parts = data_of(tmp_path / "run.jsonl", "blob")
    reference = first["output"]["$blob"]
    assert reference == second["output"]["$blob"]
    assert [one["part"] for one in parts] == list(range(1, reference["parts"] + 1))
    whole = "".join(one["text"] for one in parts)
    assert json.loads(whole) == body
    assert digest_of(whole.encode()) == reference["digest"] == digest_of(jcs(body))
    assert reference["size_bytes"] == len(whole.encode())


def closure_of(path: Path) -> list[str]:
    seal_run(path, path.with_suffix(".tar.gz"))
    linted = lint_bundle(path.with_suffix(".tar.gz"), (), DEFAULT_LIMITS, 1)
    return sorted(closure_report(linted).closure.captured)


def test_closure_sees_what_could_not_be_kept(tmp_path: Path) -> None:
    for name, output in (("good", "12"), ("bad", Raising())):
        with affidavit.record(tmp_path / f"{name}.jsonl") as run:
            run.model_call("m", input="q", output=output)
    good, bad = (closure_of(tmp_path / f"{name}.jsonl") for name in ("good", "bad"))
    assert set(good) - set(bad) == {"model_outputs"}


def slow_writer(path: Path, mode: Durability, room: int) -> tuple[LogWriter, threading.Event]:
    """Return a writer whose thread waits until the event is set."""
    gate = threading.Event()

    def lines(draft: EventDraft) -> list[bytes]:
        gate.wait(10)
        return [entry_line(draft)]

    return LogWriter(path, mode, lines, lambda: "2026-01-31T14:30:00Z", room), gate


def test_a_full_queue_leaves_a_mark_and_does_not_wait(tmp_path: Path) -> None:
    writer, gate = slow_writer(tmp_path / "log", Durability.BATCH, 3)
    for number in range(20):
        writer.put(EventDraft("affidavit.verdict", "2026-01-31T14:30:00Z", {"n": number}))
    gate.set()
    writer.close()
    data = [json.loads(line)["data"] for line in (tmp_path / "log").read_bytes().splitlines()]
    kept = [one["n"] for one in data if "n" in one]
    (mark,) = [one["$unrecorded"] for one in data if "n" not in one]
    assert (mark["reason"], mark["count"]) == ("queue_full", 20 - len(kept))
    assert "the queue was full" in writer.problems[0]


def test_a_disk_that_fails_is_noted(tmp_path: Path) -> None:
    writer = LogWriter(tmp_path, Durability.EVENT, lambda one: [entry_line(one)], lambda: "")
    writer.put(EventDraft("x", "2026-01-31T14:30:00Z", {}))
    writer.close()
    assert len(writer.problems) == 1


KILLED = """
import os, signal, sys, affidavit
with affidavit.record(sys.argv[1], durability=sys.argv[2]) as run:
    for number in range(10_000):
        run.tool_call("t", input={"n": number}, output="x" * 500)
        print(number, flush=True)
"""


@pytest.mark.parametrize("after", [1, 7, 40])
def test_nothing_acknowledged_is_lost_after_a_kill(tmp_path: Path, after: int) -> None:
    path = tmp_path / "run.jsonl"
    words = [sys.executable, "-c", KILLED, str(path), "event"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for _ in range(after):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        acknowledged = after + len(process.stdout.read().splitlines())
    recorded = [one["input"]["n"] for one in data_of(path, "tool.call")]
    assert recorded[:acknowledged] == list(range(acknowledged))


# Where an event stands.


def test_steps_are_nested_and_timed(tmp_path: Path) -> None:
    with affidavit.record(tmp_path / "run.jsonl") as run:
        with run.step("outer", input={"q": 1}) as outer:
            with run.step("inner", kind="tool", input=2) as inner:
                inner.output = 3
            run.model_call("m", input="q", output="a")
        assert run.traceparent == f"00-{run.position.trace_id}-{run.position.span_id}-01"
    (tool,) = data_of(tmp_path / "run.jsonl", "tool.call")
    (model,) = data_of(tmp_path / "run.jsonl", "model.call")
    (step,) = data_of(tmp_path / "run.jsonl", "step")
    assert (tool["tool"], tool["input"], tool["output"]) == ("inner", 2, 3)
    assert tool["span"]["parent_id"] == model["span"]["parent_id"] == outer.position.span_id
    assert step["span"]["parent_id"] == run.position.span_id
    assert {one["span"]["trace_id"] for one in (tool, model, step)} == {run.position.trace_id}
    assert int(step["span"]["start_ns"]) <= int(tool["span"]["start_ns"])
    assert int(tool["span"]["end_ns"]) <= int(step["span"]["end_ns"])
    assert isinstance(step["span"]["start_ns"], str)


def test_an_error_ends_a_step_and_goes_on(tmp_path: Path) -> None:
    with affidavit.record(tmp_path / "run.jsonl") as run:
        run.verdict("ship")
        step_of_error = run.step("s")
        with pytest.raises(KeyError), step_of_error:
            raise KeyError("secret")
    (step,) = data_of(tmp_path / "run.jsonl", "step")
    assert (step["name"], step["error"]) == ("s", "KeyError")


@affidavit.traced
def double(number: int) -> int:
    return 2 * number


@affidavit.traced(kind="tool", name="search")
async def search(text: str, limit: int = 3) -> list[str]:
    await asyncio.sleep(0)
    return [text] * limit


class Agent:
    @affidavit.traced
    def ask(self, question: str) -> int:
        return double(len(question))


def test_traced_functions_are_steps_of_the_current_run(tmp_path: Path) -> None:
    assert affidavit.current_run() is None
    assert double(2) == 4
    with affidavit.record(tmp_path / "run.jsonl") as run:
        assert affidavit.current_run() is run
        assert Agent().ask("abc") == 6
        assert asyncio.run(search("x", limit=2)) == ["x", "x"]
        with pytest.raises(TypeError):
            double()  # type: ignore[call-arg]  # the mistake under test
    assert affidavit.current_run() is None
    inner, outer, failed = data_of(tmp_path / "run.jsonl", "step")
    assert (outer["name"], outer["input"], outer["output"]) == (
        *("Agent.ask", {"question": "abc"}),
        6,
    )
    assert inner["span"]["parent_id"] == outer["span"]["span_id"]
    assert failed["error"] == "TypeError"
    (tool,) = data_of(tmp_path / "run.jsonl", "tool.call")
    assert (tool["tool"], tool["input"]) == ("search", {"text": "x", "limit": 2})
    with pytest.raises(ValueError, match="kind is step or tool"):
        affidavit.traced(kind="model")


def test_tasks_keep_their_own_steps(tmp_path: Path) -> None:
    async def agent(run: Recorder, name: str) -> None:
        async with run.step(name) as step:
            await asyncio.sleep(0)
            await search(name)
            step.output = name

    async def main() -> None:
        await asyncio.gather(*(agent(run, f"a{number}") for number in range(10)))

    with affidavit.record(tmp_path / "run.jsonl", durability="batch") as run:
        asyncio.run(main())
    steps = {one["span"]["span_id"]: one["name"] for one in data_of(run.path, "step")}
    tools = data_of(run.path, "tool.call")
    assert len(tools) == len(steps) == 10
    assert all(steps[one["span"]["parent_id"]] == one["input"]["text"] for one in tools)


def test_threads_find_the_only_open_run(tmp_path: Path) -> None:
    options: dict[str, Any] = {"durability": "batch"}
    with affidavit.record(tmp_path / "run.jsonl", **options) as run, ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(double, range(100))) == 9900
    steps = data_of(run.path, "step")
    assert len(steps) == 100
    assert {one["span"]["parent_id"] for one in steps} == {run.position.span_id}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:This process")
def test_a_forked_process_records_into_the_same_log(tmp_path: Path) -> None:
    with affidavit.record(tmp_path / "run.jsonl", durability="batch") as run:
        run.verdict("parent")
        child = os.fork()
        if child == 0:
            double(21)
            run.flush()
            os._exit(0)
        os.waitpid(child, 0)
    assert [one["output"] for one in data_of(run.path, "step")] == [42]
    assert [one["verdict"] for one in data_of(run.path, "verdict")] == ["parent"]


def test_a_run_hangs_below_its_caller(tmp_path: Path) -> None:
    parent = f"00-{'ab' * 16}-{'cd' * 8}-01"
    with affidavit.record(tmp_path / "run.jsonl", traceparent=parent) as run, run.step("s") as step:
        assert run.traceparent == f"00-{'ab' * 16}-{step.position.span_id}-01"
    (started,) = data_of(run.path, "run.started")
    assert (started["span"]["trace_id"], started["span"]["parent_id"]) == ("ab" * 16, "cd" * 8)


@pytest.mark.parametrize(
    "text",
    [None, "", "00-x-y-01", f"00-{'0' * 32}-{'cd' * 8}-01", f"00-{'ab' * 16}-{'0' * 16}-00"],
)
def test_a_malformed_traceparent_is_none(text: str | None) -> None:
    assert position_from(text) is None


def test_an_unknown_durability_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AffidavitError) as caught:
        affidavit.record(tmp_path / "run.jsonl", durability="soon")
    assert caught.value.where.field == "durability"


def test_times_have_nanoseconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    with affidavit.record(tmp_path / "run.jsonl") as run:
        run.verdict("ship")
    assert all(
        len(one["time"]) == len("2026-01-31T14:30:00.000000000Z") for one in events_of(run.path)
    )
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    with affidavit.record(tmp_path / "two.jsonl") as run:
        run.verdict("ship")
    assert {one["time"] for one in events_of(run.path)} == {"1970-01-01T00:00:00Z"}
