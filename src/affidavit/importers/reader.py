"""Detect which tool wrote a file, and read its rows one by one."""

from collections.abc import Iterator, Mapping, Sequence
from io import BufferedReader
from itertools import chain, islice
from pathlib import Path
from typing import Final

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.base.files import open_to_read
from affidavit.base.text import excerpt, field_path
from affidavit.importers.containers import Container, OnBad, container_of, csv_names, values_in
from affidavit.importers.deepeval import DEEPEVAL
from affidavit.importers.inspect_log import INSPECT
from affidavit.importers.langfuse import LANGFUSE
from affidavit.importers.model import (
    REFUSAL,
    ImportedRow,
    ImportOptions,
    Role,
    RowProblem,
    ToolName,
)
from affidavit.importers.otlp import GEN_AI, LANGFUSE_SPANS, OPENINFERENCE, TRACE_ID_KEY
from affidavit.importers.plain_rows import NATIVE, NATIVE_ROWS, TABLE
from affidavit.importers.promptfoo import PROMPTFOO
from affidavit.importers.ragas import RAGAS
from affidavit.importers.ragchecker import RAGCHECKER
from affidavit.importers.tool_format import Numbered, ToolFormat
from affidavit.importers.tool_json import skip_byte_order_mark

# The formats, in the order in which a row is held against them.
#
# The order matters only where the fields of one are also fields of another: the plain table, whose
# names are everybody's, is last.

TOOL_FORMATS: Final[tuple[ToolFormat, ...]] = (
    NATIVE,
    NATIVE_ROWS,
    PROMPTFOO,
    INSPECT,
    LANGFUSE_SPANS,
    OPENINFERENCE,
    GEN_AI,
    LANGFUSE,
    RAGCHECKER,
    RAGAS,
    DEEPEVAL,
    TABLE,
)


# Which tool wrote a file, told from its rows; and if none did, which is nearest.

SAMPLED: Final = 100
"""Values that are looked at: the first spans of an export may be about something else."""
_ROWS_SAMPLED: Final = 1000
_SHOWN: Final = 12


def detect_tool_format(
    values: Sequence[object], container: Container, file: str, format: ToolName | None = None
) -> ToolFormat:
    """Return the dialect of a file by its first values, or say what was looked for and found."""
    asked = [
        one
        for one in TOOL_FORMATS
        if format in (None, one.format) and _may_be_in(container, one.format)
    ]
    for value in values:
        for dialect in asked:
            if any(map(dialect.knows, _rows(dialect, value))):
                return dialect
    empty = next((one for one in asked if _has_no_rows(one, values)), None)
    if empty is not None:
        return empty
    found = fields_found(values[0])
    if format is not None:
        wanted = " or ".join(
            _describe_signature(names) for one in asked for names in one.signatures[:3]
        )
        raise AffidavitError(
            faults.IMPORT_MISMATCH, Where(file), format=format.value, wanted=wanted, found=found
        )
    raise AffidavitError(
        faults.IMPORT_UNKNOWN, Where(file), found=found, nearest=describe_nearest_formats(values[0])
    )


def _may_be_in(container: Container, format: ToolName) -> bool:
    """Our own rows are JSON lines, or in a container that has more than texts: not in CSV."""
    if format is ToolName.NATIVE:
        return container is Container.JSON_LINES
    return format is not ToolName.NATIVE_ROWS or container not in (
        Container.JSON_LINES,
        Container.CSV,
    )


def _rows(dialect: ToolFormat, value: object) -> Iterator[object]:
    return islice(dialect.unfold(value) or (), _ROWS_SAMPLED)


def fields_found(value: object) -> str:
    """Return the names of the fields of a value, for people."""
    row = value
    while isinstance(row, list) and row:
        row = row[0]
    if not isinstance(row, Mapping):
        return "no rows with named fields"
    names = [excerpt(str(name), 40) for name in row]
    shown = ", ".join(name if name.isprintable() else ascii(name) for name in names[:_SHOWN])
    return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown or "no field"


def describe_nearest_formats(value: object) -> str:
    """Return the formats that lack the smallest part of their fields, with what they lack."""
    shares: dict[str, float] = {}
    for dialect in TOOL_FORMATS:
        row = next(_rows(dialect, value), None)
        present = frozenset(row) if isinstance(row, Mapping) else frozenset()
        for names in dialect.signatures if dialect.format is not ToolName.NATIVE_ROWS else ():
            missing = tuple(name for name in names if name not in present)
            said = f"{dialect.format}, which also has {_describe_signature(missing)}"
            shares[said] = 1 - len(missing) / len(names)
    best = max(shares.values())
    if best:
        return "; or ".join([said for said, share in shares.items() if share == best][:3])
    looked_for = "; ".join(
        f"{one.format}: {_describe_signature(one.signatures[0])}"
        for one in TOOL_FORMATS
        if one.format is not ToolName.NATIVE_ROWS
    )
    return f"none (looked for {looked_for})"


