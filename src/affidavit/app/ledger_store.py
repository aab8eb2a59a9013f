"""The store of a service, opened: its database, its files, and an index for each workspace."""

import secrets
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from affidavit.app.clock import now
from affidavit.app.project import Project
from affidavit.base.digest import digest_of
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence
from affidavit.base.faults import input as input_faults
from affidavit.documents.growing_index import open_growing_index, update_index
from affidavit.documents.index import SourceIndex, boxes_within, page_of
from affidavit.documents.model import DocumentFinding, LineBox
from affidavit.ledger.adjudication import find_ledger_problem
from affidavit.ledger.model import Chunk, Document, Span
from affidavit.ledger.record import ledger_from_json
from affidavit.store.api_keys import DEFAULT_WORKSPACE
from affidavit.store.blobs import BlobFolder
from affidavit.store.database import Database, Scope, SystemScope
from affidavit.store.document_rows import (
    StoredDocument,
    chunks_by_content_id,
    chunks_by_hash,
    chunks_by_numbers,
    chunks_of_document,
    list_documents,
    places_of,
)
from affidavit.store.identity import workspace_id
from affidavit.store.schema import require_current, upgrade
from affidavit.store.session_rows import (
    RunSettings,
    add_run,
    add_session,
    finish_run,
    is_imported,
    packed_json,
)
from affidavit.store.tables import settings

DATABASE_FILE: Final = "store.db"
_SIGNING: Final = "export_secret"
_SECRET_BYTES: Final = 32
_IMPORTED: Final = "imported "
"""Followed by the digest of a file."""


class StoreConfig(Struct, frozen=True, kw_only=True):
    """Where a store is. `data` has the files of documents and the indexes."""

    url: str
    data: Path


def store_config(project: Path, url: str | None = None, data: Path | None = None) -> StoreConfig:
    """Return where the store of a project is: by default an SQLite file in its folder."""
    folder = data or Project(project).folder / "store"
    return StoreConfig(url=url or f"sqlite:///{folder.absolute() / DATABASE_FILE}", data=folder)


class StoredPassages:
    """The documents and chunks of a workspace, as an index reads them."""

    def __init__(
        self, database: Database, workspace: str, stored: Sequence[StoredDocument]
    ) -> None:
        self._database = database
        self._workspace = workspace
        self._stored = stored
        # The places of a document are decoded once for all of its passages.
        self._places = lru_cache(maxsize=64)(self._places_of)

    @cached_property
    def documents(self) -> tuple[Document, ...]:
        """All documents, in the order of their names."""
        found = [each.as_source() for each in self._stored]
        return tuple(sorted(found, key=lambda each: (each.filename, each.id)))

    @cached_property
    def findings(self) -> tuple[DocumentFinding, ...]:
        """The findings of reading the documents."""
        return tuple(
            msgspec.convert(finding, DocumentFinding)
            for each in self._stored
            for finding in each.findings
        )

    def by_numbers(self, numbers: Sequence[int]) -> dict[int, Chunk]:
        """Return the chunks of these numbers."""
        return self._database.read(self._workspace, lambda s: chunks_by_numbers(s, numbers))

    def by_hash(self, chunk_hash: str) -> tuple[Chunk, ...]:
        """Return all chunks with this hash."""
        found = self._database.read(self._workspace, lambda s: chunks_by_hash(s, chunk_hash))
        return tuple(found.values())

    def by_id(self, chunk_id: str) -> Chunk | None:
        """Return nothing: the service finds chunks by number and by hash."""
        return None

    def chunks_of(self, document: str) -> tuple[Chunk, ...]:
        """Return the chunks of a document, in order."""
        found = self._database.read(self._workspace, lambda s: chunks_by_content_id(s, document))
        return tuple(found.values())

    def page_at(self, document: str, offset: int) -> int | None:
        """Return the page of a character of a document's text."""
        return page_of(self._places(document)[0], offset)

    def boxes_of(self, document: str, span: Span) -> tuple[LineBox, ...]:
        """Return where the printed lines of a range of a document's text are on its pages."""
        return boxes_within(self._places(document)[1], span)

    def close(self) -> None:
        """Keep the database open: others use it."""

    def _places_of(self, document: str) -> tuple[bytes, bytes]:
        return self._database.read(self._workspace, lambda s: places_of(s, document))


