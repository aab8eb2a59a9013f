"""Detects which tool wrote a file, and reads its rows one by one."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from shlex import quote
from types import MappingProxyType
from typing import Final

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.base.text import excerpt, field_path
from affidavit.gates.refusals import REFUSAL, RefusalReader
from affidavit.importers.braintrust import BRAINTRUST
from affidavit.importers.containers import Container, Contents, OnBad, open_contents
from affidavit.importers.deepeval import DEEPEVAL
from affidavit.importers.fields import decode_if_json
from affidavit.importers.haystack import HAYSTACK
from affidavit.importers.inspect_log import INSPECT
from affidavit.importers.langfuse import LANGFUSE
from affidavit.importers.langsmith import LANGSMITH
from affidavit.importers.llamaindex import LLAMAINDEX
from affidavit.importers.mlflow import MLFLOW
from affidavit.importers.otlp import GEN_AI, LANGFUSE_SPANS, OPENINFERENCE, TRACE_ID_KEY
from affidavit.importers.plain_rows import (
    ANSWERS,
    NATIVE,
    NATIVE_ROWS,
    QUESTIONS,
    RETRIEVED,
    TABLE,
    mapped_fields,
)
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
    unfold_list,
)
from affidavit.importers.trulens import TRULENS

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
    LANGSMITH,
    BRAINTRUST,
    TRULENS,
    MLFLOW,
    HAYSTACK,
    LLAMAINDEX,
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
    values: Sequence[object], contents: Contents, file: str, format: ToolName | None = None
) -> ToolFormat:
    """Return the format of a file by its first values, or raise which fields it has."""
    candidates = [
        one
        for one in TOOL_FORMATS
        if format in (None, one.format) and _may_be_in(contents, one.format)
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
        faults.IMPORT_UNKNOWN,
        Where(file),
        found=found,
        nearest=describe_nearest_formats(values[0]),
        option=mapping_option(values[0]),
    )


def _may_be_in(contents: Contents, format: ToolName) -> bool:
    """Say whether a format can be in a file; our own rows cannot be in CSV.

    NATIVE files are also read in another way, which does not unpack them.
    """
    is_native = contents.container is Container.JSON_LINES and not contents.is_packed
    if format is ToolName.NATIVE:
        return is_native
    return format is not ToolName.NATIVE_ROWS or not (
        is_native or contents.container is Container.CSV
    )


def _rows(tool_format: ToolFormat, value: object) -> Iterator[object]:
    return islice(tool_format.unfold(value) or (), _ROWS_SAMPLED)


def fields_found(value: object) -> str:
    """Return the names of the fields of a value, for a message."""
    row = _first_row(value)
    if not row and not isinstance(value, Mapping):
        return "no rows with named fields"
    names = [excerpt(str(name), 40) for name in row]
    shown = ", ".join(name if name.isprintable() else ascii(name) for name in names[:_SHOWN])
    return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown or "no field"


def describe_nearest_formats(value: object) -> str:
    """Return the formats of which the fewest fields are missing, with those fields.

    The text is empty if no format has any of the fields.
    """
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
    if not best:
        return ""
    nearest = [text for text, share in shares.items() if share == best]
    return f"; nearest is {'; or '.join(nearest[:3])}"


# The names, and parts of the names, that people give to the columns which a table must or should
# have. What has one of the last parts is something else.
_LIKELY: Final = {
    "question": (
        QUESTIONS,
        ("question", "query", "prompt", "ask", "input", "user"),
    ),
    "answer": (
        ANSWERS,
        ("answer", "response", "reply", "output", "completion", "generat", "predict", "bot"),
    ),
    "contexts": (
        RETRIEVED,
        ("context", "document", "passage", "source", "chunk", "evidence", "retriev"),
    ),
}
_UNLIKELY: Final = re.compile(
    r"(?:^|_)(?:gt|gold|ground|truth|expected|reference|ids?|scores?|recall|precision|f1|type)(?:_|$)"
)


def mapping_option(value: object) -> str:
    """Return the options that map the columns of a table which are probably meant.

    A column is recognised by its name, or else by what the first row has in it: a list of texts are
    contexts, a text that ends in a question mark is a question.
    """
    row = _first_row(value)
    names = [name for name in _paths(row) if not _UNLIKELY.search(_last(name))]
    found: dict[str, str] = {}
    for ours, (known, parts) in _LIKELY.items():
        likely = chain(
            (name for word in known for name in names if _last(name) == word),
            (name for part in parts for name in names if part in _last(name)),
        )
        theirs = next((name for name in likely if name not in found.values()), None)
        if theirs is not None:
            found[ours] = theirs
    for ours, has_it in (("contexts", _is_list_of_texts), ("question", _is_question)):
        left = (name for name in names if name not in found.values())
        held = (name for name in left if any(map(has_it, _value_at(row, name))))
        if ours not in found and (theirs := next(held, None)) is not None:
            found[ours] = theirs
    shown = {
        ours: quote(excerpt(found[ours], 40)) if found.get(ours, "\n").isprintable() else "COLUMN"
        for ours in _LIKELY
        if ours in found or ours != "contexts"
    }
    return " ".join(f"--map {ours}={theirs}" for ours, theirs in shown.items() if ours != theirs)


def _is_list_of_texts(value: object) -> bool:
    held = decode_if_json(value)
    return isinstance(held, list) and bool(held) and all(isinstance(each, str) for each in held)


def _is_question(value: object) -> bool:
    return isinstance(value, str) and value.rstrip().endswith(("?", "\uff1f", "\u061f"))


def _paths(row: Mapping[object, object]) -> Iterator[str]:
    """Yield the names of a row's columns, or of the fields in those that are objects."""
    for name, value in row.items():
        inner = decode_if_json(value)
        if isinstance(inner, Mapping) and inner:
            yield from (f"{name}.{each}" for each in inner)
        else:
            yield str(name)