def _has_no_rows(dialect: ToolFormat, values: Sequence[object]) -> bool:
    """Tell whether a file is built as this format's files are, and empty."""
    rows = [dialect.unfold(value) for value in values]
    return all(one is not None and not any(True for _ in one) for one in rows)


def _describe_signature(names: Sequence[str]) -> str:
    """Return a signature as people say it."""
    said = " and ".join(name for name in names if name != TRACE_ID_KEY)
    return f"OTLP spans with {said}" if TRACE_ID_KEY in names else said


# A tool's file into rows, one by one.


def raise_error(error: AffidavitError) -> None:
    """Stop at the first row that cannot be imported."""
    raise error


def _skip(error: AffidavitError) -> None:
    """Leave a bad line to whoever reads the rows."""


def detect(path: str | Path, format: ToolName | None = None) -> ToolName:
    """Return the format of a file, told from its content; an empty one is our own, without rows.

    AF420 says which fields were looked for and found; with `format`, AF425 says that it is another.
    """
    file = str(path)
    with open_to_read(path) as stream:
        container = container_of(stream, file)
        values = values_in(stream, container, file, _skip)
        dialect, _ = _detect_in_stream(stream, container, values, file, format)
    return ToolName.NATIVE if dialect is None else dialect.format


def read_rows(
    path: str | Path,
    *,
    role: Role = "both",
    format: ToolName | None = None,
    on_bad: OnBad = raise_error,
    refusal: str = REFUSAL,
    reference_as_claim: bool = True,
) -> Iterator[ImportedRow]:
    """Yield the rows of a file in any format; `on_bad` is told of each that cannot be imported.

    `role` says what is wanted of it; a file that cannot hold that is refused (AF424). Memory does
    not grow with the rows of JSON lines, CSV and Parquet, except where spans have to be gathered.
    """
    choices = ImportOptions(role, refusal, reference_as_claim)
    file = str(path)
    with open_to_read(path) as stream:
        container = container_of(stream, file)
        values = values_in(stream, container, file, on_bad)
        dialect, sample = _detect_in_stream(stream, container, values, file, format)
        if dialect is None:
            return
        if role != "both" and role not in dialect.holds:
            raise AffidavitError(
                faults.IMPORT_ROLE, Where(file), format=dialect.format.value, role=_PLURAL[role]
            )
        by_line = container in (Container.JSON_LINES, Container.CSV)
        rows = dialect.regroup(_unfolded(dialect, chain(sample, values), by_line, file, on_bad))
        for position, (line, row) in enumerate(rows, 1):
            try:
                yield _row(dialect, row, position, line, choices)
            except RowProblem as problem:
                steps = (problem.name,) if by_line else (line - 1, problem.name)
                where = Where(file, line if by_line else None, field_path(steps))
                on_bad(AffidavitError(faults.IMPORT_ROW, where, problem=problem.problem))


def _detect_in_stream(
    stream: BufferedReader,
    container: Container,
    values: Iterator[Numbered],
    file: str,
    format: ToolName | None,
) -> tuple[ToolFormat | None, list[Numbered]]:
    """Return the dialect, and the values that had to be read to tell it; None if there is none."""
    sample = list(islice(values, SAMPLED))
    told = [value for _, value in sample]
    if not sample and container is Container.CSV:
        stream.seek(0)
        skip_byte_order_mark(stream)
        told = [dict.fromkeys(csv_names(stream, file))]
    return (detect_tool_format(told, container, file, format) if told else None), sample


_PLURAL = {"gold": "gold items", "trace": "traces"}


def _unfolded(
    dialect: ToolFormat, values: Iterator[Numbered], by_line: bool, file: str, on_bad: OnBad
) -> Iterator[Numbered]:
    """Yield the rows of each value, with the line of the value or their own number."""
    number = 0
    for line, value in values:
        rows = dialect.unfold(value)
        if rows is None:
            problem = f"it is not built as {dialect.format} is"
            where = Where(file, line if by_line else None)
            on_bad(AffidavitError(faults.IMPORT_ROW, where, problem=problem))
            continue
        for row in rows:
            number += 1
            yield line if by_line else number, row


def _row(
    dialect: ToolFormat, row: object, position: int, line: int, choices: ImportOptions
) -> ImportedRow:
    if not isinstance(row, Mapping):
        raise RowProblem("it is not an object")
    return dialect.shape(row, position, line, choices)
