"""Files that the real tools wrote about the same four questions; interop/importers.sh makes them.

AFFIDAVIT_IMPORT_FILES names a folder with fresh ones.
"""

import os
from pathlib import Path
from typing import Any

import pytest
from interop.importers_questions import QUESTIONS
from tests.gates.making import profile

from affidavit.formats.importing import (
    Format,
    ImportedRow,
    detect,
    qid_from_question,
    read_rows,
)
from affidavit.gates.rag_rows import gold_from_value, trace_from_value

FILES = Path(os.environ.get("AFFIDAVIT_IMPORT_FILES") or Path(__file__).parent / "files")

# For each of the questions: what became of it, then C, H and whether all was retrieved that is
# relevant; `+` holds, `-` fails, `?` was not measured.
FULL = ("shipped ++ +", "shipped ++ +", "shipped -? +", "refused ?? ?")
# These tools do not record which passages are relevant.
WITHOUT_RELEVANT = ("shipped +? ?", "shipped +? ?", "shipped -? ?", "refused ?? ?")
REAL = {
    "deepeval_cases.csv": (Format.DEEPEVAL, FULL),
    "deepeval_cases.json": (Format.DEEPEVAL, FULL),
    "deepeval_cases.jsonl": (Format.DEEPEVAL, FULL),
    "deepeval_run.json": (Format.DEEPEVAL, FULL),
    "gen_ai.jsonl": (Format.GEN_AI, FULL),
    "inspect.eval": (Format.INSPECT, FULL),
    "inspect.json": (Format.INSPECT, FULL),
    "langfuse.json": (Format.LANGFUSE, FULL),
    "langfuse_otlp.jsonl": (Format.LANGFUSE, FULL),
    "openinference.jsonl": (Format.OPENINFERENCE, FULL),
    "promptfoo.json": (Format.PROMPTFOO, WITHOUT_RELEVANT),
    "promptfoo.jsonl": (Format.PROMPTFOO, WITHOUT_RELEVANT),
    "ragas.csv": (Format.RAGAS, FULL),
    "ragas.jsonl": (Format.RAGAS, FULL),
    "ragas_0_1.csv": (Format.RAGAS, FULL),
    "ragas_result.csv": (Format.RAGAS, FULL),
    "ragas_result.json": (Format.RAGAS, FULL),
    "ragas_result.parquet": (Format.RAGAS, FULL),
    "ragchecker.json": (Format.RAGCHECKER, WITHOUT_RELEVANT),
}
SCORES = {
    "deepeval_run.json": {"success": False, "Exact Match": 0.0},
    "gen_ai.jsonl": {"grounded": 0.5},
    "inspect.eval": {"includes": "C"},
    "promptfoo.json": {"success": True, "score": 1, "0 icontains": 1},
    "ragas_result.csv": {"exact_match": 0.0, "string_present": 0.0},
    "ragas_result.parquet": {"exact_match": 0.0, "string_present": 0.0},
    "ragchecker.json": {"precision": 1.0, "recall": 0.5},
}
# Formats without gold are held against this, as a user holds them against a gold set of their own.
GOLD: dict[str, dict[str, Any]] = {
    str(question["question"]): {
        "qid": question["id"],
        "answerable": question["id"] != "quiz",
        "gold_claim_substr": [str(question["reference"]).rstrip(".")],
        "gold_citations": list(question["relevant"]),
    }
    for question in QUESTIONS
}
SIGNS = {True: "+", False: "-", None: "?"}


def rows_of(name: str) -> dict[str, ImportedRow]:
    """Return the rows by their question."""
    rows = list(read_rows(FILES / name))
    assert len(rows) == len(QUESTIONS)
    return {str((row.trace or {})["q"]): row for row in rows}


def came_out(question: str, row: ImportedRow) -> str:
    gold = gold_from_value(GOLD[question] if row.gold is None else row.gold)
    made = profile(gold, trace_from_value(row.trace))
    return "{} {}{} {}".format(
        made.seen, *(SIGNS[held] for held in (made.contains, made.cites, made.recalls))
    )


def test_every_file_is_in_the_table() -> None:
    assert sorted(path.name for path in FILES.iterdir()) == sorted(REAL)


@pytest.mark.parametrize("name", REAL)
def test_a_file_is_known_by_its_content_alone(name: str, tmp_path: Path) -> None:
    renamed = tmp_path / "data.bin"
    renamed.write_bytes((FILES / name).read_bytes())
    assert detect(renamed) is REAL[name][0]


@pytest.mark.parametrize("name", REAL)
def test_the_gates_take_what_was_imported(name: str) -> None:
    rows = rows_of(name)
    questions = [str(question["question"]) for question in QUESTIONS]
    assert tuple(came_out(asked, rows[asked]) for asked in questions) == REAL[name][1]


@pytest.mark.parametrize("name", REAL)
def test_a_qid_is_the_tools_or_the_questions_digest(name: str) -> None:
    for question in QUESTIONS:
        row = rows_of(name)[str(question["question"])]
        assert row.trace is not None
        derived = qid_from_question(str(question["question"]))
        assert row.trace["qid"] == (derived if row.qid_derived else question["id"])
        assert row.gold is None or row.gold["qid"] == row.trace["qid"]


@pytest.mark.parametrize("name", SCORES)
def test_what_the_tool_has_scored_is_kept(name: str) -> None:
    assert rows_of(name)[str(QUESTIONS[0]["question"])].scores == SCORES[name]
