"""RAGChecker: a results file, before or after checking.

Origin: `RAGResults` and `RAGResult` of ragchecker 0.1.9.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from affidavit.importers.fields import chunks, has, row_in, scores, text, texts
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


def record(row: Row) -> Record:
    """Return the record of a result."""
    return Record(
        qid=text(row, "query_id"),
        question=text(row, "query"),
        references=texts(row, "gt_answer"),
        is_run=has(row, "response", "retrieved_context"),
        answer=text(row, "response"),
        retrieved=chunks(row, "retrieved_context"),
        scores=scores(row_in(row.get("metrics") or {}, "metrics"), frozenset()),
    )


RAGCHECKER: Final = ToolFormat(
    format=ToolName.RAGCHECKER,
    signatures=(("query", "gt_answer"), ("query", "response", "retrieved_context")),
    shape=row_shaper(record),
    unfold=unfold,
)
