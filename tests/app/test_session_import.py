"""Ledgers of the command line are imported into the store, each once."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.ledger.examples import ledger_of, seed_ledger

from affidavit.app.ledger_store import LedgerStore, import_sessions, prepare_store, store_config
from affidavit.app.project import Project
from affidavit.ledger.record import Ledger, ledger_to_json
from affidavit.store.schema import upgrade
from affidavit.store.session_rows import entries_of, exact_ledger, list_sessions, runs_of

OTHER = "Leave requests must be submitted 2 weeks in advance."


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LedgerStore]:
    made = LedgerStore(store_config(tmp_path))
    upgrade(made.database)
    yield made
    made.close()


def save(folder: Path, ledger: Ledger) -> Path:
    return Project(folder).sessions.save(ledger.session_id, ledger_to_json(ledger)).path


def test_a_ledger_is_imported_once_and_byte_for_byte(store: LedgerStore, tmp_path: Path) -> None:
    path = save(tmp_path, seed_ledger())
    assert import_sessions(store, Project(tmp_path)) == (1, [])
    assert import_sessions(store, Project(tmp_path)) == (0, [])
    workspace = store.workspace("default")
    (session,) = store.database.read(workspace, list_sessions)
    (run,) = store.database.read(workspace, lambda scope: runs_of(scope, session.id))
    assert (session.title, session.status, session.created_at, session.imported_from) == (
        "Leave Policy Q&A",
        "done",
        "2026-01-03T14:30:00Z",
        seed_ledger().ledger_id,
    )
    kept = store.database.read(workspace, lambda scope: exact_ledger(scope, run.id))
    assert kept == path.read_bytes()
    assert len(store.database.read(workspace, lambda scope: entries_of(scope, run.id))) == 4
    save(tmp_path, ledger_of(OTHER, {}))
    assert import_sessions(store, Project(tmp_path)) == (1, [])
    assert path.exists()  # The command line goes on with its own files.


def test_a_ledger_that_was_changed_is_named_and_not_imported(tmp_path: Path) -> None:
    path = save(tmp_path, seed_ledger())
    save(tmp_path, ledger_of(OTHER, {}))
    path.write_bytes(path.read_bytes().replace(b'"not_found"', b'"weak"', 1))
    imported, damaged = prepare_store(store_config(tmp_path), tmp_path)
    assert imported == 1
    (problem,) = damaged
    assert str(path) in problem


def test_a_project_without_ledgers_has_none_to_import(tmp_path: Path) -> None:
    assert prepare_store(store_config(tmp_path), tmp_path) == (0, [])
