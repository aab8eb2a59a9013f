"""The rows of tests/spec/grounded_rows through `affidavit gate rag`, with the default judge."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.cli.gate_files import report_of

FILE = Path(__file__).parent / "grounded_rows" / "rows.jsonl"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]
NUMBER = re.compile(r"\d[\d.,]*\d|\d")


@pytest.fixture(scope="module")
def shipped() -> set[str]:
    """The rows whose answers ship."""
    _, report = report_of("rag", str(FILE), "--no-cache")
    return {qid for group in report["items"] if group["G"] == "pass" for qid in group["qids"]}


def test_the_rows_are_those_that_were_written() -> None:
    labels = [row["label"] for row in ROWS]
    assert {label: labels.count(label) for label in labels} == {
        "grounded": 20,
        "invented": 20,
        "changed": 20,
    }


def test_nine_of_ten_rows_get_the_right_decision(shipped: set[str]) -> None:
    wrong = [row["qid"] for row in ROWS if (row["label"] == "grounded") != (row["qid"] in shipped)]
    assert len(wrong) <= 6, wrong


def test_no_changed_number_ships(shipped: set[str]) -> None:
    by_name = {row["qid"]: row for row in ROWS}
    changed = [
        row["qid"]
        for row in ROWS
        if row["label"] == "changed"
        and NUMBER.findall(row["answer"])
        != NUMBER.findall(by_name[row["qid"].replace("changed", "grounded")]["answer"])
    ]
    assert len(changed) == 14
    assert not shipped & set(changed)
