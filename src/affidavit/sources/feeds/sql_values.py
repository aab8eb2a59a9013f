"""Values between JSON and a database: what can be bound, and what a row becomes.

Exact numbers, times and identifiers become texts, which the operators read exactly; bytes and
what else has no form in JSON make the result none.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, Final, TypeAlias
from uuid import UUID

from affidavit.base.json_limits import JsonValue
from affidavit.checks.values import is_single, kind_of, shown
from affidavit.sources.feeds.feed import Args, Silence, SilentError
from affidavit.sources.feeds.observed import written
from affidavit.sources.feeds.results import as_json, as_rows
from affidavit.sources.feeds.slots import argument


@dataclass(frozen=True, slots=True)
class Query:
    """A statement, the arguments that it binds, and how much it may bring."""

    sql: str
    params: tuple[str, ...]
    max_rows: int
    max_bytes: int


Queries: TypeAlias = Callable[[Args], Query]
"""The query that arguments mean."""


def bound_values(params: Sequence[str], args: Args) -> list[JsonValue]:
    """Return the arguments that a query binds, in its order."""
    values = []
    for name in params:
        value = argument(name, args)
        if not is_single(value):
            problem = f"the argument {name} is {kind_of(value)}, and only a single value is bound"
            raise SilentError(Silence.ARGUMENT, problem)
        values.append(value)
    return values


def rows_result(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], max_rows: int, max_bytes: int
) -> JsonValue:
    """Return rows as a result; whoever reads them asks for one more than is allowed."""
    if len(set(columns)) != len(columns):
        problem = "two columns have the same name; name each with AS"
        raise SilentError(Silence.MALFORMED, problem)
    if len(rows) > max_rows:
        raise SilentError(Silence.TOO_LARGE, f"the query has more than {max_rows} rows")
    made: list[JsonValue] = [
        {name: _value(value, name) for name, value in zip(columns, row, strict=True)}
        for row in rows
    ]
    return as_json(as_rows(made), max_bytes)


def _value(value: Any, column: str) -> JsonValue:
    if value is None or isinstance(value, bool | int | float | str | dict):
        return value
    if isinstance(value, list | tuple):
        return [_value(member, column) for member in value]
    for kind, write in _WRITERS:
        if isinstance(value, kind):
            return write(value)
    problem = f"the column {shown(column)} holds {type(value).__name__}, which JSON has not"
    raise SilentError(Silence.MALFORMED, problem)


def _moment(value: datetime) -> str:
    return written(value.astimezone(UTC)) if value.tzinfo else value.isoformat()


# A datetime is a date too, so it comes first.
_WRITERS: Final[tuple[tuple[type, Callable[[Any], str]], ...]] = (
    (Decimal, lambda value: format(value, "f")),
    (datetime, _moment),
    (date, date.isoformat),
    (time, time.isoformat),
    (UUID, str),
)
