"""`affidavit db` on a real store: upgrade, check, back up, restore, forget."""

import json
import shutil
import sqlite3
import tarfile
import zlib
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import Result
from tests.cli.running import run
from tests.store.making import AT, add_checked_session

from affidavit.app.ledger_store import LedgerStore, store_config
from affidavit.base.digest import digest_of
from affidavit.store.document_rows import add_document
from affidavit.store.session_rows import hold_session

TEXT = b"Staff get 25 days of leave."


def db(project: Path, *arguments: str) -> Result:
    return run("db", *arguments, "--project", str(project))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project whose store has a document and a checked session."""
    folder = tmp_path / "project"
    folder.mkdir()
    assert db(folder, "upgrade").stdout == "upgraded from nothing to 0002\n"
    store = LedgerStore(store_config(folder))
    workspace = store.workspace("default")
    upload = store.blobs.incoming / "x"
    upload.write_bytes(TEXT)
    store.blobs.keep(upload, digest_of(TEXT))
    store.database.write(
        workspace, lambda scope: add_document(scope, "a.txt", digest_of(TEXT), len(TEXT), AT)
    )
    store.database.write(workspace, add_checked_session)
    store.close()
    return folder


def test_an_upgrade_says_what_it_did(project: Path) -> None:
    assert db(project, "upgrade").stdout == "the store has the revision 0002 already\n"
    assert json.loads(db(project, "upgrade", "--json").stdout) == {
        "before": "0002",
        "after": "0002",
    }


def test_a_sound_store_is_checked(project: Path) -> None:
    result = db(project, "check")
    assert (result.exit_code, result.stdout) == (
        0,
        "revision 0002; workspaces: 1, documents: 1, sessions: 1, ledgers: 1, decisions: 0\n",
    )


def test_a_store_without_tables_is_named(tmp_path: Path) -> None:
    result = db(tmp_path, "check")
    assert (result.exit_code, result.stderr[:5]) == (2, "AF852")
    assert not (tmp_path / ".affidavit").exists()


def database_of(project: Path) -> Path:
    return project / ".affidavit" / "store" / "store.db"


def test_a_changed_ledger_is_tampering(project: Path) -> None:
    with closing(sqlite3.connect(database_of(project))) as connection, connection:
        (packed,) = connection.execute("SELECT ledger FROM runs").fetchone()
        changed = zlib.decompress(packed).replace(b'"not_found"', b'"supported"', 1)
        connection.execute("UPDATE runs SET ledger = ?", (zlib.compress(changed),))
    result = db(project, "check")
    assert result.exit_code == 4
    assert "the ledger of the run" in result.stdout


@pytest.mark.parametrize("change", ["changed", "missing"])
def test_a_document_that_is_not_what_it_was_is_tampering(change: str, project: Path) -> None:
    (file,) = (project / ".affidavit" / "store" / "documents").glob("??/*")
    if change == "missing":
        file.unlink()
    else:
        file.write_bytes(b"something else")
    result = db(project, "check")
    assert result.exit_code == 4
    assert change in result.stdout


def test_a_backup_is_restored_elsewhere(project: Path, tmp_path: Path) -> None:
    archive, new = tmp_path / "store.tar", tmp_path / "new"
    new.mkdir()
    assert db(project, "backup", str(archive)).stdout == f"{archive}\n"
    again = db(project, "backup", str(archive))
    assert (again.exit_code, again.stderr.partition(": ")[0]) == (2, "AF854")
    restored = db(new, "restore", str(archive))
    assert (restored.exit_code, restored.stdout) == (0, "restored sessions: 1, documents: 1\n")
    assert db(new, "check").stdout == db(project, "check").stdout
    onto = db(new, "restore", str(archive))
    assert onto.stderr.startswith("AF854")
    assert "there is a store already" in onto.stderr


def test_what_is_no_backup_is_refused(tmp_path: Path) -> None:
    files = {"no archive": b"x" * 2000}
    stranger = tmp_path / "stranger.tar"
    (tmp_path / "x").write_bytes(b"x")
    with tarfile.open(stranger, "w") as archive:
        archive.add(tmp_path / "x", "../../x")
    files["a path that leaves the folder"] = stranger.read_bytes()
    with tarfile.open(stranger, "w") as archive:
        archive.add(tmp_path / "x", "documents/aa/x")
    files["no database"] = stranger.read_bytes()
    for number, data in enumerate(files.values()):
        place = tmp_path / f"p{number}"
        place.mkdir()
        (tmp_path / "b.tar").write_bytes(data)
        result = db(place, "restore", str(tmp_path / "b.tar"))
        assert (result.exit_code, result.stderr[:5]) == (2, "AF854"), result.output
        assert not database_of(place).exists()


def test_old_sessions_are_forgotten_unless_they_are_held(project: Path) -> None:
    store = LedgerStore(store_config(project))
    workspace = store.workspace("default")
    held = store.database.write(workspace, add_checked_session).session_id
    store.database.write(workspace, lambda s: hold_session(s, held, hold=True, at=AT))
    store.close()
    kept = db(project, "forget", "--keep-days", "36500")
    assert kept.stdout.startswith("deleted sessions: 0 (kept under a legal hold: 0)")
    done = json.loads(db(project, "forget", "--keep-days", "1", "--json").stdout)
    assert (done["sessions"], done["held"]) == (1, 1)
    assert "sessions: 1," in db(project, "check").stdout


def test_a_damaged_database_is_named(project: Path) -> None:
    path = database_of(project)
    for suffix in ("-wal", "-shm"):
        shutil.rmtree(path.with_name(path.name + suffix), ignore_errors=True)
    path.write_bytes(b"no database" * 1000)
    result = db(project, "check")
    assert (result.exit_code, result.stderr[:5]) == (3, "AF851")


def test_the_address_of_a_store_is_checked(tmp_path: Path) -> None:
    result = db(tmp_path, "upgrade", "--store", "mysql://localhost/x")
    assert (result.exit_code, result.stderr[:5]) == (2, "AF850")
    nobody = db(tmp_path, "upgrade", "--store", "postgresql://bob:hunter2@127.0.0.1:1/x")
    assert (nobody.exit_code, nobody.stderr[:5]) == (3, "AF851")
    assert "hunter2" not in nobody.output
