"""The rows of a batch: answers with their sources, from our own JSON lines or another tool's file.

A row of ours is `{id, answer, query?, date?}` with either `sources`, which are paths, or the texts
themselves, as `contexts`, `retrieved_contexts` or `documents`. A text and a path are never told
apart by their content: an element of `sources` is a path if it is a string, and a text if it is an
object that has one.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Struct

from affidavit.app.gate_inputs import BadLines
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import evidence as faults
from affidavit.base.faults import gates as gate_faults
from affidavit.base.files import open_to_read
from affidavit.base.json_values import JsonLimits, JsonValue
from affidavit.base.strict_json import decode, read_lines
from affidavit.base.validation import problem_and_field
from affidavit.gates.groundedness import RetrievedContext

ROW_ENDINGS: Final = (".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".arrow")
"""Files of rows; any other file is one answer."""
_ROW_OR_ANSWER_ENDINGS: Final = (".json", ".eval", ".xlsx")
"""Files that are rows unless documents are given as the sources of one answer."""
_PACKED_ENDINGS: Final = (".gz", ".zst", ".xz", ".bz2")
_LINE_ENDINGS: Final = (".jsonl", ".ndjson")
_LIMITS: Final = JsonLimits(max_bytes=64 * 1024 * 1024, max_string=64 * 1024 * 1024)
_TEXT_NAMES: Final = ("contexts", "retrieved_contexts", "documents")


class BatchRow(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An answer, and its own sources or contexts if they differ from the common sources."""

    id: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    answer: str
    query: str | None = None
    sources: tuple[str, ...] | None = None
    """Paths, relative to the folder of the file."""
    date: str | None = None
    contexts: tuple[RetrievedContext, ...] | None = None
    """Texts, which are the sources of this answer."""


_NAMES: Final = frozenset((*BatchRow.__struct_fields__, *_TEXT_NAMES))


def is_row_file(path: Path, *, has_sources: bool = False) -> bool:
    """Tell from its name whether a file has rows, and is not one answer."""
    name = path.name.lower()
    for ending in _PACKED_ENDINGS:
        name = name.removesuffix(ending)
    return name.endswith(ROW_ENDINGS if has_sources else (*ROW_ENDINGS, *_ROW_OR_ANSWER_ENDINGS))


class BatchRows:
    """The rows of a file, read again each time: texts of many rows would fill the memory."""

    def __init__(self, path: Path, columns: Mapping[str, str], *, skip_bad: bool) -> None:
        self._path = path
        self._columns = columns
        self._skip_bad = skip_bad
        self.bad = BadLines(skip_bad)
        """The lines that are not rows."""
        self._count = sum(1 for _ in self._read(self.bad))
        if not self._count:
            raise AffidavitError(faults.BATCH_EMPTY, Where(file=str(path)))

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[BatchRow]:
        return self._read(BadLines(self._skip_bad))

    def _read(self, bad: BadLines) -> Iterator[BatchRow]:
        first_line: dict[str, int] = {}
        for line, row in self._rows(bad):
            if row.id in first_line:
                where = Where(str(self._path), line, "id")
                first = first_line[row.id]
                raise AffidavitError(faults.BATCH_ID_TWICE, where, id=row.id, first=first)
            first_line[row.id] = line
            yield row

    def _rows(self, bad: BadLines) -> Iterator[tuple[int, BatchRow]]:
        if self._is_own():
            yield from _own_rows(self._path, bad)
        else:
            yield from _imported_rows(self._path, self._columns, bad)

    def _is_own(self) -> bool:
        """Tell whether the rows are ours, or of no tool, so that our errors say what is wrong."""
        if self._columns or not self._path.name.lower().endswith(_LINE_ENDINGS):
            return False
        with open_to_read(self._path) as stream:
            first = next(
                (line for line in read_lines(stream, _LIMITS.max_bytes) if line.strip()), b""
            )
        # What is not strict JSON (a byte order mark, NaN) may be what another tool writes.
        value = None
        with suppress(AffidavitError):
            value = decode(first.strip(), _LIMITS)
        names = value.keys() if isinstance(value, dict) else set()
        if "id" in names and names <= _NAMES:
            return True
        from affidavit.importers.reader import detect

        try:
            detect(self._path)
        except AffidavitError as error:
            if names and not names & _NAMES and error.fault is gate_faults.IMPORT_UNKNOWN:
                raise  # It names the columns to map.
            return error.fault is gate_faults.IMPORT_UNKNOWN
        return False


