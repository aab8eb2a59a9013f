"""RAGChecker: a results file, before or after checking.

Origin: `RAGResults` and `RAGResult` of ragchecker 0.1.9.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from affidavit.importers.columns import Columns
from affidavit.importers.fields import row_in, scores
from affidavit.importers.tool_format import (
    Record,
    Row,
    ToolFormat,
    ToolName,
    row_shaper,
    unfold_list,
)


def unfold(value: object) -> Iterable[object] | None:
    """Return the results of a file."""
    if isinstance(value, Mapping) and isinstance(value.get("results"), list):
        results: list[object] = value["results"]
        return results
    return unfold_list(value)


_COLUMNS: Final = Columns(
    {
        "qid": ("query_id",),
        "question": ("query",),
        "references": ("gt_answer",),
        "answer": ("response",),
        "retrieved": ("retrieved_context",),
    },
    are_scores=False,
)


def record(row: Row) -> Record:
    """Return the record of a result."""
    metrics = row_in(row.get("metrics") or {}, "metrics")
    return _COLUMNS.record(row, scores=scores(metrics))


RAGCHECKER: Final = ToolFormat(
    format=ToolName.RAGCHECKER,
    signatures=(("query", "gt_answer"), ("query", "response", "retrieved_context")),
    shape=row_shaper(record),
    unfold=unfold,
)
