"""DeepEval: test cases and goldens as data sets, and the files of test runs.

Origin: `EvaluationDataset.save_as` and the results folder of deepeval 4.3.1. A data set has
field names with underscores and joins lists with `|` in CSV and JSON lines; a run has camel case
names and the metrics beside each case.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from affidavit.importers.columns import Columns
from affidavit.importers.fields import as_chunks, row_in, rows_in, score_from, text
from affidavit.importers.tool_format import (
    FilePlan,
    ImportedChunk,
    Record,
    Row,
    ToolFormat,
    ToolName,
    ToolScore,
    row_shaper,
    unfold_list,
)

_ANSWERS: Final = ("actual_output", "actualOutput")
_REFERENCES: Final = ("expected_output", "expectedOutput")
_RETRIEVED: Final = ("retrieval_context", "retrievalContext")
_BETWEEN: Final = "|"
# The default name of a case is its number in the run, which does not identify the question.
_NO_NAME: Final = re.compile(r"test_case_\d+")


def unfold(value: object) -> Iterable[object] | None:
    """Return the test cases of a run, or the rows of a data set."""
    run = value.get("testRunData", value) if isinstance(value, Mapping) else value
    if isinstance(run, Mapping) and "testCases" in run:
        cases = run["testCases"]
        return cases if isinstance(cases, list) else None
    return unfold_list(value)


def plan_of(value: Row) -> FilePlan | None:
    """Return how many cases the run says it has tested."""
    run = row_in(value.get("testRunData", value), "testRunData")
    passed, failed = run.get("testPassed"), run.get("testFailed")
    if isinstance(passed, int) and isinstance(failed, int):
        return FilePlan(passed + failed)
    return None


def _joined_chunks(value: object, name: str) -> tuple[ImportedChunk, ...]:
    return as_chunks(value, name, _BETWEEN)


_COLUMNS: Final = Columns(
    {
        "question": ("input",),
        "references": _REFERENCES,
        "relevant": ("context",),
        "answer": _ANSWERS,
        "retrieved": _RETRIEVED,
    },
    convert={"relevant": _joined_chunks, "retrieved": _joined_chunks},
    are_scores=False,
)


def record(row: Row) -> Record:
    """Return the record of a test case."""
    name = text(row, "name")
    qid = None if name is None or _NO_NAME.fullmatch(name) else name
    return _COLUMNS.record(row, qid=qid, scores=_scores(row))


def _scores(row: Row) -> dict[str, ToolScore]:
    """Return whether the case passed, and each metric's score (null if the metric failed)."""
    success = row.get("success")
    found: dict[str, ToolScore] = {"success": success} if isinstance(success, bool) else {}
    for metric in rows_in(row.get("metricsData") or [], "metricsData"):
        score = metric.get("score")
        name = text(metric, "name") or "unnamed"
        found[name] = score_from(score) if isinstance(score, int | float) else None
    return found


DEEPEVAL: Final = ToolFormat(
    format=ToolName.DEEPEVAL,
    signatures=tuple(("input", name) for name in (*_ANSWERS, *_REFERENCES, *_RETRIEVED)),
    shape=row_shaper(record),
    unfold=unfold,
    plan_of=plan_of,
)
