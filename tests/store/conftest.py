"""The same tests of the store run on SQLite and on PostgreSQL."""

from collections.abc import Iterator

import pytest
from tests.store.databases import empty_postgresql, postgresql_with_tables, ready_database

from affidavit.store.database import Database


@pytest.fixture(scope="session")
def postgresql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    with postgresql_with_tables(tmp_path_factory.mktemp("pg", numbered=True)) as found:
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