def _last(path: str) -> str:
    return "_".join(path.rpartition(".")[2].lower().split())


def _first_row(value: object) -> Mapping[object, object]:
    while isinstance(value, list) and value:
        value = value[0]
    inner = _rows_alone(value)
    if inner is not None:
        return _first_row(inner)
    return value if isinstance(value, Mapping) else {}


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


def _named(
    values: Iterator[Numbered], columns: Mapping[str, str], *, file: str | None = None
) -> Iterator[Numbered]:
    """Yield values, which are rows or lists of rows, with columns renamed.

    With `file`, a column that a row does not have is an error.
    """
    for line, value in values:
        rows = value if isinstance(value, list) else [value]
        named = [
            _with_names(row, columns, None if file is None else Where(file, line)) for row in rows
        ]
        yield line, named if isinstance(value, list) else named[0]


def _with_names(row: object, columns: Mapping[str, str], where: Where | None) -> object:
    if not isinstance(row, Mapping) or all(ours in row for ours in columns):
        return row
    found: dict[str, object] = {}
    for ours, theirs in columns.items():
        held = _value_at(row, theirs)
        if held:
            found[ours] = held[0]
        elif where is not None and ours not in row:
            problem = f"there is no column {excerpt(theirs)!r} to map; it has {fields_found(row)}"
            raise AffidavitError(faults.IMPORT_ROW, where, problem=problem)
    kept = {name: value for name, value in row.items() if name not in columns.values()}
    return {**kept, **found}


def _value_at(row: Mapping[object, object], path: str) -> tuple[object, ...]:
    """Return the value of a column, or of a field within one (`metadata.chunks`), as a tuple.

    It is empty if the row has no such column.
    """
    if path in row:
        return (row[path],)
    name, _, rest = path.partition(".")
    inner = decode_if_json(row.get(name)) if rest else None
    return _value_at(inner, rest) if isinstance(inner, Mapping) else ()


def _rows_alone(value: object) -> list[object] | None:
    """Return the only list of objects in an object that is not a row, such as `{"rows": [...]}`."""
    held = value.values() if isinstance(value, Mapping) else ()
    lists = [
        each for each in held if isinstance(each, list) and each and isinstance(each[0], Mapping)
    ]
    return lists[0] if len(lists) == 1 else None


def detect(
    path: str | Path,
    format: ToolName | None = None,
    columns: Mapping[str, str] = MappingProxyType({}),
) -> ToolName:
    """Return the format of a file by its content; an empty file is NATIVE.

    AF420 lists the fields that were found; with `format`, AF425 says that it is another format.
    """
    file = str(path)
    with open_contents(path, file, _skip) as contents:
        tool_format, _ = _detect_in(contents, columns, file, format)
    return ToolName.NATIVE if tool_format is None else tool_format.format


