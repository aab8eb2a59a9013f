"""Haystack: generated answers, and the detailed report of an evaluation.

Origin: `GeneratedAnswer` and `EvaluationRunResult.detailed_report` of haystack-ai 3.4.0. In a
report `answer` is the right answer, because the pipeline's is `predicted_answer`.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from affidavit.importers.columns import Columns
from affidavit.importers.tool_format import (
    Record,
    Row,
    ToolFormat,
    ToolName,
    row_shaper,
    unfold_list,
)

_QUESTIONS: Final = ("question", "questions", "query")
_ANSWERS: Final = ("predicted_answer", "predicted_answers")
_REPORT: Final = Columns(
    {
        "qid": ("qid", "id"),
        "question": _QUESTIONS,
        "references": ("ground_truth_answer", "ground_truth_answers", "true_answer", "answer"),
        "relevant": ("ground_truth_documents",),
        "answer": _ANSWERS,
        "retrieved": ("contexts", "context", "retrieved_documents", "documents"),
    }
)
_ANSWER: Final = Columns(
    {"question": ("query",), "answer": ("data",), "retrieved": ("documents",)}, are_scores=False
)


def unfold(value: object) -> Iterable[object] | None:
    """Return the answers in the result of a pipeline, or the rows of a file."""
    for held in (value, *(value.values() if isinstance(value, Mapping) else ())):
        if isinstance(held, Mapping) and isinstance(held.get("answers"), list):
            return map(_plain, held["answers"])
    rows = unfold_list(value)
    return None if rows is None else map(_plain, rows)


def _plain(row: object) -> object:
    """Return an answer without the type that older versions wrote around it."""
    inner = row.get("init_parameters") if isinstance(row, Mapping) else None
    return inner if isinstance(inner, dict) else row


def record(row: Row) -> Record:
    """Return the record of an answer or of a row of a report."""
    return (_ANSWER if "data" in row else _REPORT).record(row)


HAYSTACK: Final = ToolFormat(
    format=ToolName.HAYSTACK,
    signatures=(
        ("data", "query", "documents"),
        *((question, answer) for question in _QUESTIONS for answer in _ANSWERS),
    ),
    shape=row_shaper(record),
    unfold=unfold,
)
