"""SQL queries as sources: SQLite and PostgreSQL, read-only, one statement, under limits.

Decimals, times and UUIDs become strings, which the operators compare exactly. A result with bytes
or other values without a JSON form is refused.
"""

import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import quote
from uuid import UUID

from affidavit.base.json_values import DOCUMENT_LIMITS, JsonLimits, JsonValue
from affidavit.base.strict_json import decode
from affidavit.base.text import excerpt
from affidavit.checks.facts import EvidenceSource, SourceAnswer
from affidavit.checks.values import display_value, is_scalar, kind_of
from affidavit.tools.event_loop import run_request
from affidavit.tools.feed import (
    CheckArguments,
    FailureReason,
    SourceFailedError,
    SourceRequest,
    file_identity,
    require_json,
    rows_as_result,
)
from affidavit.tools.observation_time import ObservationTime, format_timestamp
from affidavit.tools.settings import (
    EnvironmentSecret,
    environment_secret,
    refuse_echo,
    required_argument,
)


@dataclass(frozen=True, slots=True)
class SqlQuery:
    """A statement, the arguments that it binds, and the limits of its result."""

    sql: str
    params: tuple[str, ...]
    max_rows: int
    max_bytes: int


QuerySelector: TypeAlias = Callable[[CheckArguments], SqlQuery]
"""Returns the query for the arguments of a check."""


def bound_values(params: Sequence[str], args: CheckArguments) -> list[JsonValue]:
    """Return the arguments that a query binds, in order."""
    values = []
    for name in params:
        value = required_argument(name, args)
        if not is_scalar(value):
            problem = f"the argument {name} is {kind_of(value)}, and only a single value is bound"
            raise SourceFailedError(FailureReason.ARGUMENT, problem)
        values.append(value)
    return values


def rows_result(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], max_rows: int, max_bytes: int
) -> JsonValue:
    """Return rows as a result. The caller fetches one row more than is allowed."""
    if len(set(columns)) != len(columns):
        problem = "two columns have the same name; name each with AS"
        raise SourceFailedError(FailureReason.MALFORMED, problem)
    if len(rows) > max_rows:
        raise SourceFailedError(FailureReason.TOO_LARGE, f"the query has more than {max_rows} rows")
    objects: list[JsonValue] = [
        {name: _json_value(value, name) for name, value in zip(columns, row, strict=True)}
        for row in rows
    ]
    return require_json(rows_as_result(objects), max_bytes)


def _json_value(value: Any, column: str) -> JsonValue:
    if value is None or isinstance(value, bool | int | float | str | dict):
        return value
    if isinstance(value, list | tuple):
        return [_json_value(member, column) for member in value]
    for kind, write in _VALUE_WRITERS:
        if isinstance(value, kind):
            return write(value)
    problem = f"the column {display_value(column)} holds {type(value).__name__}, which JSON has not"
    raise SourceFailedError(FailureReason.MALFORMED, problem)


def _timestamp_text(value: datetime) -> str:
    return format_timestamp(value.astimezone(UTC)) if value.tzinfo else value.isoformat()


# A datetime is also a date, so it comes first.
_VALUE_WRITERS: Final[tuple[tuple[type, Callable[[Any], str]], ...]] = (
    (Decimal, lambda value: format(value, "f")),
    (datetime, _timestamp_text),
    (date, date.isoformat),
    (time, time.isoformat),
    (UUID, str),
)


# A third barrier besides the open mode and `query_only`: SQLite does not even prepare a statement
# that attaches a file or changes a setting.
_ALLOWED: Final = frozenset(
    {
        sqlite3.SQLITE_SELECT,
        sqlite3.SQLITE_READ,
        sqlite3.SQLITE_FUNCTION,
        sqlite3.SQLITE_RECURSIVE,
    }
)
_FORBIDDEN_FUNCTIONS: Final = frozenset({"load_extension", "readfile", "writefile", "edit"})
_STEPS: Final = 1_000


