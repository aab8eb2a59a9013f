"""Detects which tool wrote a file, and reads its rows one by one."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from io import BufferedReader
from itertools import chain, islice
from pathlib import Path
from types import MappingProxyType
from typing import Final

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.base.files import open_to_read
from affidavit.base.text import excerpt, field_path
from affidavit.gates.refusals import REFUSAL
from affidavit.importers.containers import (
    Container,
    OnBad,
    container_of,
    csv_names,
    skip_byte_order_mark,
    values_in,
)
from affidavit.importers.deepeval import DEEPEVAL
from affidavit.importers.inspect_log import INSPECT
from affidavit.importers.langfuse import LANGFUSE
from affidavit.importers.otlp import GEN_AI, LANGFUSE_SPANS, OPENINFERENCE, TRACE_ID_KEY
from affidavit.importers.plain_rows import NATIVE, NATIVE_ROWS, TABLE
from affidavit.importers.promptfoo import PROMPTFOO
from affidavit.importers.ragas import RAGAS
from affidavit.importers.ragchecker import RAGCHECKER
from affidavit.importers.tool_format import (
    FilePlan,
    ImportedRow,
    ImportOptions,
    Numbered,
    Role,
    Row,
    RowProblem,
    ToolFormat,
    ToolName,
)

# The formats in the order in which they are tried. It matters only where one format has the fields
# of another: the plain table, with the most common names, is last.

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


SAMPLED: Final = 100
"""How many values are examined; the first spans of an export may be about something else."""
_ROWS_SAMPLED: Final = 1000
_SHOWN: Final = 12


def detect_tool_format(
    values: Sequence[object], container: Container, file: str, format: ToolName | None = None
) -> ToolFormat:
    """Return the format of a file by its first values, or raise which fields it has."""
    candidates = [
        one
        for one in TOOL_FORMATS
        if format in (None, one.format) and _may_be_in(container, one.format)
    ]
    for value in values:
        for tool_format in candidates:
            if any(map(tool_format.knows, _rows(tool_format, value))):
                return tool_format
    empty = next((one for one in candidates if _has_no_rows(one, values)), None)
    if empty is not None:
        return empty
    found = fields_found(values[0])
    if format is not None:
        wanted = " or ".join(
            _describe_signature(names) for one in candidates for names in one.signatures[:3]
        )
        raise AffidavitError(
            faults.IMPORT_MISMATCH, Where(file), format=format.value, wanted=wanted, found=found
        )
    raise AffidavitError(
        faults.IMPORT_UNKNOWN, Where(file), found=found, nearest=describe_nearest_formats(values[0])
    )


def _may_be_in(container: Container, format: ToolName) -> bool:
    """Say whether a format can be in a container; our own rows cannot be in CSV."""
    if format is ToolName.NATIVE:
        return container is Container.JSON_LINES
    return format is not ToolName.NATIVE_ROWS or container not in (
        Container.JSON_LINES,
        Container.CSV,
    )


def _rows(tool_format: ToolFormat, value: object) -> Iterator[object]:
    return islice(tool_format.unfold(value) or (), _ROWS_SAMPLED)


def fields_found(value: object) -> str:
    """Return the names of the fields of a value, for a message."""
    row = value
    while isinstance(row, list) and row:
        row = row[0]
    if not isinstance(row, Mapping):
        return "no rows with named fields"
    names = [excerpt(str(name), 40) for name in row]
    shown = ", ".join(name if name.isprintable() else ascii(name) for name in names[:_SHOWN])
    return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown or "no field"


def describe_nearest_formats(value: object) -> str:
    """Return the formats of which the fewest fields are missing, with those fields."""
    shares: dict[str, float] = {}
    for tool_format in TOOL_FORMATS:
        row = next(_rows(tool_format, value), None)
        present = frozenset(row) if isinstance(row, Mapping) else frozenset()
        for names in (
            tool_format.signatures if tool_format.format is not ToolName.NATIVE_ROWS else ()
        ):
            missing = tuple(name for name in names if name not in present)
            text = f"{tool_format.format}, which also has {_describe_signature(missing)}"
            shares[text] = 1 - len(missing) / len(names)
    best = max(shares.values())
    if best:
        return "; or ".join([text for text, share in shares.items() if share == best][:3])
    looked_for = "; ".join(
        f"{one.format}: {_describe_signature(one.signatures[0])}"
        for one in TOOL_FORMATS
        if one.format is not ToolName.NATIVE_ROWS
    )
    return f"none (looked for {looked_for})"


def _has_no_rows(tool_format: ToolFormat, values: Sequence[object]) -> bool:
    """Say whether a file has this format and no rows."""
    rows = [tool_format.unfold(value) for value in values]
    return all(one is not None and not any(True for _ in one) for one in rows)


def _describe_signature(names: Sequence[str]) -> str:
    """Return a signature for a message."""
    listed = " and ".join(name for name in names if name != TRACE_ID_KEY)
    return f"OTLP spans with {listed}" if TRACE_ID_KEY in names else listed


def raise_error(error: AffidavitError) -> None:
    """Stop at the first row that cannot be imported."""
    raise error


def _ignore(doubt: str) -> None:
    """Ignore what a file says about its completeness."""


def _skip(error: AffidavitError) -> None:
    """Ignore a bad line; `read_rows` will report it."""


def _renamed(
    values: Iterator[Numbered], columns: Mapping[str, str], file: str
) -> Iterator[Numbered]:
    """Yield the values with columns renamed; a column that the file does not have is an error."""
    theirs = {theirs: ours for ours, theirs in columns.items()}
    for line, value in values:
        rows = value if isinstance(value, list) else [value]
        for row in rows:
            missing = [name for name in theirs if isinstance(row, Mapping) and name not in row]
            if missing:
                found = fields_found(row)
                problem = f"there is no column {excerpt(missing[0])!r} to map; it has {found}"
                raise AffidavitError(faults.IMPORT_ROW, Where(file, line), problem=problem)
        named = [_with_names(row, theirs) for row in rows]
        yield line, named if isinstance(value, list) else named[0]


def _with_names(row: object, theirs: Mapping[str, str]) -> object:
    if not isinstance(row, Mapping):
        return row
    kept = {name: value for name, value in row.items() if name not in theirs.values()}
    return {theirs.get(name, name): value for name, value in kept.items()}


def detect(
    path: str | Path,
    format: ToolName | None = None,
    columns: Mapping[str, str] = MappingProxyType({}),
) -> ToolName:
    """Return the format of a file by its content; an empty file is NATIVE.

    AF420 lists the fields that were found; with `format`, AF425 says that it is another format.
    """
    file = str(path)
    with open_to_read(path) as stream:
        container = container_of(stream, file)
        values = values_in(stream, container, file, _skip)
        if columns:
            values = _renamed(values, columns, file)
        tool_format, _ = _detect_in_stream(stream, container, values, file, format)
    return ToolName.NATIVE if tool_format is None else tool_format.format


def read_rows(
    path: str | Path,
    *,
    role: Role = "both",
    format: ToolName | None = None,
    on_bad: OnBad = raise_error,
    on_doubt: Callable[[str], None] = _ignore,
    refusals: tuple[str, ...] = (REFUSAL,),
    reference_as_claim: bool = True,
    shown: str | None = None,
    columns: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[ImportedRow]:
    """Yield the rows of a file in any format; `on_bad` gets the error of each bad row.

    `on_doubt` gets the reason why the file may not have all rows of its run. A file that cannot
    contain the `role` is refused (AF424). Memory does not grow with the rows of JSON lines, CSV and
    Parquet, except where spans have to be grouped. `shown` is the name of the file in messages.
    `columns` maps names of ours (`answer`) to the names of the file's columns.
    """
    choices = ImportOptions(role, refusals, reference_as_claim)
    file = str(path) if shown is None else shown
    with open_to_read(path) as stream:
        container = container_of(stream, file)
        values = values_in(stream, container, file, on_bad)
        if columns:
            values = _renamed(values, columns, file)
        tool_format, sample = _detect_in_stream(stream, container, values, file, format)
        if tool_format is None:
            return
        if role != "both" and role not in tool_format.holds:
            raise AffidavitError(
                faults.IMPORT_ROLE, Where(file), format=tool_format.format.value, role=_PLURAL[role]
            )
        by_line = container in (Container.JSON_LINES, Container.CSV)
        plans: list[FilePlan] = []
        found: Iterator[Numbered] = chain(sample, values)
        if tool_format.plan_of is not None and not by_line:
            found = _noted(tool_format.plan_of, found, plans)
        rows = tool_format.regroup(_unfolded(tool_format, found, by_line, file, on_bad))
        position = 0
        for position, (line, row) in enumerate(rows, 1):
            try:
                yield _row(tool_format, row, position, line, choices)
            except RowProblem as problem:
                on_bad(_row_error(problem, line, by_line, file))
        for doubt in _doubts(plans, position, file):
            on_doubt(doubt)


def _row_error(problem: RowProblem, line: int, by_line: bool, file: str) -> AffidavitError:
    steps = (problem.name,) if by_line else (line - 1, problem.name)
    where = Where(file, line if by_line else None, field_path(steps))
    return AffidavitError(faults.IMPORT_ROW, where, problem=problem.problem)


def _doubts(plans: list[FilePlan], rows: int, file: str) -> Iterator[str]:
    """Yield why a file may not have all rows of its run."""
    for plan in plans:
        if plan.problem is not None:
            yield f"{file} is not the result of a whole run: {plan.problem}"
        if plan.rows is not None and plan.rows > rows:
            yield f"{file} has {rows} of the {plan.rows} rows of its run"


def _noted(
    plan_of: Callable[[Row], FilePlan | None], values: Iterator[Numbered], plans: list[FilePlan]
) -> Iterator[Numbered]:
    """Yield the values unchanged, and note what they say about the rows of the file."""
    for line, value in values:
        try:
            plan = plan_of(value) if isinstance(value, Mapping) else None
        except RowProblem as problem:
            plan = FilePlan(problem=f"{problem.name}: {problem.problem}")
        if plan is not None:
            plans.append(plan)
        yield line, value


def _detect_in_stream(
    stream: BufferedReader,
    container: Container,
    values: Iterator[Numbered],
    file: str,
    format: ToolName | None,
) -> tuple[ToolFormat | None, list[Numbered]]:
    """Return the format and the values that were read to detect it; None for an empty file."""
    sample = list(islice(values, SAMPLED))
    examined = [value for _, value in sample]
    if not sample and container is Container.CSV:
        stream.seek(0)
        skip_byte_order_mark(stream)
        examined = [dict.fromkeys(csv_names(stream, file))]
    return (detect_tool_format(examined, container, file, format) if examined else None), sample


_PLURAL = {"gold": "gold items", "trace": "traces"}


def _unfolded(
    tool_format: ToolFormat, values: Iterator[Numbered], by_line: bool, file: str, on_bad: OnBad
) -> Iterator[Numbered]:
    """Yield the rows of each value with the line of the value, or with their own number."""
    number = 0
    for line, value in values:
        rows = tool_format.unfold(value)
        if rows is None:
            problem = f"it does not have the structure of {tool_format.format}"
            where = Where(file, line if by_line else None)
            on_bad(AffidavitError(faults.IMPORT_ROW, where, problem=problem))
            continue
        for row in rows:
            number += 1
            yield line if by_line else number, row


def _row(
    tool_format: ToolFormat, row: object, position: int, line: int, choices: ImportOptions
) -> ImportedRow:
    if not isinstance(row, Mapping):
        raise RowProblem("it is not an object")
    return tool_format.shape(row, position, line, choices)
