"""`affidavit sessions` in a project with a store: what was checked before is imported once."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from tests.cli.running import run
from tests.ledger.examples import ledger_of, seed_ledger
from tests.store.databases import postgresql, store_url
from tests.store.making import add_checked_session

from affidavit.app.ledger_store import LedgerStore, store_config
from affidavit.app.project import Project
from affidavit.ledger.record import Ledger, ledger_to_json
from affidavit.store.schema import upgrade
from affidavit.store.session_rows import hold_session, list_sessions

__all__ = ["postgresql", "store_url"]
OTHER = "Leave requests must be submitted 2 weeks in advance."


def save(project: Path, ledger: Ledger) -> Path:
    return Project(project).sessions.save(ledger.session_id, ledger_to_json(ledger)).path


@pytest.fixture
def store(tmp_path: Path, store_url: str) -> Iterator[LedgerStore]:
    made = LedgerStore(store_config(tmp_path, store_url))
    upgrade(made.database)
    yield made
    made.close()


def sessions(project: Path, store: LedgerStore, *arguments: str) -> Result:
    # The URL of a database is shown without its password, and ours has none.
    given = ("--project", str(project), "--store", str(store.config.url))
    return run("sessions", *arguments, *given)


def listed(project: Path, store: LedgerStore) -> list[Any]:
    found: list[Any] = json.loads(sessions(project, store, "list", "--json").stdout)["sessions"]
    return found


def test_files_are_imported_once_with_a_message(store: LedgerStore, tmp_path: Path) -> None:
    save(tmp_path, seed_ledger())
    first = sessions(tmp_path, store, "list")
    assert first.exit_code == 0
    assert first.stderr == "imported ledgers of this project into its store: 1\n"
    assert seed_ledger().session_id in first.stdout
    assert sessions(tmp_path, store, "list").stderr == ""
    assert sessions(tmp_path, store, "list").stdout == first.stdout


def test_a_session_is_shown_by_its_id_the_start_of_it_and_last(
    store: LedgerStore, tmp_path: Path
) -> None:
    save(tmp_path, seed_ledger())
    workspace = store.workspace("default")
    other = ledger_of(OTHER, {})
    store.database.write(workspace, lambda scope: add_checked_session(scope, other))
    names = [each["session_id"] for each in listed(tmp_path, store)]
    assert sorted(names) == sorted([seed_ledger().session_id, other.session_id])
    for reference in (other.session_id, other.session_id[:12]):
        shown = sessions(tmp_path, store, "show", reference, "--json")
        assert json.loads(shown.stdout)["ledger_id"] == other.ledger_id
    last = json.loads(sessions(tmp_path, store, "show", "last", "--json").stdout)
    assert last["session_id"] == names[0]
    (stored,) = [
        each for each in store.database.read(workspace, list_sessions) if each.imported_from is None
    ]
    by_service = sessions(tmp_path, store, "show", stored.id, "--json")
    assert json.loads(by_service.stdout)["ledger_id"] == other.ledger_id
    both = sessions(tmp_path, store, "show", "ses_")
    assert (both.exit_code, both.stderr[:5]) == (2, "AF271")


def test_what_was_deleted_is_not_imported_again(store: LedgerStore, tmp_path: Path) -> None:
    path = save(tmp_path, seed_ledger())
    exact = path.read_bytes()
    assert len(listed(tmp_path, store)) == 1
    assert sessions(tmp_path, store, "delete", "last").exit_code == 0
    assert not path.exists()
    path.write_bytes(exact)
    assert listed(tmp_path, store) == []


def test_what_is_held_is_not_deleted(store: LedgerStore, tmp_path: Path) -> None:
    path = save(tmp_path, seed_ledger())
    assert len(listed(tmp_path, store)) == 1
    workspace = store.workspace("default")
    (stored,) = store.database.read(workspace, list_sessions)
    store.database.write(
        workspace,
        lambda scope: hold_session(scope, stored.id, hold=True, at="2026-01-04T00:00:00Z"),
    )
    refused = sessions(tmp_path, store, "delete", "last")
    assert (refused.exit_code, refused.stderr[:5]) == (2, "AF856")
    assert path.exists()


def test_a_file_that_was_changed_is_named(store: LedgerStore, tmp_path: Path) -> None:
    path = save(tmp_path, seed_ledger())
    path.write_bytes(path.read_bytes().replace(b"no_ship", b"ship"))
    found = sessions(tmp_path, store, "list")
    assert found.exit_code == 4
    assert str(path) in found.stdout
    shown = sessions(tmp_path, store, "show", seed_ledger().session_id)
    assert (shown.exit_code, shown.stderr[:5]) == (4, "AF279")


def test_an_unknown_session_is_unknown(store: LedgerStore, tmp_path: Path) -> None:
    for reference in ("last", "ses_0", "x"):
        shown = sessions(tmp_path, store, "show", reference)
        assert (shown.exit_code, shown.stderr[:5]) == (2, "AF270")


def test_a_project_with_a_store_shows_it_without_an_option(tmp_path: Path) -> None:
    save(tmp_path, seed_ledger())
    assert run("db", "upgrade", "--project", str(tmp_path)).exit_code == 0
    found = run("sessions", "list", "--project", str(tmp_path))
    assert "imported ledgers of this project into its store: 1" in found.stderr
    opened = run("sessions", "open", "last", "--no-browser", "--project", str(tmp_path))
    assert Path(opened.stdout.strip()).read_text("utf-8").startswith("<!doctype html>")
