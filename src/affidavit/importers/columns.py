"""Reads rows in which each field of ours is a column, under one of several names."""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, Final, TypeAlias

from affidavit.importers.fields import (
    as_answer,
    as_chunks,
    as_flag,
    as_text,
    as_texts,
    is_score,
    named_chunks,
    score_from,
)
from affidavit.importers.tool_format import ImportedChunk, Record, Row

Names: TypeAlias = tuple[str, ...]
Convert: TypeAlias = Callable[[object, str], object]
_Layout: TypeAlias = tuple[tuple[tuple[str, Names, Convert], ...], Names, bool]

_LAYOUTS: Final = 64
"""Layouts that are remembered. A file has few; a hostile one has as many as rows."""
_IDS: Final = {"retrieved_ids": "retrieved", "relevant_ids": "relevant"}
"""Columns with only the ids of passages, by the field of the passages."""
_CONVERT: Final[Mapping[str, Convert]] = {
    "qid": as_text,
    "question": as_text,
    "references": as_texts,
    "claims": as_texts,
    "answerable": as_flag,
    "relevant": as_chunks,
    "relevant_ids": as_texts,
    "constraints": as_texts,
    "answer": as_answer,
    "retrieved": as_chunks,
    "retrieved_ids": as_texts,
    "citations": as_texts,
    "constraints_echo": as_texts,
}
_OF_A_RUN: Final = ("answer", "retrieved", "retrieved_ids")


class Columns:
    """The names of the columns for each field of a `Record`.

    Of several columns the first that is not null counts. Passages and their ids may be in separate
    columns, `retrieved` and `retrieved_ids`. `convert` replaces how a field is read. Every other
    column is a score, except those that are `ignored`; `are_scores` is false if the tool has its
    scores elsewhere. A row records a run if it has a column of an answer or of retrieved passages.
    """

    def __init__(
        self,
        names: Mapping[str, Names],
        *,
        convert: Mapping[str, Convert] | None = None,
        ignored: Iterable[str] = (),
        are_scores: bool = True,
    ) -> None:
        self.names = {"answerable": ("answerable",), **names}
        self.taken = frozenset(ignored).union(*self.names.values())
        self._convert = {**_CONVERT, **(convert or {})}
        self._are_scores = are_scores
        self._layout_of = lru_cache(_LAYOUTS)(self._layout)

    def record(self, row: Row, **more: Any) -> Record:
        """Return the record of a row; `more` are fields that are not columns."""
        fields, scored, is_run = self._layout_of(tuple(row))
        found: dict[str, Any] = {"is_run": is_run}
        for field, names, convert in fields:
            for name in names:
                value = row[name]
                if value is not None:
                    found[field] = convert(value, name)
                    break
        if scored:
            found["scores"] = {
                name: score_from(value) for name in scored if is_score(value := row[name])
            }
        for ids, passages in _IDS.items():
            if ids in found:
                name = next(name for name in self.names[ids] if row.get(name) is not None)
                found[passages] = named_chunks(found.get(passages), found.pop(ids), name)
        return Record(**found, **more) if more else Record(**found)

    def _layout(self, names: Names) -> _Layout:
        """Return the columns to read in a row with these names, and the columns of scores."""
        present = {
            field: tuple(name for name in known if name in names)
            for field, known in self.names.items()
        }
        return (
            tuple((field, held, self._convert[field]) for field, held in present.items() if held),
            tuple(name for name in names if name not in self.taken) if self._are_scores else (),
            any(present.get(field) for field in _OF_A_RUN),
        )


def chunks_from_ids(value: object, name: str) -> tuple[ImportedChunk, ...]:
    """Return passages of which only the ids are known, separated by `|` if they are in one text."""
    return tuple(map(ImportedChunk, split_texts(value, name)))


def split_texts(value: object, name: str) -> tuple[str, ...]:
    """Return a list of texts that may be joined with `|`."""
    return as_texts(value, name, "|")
