"""The folder `.affidavit` of a project: its ledgers, batches and indexes, and the lookup of a
citation in them.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import evidence as check_faults
from affidavit.base.faults import evidence as faults
from affidavit.documents.index import SourceIndex, open_index
from affidavit.ledger.adjudication import replay_ledger
from affidavit.ledger.model import Chunk, Document
from affidavit.ledger.record import Ledger, ledger_from_json
from affidavit.store.sessions import SessionFolder

# A project's own folder, `.affidavit`: sessions, batches, and the index of its documents.

PROJECT_FOLDER = ".affidavit"


@dataclass(frozen=True, slots=True)
class Project:
    """Where a project keeps what Affidavit made. Nothing is written before it is needed."""

    root: Path

    @property
    def folder(self) -> Path:
        """The folder itself."""
        return self.root / PROJECT_FOLDER

    @property
    def sources(self) -> Path:
        """Indexes and documents that were read; it may be deleted at any time."""
        return self.folder / "sources"

    @property
    def sessions(self) -> SessionFolder:
        """The ledgers that were kept."""
        return SessionFolder(self.folder / "sessions")

    def ledger(self, session: str) -> Ledger:
        """Return a kept ledger; one that does not follow from what it stores is refused."""
        stored = self.sessions.find(session)
        try:
            ledger = ledger_from_json(self.sessions.load(stored.id))
        except AffidavitError as error:
            raise error.at(file=str(stored.path)) from None
        if replay_ledger(ledger) != ledger:
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


# Resolving a citation: which passage do these eight digits name?
#
# Origin: evidence-ledger.md, section 5.3.

_HASH: Final = re.compile("[0-9a-f]{8,64}")
UNAVAILABLE: Final = "Citation references deleted or unavailable chunk"


@dataclass(frozen=True, slots=True)
class CitedPassage:
    """A passage and the document that it stands in."""

    document: Document
    chunk: Chunk


@dataclass(frozen=True, slots=True)
class CitationResolution:
    """What became of a citation. `ambiguous` is True where different passages share the hash."""

    chunk_hash: str
    resolved: bool
    passages: tuple[CitedPassage, ...] = ()
    error: str | None = None
    ambiguous: bool = False


def resolve_citation(chunk_hash: str, indexes: Iterable[SourceIndex]) -> CitationResolution:
    """Return the passages that a hash names in the first index that knows it."""
    wanted = chunk_hash.strip().removeprefix("[").removeprefix("cite:").removesuffix("]").lower()
    if not _HASH.fullmatch(wanted):
        raise AffidavitError(check_faults.CITATION_SYNTAX, text=chunk_hash)
    searched = False
    for index in indexes:
        searched = True
        try:
            chunks = index.resolve(wanted)
        except AffidavitError as error:
            if error.fault is faults.CITATION_UNRESOLVED:
                continue
            return CitationResolution(wanted, False, error=error.message, ambiguous=True)
        passages = tuple(CitedPassage(index.document(each.document_id), each) for each in chunks)
        return CitationResolution(wanted, True, passages)
    if not searched:
        raise AffidavitError(check_faults.NOTHING_INDEXED)
    return CitationResolution(wanted, False, error=UNAVAILABLE)
