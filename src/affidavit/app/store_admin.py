"""What an operator does with a store: upgrade, check, back up, restore, and forget old sessions."""

import shutil
import sqlite3
import tarfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from io import BytesIO
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Final

from msgspec import Struct
from sqlalchemy import Table, func, select, text

from affidavit.app.ledger_store import DATABASE_FILE, LedgerStore, StoreConfig
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import store as faults
from affidavit.base.files import digest_file, is_there
from affidavit.ledger.adjudication import find_ledger_problem
from affidavit.store.database import Scope, SystemScope
from affidavit.store.schema import differences, require_current, revision_of, upgrade
from affidavit.store.session_rows import stored_ledger
from affidavit.store.tables import (
    documents,
    exports,
    human_decisions,
    jobs,
    runs,
    sessions,
    workspaces,
)

_DOCUMENTS: Final = "documents"


class StoreUpgrade(Struct, frozen=True):
    """The revision of the tables before and after an upgrade."""

    before: str | None
    after: str


class StoreCheck(Struct, frozen=True, kw_only=True):
    """What a store has, and everything in it that is not as it has to be."""

    revision: str | None
    workspaces: int
    documents: int
    sessions: int
    ledgers: int
    decisions: int
    problems: list[str]


class Forgotten(Struct, frozen=True, kw_only=True):
    """What was deleted for its age, and what a legal hold kept."""

    before: str
    sessions: int
    held: int
    exports: int
    jobs: int


def upgrade_store(config: StoreConfig) -> StoreUpgrade:
    """Apply the missing changes of the tables."""
    with _opened(config) as store:
        return StoreUpgrade(*upgrade(store.database))


def check_store(config: StoreConfig) -> StoreCheck:
    """Compare tables, ledgers and files with what they have to be. Nothing is changed."""
    with _opened(config, only_reads=True) as store:
        require_current(store.database)
        problems = [f"the tables differ: {each}" for each in differences(store.database)]
        problems += _file_problems(store)
        problems += _ledger_problems(store)
        names = (workspaces, documents, sessions, human_decisions)
        counts = store.database.system(
            lambda system: [_count(system, table) for table in names], writes=False
        )
        ledgers = len(_finished_runs(store))
        return StoreCheck(
            revision=revision_of(store.database),
            workspaces=counts[0],
            documents=counts[1],
            sessions=counts[2],
            ledgers=ledgers,
            decisions=counts[3],
            problems=problems,
        )


def back_up_store(config: StoreConfig, target: Path) -> Path:
    """Write the database and the documents into one archive; a running service goes on."""
    with _opened(config) as store:
        require_current(store.database)
        if store.database.file is None:
            raise AffidavitError(faults.STORE_BACKUP, problem="the store is in PostgreSQL")
        if is_there(target):
            raise AffidavitError(
                faults.STORE_BACKUP, Where(file=str(target)), problem="there is a file already"
            )
        with TemporaryDirectory(prefix="affidavit-", dir=target.absolute().parent) as folder:
            copy, part = Path(folder, DATABASE_FILE), Path(folder, "backup.tar")
            with (
                closing(sqlite3.connect(store.database.file)) as source,
                closing(sqlite3.connect(copy)) as made,
            ):
                source.backup(made)
            with tarfile.open(part, "w") as archive:
                archive.add(copy, DATABASE_FILE)
                # The database is copied first, so every document that it names is there.
                for digest in store.blobs.digests():
                    path = store.blobs.path(digest)
                    archive.add(path, f"{_DOCUMENTS}/{path.parent.name}/{path.name}")
            part.replace(target)
    return target


def restore_store(config: StoreConfig, source: Path) -> StoreCheck:
    """Unpack a backup into an empty place, and check it."""
    if not config.url.startswith("sqlite"):
        raise AffidavitError(faults.STORE_BACKUP, problem="the store is in PostgreSQL")
    with _opened(config) as store:
        database = store.database.file
    if database is None or is_there(database) or is_there(config.data / _DOCUMENTS):
        where = Where(file=str(config.data))
        raise AffidavitError(faults.STORE_BACKUP, where, problem="there is a store already")
    config.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    database.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="restore-", dir=config.data) as folder:
        _unpack(source, Path(folder))
        unpacked = Path(folder, _DOCUMENTS)
        if unpacked.is_dir():
            unpacked.replace(config.data / _DOCUMENTS)
        Path(folder, DATABASE_FILE).replace(database)
    return check_store(config)


