"""A tool's file into rows, one by one."""

from collections.abc import Iterator, Mapping
from io import BufferedReader
from itertools import chain, islice
from pathlib import Path

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.base.files import open_to_read
from affidavit.base.places import field_path
from affidavit.formats.importing.containers import Container, OnBad, container_of, values_in
from affidavit.formats.importing.csv_text import csv_names
from affidavit.formats.importing.detecting import SAMPLED, dialect_of
from affidavit.formats.importing.dialect import Dialect, Numbered
from affidavit.formats.importing.json_text import skip_mark
from affidavit.formats.importing.model import (
    REFUSAL,
    Choices,
    Format,
    ImportedRow,
    Role,
    RowProblem,
)


def refuse(error: AffidavitError) -> None:
    """Stop at the first row that cannot be imported."""
    raise error


def _pass_over(error: AffidavitError) -> None:
    """Leave a bad line to whoever reads the rows."""


def detect(path: str | Path, format: Format | None = None) -> Format:
    """Return the format of a file, told from its content; an empty one is our own, without rows.

    AF420 says which fields were looked for and found; with `format`, AF425 says that it is another.
    """
    file = str(path)
    with open_to_read(path) as stream:
        container = container_of(stream, file)
        values = values_in(stream, container, file, _pass_over)
        dialect, _ = _told(stream, container, values, file, format)
    return Format.NATIVE if dialect is None else dialect.format


def read_rows(
    path: str | Path,
    *,
    role: Role = "both",
    format: Format | None = None,
    on_bad: OnBad = refuse,
    refusal: str = REFUSAL,
    reference_as_claim: bool = True,
) -> Iterator[ImportedRow]:
    """Yield the rows of a file in any format; `on_bad` is told of each that cannot be imported.

    `role` says what is wanted of it; a file that cannot hold that is refused (AF424). Memory does
    not grow with the rows of JSON lines, CSV and Parquet, except where spans have to be gathered.
    """
    choices = Choices(role, refusal, reference_as_claim)
    file = str(path)
    with open_to_read(path) as stream:
        container = container_of(stream, file)
        values = values_in(stream, container, file, on_bad)
        dialect, sample = _told(stream, container, values, file, format)
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


def _told(
    stream: BufferedReader,
    container: Container,
    values: Iterator[Numbered],
    file: str,
    format: Format | None,
) -> tuple[Dialect | None, list[Numbered]]:
    """Return the dialect, and the values that had to be read to tell it; None if there is none."""
    sample = list(islice(values, SAMPLED))
    told = [value for _, value in sample]
    if not sample and container is Container.CSV:
        stream.seek(0)
        skip_mark(stream)
        told = [dict.fromkeys(csv_names(stream, file))]
    return (dialect_of(told, container, file, format) if told else None), sample


_PLURAL = {"gold": "gold items", "trace": "traces"}


def _unfolded(
    dialect: Dialect, values: Iterator[Numbered], by_line: bool, file: str, on_bad: OnBad
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


def _row(dialect: Dialect, row: object, position: int, line: int, choices: Choices) -> ImportedRow:
    if not isinstance(row, Mapping):
        raise RowProblem("it is not an object")
    return dialect.shape(row, position, line, choices)
