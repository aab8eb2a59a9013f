"""A sentence about the gates as a case: files, a command line, and what its report must say."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cli.running import run

GOLD: dict[str, Any] = {
    "qid": "A0001",
    "question": "Does X support null keys?",
    "answerable": True,
    "gold_claim_substr": ["rejects null keys"],
    "gold_citations": ["p1#2"],
    "notes": "Entity+constraint co-located in p1#2",
}
UNANSWERABLE: dict[str, Any] = {"qid": "U0001", "question": "Who won?", "answerable": False}
TRACE: dict[str, Any] = {
    "ts": 1723430400,
    "qid": "A0001",
    "q": "Does X support null keys?",
    "retrieved_ids": ["p1#1", "p1#2", "p2#1"],
    "answer_json": {"claim": "X rejects null keys.", "citations": ["p1#2"]},
    "ok": True,
    "reason": "ok",
}
LOCK = ["X rejects null keys."]
LOCKED = {**GOLD, "constraints": LOCK}
REFUSAL = {"claim": "not in context", "citations": []}


def gold(**changes: Any) -> dict[str, Any]:
    return {**GOLD, **changes}


def trace(answer: Mapping[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    return {**TRACE, "answer_json": {**TRACE["answer_json"], **(answer or {})}, **changes}


def refused(qid: str) -> dict[str, Any]:
    return {**TRACE, "qid": qid, "answer_json": REFUSAL}


@dataclass(frozen=True)
class Case:
    """What is asked, and what the answer must say by dotted path (`exit` is the exit code)."""

    line: str
    files: Mapping[str, Any]
    wants: Mapping[str, Any] = field(default_factory=dict)


def rag(items: list[Any], traces: list[Any], options: str = "", /, **wants: Any) -> Case:
    """Return a case of `gate rag`; in the names of `wants` two underscores are a dot."""
    files = {"gold.jsonl": items, "trace.jsonl": traces}
    return Case(f"gate rag --gold gold.jsonl --trace trace.jsonl {options}", files, _dotted(wants))


def case(line: str, files: Mapping[str, Any], /, **wants: Any) -> Case:
    return Case(line, files, _dotted(wants))


def _dotted(wants: Mapping[str, Any]) -> dict[str, Any]:
    return {name.replace("__", "."): wanted for name, wanted in wants.items()}


def write(folder: Path, files: Mapping[str, Any]) -> None:
    """Write files: a list as JSON lines, a text as it is, anything else as JSON."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            path.write_text(content)
        elif isinstance(content, list) and path.suffix == ".jsonl":
            rows = (row if isinstance(row, str) else json.dumps(row) for row in content)
            path.write_text("".join(f"{row}\n" for row in rows))
        else:
            path.write_text(json.dumps(content))


def hold(given: Case, folder: Path) -> None:
    """Run a case in a folder (the current one) and hold it to what it wants."""
    write(folder, given.files)
    result = run(*shlex.split(given.line), "--json")
    assert "Traceback" not in result.output
    said = {**json.loads(result.stdout), "exit": int(result.exit_code)}
    found = {path: value_at(said, path) for path in given.wants}
    assert found == dict(given.wants), result.stdout


def value_at(value: Any, path: str) -> Any:
    for step in path.split("."):
        value = value[int(step)] if isinstance(value, list) else value[step]
    return value
