"""Affidavit's own rows, and plain tables with the column names that people commonly use."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

from affidavit.importers.columns import Columns, chunks_from_ids, split_texts
from affidavit.importers.fields import CHUNK_TEXTS, as_chunks, find, find_list
from affidavit.importers.tool_format import (
    ImportedChunk,
    ImportedRow,
    ImportOptions,
    Row,
    RowProblem,
    ToolFormat,
    ToolName,
    row_shaper,
    unfold_list,
)


def native_row(row: Row, position: int, line: int, choices: ImportOptions) -> ImportedRow:
    """Return one of our own gold items or traces unchanged."""
    # In Parquet every row has every column, so a trace has an `answerable` that is null.
    is_gold, is_trace = row.get("answerable") is not None, "answer_json" in row
    if not is_gold and not is_trace:
        raise RowProblem("it has neither answerable nor answer_json")
    return ImportedRow(
        position=position,
        line=line,
        gold=dict(row) if is_gold and choices.role != "trace" else None,
        trace=dict(row) if is_trace and choices.role != "gold" else None,
    )


_SIGNATURES: Final = (("qid", "answerable"), ("qid", "answer_json"), ("q_id", "answer_json"))

NATIVE: Final = ToolFormat(
    format=ToolName.NATIVE, signatures=_SIGNATURES, shape=native_row, appends=True
)
NATIVE_ROWS: Final = ToolFormat(
    format=ToolName.NATIVE_ROWS, signatures=_SIGNATURES, shape=native_row, appends=True
)


IDS: Final = ("qid", "q_id", "id", "question_id", "query_id")
QUESTIONS: Final = ("question", "query", "input", "prompt", "q", "user_input")
ANSWERS: Final = (
    *("answer", "response", "output", "claim", "prediction", "actual_output", "generated_texts"),
)
REFERENCES: Final = (
    *("reference", "expected", "expected_answer", "expected_output", "target", "ground_truth"),
    *("ground_truths", "reference_answer", "generation_gt"),
)
RETRIEVED: Final = (
    *("retrieved_contexts", "contexts", "context", "passages", "documents", "retrieval_context"),
    *("retrieved_context", "retrieved_contents", "chunks", "sources"),
)
_NUMBERED: Final = re.compile(r"(?:retrieved_)?(?:context|passage|document|chunk)s?_?(\d+)")
"""A column of one of several passages, such as `context_2`."""


def _retrieved(value: object, name: str) -> tuple[ImportedChunk, ...] | None:
    """Return passages. A string among `sources` is a path; an object with a text is a passage."""
    if name != "sources":
        return as_chunks(value, name)
    listed = find_list(value, name) if isinstance(value, str) else value
    if not isinstance(listed, list) or not listed:
        return None
    if not all(isinstance(each, Mapping) and find(each, *CHUNK_TEXTS) for each in listed):
        return None
    return as_chunks(listed, name)


_COLUMNS: Final = Columns(
    {
        "qid": IDS,
        "question": QUESTIONS,
        "references": REFERENCES,
        "claims": ("gold_claim_substr",),
        "relevant": ("gold_citations",),
        "constraints": ("constraints",),
        "answer": ANSWERS,
        "retrieved": RETRIEVED,
        "retrieved_ids": ("retrieved_ids",),
        "citations": ("citations",),
        "constraints_echo": ("constraints_echo",),
    },
    # Ids in one cell are separated by `|`. Texts may contain it, so only ids are split.
    convert={
        "relevant": chunks_from_ids,
        "retrieved": _retrieved,
        "retrieved_ids": split_texts,
        "citations": split_texts,
    },
)


def rows_by_plain_names(value: object) -> Iterable[object] | None:
    """Return the rows of a document, with `Expected Answer` renamed to `expected_answer`.

    A column with the exact name takes precedence over a similar one, and the first of several
    similar columns over the others. Passages in columns of their own (`context_1`) become one list,
    unless there is a column for all of them.
    """
    rows = unfold_list(value)
    return None if rows is None else map(_plainly_named, rows)


def _plainly_named(row: object) -> object:
    if not isinstance(row, dict):
        return row
    names, numbered = _plain_names(tuple(row))
    if names:
        row = {names.get(name, name): value for name, value in row.items()}
    if numbered:
        passages = [row[name] for name in numbered if row[name] is not None]
        row = {name: value for name, value in row.items() if name not in numbered}
        row["contexts"] = passages
    return row


@lru_cache(maxsize=64)
def _plain_names(names: tuple[str, ...]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the new names of columns, and the columns of single passages in order."""
    plain: dict[str, str] = {}
    numbered: dict[str, int] = {}
    for name in names:
        word = "_".join(name.lower().split())
        if word != name and word in _COLUMNS.taken and word not in names:
            plain.setdefault(word, name)
        elif found := _NUMBERED.fullmatch(word):
            numbered[name] = int(found[1])
    if any(name in names or name in plain for name in RETRIEVED):
        numbered = {}
    return (
        {name: word for word, name in plain.items()},
        tuple(sorted(numbered, key=numbered.__getitem__)),
    )


def mapped_fields(row: Row, names: Iterable[str]) -> dict[str, Any]:
    """Return the fields of a record that the user's columns hold, by our names for them."""
    kept = {name: row[name] for name in names if name in row}
    if len(kept) < len(set(names)):
        raise RowProblem("its rows are joined from several, which --map does not name columns of")
    record = _COLUMNS.record(kept)
    found = {name: getattr(record, name) for name in record.__struct_fields__}
    return {name: value for name, value in found.items() if value or value is False}


TABLE: Final = ToolFormat(
    format=ToolName.TABLE,
    signatures=(
        *((name, "answerable") for name in IDS[:2]),
        *((name, answer) for name in (*QUESTIONS, *IDS[:2]) for answer in ANSWERS),
        *((name, reference) for name in QUESTIONS for reference in REFERENCES),
        *((answer, passages) for answer in ANSWERS for passages in RETRIEVED[:-1]),
    ),
    shape=row_shaper(_COLUMNS.record),
    unfold=rows_by_plain_names,
)
