"""Braintrust: results of an evaluation, and the spans of an exported experiment or log.

Origin: `EvalResult` of braintrust 0.47.0, and the columns of an export. Braintrust has no type of
span for retrieval; passages are read from the metadata or the output of the task, and from spans
whose name is about retrieval.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from affidavit.importers.fields import (
    decode_if_json,
    find_answer,
    find_passages,
    find_question,
    scores,
    text,
)
from affidavit.importers.grouping import group_rows
from affidavit.importers.tool_format import (
    ImportedChunk,
    Numbered,
    Record,
    Row,
    ToolFormat,
    ToolName,
    row_shaper,
    unfold_list,
)

_SPANS: Final = "spans"
_RETRIEVAL: Final = re.compile(r"retriev|search|lookup", re.IGNORECASE)


def unfold(value: object) -> Iterable[object] | None:
    """Return the rows of a file, or those of a result with its summary."""
    if isinstance(value, Mapping) and "summary" in value and isinstance(value.get("results"), list):
        rows: list[object] = value["results"]
        return rows
    return unfold_list(value)


def by_root(rows: Iterable[Numbered]) -> Iterator[Numbered]:
    """Yield results unchanged, and the spans of each root as one row."""
    return group_rows(rows, lambda row: row.get("root_span_id"), _SPANS)


def record(row: Row) -> Record:
    """Return the record of a result or of a root span."""
    spans = [one for one in _listed(row.get(_SPANS)) if isinstance(one, Mapping)]
    roots = (one for one in spans if one.get("span_id") == one.get("root_span_id"))
    root = next(roots, spans[0]) if spans else row
    metadata = decode_if_json(root.get("metadata"))
    expected = find_answer(root.get("expected"))
    found = decode_if_json(root.get("scores"))
    return Record(
        qid=text(metadata, "qid") if isinstance(metadata, Mapping) else None,
        question=find_question(root.get("input")),
        references=None if expected is None else (expected,),
        is_run=True,
        answer=find_answer(root.get("output")),
        retrieved=find_passages(metadata)
        or find_passages(root.get("output"))
        or _retrieved(spans)
        or find_passages(root.get("input")),
        scores=scores(found) if isinstance(found, Mapping) else {},
    )


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _retrieved(spans: list[Row]) -> tuple[ImportedChunk, ...] | None:
    found: list[ImportedChunk] = []
    for span in spans:
        named = decode_if_json(span.get("span_attributes"))
        name = named.get("name") if isinstance(named, Mapping) else None
        if isinstance(name, str) and _RETRIEVAL.search(name):
            found += find_passages(span.get("output")) or ()
    return tuple(found) or None


BRAINTRUST: Final = ToolFormat(
    format=ToolName.BRAINTRUST,
    signatures=(
        ("input", "output", "expected", "scores"),
        ("input", "output", "span_id", "root_span_id"),
    ),
    shape=row_shaper(record),
    unfold=unfold,
    regroup=by_root,
)