def read_rows(
    path: str | Path,
    *,
    role: Role = "both",
    format: ToolName | None = None,
    on_bad: OnBad = raise_error,
    on_doubt: Callable[[str], None] = _ignore,
    refusals: tuple[str, ...] = (REFUSAL,),
    exact_refusals: bool = False,
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
    reader = RefusalReader(refusals, is_exact=exact_refusals)
    mapped = partial(mapped_fields, names=tuple(columns)) if columns else None
    choices = ImportOptions(role, reader, reference_as_claim, mapped)
    file = str(path) if shown is None else shown
    with open_contents(path, file, on_bad) as contents:
        tool_format, values = _detect_in(contents, columns, file, format)
        if tool_format is None:
            return
        if role != "both" and role not in tool_format.holds:
            raise AffidavitError(
                faults.IMPORT_ROLE, Where(file), format=tool_format.format.value, role=_PLURAL[role]
            )
        plans: list[FilePlan] = []
        by_line, position = contents.has_lines, 0
        found = _noted(tool_format, values, by_line, plans)
        rows = _unfolded(tool_format, found, by_line, file, on_bad)
        if columns:
            rows = _named(rows, columns, file=file)
        if tool_format.regroup is not None:
            rows = tool_format.regroup(rows)
        for position, (line, row) in enumerate(rows, 1):
            try:
                yield tool_format.shape(_checked(row), position, line, choices)
            except RowProblem as problem:
                on_bad(_row_error(problem, line, by_line, file))
        for doubt in _doubts(plans, position, file):
            on_doubt(doubt)


def _checked(row: object) -> Row:
    if not isinstance(row, dict):
        raise RowProblem("it is not an object")
    return row


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
    tool_format: ToolFormat, values: Iterator[Numbered], by_line: bool, plans: list[FilePlan]
) -> Iterator[Numbered]:
    """Return the values; `plans` gets what they say about the rows of the file."""
    if tool_format.plan_of is None or by_line:
        return values
    return _with_plans(tool_format.plan_of, values, plans)


def _with_plans(
    plan_of: Callable[[Row], FilePlan | None], values: Iterator[Numbered], plans: list[FilePlan]
) -> Iterator[Numbered]:
    for line, value in values:
        try:
            plan = plan_of(value) if isinstance(value, Mapping) else None
        except RowProblem as problem:
            plan = FilePlan(problem=f"{problem.name}: {problem.problem}")
        if plan is not None:
            plans.append(plan)
        yield line, value


def _detect_in(
    contents: Contents, columns: Mapping[str, str], file: str, format: ToolName | None
) -> tuple[ToolFormat | None, Iterator[Numbered]]:
    """Return the format and all values, with columns renamed; no format for an empty file.

    A document that is not known may be an object around the rows.
    """
    values = _named(contents.values, columns) if columns else contents.values
    sample = list(islice(values, SAMPLED))
    examined: list[object] = [value for _, value in sample]
    if not sample and contents.names:
        examined = [dict.fromkeys(contents.names)]
    if not examined:
        return None, iter(())
    try:
        return detect_tool_format(examined, contents, file, format), chain(sample, values)
    except AffidavitError as error:
        inner = _rows_alone(examined[0]) if contents.container is Container.JSON else None
        if inner is None:
            raise
        unknown = error
    ((_, named),) = _named(iter([(1, inner)]), columns)
    try:
        return detect_tool_format([named], contents, file, format), iter([(1, named)])
    except AffidavitError as error:
        raise (unknown if unknown.values.get("nearest") else error) from None


_PLURAL = {"gold": "gold items", "trace": "traces"}


def _unfolded(
    tool_format: ToolFormat, values: Iterator[Numbered], by_line: bool, file: str, on_bad: OnBad
) -> Iterator[Numbered]:
    """Yield the rows of each value with the line of the value, or with their own number."""
    unfold, number = tool_format.unfold, 0
    for line, value in values:
        rows = (value,) if unfold is unfold_list and type(value) is dict else unfold(value)
        if rows is None:
            problem = f"it does not have the structure of {tool_format.format}"
            where = Where(file, line if by_line else None)
            on_bad(AffidavitError(faults.IMPORT_ROW, where, problem=problem))
            continue
        for row in rows:
            number += 1
            yield line if by_line else number, row
