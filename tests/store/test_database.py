"""Transactions, the wall between workspaces, and the revision of the tables."""

from collections.abc import Callable
from typing import Any, cast

import pytest
from sqlalchemy import Select, Table, func, select, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql import visitors
from tests.store.making import AT, workspace

from affidavit.base.errors import AffidavitError
from affidavit.store.database import Database, Scope, SystemScope
from affidavit.store.document_rows import add_document, document, list_documents
from affidavit.store.identity import workspace_id
from affidavit.store.schema import (
    differences,
    newest_revision,
    require_current,
    revision_of,
    upgrade,
)
from affidavit.store.tables import TENANT_TABLES, documents, runs, sessions, workspaces

URLS = {
    "no URL": ("store.db", "it is no URL"),
    "no file": ("sqlite://", "it names no file"),
    "a store in memory ends with the connection": ("sqlite:///:memory:", "it names no file"),
    "another database": ("mysql://x/y", "'mysql' is not supported"),
}


@pytest.mark.parametrize(("url", "problem"), URLS.values(), ids=URLS.keys())
def test_an_address_that_is_not_of_a_store_is_refused(url: str, problem: str) -> None:
    with pytest.raises(AffidavitError, match=f"^AF850: .*{problem}"):
        Database(url)


def test_the_migrations_make_the_tables_that_the_code_declares(database: Database) -> None:
    assert differences(database) == []
    assert revision_of(database) == newest_revision()
    assert upgrade(database) == (newest_revision(), newest_revision())
    require_current(database)


def test_a_revision_of_a_later_version_is_refused(database: Database) -> None:
    database.as_owner(lambda c: c.execute(text("UPDATE alembic_version SET version_num = '9999'")))
    with pytest.raises(AffidavitError, match=r"^AF852: .* revision 9999"):
        upgrade(database)
    with pytest.raises(AffidavitError, match=r"^AF852: "):
        require_current(database)


def test_a_workspace_is_made_once(database: Database) -> None:
    assert workspace_id(database, "acme", AT) == workspace_id(database, "acme", AT)
    assert workspace_id(database, "acme", AT) != workspace_id(database, "other", AT)
    with pytest.raises(AffidavitError, match=r"^AF868: "):
        workspace_id(database, "../x", AT)


def _added(name: str) -> Callable[[Scope], str]:
    return lambda scope: add_document(scope, name, f"sha256:{name}", 3, AT)[0].id


def test_rows_of_another_workspace_are_not_there(database: Database) -> None:
    mine, other = workspace(database, "mine"), workspace(database, "other")
    added = database.write(mine, _added("a.txt"))
    assert database.read(mine, lambda scope: document(scope, added)).filename == "a.txt"
    assert database.read(other, list_documents) == []
    with pytest.raises(AffidavitError, match=r"^AF855: this workspace has no document"):
        database.read(other, lambda scope: document(scope, added))
    assert database.write(other, lambda scope: scope.delete(documents)) == 0
    assert database.write(other, lambda scope: scope.update(documents, filename="x")) == 0
    assert len(database.read(mine, list_documents)) == 1


def test_the_same_bytes_are_a_document_in_each_workspace(database: Database) -> None:
    mine, other = workspace(database, "mine"), workspace(database, "other")
    first, again = (database.write(mine, _added("a.txt")) for _ in range(2))
    assert first == again
    assert database.write(other, _added("a.txt")) != first


QUERIES = {
    "a table that no workspace owns": lambda: select(workspaces.c.id),
    "a subquery, which would not be confined": lambda: select(documents.c.id).where(
        documents.c.id.in_(select(sessions.c.id))
    ),
    "a subquery of the same table": lambda: select(documents.c.id).where(
        documents.c.id.in_(select(documents.c.id))
    ),
    "a scalar subquery as a column": lambda: select(
        documents.c.id, select(func.count()).select_from(documents).scalar_subquery()
    ),
    "another name of a table": lambda: select(documents.alias("other").c.id),
    "a common table expression": lambda: select(select(documents.c.id).cte("every").c.id),
}


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES.keys())
def test_a_query_that_cannot_be_confined_is_a_defect(
    query: Callable[[], "Select[tuple[str]]"], database: Database
) -> None:
    mine = workspace(database, "mine")
    with pytest.raises(TypeError, match="tables of a workspace"):
        database.read(mine, lambda scope: scope.rows(query()))


CONFINED = {
    "the columns of a table": lambda: select(documents.c.id),
    "a table that is only in a condition": lambda: select(documents.c.id).where(
        documents.c.digest == sessions.c.title
    ),
    "a join": lambda: select(runs.c.id).join(sessions, sessions.c.id == runs.c.session_id),
    "a join from another table": lambda: select(runs.c.id).join_from(
        sessions, runs, sessions.c.id == runs.c.session_id
    ),
    "a function of a column": lambda: select(func.max(runs.c.number)),
    "a table that is only counted": lambda: select(func.count()).select_from(sessions),
}


@pytest.mark.parametrize("query", CONFINED.values(), ids=CONFINED.keys())
def test_every_table_of_a_query_is_confined(query: Callable[[], "Select[Any]"]) -> None:
    made = query()
    tables = {each for source in made.get_final_froms() for each in _tables_in(source)}
    written = str(Scope(SystemScope(cast(Any, None), str), "mine")._confined(made))
    for table in tables:
        assert f"{table.name}.workspace_id = " in written


def _tables_in(source: Any) -> set[Table]:
    return {each for each in visitors.iterate(source) if isinstance(each, Table)}


def test_a_failed_transaction_leaves_nothing(database: Database) -> None:
    mine = workspace(database, "mine")

    def work(scope: Scope) -> None:
        add_document(scope, "a.txt", "sha256:a", 3, AT)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        database.write(mine, work)
    assert database.read(mine, list_documents) == []


def test_row_level_security_is_a_second_wall(database: Database) -> None:
    if not database.is_postgresql:
        pytest.skip("SQLite has no row-level security")
    mine, other = workspace(database, "mine"), workspace(database, "other")
    database.write(mine, _added("a.txt"))

    def counted(scope: Scope) -> int:
        # As if the layer had forgotten the workspace.
        raw = scope._system.execute(text("SELECT count(*) FROM documents"))
        return int(raw.scalar_one())

    assert database.read(mine, counted) == 1
    assert database.read(other, counted) == 0
    with pytest.raises((AffidavitError, DBAPIError), match="row-level security"):
        database.write(
            other,
            lambda scope: scope._system.execute(
                documents.insert(),
                [
                    {
                        "id": scope.new_id(),
                        "workspace_id": mine,
                        "filename": "x",
                        "digest": "y",
                        "bytes": 1,
                        "status": "ready",
                        "created_at": AT,
                        "updated_at": AT,
                    }
                ],
            ),
        )


def test_every_table_of_a_tenant_has_a_policy(database: Database) -> None:
    if not database.is_postgresql:
        pytest.skip("SQLite has no row-level security")
    query = text(
        "SELECT relname FROM pg_class WHERE relrowsecurity AND relforcerowsecurity ORDER BY 1"
    )
    found = database.as_owner(lambda connection: connection.execute(query).scalars().all())
    assert list(found) == sorted(table.name for table in TENANT_TABLES)
