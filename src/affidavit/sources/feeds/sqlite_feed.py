"""SQLite: opened read-only, one statement, under limits, and stopped when its time is over."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from affidavit.base.json_limits import JsonValue
from affidavit.checks.facts import Source
from affidavit.sources.feeds.feed import Args, Errand, Reply, Silence, SilentError
from affidavit.sources.feeds.observed import Timing
from affidavit.sources.feeds.sql_values import Queries, Query, bound_values, rows_result

# Reading only, said a third time: beside the open mode and `query_only`, no statement that
# attaches another file or changes a setting is prepared at all.
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
    """A query of one SQLite file. `chosen` is the query that the arguments mean."""

    source: Source
    path: Path
    chosen: Queries
    timing: Timing

    def ask(self, args: Args, errand: Errand) -> Reply:
        """Return the rows."""
        query = self.chosen(args)
        values = bound_values(query.params, args)
        raw = self._rows(query, values, errand)
        return Reply(raw, self.timing.moment(raw, errand.asked_at))

    def _rows(self, query: Query, values: Sequence[JsonValue], errand: Errand) -> JsonValue:
        if not self.path.is_file():
            raise SilentError(Silence.MISSING, f"there is no database {self.source.url}")
        try:
            with closing(self._opened(query, errand)) as database:
                cursor = database.execute(query.sql, _bindable(values))
                rows = cursor.fetchmany(query.max_rows + 1)
                columns = [column[0] for column in cursor.description or ()]
        except (sqlite3.Error, sqlite3.Warning, OverflowError) as error:
            errand.seconds_left()
            raise _silence_of(error) from None
        return rows_result(columns, rows, query.max_rows, query.max_bytes)

    def _opened(self, query: Query, errand: Errand) -> sqlite3.Connection:
        uri = f"file:{quote(str(self.path.absolute()))}?mode=ro"
        database = sqlite3.connect(
            uri, uri=True, timeout=errand.seconds_left(), check_same_thread=False
        )
        try:
            database.execute("PRAGMA query_only = ON")
            database.execute("PRAGMA trusted_schema = OFF")
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max(query.max_bytes, 1_000))
            database.set_authorizer(_authorize)
            database.set_progress_handler(lambda: _is_over(errand), _STEPS)
            errand.on_abandon(database.interrupt)
        except BaseException:
            database.close()
            raise
        return database


def _authorize(action: int, first: Any, second: Any, *_: Any) -> int:
    is_allowed = action in _ALLOWED and str(second).lower() not in _FORBIDDEN_FUNCTIONS
    return sqlite3.SQLITE_OK if is_allowed else sqlite3.SQLITE_DENY


def _is_over(errand: Errand) -> bool:
    try:
        return errand.seconds_left() <= 0
    except SilentError:
        return True


def _bindable(values: Sequence[JsonValue]) -> list[Any]:
    return [int(value) if isinstance(value, bool) else value for value in values]


def _silence_of(error: Exception) -> SilentError:
    name = getattr(error, "sqlite_errorname", None) or type(error).__name__
    if name in ("SQLITE_BUSY", "SQLITE_LOCKED"):
        return SilentError(Silence.BUSY, "the database is locked by a writer")
    if name == "SQLITE_AUTH":
        problem = "the query does more than read, or attaches, or sets something"
        return SilentError(Silence.FORBIDDEN, problem)
    if name == "SQLITE_TOOBIG":
        return SilentError(Silence.TOO_LARGE, "a value of the result is too large")
    return SilentError(Silence.REFUSED, f"SQLite refused the query ({name})")
