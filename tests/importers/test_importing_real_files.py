"""Files that the real tools wrote about the same four questions; interop/importers.sh makes them.

AFFIDAVIT_IMPORT_FILES names a folder with fresh ones.
"""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from interop.importers_questions import QUESTIONS
from tests.gates.making import profile

from affidavit.gates.rag_rows import gold_from_value, trace_from_value
from affidavit.importers.reader import detect, read_rows
from affidavit.importers.tool_format import ImportedRow, ToolName, qid_from_question

FILES = Path(os.environ.get("AFFIDAVIT_IMPORT_FILES") or Path(__file__).parent / "files")

# For each question: the outcome, then C, H and whether all relevant passages were retrieved;
# `+` holds, `-` fails, `?` was not measured.
FULL = ("shipped ++ +", "shipped ++ +", "shipped -? +", "refused ?? ?")
# These tools do not record which passages are relevant.
WITHOUT_RELEVANT = ("shipped +? ?", "shipped +? ?", "shipped -? ?", "refused ?? ?")
REAL = {
    "braintrust.jsonl": (ToolName.BRAINTRUST, WITHOUT_RELEVANT),
    "deepeval_cases.csv": (ToolName.DEEPEVAL, FULL),
    "deepeval_cases.json": (ToolName.DEEPEVAL, FULL),
    "deepeval_cases.jsonl": (ToolName.DEEPEVAL, FULL),
    "deepeval_run.json": (ToolName.DEEPEVAL, FULL),
    "gen_ai.jsonl": (ToolName.GEN_AI, FULL),
    "haystack_answers.json": (ToolName.HAYSTACK, FULL),
    "haystack_report.csv": (ToolName.HAYSTACK, WITHOUT_RELEVANT),
    "haystack_report.json": (ToolName.HAYSTACK, WITHOUT_RELEVANT),
    "huggingface": (ToolName.TABLE, WITHOUT_RELEVANT),
    "huggingface.parquet": (ToolName.TABLE, WITHOUT_RELEVANT),
    "inspect.eval": (ToolName.INSPECT, FULL),
    "inspect.json": (ToolName.INSPECT, FULL),
    "langfuse.json": (ToolName.LANGFUSE, FULL),
    "langfuse_otlp.jsonl": (ToolName.LANGFUSE, FULL),
    "langsmith.csv": (ToolName.LANGSMITH, FULL),
    "langsmith.json": (ToolName.LANGSMITH, FULL),
    "langsmith_runs.jsonl": (ToolName.LANGSMITH, FULL),
    "llamaindex.json": (ToolName.LLAMAINDEX, WITHOUT_RELEVANT),
    "mlflow.json": (ToolName.MLFLOW, WITHOUT_RELEVANT),
    "mlflow_table.json": (ToolName.MLFLOW, WITHOUT_RELEVANT),
    "openinference.jsonl": (ToolName.OPENINFERENCE, FULL),
    "promptfoo.json": (ToolName.PROMPTFOO, WITHOUT_RELEVANT),
    "promptfoo.jsonl": (ToolName.PROMPTFOO, WITHOUT_RELEVANT),
    "ragas.csv": (ToolName.RAGAS, FULL),
    "ragas.jsonl": (ToolName.RAGAS, FULL),
    "ragas_0_1.csv": (ToolName.RAGAS, FULL),
    "ragas_result.csv": (ToolName.RAGAS, FULL),
    "ragas_result.json": (ToolName.RAGAS, FULL),
    "ragas_result.parquet": (ToolName.RAGAS, FULL),
    "ragchecker.json": (ToolName.RAGCHECKER, WITHOUT_RELEVANT),
    "trulens.csv": (ToolName.TRULENS, WITHOUT_RELEVANT),
    "trulens_events.json": (ToolName.TRULENS, WITHOUT_RELEVANT),
}
GOLD_ONLY = {"langsmith_examples.jsonl": ToolName.LANGSMITH}
SCORES = {
    "braintrust.jsonl": {"exact": 0.0},
    "deepeval_run.json": {"success": False, "Exact Match": 0.0},
    "gen_ai.jsonl": {"grounded": 0.5},
    "haystack_report.csv": {"exact_match": 0.0},
    "inspect.eval": {"includes": 1.0},
    "langsmith.json": {"exact": 0},
    "llamaindex.json": {"faithfulness": 1.0, "relevancy": 0.0},
    "mlflow.json": {"exact": False},
    "mlflow_table.json": {"exact_match/v1/score": 0.0},
    "promptfoo.json": {"success": True, "score": 1, "0 icontains": 1},
    "ragas_result.csv": {"exact_match": 0.0, "string_present": 0.0},
    "ragas_result.parquet": {"exact_match": 0.0, "string_present": 0.0},
    "ragchecker.json": {"precision": 1.0, "recall": 0.5},
}
# Formats without gold are compared with this gold set, as a user would do with their own.
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
        made.answer_state, *(SIGNS[held] for held in (made.contains, made.cites, made.recalls))
    )


def test_every_file_is_in_the_table() -> None:
    assert sorted(path.name for path in FILES.iterdir()) == sorted([*REAL, *GOLD_ONLY])


def test_a_data_set_has_gold_and_no_traces() -> None:
    for name, tool in GOLD_ONLY.items():
        assert detect(FILES / name) is tool
        rows = list(read_rows(FILES / name))
        assert [row.trace for row in rows] == [None] * len(QUESTIONS)
        found = [row.gold or {} for row in rows]
        assert [gold["qid"] for gold in found] == [question["id"] for question in QUESTIONS]
        assert [gold["answerable"] for gold in found] == [True, True, True, False]


@pytest.mark.parametrize("name", REAL)
def test_the_format_is_detected_by_content_alone(name: str, tmp_path: Path) -> None:
    renamed = tmp_path / "data.bin"
    if (FILES / name).is_dir():
        shutil.copytree(FILES / name, renamed)
    else:
        shutil.copy(FILES / name, renamed)
    assert detect(renamed) is REAL[name][0]


@pytest.mark.parametrize("name", REAL)
def test_the_gates_take_what_was_imported(name: str) -> None:
    rows = rows_of(name)
    questions = [str(question["question"]) for question in QUESTIONS]
    assert tuple(came_out(asked, rows[asked]) for asked in questions) == REAL[name][1]


@pytest.mark.parametrize("name", REAL)
def test_a_qid_is_the_id_of_the_tool_or_derived_from_the_question(name: str) -> None:
    for question in QUESTIONS:
        row = rows_of(name)[str(question["question"])]
        assert row.trace is not None
        derived = qid_from_question(str(question["question"]))
        assert row.trace["qid"] == (derived if row.qid_derived else question["id"])
        assert row.gold is None or row.gold["qid"] == row.trace["qid"]


@pytest.mark.parametrize("name", SCORES)
def test_scores_of_the_tool_are_kept(name: str) -> None:
    assert rows_of(name)[str(QUESTIONS[0]["question"])].scores == SCORES[name]