def read_batch_rows(
    path: Path, columns: Mapping[str, str] | None = None, *, skip_bad: bool = False
) -> BatchRows:
    """Return the rows of a file, all of them valid. Every row must have its own id.

    `columns` maps our names to the file's columns. With `skip_bad`, lines that are not rows are
    counted, and the others are rows.
    """
    return BatchRows(path, columns or {}, skip_bad=skip_bad)


def _own_rows(path: Path, bad: BadLines) -> Iterator[tuple[int, BatchRow]]:
    with open_to_read(path) as stream:
        lines = read_lines(stream, _LIMITS.max_bytes)
        try:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                try:
                    yield number, _own_row(decode(line.strip(), _LIMITS, number), number)
                except AffidavitError as error:
                    bad(error.at(file=str(path), line=number))
        except AffidavitError as error:
            raise error.at(file=str(path)) from None


def _own_row(value: JsonValue, number: int) -> BatchRow:
    if isinstance(value, dict):
        value = _with_contexts(value, number)
    try:
        return msgspec.convert(value, BatchRow)
    except msgspec.ValidationError as error:
        problem, field = problem_and_field(error)
        raise _malformed(problem, number, field) from None


def _with_contexts(value: dict[str, JsonValue], number: int) -> dict[str, JsonValue]:
    """Return a row whose texts are under `contexts`; it has one list of sources, of one kind."""
    named = [name for name in _TEXT_NAMES if value.get(name) is not None]
    sources = value.get("sources")
    if isinstance(sources, list) and any(isinstance(each, dict) for each in sources):
        named.append("sources")
    if len(named) > 1 or (named and named != ["sources"] and sources is not None):
        both = " and ".join(dict.fromkeys([*named, *(["sources"] if sources is not None else [])]))
        raise _malformed(f"it has both {both}", number, named[0])
    rest = {name: each for name, each in value.items() if name not in (*_TEXT_NAMES, *named)}
    if named:
        rest["contexts"] = [*_contexts_in(value[named[0]], named[0], number)]
    return rest


def _contexts_in(value: JsonValue, name: str, number: int) -> Iterator[dict[str, JsonValue]]:
    from affidavit.importers.fields import chunk_from
    from affidavit.importers.tool_format import RowProblem

    if not isinstance(value, list):
        raise _malformed("a list of texts is needed", number, name)
    for each in value:
        try:
            chunk = chunk_from(each, name)
        except RowProblem as problem:
            raise _malformed(problem.problem, number, problem.name) from None
        if chunk.text is None or (name == "sources" and isinstance(each, str)):
            raise _malformed("every element needs a text", number, name)
        yield {"text": chunk.text, "id": chunk.id}


def _imported_rows(
    path: Path, columns: Mapping[str, str], bad: BadLines
) -> Iterator[tuple[int, BatchRow]]:
    """Yield the rows of another tool's file; a question that is asked again is `qid#2`."""
    from affidavit.app.gate_rag_traces import contexts_of
    from affidavit.gates.rag_rows import qid_of, trace_from_value
    from affidavit.importers.reader import read_rows

    asked: dict[str, int] = {}
    for row in read_rows(path, role="trace", on_bad=bad, columns=columns):
        try:
            trace = row.trace and trace_from_value(row.trace, row.line, str(path))
            if not trace or trace.answer_json is None:
                raise _malformed("it has no answer", row.line, "answer").at(file=str(path))
        except AffidavitError as error:
            bad(error)
            continue
        qid = qid_of(trace)
        number = asked[qid] = asked.get(qid, 0) + 1
        yield (
            row.line,
            BatchRow(
                id=qid if number == 1 else f"{qid}#{number}",
                answer=trace.answer_json.claim,
                query=str((row.trace or {}).get("q") or "") or None,
                contexts=contexts_of(row, trace),
            ),
        )


def _malformed(problem: str, line: int, field: str | None) -> AffidavitError:
    return AffidavitError(faults.BATCH_ROW, Where(line=line, field=field), problem=problem)