@dataclass(frozen=True, slots=True)
class SqliteFeed:
    """A query of one SQLite file."""

    source: EvidenceSource
    path: Path
    select_query: QuerySelector
    timing: ObservationTime

    def ask(self, args: CheckArguments, request: SourceRequest) -> SourceAnswer:
        """Return the rows."""
        query = self.select_query(args)
        values = bound_values(query.params, args)
        try:
            identity = file_identity(self.path.stat())
        except (OSError, ValueError):
            identity = ""
        if not identity or not self.path.is_file():
            raise SourceFailedError(
                FailureReason.MISSING, f"there is no database {self.source.url}"
            )
        raw = self._rows(query, values, request)
        moment = self.timing.moment(raw, request.asked_at)
        return SourceAnswer(self.source, raw, moment, (identity,))

    def _rows(
        self, query: SqlQuery, values: Sequence[JsonValue], request: SourceRequest
    ) -> JsonValue:
        try:
            with closing(self._open(query, request)) as database:
                cursor = database.execute(query.sql, _bindable(values))
                rows = cursor.fetchmany(query.max_rows + 1)
                columns = [column[0] for column in cursor.description or ()]
        except (sqlite3.Error, sqlite3.Warning, OverflowError) as error:
            request.seconds_left()
            raise _sqlite_failure(error) from None
        return rows_result(columns, rows, query.max_rows, query.max_bytes)

    def _open(self, query: SqlQuery, request: SourceRequest) -> sqlite3.Connection:
        uri = f"file:{quote(str(self.path.absolute()))}?mode=ro"
        database = sqlite3.connect(
            uri, uri=True, timeout=request.seconds_left(), check_same_thread=False
        )
        try:
            database.execute("PRAGMA query_only = ON")
            database.execute("PRAGMA trusted_schema = OFF")
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max(query.max_bytes, 1_000))
            database.set_authorizer(_authorize)
            database.set_progress_handler(lambda: _is_past_deadline(request), _STEPS)
            request.on_abandon(database.interrupt)
        except BaseException:
            database.close()
            raise
        return database


def _authorize(action: int, first: Any, second: Any, *_: Any) -> int:
    is_allowed = action in _ALLOWED and str(second).lower() not in _FORBIDDEN_FUNCTIONS
    return sqlite3.SQLITE_OK if is_allowed else sqlite3.SQLITE_DENY


def _is_past_deadline(request: SourceRequest) -> bool:
    try:
        return request.seconds_left() <= 0
    except SourceFailedError:
        return True


def _bindable(values: Sequence[JsonValue]) -> list[Any]:
    return [int(value) if isinstance(value, bool) else value for value in values]


def _sqlite_failure(error: Exception) -> SourceFailedError:
    name = getattr(error, "sqlite_errorname", None) or type(error).__name__
    if name in ("SQLITE_BUSY", "SQLITE_LOCKED"):
        return SourceFailedError(FailureReason.BUSY, "the database is locked by a writer")
    if name == "SQLITE_AUTH":
        problem = "the query does more than read, or attaches, or sets something"
        return SourceFailedError(FailureReason.FORBIDDEN, problem)
    if name == "SQLITE_TOOBIG":
        return SourceFailedError(FailureReason.TOO_LARGE, "a value of the result is too large")
    if counts := _WRONG_BINDINGS.search(str(error)):
        problem = "the query has {} parameter(s), and `params` names {} argument(s)"
        return SourceFailedError(FailureReason.REFUSED, problem.format(*counts.groups()))
    # The message names what is wrong with the query: a table, a column, a word.
    said = f": {excerpt(str(error))}" if name in _QUERY_ERRORS else ""
    return SourceFailedError(FailureReason.REFUSED, f"SQLite refused the query ({name}){said}")


