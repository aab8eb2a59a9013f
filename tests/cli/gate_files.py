"""Files for the gate commands, and the report that a command prints."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from click.testing import Result
from tests.cli.running import run

GOLD: dict[str, Any] = {
    "qid": "A1",
    "question": "List the rules for null keys",
    "answerable": True,
    "gold_claim_substr": ["rejects null keys"],
    "gold_citations": ["p1#2"],
}
NONE: dict[str, Any] = {"qid": "U1", "question": "Refuse this", "answerable": False}
RIGHT: dict[str, Any] = {"claim": "X rejects null keys.", "citations": ["p1#2"]}
REFUSED: dict[str, Any] = {"claim": "not in context", "citations": []}


def lines(path: Path, rows: Iterable[object]) -> str:
    """Write rows as JSON lines; a text is written unchanged."""
    path.parent.mkdir(parents=True, exist_ok=True)
    written = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    path.write_text("".join(f"{line}\n" for line in written), "utf-8")
    return str(path)


def report_of(*arguments: str) -> tuple[int, dict[str, Any]]:
    """Run a gate with --json; return its exit code and its report."""
    result = run("gate", *arguments, "--json")
    return result.exit_code, json.loads(result.stdout)


def code_of(result: Result) -> str:
    """Return the code of the error that a command printed in one line."""
    told = [line for line in result.stderr.splitlines() if line.startswith("AF")]
    assert len(told) == 1, result.output
    assert "Traceback" not in result.output
    return told[0].partition(":")[0]


BAD_FILES = {
    "a file that is missing": ("none.jsonl", "AF010"),
    "a folder": ("folder", "AF012"),
    "a binary file": ("binary.jsonl", "AF0"),
    "broken UTF-8": ("broken.jsonl", "AF0"),
    "no JSON": ("text.jsonl", "AF020"),
    "a line that is very long": ("long.jsonl", "AF030"),
    "another row": ("other.jsonl", "AF4"),
    "a duplicate key": ("twice.jsonl", "AF024"),
}


def bad_files(folder: Path) -> None:
    """Write the bad files of every command into a folder."""
    (folder / "folder").mkdir()
    (folder / "binary.jsonl").write_bytes(b"{\x00\x01\x02\xff")
    (folder / "broken.jsonl").write_bytes(b'{"qid": "\xff\xfe"}\n')
    (folder / "text.jsonl").write_text("{dear diary\n")
    (folder / "long.jsonl").write_text('{"qid": "' + "x" * 2_000_000 + '"}\n')
    (folder / "other.jsonl").write_text('{"name": 7}\n')
    (folder / "twice.jsonl").write_text('{"qid": "a", "qid": "b", "e2e_ms": 1, "e2e_ms": 2}\n')