def forget_old(config: StoreConfig, keep_days: int, now: str) -> Forgotten:
    """Delete the sessions that were last changed before so many days, unless they are held."""
    with _opened(config) as store:
        require_current(store.database)
        before = (datetime.fromisoformat(now) - timedelta(days=keep_days)).strftime(
            "%Y-%m-%dT%H:%M:%SZ"
        )
        now_ms = int(datetime.fromisoformat(now).timestamp() * 1000)

        def work(system: SystemScope) -> Forgotten:
            old = sessions.c.updated_at < before
            held = system.execute(
                select(func.count()).select_from(sessions).where(old, sessions.c.legal_hold)
            ).scalar_one()
            deleted = system.execute(sessions.delete().where(old, ~sessions.c.legal_hold))
            expired = system.execute(exports.delete().where(exports.c.expires_ms <= now_ms))
            ended = jobs.c.status.in_(("done", "failed"))
            finished = system.execute(jobs.delete().where(ended, jobs.c.finished_at < before))
            return Forgotten(
                before=before,
                sessions=deleted.rowcount,
                held=held,
                exports=expired.rowcount,
                jobs=finished.rowcount,
            )

        return store.database.system(work)


@contextmanager
def _opened(config: StoreConfig, *, only_reads: bool = False) -> Iterator[LedgerStore]:
    store = LedgerStore(config, only_reads=only_reads)
    try:
        yield store
    finally:
        store.close()


def _count(system: SystemScope, table: Table) -> int:
    return int(system.execute(select(func.count()).select_from(table)).scalar_one())


def _finished_runs(store: LedgerStore) -> list[tuple[str, str]]:
    query = select(runs.c.workspace_id, runs.c.id).where(runs.c.status == "done")

    def work(system: SystemScope) -> list[tuple[str, str]]:
        return [(row.workspace_id, row.id) for row in system.execute(query.order_by(runs.c.id))]

    return store.database.system(work, writes=False)


def _ledger_problems(store: LedgerStore) -> Iterator[str]:
    for workspace, run_id in _finished_runs(store):

        def load(scope: Scope, run_id: str = run_id) -> str | None:
            try:
                ledger = stored_ledger(scope, run_id)
            except AffidavitError as error:
                return error.message
            return find_ledger_problem(ledger)

        problem = store.database.read(workspace, load)
        if problem is not None:
            yield f"the ledger of the run {run_id}: {problem}"


def _file_problems(store: LedgerStore) -> Iterator[str]:
    query = select(documents.c.digest).distinct().order_by(documents.c.digest)

    def named(system: SystemScope) -> list[str]:
        if not system.is_postgresql and system.execute(text("PRAGMA quick_check")).scalar() != "ok":
            raise AffidavitError(faults.STORE_DAMAGED, problem="SQLite finds the file damaged")
        return [str(row.digest) for row in system.execute(query)]

    for digest in store.database.system(named, writes=False):
        path = store.blobs.path(digest)
        if not path.is_file():
            yield f"the file of the document {digest} is missing"
        elif digest_file(path) != digest:
            yield f"the file of the document {digest} was changed"


def _unpack(source: Path, folder: Path) -> None:
    try:
        with tarfile.open(source, "r:") as archive:
            for member in archive:
                place = PurePosixPath(member.name)
                known = member.name == DATABASE_FILE or place.parts[:1] == (_DOCUMENTS,)
                if not member.isfile() or not known or ".." in place.parts:
                    problem = f"it has the unexpected member {member.name[:80]!r}"
                    raise AffidavitError(
                        faults.STORE_BACKUP, Where(file=str(source)), problem=problem
                    )
                target = folder.joinpath(*place.parts)
                target.parent.mkdir(parents=True, exist_ok=True)
                stream = archive.extractfile(member) or BytesIO()
                with target.open("xb") as file:
                    shutil.copyfileobj(stream, file)
    except (tarfile.TarError, OSError) as error:
        problem = str(error) or type(error).__name__
        raise AffidavitError(
            faults.STORE_BACKUP, Where(file=str(source)), problem=problem
        ) from None
    if not Path(folder, DATABASE_FILE).is_file():
        raise AffidavitError(
            faults.STORE_BACKUP, Where(file=str(source)), problem="it has no database"
        )
