"""RAGChecker: a results file, before or after its checking.

Origin: `RAGResults` and `RAGResult` of ragchecker 0.1.9.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from affidavit.formats.importing.dialect import Dialect, itself_or_its_elements
from affidavit.formats.importing.fields import Row, chunks, has, row_in, scores, text, texts
from affidavit.formats.importing.model import Format, Record
from affidavit.formats.importing.shaping import by_record


def unfold(value: object) -> Iterable[object] | None:
    """Return the results of a file."""
    if isinstance(value, Mapping) and isinstance(value.get("results"), list):
        results: list[object] = value["results"]
        return results
    return itself_or_its_elements(value)


def record(row: Row) -> Record:
    """Return the record of a result."""
    return Record(
        qid=text(row, "query_id"),
        question=text(row, "query"),
        references=texts(row, "gt_answer"),
        is_run=has(row, "response", "retrieved_context"),
        answer=text(row, "response"),
        retrieved=chunks(row, "retrieved_context"),
        scores=scores(row_in(row.get("metrics") or {}, "metrics"), ()),
    )


RAGCHECKER: Final = Dialect(
    Format.RAGCHECKER,
    (("query", "gt_answer"), ("query", "response", "retrieved_context")),
    by_record(record),
    unfold,
)
