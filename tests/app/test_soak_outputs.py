"""What a trial wrote becomes a bundle, by the rule of docs/soak.md."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.seal.bundle_making import AT, sealed

import affidavit
from affidavit.app.bundles import open_bundle
from affidavit.app.soak_outputs import (
    InvalidOutputError,
    WrittenOutput,
    bundle_of_output,
    trial_run,
)
from affidavit.base.errors import AffidavitError

EXITED = "affidavit.process.exited"


def span(name: str, start: int, **attributes: Any) -> dict[str, Any]:
    return {
        "traceId": "a" * 32,
        "spanId": f"{start:016}",
        "name": name,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(1_769_869_800_000_000_000 + start),
        "attributes": [
            {"key": key.replace("__", "."), "value": {"stringValue": value}}
            for key, value in attributes.items()
        ],
    }


def otlp(*spans: dict[str, Any]) -> str:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [*spans]}]}]})


CHAT = span(
    "chat",
    3,
    gen_ai__operation__name="chat",
    gen_ai__request__model="m-1",
    gen_ai__prompt="How many?",
    gen_ai__completion="Twelve.",
)
TOOL = span(
    "tool",
    2,
    gen_ai__operation__name="execute_tool",
    gen_ai__tool__name="leave_days",
    gen_ai__tool__call__arguments="{}",
    gen_ai__tool__call__result="12",
)
OTHER = span("agent", 1, gen_ai__operation__name="invoke_agent")

OUTPUTS: dict[str, tuple[dict[str, str], str, list[str]]] = {
    "nothing": ({}, "", [EXITED]),
    "text on standard output is a log": ({}, "done\n", [EXITED]),
    "JSON on standard output": ({}, '{"answer": 12}', ["soak.output", EXITED]),
    "JSON lines on standard output": ({}, '{"a": 1}\n{"a": 2}\n', ["soak.output"] * 2 + [EXITED]),
    "a number on standard output": ({}, "12", [EXITED]),
    "plain JSON": ({"out.json": '{"answer": 12}'}, "noise", ["soak.output", EXITED]),
    "JSON in the order of the names": (
        {"b.json": '{"b": 1}', "a.jsonl": '{"a": 1}\n'},
        "",
        ["soak.output", "soak.output", EXITED],
    ),
    "events": (
        {"e.jsonl": '{"type": "team.step", "data": {"n": 1}}\n'},
        "",
        ["team.step", EXITED],
    ),
    "an OTLP export, by the start of its spans": (
        {"trace.json": otlp(CHAT, TOOL, OTHER)},
        "",
        ["otel.span", "affidavit.tool.call", "affidavit.model.call", EXITED],
    ),
    "a row of a trace": (
        {
            "t.jsonl": '{"qid": "1", "q": "How many?", "answer_json": {"claim": "12"},'
            ' "retrieved_ids": ["c-1"]}\n'
        },
        "",
        ["affidavit.retrieval", "soak.answer", EXITED],
    ),
    "other files are left alone": ({"notes.txt": "x", "x.bin": "\0"}, "", [EXITED]),
}


def written(folder: Path, files: dict[str, str | bytes], stdout: str = "") -> WrittenOutput:
    output = folder / "output"
    output.mkdir()
    for name, content in files.items():
        raw = content if isinstance(content, bytes) else content.encode()
        (output / name).write_bytes(raw)
    (folder / "stdout").write_text(stdout)
    return WrittenOutput(output, folder / "stdout", 0, trial_run(1, 2), AT)


def events_of(path: Path) -> list[dict[str, Any]]:
    with open_bundle(path) as reader:
        return [event for _, event in reader.events()]


@pytest.mark.parametrize(("files", "stdout", "types"), OUTPUTS.values(), ids=OUTPUTS.keys())
def test_an_output(files: dict[str, str], stdout: str, types: list[str], tmp_path: Path) -> None:
    target = tmp_path / "bundle.tar.gz"
    bundle_of_output(written(tmp_path, {**files}, stdout), target)
    assert [event["type"] for event in events_of(target)] == types


def test_spans_keep_what_they_say_and_their_times(tmp_path: Path) -> None:
    target = tmp_path / "bundle.tar.gz"
    bundle_of_output(written(tmp_path, {"t.json": otlp(CHAT, TOOL)}), target)
    tool, chat, exited = events_of(target)
    assert tool["data"] == {"tool": "leave_days", "input": "{}", "output": "12"}
    assert chat["data"]["model"] == "m-1"
    assert tool["time"].startswith("2026-01-31T")
    assert exited["data"] == {"code": 0}


def test_a_bundle_is_taken_as_it_is(tmp_path: Path) -> None:
    target, raw = tmp_path / "bundle.tar.gz", sealed()
    bundle_of_output(written(tmp_path, {"run.tar.gz": raw, "x.json": "{}"}), target)
    assert target.read_bytes() == raw


def test_the_log_of_a_run_is_sealed_as_it_is(tmp_path: Path) -> None:
    asked = written(tmp_path, {})
    with affidavit.record(asked.folder / "run.jsonl", run_id="r") as run:
        run.verdict("ship")
    bundle_of_output(asked, tmp_path / "bundle.tar.gz")
    types = [event["type"] for event in events_of(tmp_path / "bundle.tar.gz")]
    assert types == ["affidavit.run.started", "affidavit.verdict", "affidavit.run.finished"]


INVALID: dict[str, tuple[dict[str, str | bytes], str]] = {
    "two bundles": ({"a.tar.gz": b"x", "b.tgz": b"y"}, "more than one bundle"),
    "JSON that is none": ({"a.json": "{"}, "AF"),
    "a line that is none": ({"a.jsonl": "{}\n{\n"}, "AF"),
    "a misspelt member of an event": ({"e.json": '{"type": "t", "data": 1, "tyme": 2}'}, "AF667"),
    "a log of another version": ({"r.jsonl": '{"affidavit_run":9}\n'}, "AF"),
}


@pytest.mark.parametrize(("files", "said"), INVALID.values(), ids=INVALID.keys())
def test_an_output_that_is_no_evidence(
    files: dict[str, str | bytes], said: str, tmp_path: Path
) -> None:
    with pytest.raises((InvalidOutputError, AffidavitError), match=said):
        bundle_of_output(written(tmp_path, files), tmp_path / "bundle.tar.gz")


def test_links_are_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text('{"password": "x"}')
    asked = written(tmp_path, {})
    (asked.folder / "link.json").symlink_to(secret)
    bundle_of_output(asked, tmp_path / "bundle.tar.gz")
    assert [event["type"] for event in events_of(tmp_path / "bundle.tar.gz")] == [EXITED]


def test_too_many_files(tmp_path: Path) -> None:
    asked = written(tmp_path, {f"{at}.txt": "x" for at in range(1001)})
    with pytest.raises(InvalidOutputError, match="1000 files"):
        bundle_of_output(asked, tmp_path / "bundle.tar.gz")
