"""The sessions that the commands show: those of the project's store, or its files without one.

`affidavit check` has to work without the packages of a service, so it writes files. In a project
that has a store, they are imported into it, each once, and the store is what is listed.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec
from msgspec import Struct

from affidavit.app.project import Project
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import evidence as faults
from affidavit.ledger.adjudication import find_ledger_problem
from affidavit.ledger.record import Ledger, ledger_from_json

if TYPE_CHECKING:
    from affidavit.app.ledger_store import LedgerStore
    from affidavit.store.database import Scope

STORE_FOLDER = "store"
STORE_FILE = "store.db"


class Sessions(Protocol):
    """Ledgers that were made before."""

    def ledgers(self) -> tuple[list[Ledger], list[str]]:
        """Return all ledgers, the newest first, and the problems of damaged ones."""
        ...

    def ledger(self, reference: str) -> Ledger:
        """Return the ledger of a session by its id, the start of it, or `last`."""
        ...

    def delete(self, reference: str) -> str:
        """Delete a session and return its id."""
        ...


class SessionFiles(Struct, frozen=True):
    """The sessions of a project without a store."""

    project: Project

    def ledgers(self) -> tuple[list[Ledger], list[str]]:
        """Return all ledgers, the newest first, and the problems of damaged ones."""
        return self.project.ledgers()

    def ledger(self, reference: str) -> Ledger:
        """Return the ledger of a session."""
        return self.project.ledger(reference)

    def delete(self, reference: str) -> str:
        """Delete the file of a session and return its id."""
        stored = self.project.sessions.find(reference)
        self.project.sessions.delete(stored.id)
        return stored.id


class _NamedLedger(Struct, frozen=True):
    """What a ledger is called, without the rest of it."""

    session_id: str


class _FoundSession(Struct, frozen=True):
    """A session of the store with a finished run."""

    id: str
    run_id: str


class SessionRows(Struct, frozen=True):
    """The sessions of a store, with the newest finished run of each."""

    project: Project
    store: "LedgerStore"
    workspace: str
    not_imported: tuple[str, ...] = ()

    def ledgers(self) -> tuple[list[Ledger], list[str]]:
        """Return all ledgers, the newest first, and the problems of damaged ones."""
        found, damaged = [], list(self.not_imported)
        for each in self._newest_first():
            try:
                found.append(self._ledger(each))
            except AffidavitError as error:
                damaged.append(str(error))
        return found, damaged

    def ledger(self, reference: str) -> Ledger:
        """Return the ledger of a session. One that differs from its replay is refused."""
        try:
            return self._ledger(self._find(reference)[1])
        except AffidavitError as error:
            if error.fault is not faults.SESSION_UNKNOWN:
                raise
        return self.project.ledger(reference)  # A damaged file, which says what is wrong with it.

    def delete(self, reference: str) -> str:
        """Delete a session, and the file that it was imported from; return its id."""
        from affidavit.store.session_rows import delete_session

        name, found = self._find(reference)
        self.store.database.write(self.workspace, lambda scope: delete_session(scope, found.id))
        with suppress(AffidavitError):
            self.project.sessions.delete(name)
        return name

    def _newest_first(self) -> list[_FoundSession]:
        from sqlalchemy import select

        from affidavit.store.tables import runs

        query = (
            select(runs.c.session_id, runs.c.id)
            .where(runs.c.status == "done")
            .order_by(runs.c.finished_at.desc(), runs.c.number.desc(), runs.c.id)
        )

        def work(scope: "Scope") -> dict[str, str]:
            found: dict[str, str] = {}
            for row in scope.rows(query):
                found.setdefault(row.session_id, row.id)
            return found

        found = self.store.database.read(self.workspace, work)
        return [_FoundSession(*each) for each in found.items()]

    def _find(self, reference: str) -> tuple[str, _FoundSession]:
        every = self._newest_first()
        if reference == "last" and every:
            return self._name(every[0]), every[0]
        named = ((self._name(each), each) for each in every)
        found = [
            (name, each)
            for name, each in named
            if name.startswith(reference) or each.id.startswith(reference)
        ]
        # The same answer may have been checked in several sessions: the newest counts.
        names = sorted({name for name, _ in found})
        if not found or not reference:
            raise AffidavitError(faults.SESSION_UNKNOWN, session=reference)
        if len(names) > 1:
            shown = ", ".join(names[:4])
            raise AffidavitError(faults.SESSION_AMBIGUOUS, session=reference, found=shown)
        return found[0]

    def _name(self, session: _FoundSession) -> str:
        return msgspec.json.decode(self._exact(session), type=_NamedLedger).session_id

    def _exact(self, session: _FoundSession) -> bytes:
        from affidavit.store.session_rows import exact_ledger

        return self.store.database.read(
            self.workspace, lambda scope: exact_ledger(scope, session.run_id)
        )

    def _ledger(self, session: _FoundSession) -> Ledger:
        place = Where(file=f"session {session.id}")
        try:
            ledger = ledger_from_json(self._exact(session))
        except AffidavitError as error:
            raise error.at(file=place.file) from None
        if problem := find_ledger_problem(ledger):
            raise AffidavitError(faults.SESSION_TAMPERED, place, problem=problem)
        return ledger


@contextmanager
def open_sessions(root: Path, url: str | None, data: Path | None) -> Iterator[tuple[Sessions, int]]:
    """Yield the sessions of a project, and how many were imported into its store now.

    A project has a store once a service was started in it; `url` and `data` name another one.
    """
    project = Project(root)
    folder = data or project.folder / STORE_FOLDER
    if url is None and not (folder / STORE_FILE).is_file():
        yield SessionFiles(project), 0
        return
    from affidavit.app.ledger_store import LedgerStore, import_sessions, store_config
    from affidavit.store.api_keys import DEFAULT_WORKSPACE

    store = LedgerStore(store_config(root, url, data))
    try:
        store.require_ready()
        imported, damaged = import_sessions(store, project)
        workspace = store.workspace(DEFAULT_WORKSPACE)
        yield SessionRows(project, store, workspace, tuple(damaged)), imported
    finally:
        store.close()
