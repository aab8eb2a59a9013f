"""The database of the service: SQLite or PostgreSQL, transactions, and rows of one workspace.

Work is a function of a `Scope`, run in one transaction. A `Scope` belongs to one workspace and adds
it to every statement, so no query can forget it; PostgreSQL checks it again by row-level security.
asyncpg has no blocking interface, so for PostgreSQL the work runs in the event loop of one thread.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from functools import cached_property
from os import urandom
from pathlib import Path
from threading import Lock, Thread
from typing import Any, Final, TypeVar

import msgspec
from sqlalchemy import (
    URL,
    Column,
    Connection,
    Dialect,
    Engine,
    FromClause,
    Join,
    Row,
    Select,
    Table,
    create_engine,
    event,
    text,
)
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.sql import Executable, visitors
from sqlalchemy.sql.elements import ColumnElement
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.sql.selectable import SelectBase

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import store as faults
from affidavit.store.tables import TENANT_TABLES

Result = TypeVar("Result")
Values = Mapping[str, Any]

SERVICE_ROLE: Final = "affidavit_service"
"""The role of PostgreSQL that a superuser takes on, because superusers pass row-level security."""
EVERY_WORKSPACE: Final = "*"
BUSY_SECONDS: Final = 15.0
CONNECT_SECONDS: Final = 5.0
_WRITES: Final = "affidavit_writes"
_POOL: Final = 8
_WRITING: Final = ("foreign_keys = ON", "journal_mode = WAL", "synchronous = FULL")
_READING: Final = ("query_only = ON",)
_COUNTED: Final = 24
"""Where the last 12 digits of a UUID begin."""
_LARGEST_TAIL: Final = 2**48 - 1


def random_id() -> str:
    """Return a random UUID, of version 4. `uuid4` takes five times as long."""
    made = urandom(16).hex()
    variant = "89ab"[int(made[16], 16) & 3]
    return f"{made[:8]}-{made[8:12]}-4{made[13:16]}-{variant}{made[17:20]}-{made[20:]}"


class SystemScope:
    """A transaction that may use the rows of every workspace: for jobs, retention and figures."""

    def __init__(self, connection: Connection, new_id: Callable[[], str]) -> None:
        self.connection = connection
        self.new_id = new_id

    @property
    def is_postgresql(self) -> bool:
        """Whether the database is PostgreSQL."""
        return self.connection.dialect.name == "postgresql"

    def execute(self, statement: Executable, rows: Sequence[Values] | None = None) -> Any:
        """Execute a statement as it is."""
        return self.connection.execute(statement, rows)

    def insert_many(
        self, table: Table, names: Sequence[str], rows: Sequence[Sequence[Any]], same: Values
    ) -> None:
        """Insert rows with the values of `names`, and those that are the same in all of them."""
        dialect = self.connection.dialect
        every = ", ".join((*names, *same))
        shared = tuple(_as_sent(table.c[name], value, dialect) for name, value in same.items())
        if not self.is_postgresql:
            marks = ", ".join("?" * (len(names) + len(same)))
            statement = f"INSERT INTO {table.name} ({every}) VALUES ({marks})"  # noqa: S608 - ours
            self.connection.exec_driver_sql(statement, [(*row, *shared) for row in rows])
            return
        # One statement with all rows as JSON: asyncpg takes longer to encode each value by itself,
        # and COPY is not possible with row-level security.
        made = ", ".join(f"{name} {_type(table.c[name], dialect)}" for name in names)
        marks = ", ".join(
            f"${at}::{_type(table.c[name], dialect)}" for at, name in enumerate(same, 2)
        )
        statement = (
            f"INSERT INTO {table.name} ({every})"  # noqa: S608 - the names are those of our tables
            f" SELECT made.*, {marks} FROM json_to_recordset($1::text::json) AS made({made})"
        )
        text_of_rows = msgspec.json.encode([dict(zip(names, row, strict=True)) for row in rows])
        self.connection.exec_driver_sql(statement, (text_of_rows.decode(), *shared))


def _type(column: Column[Any], dialect: Dialect) -> str:
    return str(column.type.compile(dialect))


def _as_sent(column: Column[Any], value: Any, dialect: Dialect) -> Any:
    process = column.type.bind_processor(dialect)
    return value if process is None else process(value)


class Scope:
    """A transaction on the rows of one workspace. Every statement gets the workspace."""

    def __init__(self, system: SystemScope, workspace: str) -> None:
        self._system = system
        self.workspace = workspace

    @property
    def new_id(self) -> Callable[[], str]:
        """Return a new random id."""
        return self._system.new_id

    def new_ids(self, count: int) -> list[str]:
        """Return ids for rows that are inserted together: a random one, and those that follow it.

        They are neighbours in every index, so that few pages of the database change.
        """
        first = self._system.new_id()
        head, tail = first[:_COUNTED], int(first[_COUNTED:], 16)
        return [f"{head}{(tail + at) & _LARGEST_TAIL:012x}" for at in range(count)]

    def rows(self, query: "Select[Any]") -> Sequence[Row[Any]]:
        """Return the rows of a query."""
        found: Sequence[Row[Any]] = self._system.execute(self._confined(query)).all()
        return found

    def first(self, query: "Select[Any]") -> Row[Any] | None:
        """Return the first row of a query."""
        found: Row[Any] | None = self._system.execute(self._confined(query)).first()
        return found

    def wait_for_others(self) -> None:
        """Let one transaction of the workspace after another go on from here."""
        if self._system.is_postgresql:  # In SQLite a transaction that writes is alone.
            lock = text("SELECT pg_advisory_xact_lock(hashtext(:workspace))")
            self._system.connection.execute(lock, {"workspace": self.workspace})

    def insert(self, table: Table, rows: Iterable[Values]) -> None:
        """Insert rows, which get the workspace."""
        if made := [{**row, "workspace_id": self.workspace} for row in rows]:
            self._system.execute(table.insert(), made)

    def insert_many(
        self, table: Table, names: Sequence[str], rows: Sequence[Sequence[Any]], **same: Any
    ) -> None:
        """Insert many rows, whose values are in the order of `names`; `same` is of all of them.

        The values go to the driver as they are: converting each would take longer than writing it.
        """
        if rows:
            same["workspace_id"] = self.workspace
            self._system.insert_many(table, names, rows, same)

    def update(self, table: Table, *where: ColumnElement[bool], **values: Any) -> int:
        """Change rows and return how many."""
        statement = table.update().where(*self._own((table,)), *where).values(**values)
        return int(self._system.execute(statement).rowcount)

    def delete(self, table: Table, *where: ColumnElement[bool]) -> int:
        """Delete rows and return how many."""
        statement = table.delete().where(*self._own((table,)), *where)
        return int(self._system.execute(statement).rowcount)

    def _confined(self, query: "Select[Any]") -> "Select[Any]":
        tables: set[Table] = set()
        for each in visitors.iterate(query):
            if isinstance(each, Table):
                tables.add(each)
            elif (
                each is not query
                and isinstance(each, (FromClause, SelectBase))
                and not isinstance(each, (Join, FunctionElement))
            ):
                # A subquery or another name of a table would not be confined.
                raise TypeError("a query may only join tables of a workspace")
        if not tables.issubset(TENANT_TABLES):
            raise TypeError("a query may only join tables of a workspace")
        return query.where(*self._own(tables))

    def _own(self, tables: Iterable[Table]) -> list[ColumnElement[bool]]:
        ordered = sorted(tables, key=lambda table: table.name)
        return [table.c.workspace_id == self.workspace for table in ordered]


class Database:
    """A database by its URL. Several threads may use it at the same time."""

    def __init__(
        self,
        url: str,
        new_id: Callable[[], str] = random_id,
        *,
        only_reads: bool = False,
    ) -> None:
        self.url = database_url(url)
        self._only_reads = only_reads
        self._new_id = new_id
        self._lock = Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None
        self._is_superuser: bool | None = None

    @property
    def is_postgresql(self) -> bool:
        """Whether the database is PostgreSQL."""
        return self.url.get_backend_name() == "postgresql"

    @property
    def file(self) -> Path | None:
        """The file of SQLite."""
        return None if self.is_postgresql else Path(str(self.url.database))

    def read(self, workspace: str, work: Callable[[Scope], Result]) -> Result:
        """Return the result of work that only reads."""
        return self._run(lambda system: work(Scope(system, workspace)), workspace, writes=False)

    def write(self, workspace: str, work: Callable[[Scope], Result]) -> Result:
        """Return the result of work, when everything that it wrote is on the disk."""
        return self._run(lambda system: work(Scope(system, workspace)), workspace, writes=True)

    def system(self, work: Callable[[SystemScope], Result], *, writes: bool = True) -> Result:
        """Return the result of work on every workspace."""
        return self._run(work, EVERY_WORKSPACE, writes=writes)

    def as_owner(self, work: Callable[[Connection], Result], *, writes: bool = True) -> Result:
        """Return the result of work that may change the schema."""
        return self._run(lambda system: work(system.connection), None, writes=writes)

    def close(self) -> None:
        """Close all connections."""
        if not self.is_postgresql:
            self._engine.dispose()
            return
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None:
            return
        with suppress(FutureTimeoutError):
            disposed = asyncio.run_coroutine_threadsafe(self._async_engine.dispose(), loop)
            disposed.result(CONNECT_SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(CONNECT_SECONDS)
        loop.close()

    def _run(
        self, work: Callable[[SystemScope], Result], workspace: str | None, *, writes: bool
    ) -> Result:
        try:
            if self.is_postgresql:
                return self._run_async(work, workspace, writes=writes)
            with self._engine.connect() as connection:
                connection.execution_options(**{_WRITES: writes})
                with connection.begin():
                    return work(SystemScope(connection, self._new_id))
        except IntegrityError:
            raise
        except (DBAPIError, SQLAlchemyError, OSError, sqlite3.Error) as error:
            raise away(error) from error

    def _run_async(
        self, work: Callable[[SystemScope], Result], workspace: str | None, *, writes: bool
    ) -> Result:
        def run(connection: Connection) -> Result:
            if workspace is not None:
                self._confine(connection, workspace, writes=writes)
            return work(SystemScope(connection, self._new_id))

        async def transaction() -> Result:
            async with self._async_engine.connect() as connection, connection.begin():
                return await connection.run_sync(run)

        future = asyncio.run_coroutine_threadsafe(transaction(), self._running_loop())
        try:
            return future.result(BUSY_SECONDS + CONNECT_SECONDS)
        except (FutureTimeoutError, CancelledError) as error:
            future.cancel()
            raise AffidavitError(faults.STORE_AWAY, reason="it does not respond") from error

    def _confine(self, connection: Connection, workspace: str, *, writes: bool) -> None:
        if not writes:
            connection.execute(text("SET TRANSACTION READ ONLY"))
        if self._is_superuser is None:
            query = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
            self._is_superuser = bool(connection.execute(text(query)).scalar_one())
        if self._is_superuser:
            connection.execute(text(f"SET LOCAL ROLE {SERVICE_ROLE}"))
        connection.execute(
            text("SELECT set_config('affidavit.workspace', :workspace, true)"),
            {"workspace": workspace},
        )

    @cached_property
    def _engine(self) -> Engine:
        engine = create_engine(self.url, connect_args={"timeout": BUSY_SECONDS})

        @event.listens_for(engine, "connect")
        def connected(connection: sqlite3.Connection, _: object) -> None:
            connection.isolation_level = None  # We begin transactions ourselves.
            for pragma in _READING if self._only_reads else _WRITING:
                connection.execute(f"PRAGMA {pragma}")

        @event.listens_for(engine, "begin")
        def begun(connection: Connection) -> None:
            writes = connection.get_execution_options().get(_WRITES, True)
            # A transaction that first reads and then writes would fail if another wrote meanwhile.
            connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

        return engine

    @cached_property
    def _async_engine(self) -> AsyncEngine:
        return create_async_engine(
            self.url,
            pool_size=_POOL,
            max_overflow=_POOL,
            pool_timeout=CONNECT_SECONDS,
            pool_pre_ping=True,  # A database that was away is used again.
            connect_args={"timeout": CONNECT_SECONDS, "command_timeout": BUSY_SECONDS},
        )

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = Thread(
                    target=self._loop.run_forever, name="affidavit-sql", daemon=True
                )
                self._thread.start()
            return self._loop


def database_url(given: str) -> URL:
    """Return the URL of a store with the driver that we use."""
    try:
        url = make_url(given)
    except ArgumentError:
        raise AffidavitError(faults.STORE_URL, problem="it is no URL") from None
    kind = url.drivername.partition("+")[0]
    if kind == "sqlite":
        if url.database in (None, "", ":memory:"):
            raise AffidavitError(faults.STORE_URL, problem="it names no file")
        return url.set(drivername="sqlite+pysqlite")
    if kind in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+asyncpg")
    raise AffidavitError(faults.STORE_URL, problem=f"{kind!r} is not supported")


def away(error: Exception) -> AffidavitError:
    """Return why the database cannot be used, in one line and without its address."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig else error
    if getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
        return AffidavitError(faults.STORE_FORMAT)
    said = str(cause).strip().splitlines()
    reason = said[0].rpartition(">: ")[2] if said else type(cause).__name__
    return AffidavitError(faults.STORE_AWAY, reason=reason)