class LedgerStore:
    """The store of a service. Several threads may use it at the same time."""

    def __init__(self, config: StoreConfig, *, only_reads: bool = False) -> None:
        self.config = config
        self.database = Database(config.url, only_reads=only_reads)
        self.blobs = BlobFolder(config.data / "documents")
        self.workspace = lru_cache(maxsize=10_000)(self._workspace)

    def require_ready(self) -> None:
        """Raise unless the database can be used by this version."""
        require_current(self.database)

    @cached_property
    def export_secret(self) -> bytes:
        """The secret that signs the addresses of downloads, made with the first one."""
        query = select(settings.c.value).where(settings.c.name == _SIGNING)

        def work(system: SystemScope) -> str:
            if system.is_postgresql:
                from sqlalchemy import text

                system.execute(text("LOCK TABLE settings IN EXCLUSIVE MODE"))
            found = system.execute(query).scalar()
            if found is None:
                found = secrets.token_hex(_SECRET_BYTES)
                system.execute(settings.insert(), [{"name": _SIGNING, "value": found}])
            return str(found)

        return bytes.fromhex(self.database.system(work))

    def index(self, workspace: str) -> SourceIndex:
        """Return the index of the documents that are ready now; raise if there is none."""
        stored = self.database.read(workspace, lambda scope: list_documents(scope, status="ready"))
        if not stored:
            raise AffidavitError(evidence.SOURCES_NONE)
        place = self.config.data / "indexes" / workspace

        def chunks_of(document_id: str) -> dict[int, Chunk]:
            return self.database.read(workspace, lambda s: chunks_of_document(s, document_id))

        update_index(place, {each.id: each.updated_at for each in stored}, chunks_of)
        return open_growing_index(place, StoredPassages(self.database, workspace, stored))

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    def _workspace(self, name: str) -> str:
        return workspace_id(self.database, name, now())


def prepare_store(config: StoreConfig, project: Path) -> tuple[int, list[str]]:
    """Bring a store up to date and import the ledgers of the command line, as `import_sessions`."""
    store = LedgerStore(config)
    try:
        upgrade(store.database)
        return import_sessions(store, Project(project))
    finally:
        store.close()


def import_sessions(store: LedgerStore, project: Project) -> tuple[int, list[str]]:
    """Import the ledgers of the command line, each once; return how many, and what was damaged."""
    workspace, known = store.workspace(DEFAULT_WORKSPACE), _imported_before(store.database)
    imported, damaged = 0, []
    for stored in reversed(project.sessions.all()):
        try:
            exact = project.sessions.load(stored.id)
            name = _IMPORTED + digest_of(exact)
            if name in known:  # Also if its session was deleted since.
                continue
            imported += _import_ledger(store.database, workspace, exact)
            _remember_import(store.database, name)
        except AffidavitError as error:
            if error.fault is input_faults.FILE_MISSING:
                continue
            damaged.append(str(error.at(file=str(stored.path))))
    return imported, damaged


def _imported_before(database: Database) -> frozenset[str]:
    query = select(settings.c.name).where(settings.c.name.startswith(_IMPORTED))
    found = database.system(lambda system: system.execute(query).scalars().all(), writes=False)
    return frozenset(found)


def _remember_import(database: Database, name: str) -> None:
    row = {"name": name, "value": now()}
    with suppress(IntegrityError):  # Another service has imported it at the same time.
        database.system(lambda system: system.execute(settings.insert(), [row]))


def _import_ledger(database: Database, workspace: str, exact: bytes) -> bool:
    ledger, packed = ledger_from_json(exact), packed_json(exact)

    def work(scope: Scope) -> bool:
        if is_imported(scope, ledger.ledger_id):
            return False
        at = ledger.generated_at
        session = add_session(
            scope,
            title=ledger.title,
            query=ledger.query,
            answer=ledger.answer,
            at=at,
            imported_from=ledger.ledger_id,
        )
        run = add_run(scope, session.id, RunSettings(answer_date=ledger.answer_date), at)
        finish_run(scope, run, ledger, packed, at)
        return True

    if problem := find_ledger_problem(ledger):
        from affidavit.base.faults.evidence import SESSION_TAMPERED

        raise AffidavitError(SESSION_TAMPERED, problem=problem)
    return database.write(workspace, work)
