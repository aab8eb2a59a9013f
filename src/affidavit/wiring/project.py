"""A project's own folder, `.affidavit`: sessions, batches, and the index of its documents."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import check as faults
from affidavit.ledger.build import replay
from affidavit.ledger.record import Ledger
from affidavit.ledger.wire_reading import ledger_from_json
from affidavit.sources.index.opened import SourceIndex, open_index
from affidavit.store.sessions import FolderSessions

FOLDER = ".affidavit"


@dataclass(frozen=True, slots=True)
class Project:
    """Where a project keeps what Affidavit made. Nothing is written before it is needed."""

    root: Path

    @property
    def folder(self) -> Path:
        """The folder itself."""
        return self.root / FOLDER

    @property
    def sources(self) -> Path:
        """Indexes and documents that were read; it may be deleted at any time."""
        return self.folder / "sources"

    @property
    def sessions(self) -> FolderSessions:
        """The ledgers that were kept."""
        return FolderSessions(self.folder / "sessions")

    def ledger(self, session: str) -> Ledger:
        """Return a kept ledger; one that does not follow from what it stores is refused."""
        stored = self.sessions.find(session)
        try:
            ledger = ledger_from_json(self.sessions.load(stored.id))
        except AffidavitError as error:
            raise error.at(file=str(stored.path)) from None
        if replay(ledger) != ledger:
            raise AffidavitError(faults.SESSION_TAMPERED, Where(file=str(stored.path)))
        return ledger

    def batch(self, name: str) -> Path:
        """Return the results file of a batch."""
        return self.folder / "batches" / f"{name}.jsonl"

    def open_indexes(self) -> Iterator[SourceIndex]:
        """Yield the finished indexes, the newest first; one that does not open is passed over."""
        place = self.sources / "indexes"
        if not place.is_dir():
            return
        folders = [path for path in place.iterdir() if path.is_dir() and path.name[0] != "."]
        for path in sorted(folders, key=lambda path: path.stat().st_mtime_ns, reverse=True):
            try:
                index = open_index(path)
            except AffidavitError:
                continue
            with index:
                yield index
