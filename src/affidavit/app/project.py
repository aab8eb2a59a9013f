"""The folder `.affidavit` of a project: its ledgers, batches and indexes, and citations in them.

Origin of citations: evidence-ledger.md, section 5.3.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import evidence as faults
from affidavit.base.files import write_atomically
from affidavit.documents.index import SourceIndex, open_index
from affidavit.documents.ingest import ReadingProgress, index_sources
from affidavit.documents.model import DocumentSettings
from affidavit.ledger.adjudication import find_ledger_problem
from affidavit.ledger.citations import CitationResolution, CitedPassage
from affidavit.ledger.record import Ledger, ledger_from_json
from affidavit.store.sessions import SessionFolder

PROJECT_FOLDER = ".affidavit"


class Project(Struct, frozen=True):
    """The files of a project. Nothing is written before it is needed."""

    root: Path

    @property
    def folder(self) -> Path:
        """The folder itself."""
        return self.root / PROJECT_FOLDER

    @property
    def sources(self) -> Path:
        """Indexes and cached documents; it may be deleted at any time."""
        return self.folder / "sources"

    @property
    def sessions(self) -> SessionFolder:
        """The stored ledgers."""
        return SessionFolder(self.folder / "sessions")

    def ledger(self, session: str) -> Ledger:
        """Return a stored ledger. A ledger that differs from its replay is refused."""
        stored = self.sessions.find(session)
        try:
            ledger = ledger_from_json(self.sessions.load(stored.id))
        except AffidavitError as error:
            raise error.at(file=str(stored.path)) from None
        if problem := find_ledger_problem(ledger):
            place = Where(file=str(stored.path))
            raise AffidavitError(faults.SESSION_TAMPERED, place, problem=problem)
        return ledger

    def ledgers(self) -> tuple[list[Ledger], list[str]]:
        """Return all stored ledgers, the newest first, and the problems of damaged ones."""
        ledgers: list[Ledger] = []
        damaged: list[str] = []
        for stored in self.sessions.all():
            try:
                ledgers.append(self.ledger(stored.id))
            except AffidavitError as error:
                damaged.append(str(error))
        return ledgers, damaged

    def write_report(self, ledger: Ledger) -> Path:
        """Write the HTML report of a ledger into the project and return its file."""
        from affidavit.reports.formats import render

        report = self.folder / "reports" / f"{ledger.session_id}.html"
        with suppress(OSError):  # Writing fails next, and raises the error.
            report.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(report, render("ledger", "html", ledger))
        return report

    def batch(self, name: str) -> Path:
        """Return the results file of a batch."""
        return self.folder / "batches" / f"{name}.jsonl"

    def open_indexes(self) -> Iterator[SourceIndex]:
        """Yield the finished indexes, the newest first; damaged ones are skipped."""
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


_HASH: Final = re.compile("[0-9a-f]{8,64}")
UNAVAILABLE: Final = "Citation references deleted or unavailable chunk"


def cite(
    chunk_hash: str,
    project: Project,
    sources: Sequence[Path] = (),
    progress: ReadingProgress | None = None,
) -> CitationResolution:
    """Return the passages that a hash names in `sources`, or else in the project's indexes."""
    if not sources:
        return resolve_citation(chunk_hash, project.open_indexes())
    indexed = index_sources(sources, project.sources, DocumentSettings(), progress=progress)
    return resolve_citation(chunk_hash, (indexed.index,))


def resolve_citation(chunk_hash: str, indexes: Iterable[SourceIndex]) -> CitationResolution:
    """Return the passages that a hash names in the first index that knows it."""
    wanted = chunk_hash.strip().removeprefix("[").removeprefix("cite:").removesuffix("]").lower()
    if not _HASH.fullmatch(wanted):
        raise AffidavitError(faults.CITATION_SYNTAX, text=chunk_hash)
    searched = False
    for index in indexes:
        searched = True
        try:
            chunks = index.resolve(wanted)
        except AffidavitError as error:
            if error.fault is faults.CITATION_UNRESOLVED:
                continue
            return CitationResolution(
                chunk_hash=wanted, resolved=False, error=error.message, ambiguous=True
            )
        passages = tuple(CitedPassage(index.document(each.document_id), each) for each in chunks)
        return CitationResolution(chunk_hash=wanted, resolved=True, passages=passages)
    if not searched:
        raise AffidavitError(faults.NOTHING_INDEXED)
    return CitationResolution(chunk_hash=wanted, resolved=False, error=UNAVAILABLE)