_QUERY_ERRORS: Final = frozenset({"SQLITE_ERROR", "ProgrammingError"})
_WRONG_BINDINGS: Final = re.compile(r"uses ([0-9]+), and there (?:is|are) ([0-9]+) supplied")
_WRONG_COUNT: Final = re.compile(r"the server expects [0-9]+ arguments? for this query")


@dataclass(frozen=True, slots=True)
class PostgresFeed:
    """A query of a PostgreSQL database in a read-only transaction.

    Its address comes from an environment variable and is never shown. Of an error of the server
    the code (SQLSTATE) is shown, and the message if it is about the query.
    """

    source: EvidenceSource
    address: EnvironmentSecret
    select_query: QuerySelector
    timing: ObservationTime
    environment: Mapping[str, str] = field(repr=False)

    def ask(self, args: CheckArguments, request: SourceRequest) -> SourceAnswer:
        """Return the rows."""
        query = self.select_query(args)
        values = bound_values(query.params, args)
        address = environment_secret(self.address, self.environment)
        raw, identity = self._rows(address, query, values, request)
        refuse_echo(raw, (address,))
        moment = self.timing.moment(raw, request.asked_at)
        return SourceAnswer(self.source, raw, moment, (identity,))

    def _rows(
        self, address: str, query: SqlQuery, values: Sequence[JsonValue], request: SourceRequest
    ) -> tuple[JsonValue, str]:
        try:
            import asyncpg
        except ImportError:
            problem = "PostgreSQL needs the package asyncpg: pip install 'affidavit[server]'"
            raise SourceFailedError(FailureReason.NOT_INSTALLED, problem) from None
        try:
            return run_request(_run_query(address, query, values, request), request)
        except asyncpg.PostgresError as error:
            request.seconds_left()
            code = error.sqlstate or "no code"
            # Messages about the query itself (class 42) name the table or the word that is wrong.
            # Others may hold values or names of the server.
            said = f": {excerpt(str(error))}" if code.startswith("42") else ""
            problem = f"PostgreSQL refused ({code}){said}"
            raise SourceFailedError(FailureReason.REFUSED, problem) from None
        except (asyncpg.InterfaceError, asyncpg.InternalClientError, ValueError) as error:
            problem = "the arguments or the address do not fit (see docs/tools.md)"
            if _WRONG_COUNT.match(str(error)):
                problem = excerpt(str(error))
            raise SourceFailedError(FailureReason.REFUSED, problem) from None
        except OSError:
            raise SourceFailedError(
                FailureReason.UNREACHABLE, "no connection to PostgreSQL"
            ) from None


# The same for every address, alias and socket of one server, and different for any other one.
_SERVER_IDENTITY: Final = (
    "SELECT 'postgres:' || pg_postmaster_start_time()::text || ':' || current_setting('port')"
)


async def _run_query(
    address: str, query: SqlQuery, values: Sequence[JsonValue], request: SourceRequest
) -> tuple[JsonValue, str]:
    import asyncpg

    left = request.seconds_left()
    connection: Any = await asyncpg.connect(
        address,
        timeout=left,
        server_settings={
            "default_transaction_read_only": "on",
            "statement_timeout": str(max(int(left * 1000), 1)),
            "application_name": "affidavit",
        },
    )
    try:
        limits = JsonLimits(query.max_bytes, DOCUMENT_LIMITS.max_depth)
        for kind in ("json", "jsonb"):
            await connection.set_type_codec(
                kind,
                schema="pg_catalog",
                encoder=str,
                decoder=lambda text: decode(text.encode(), limits),
            )
        async with connection.transaction(readonly=True):
            statement = await connection.prepare(query.sql)
            columns = [attribute.name for attribute in statement.get_attributes()]
            cursor = await statement.cursor(*values)
            rows = await cursor.fetch(query.max_rows + 1)
            identity = await connection.fetchval(_SERVER_IDENTITY)
        found = [tuple(row) for row in rows]
        return rows_result(columns, found, query.max_rows, query.max_bytes), identity
    finally:
        # Closing would wait for the server, and the transaction has only read.
        connection.terminate()
