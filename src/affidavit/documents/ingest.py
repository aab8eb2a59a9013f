"""From paths to an index: list the files, skip known ones, read the others, build or open.

Use cases call `index_sources`. Unchanged files are not read again.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from msgspec import structs

from affidavit.base.digest import sha256_hex
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence as faults
from affidavit.base.faults import input as input_faults
from affidavit.base.files import digest_file, read_bounded
from affidavit.documents.detection import extension_of
from affidavit.documents.index import SourceIndex, build_index, find_index
from affidavit.documents.model import (
    OUTCOME_DECODER,
    READER_VERSION,
    DocumentFinding,
    DocumentLimits,
    DocumentSettings,
    ReadingOutcome,
    RefusedDocument,
    finding_from_error,
    finding_from_fault,
)
from affidavit.documents.reader_pool import read_in_processes
from affidavit.documents.reader_process import ReadingTask, run_task
from affidavit.documents.source_files import SourceFile, list_sources

ReadingProgress = Callable[[int, int, str], None]
"""Called with the number of finished documents, their total, and the name of the last one."""

INDEX_VERSION: Final = 2
"""Increased whenever the files of an index change their format."""
_PACKAGES: Final = ("lxml", "markdown_it", "nupunkt", "pypdfium2", "selectolax", "tantivy")
_ATTEMPTS: Final = 3
_MAX_ENTRY_BYTES: Final = 1 << 30
_DIGEST_BYTES: Final = 32


class PlannedFile(NamedTuple):
    """A file to read, and its digest when the plan was made."""

    source: SourceFile
    digest: str

    def task(self) -> ReadingTask:
        """Return the task for a reader process."""
        path = os.fsencode(self.source.path)
        return ReadingTask(path, self.source.filename, self.source.named, self.digest)


class ReadingPlan(NamedTuple):
    """The documents of the named paths, each content once, and the findings so far."""

    files: tuple[PlannedFile, ...]
    findings: tuple[DocumentFinding, ...]


class IndexedSources(msgspec.Struct, frozen=True):
    """An index of all documents that could be read, and all findings."""

    index: SourceIndex
    findings: tuple[DocumentFinding, ...]


class SourcesChangedError(Exception):
    """A file changed after it was planned; the plan must be made again."""


def index_sources(
    paths: Iterable[Path],
    folder: Path,
    settings: DocumentSettings,
    *,
    jobs: int = 1,
    progress: ReadingProgress | None = None,
) -> IndexedSources:
    """Return the index of the named files and folders, built if it is not in `folder` already.

    `folder` keeps indexes and documents that were read, both by digest. `jobs` processes read at
    the same time; 0 reads in this process, without protection from parsers that crash or hang.
    """
    _require_packages()
    named = tuple(paths)
    for _ in range(_ATTEMPTS):
        plan = plan_sources(named, settings.limits)
        key = index_key(plan, settings)
        try:
            index = find_index(folder / "indexes", key) or build_index(
                folder / "indexes",
                key,
                read_planned(plan, settings, folder / "documents", jobs=jobs, progress=progress),
            )
        except SourcesChangedError:
            continue
        return IndexedSources(index, (*plan.findings, *index.findings))
    raise AffidavitError(faults.SOURCES_UNSTEADY)


def plan_sources(paths: Iterable[Path], limits: DocumentLimits) -> ReadingPlan:
    """Return the files to read. The same bytes under two names are one document."""
    walk = list_sources(paths)
    files: dict[str, PlannedFile] = {}
    findings = list(walk.findings)
    for source in walk.files:
        try:
            digest = _file_digest(source.path, limits.max_bytes)
        except AffidavitError as error:
            findings.append(finding_from_error(error, source.filename))
            continue
        first = files.setdefault(digest, PlannedFile(source, digest)).source
        if first is not source:
            findings.append(
                finding_from_fault(
                    faults.DOCUMENT_DUPLICATE, source.filename, read=True, other=first.filename
                )
            )
    return ReadingPlan(tuple(files.values()), tuple(findings))


def _file_digest(path: Path, max_bytes: int) -> str:
    # If the file is gone, opening it raises the error.
    with suppress(OSError):
        if path.stat().st_size > max_bytes:
            raise AffidavitError(faults.DOCUMENT_TOO_LARGE, what="bytes", limit=max_bytes)
    return digest_file(path)


def index_key(plan: ReadingPlan, settings: DocumentSettings) -> str:
    """Return the name of the index: the digest of everything that determines its content."""
    files = [(file.source.filename, file.source.named, file.digest) for file in plan.files]
    return sha256_hex(msgspec.json.encode((INDEX_VERSION, READER_VERSION, settings, files)))[:32]


def read_planned(
    plan: ReadingPlan,
    settings: DocumentSettings,
    cache_folder: Path,
    *,
    jobs: int = 1,
    progress: ReadingProgress | None = None,
) -> Iterator[ReadingOutcome]:
    """Yield one outcome per planned file, in order; cached documents are not read again."""
    cache = DocumentCache(cache_folder, settings)
    unknown = [file.task() for file in plan.files if not cache.has(file.source, file.digest)]
    if jobs > 0:
        outcomes = read_in_processes(unknown, settings, jobs)
    else:
        outcomes = (run_task(task, settings) for task in unknown)
    waiting = {task.filename for task in unknown}
    for done, file in enumerate(plan.files, start=1):
        is_new = file.source.filename in waiting
        outcome = next(outcomes) if is_new else cache.find(file.source, file.digest)
        if outcome is None:  # The entry is damaged.
            outcome = run_task(file.task(), settings)
        if outcome.is_changed:
            raise SourcesChangedError
        if is_new and not outcome.is_transient:
            cache.keep(file.source, file.digest, outcome)
        if progress is not None:
            progress(done, len(plan.files), file.source.filename)
        yield outcome


class DocumentCache:
    """Documents that were read before, by the digest of their bytes.

    An entry is named by everything that determines it, and begins with the SHA-256 of the rest. A
    damaged or foreign entry counts as missing.
    """

    def __init__(self, folder: Path, settings: DocumentSettings) -> None:
        self._folder = folder
        self._settings = msgspec.json.encode((READER_VERSION, settings))

    def has(self, file: SourceFile, digest: str) -> bool:
        """Tell whether there is an entry, without reading it."""
        return self._entry(file, digest).is_file()

    def find(self, file: SourceFile, digest: str) -> ReadingOutcome | None:
        """Return the outcome of reading these bytes before, under this name."""
        try:
            entry = read_bounded(self._entry(file, digest), _MAX_ENTRY_BYTES)
            body = entry[_DIGEST_BYTES:]
            if sha256(body).digest() != entry[:_DIGEST_BYTES]:
                return None
            outcome: ReadingOutcome = OUTCOME_DECODER.decode(body)
        except (AffidavitError, msgspec.DecodeError):
            return None
        return _with_filename(outcome, file.filename)

    def keep(self, file: SourceFile, digest: str, outcome: ReadingOutcome) -> None:
        """Store an outcome. A cache that cannot be written is slow, not an error."""
        body = msgspec.msgpack.encode(outcome)
        target = self._entry(file, digest)
        # Not synced: after a power cut the checksum of a damaged entry does not match.
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            part = target.with_suffix(".part")
            part.write_bytes(sha256(body).digest() + body)
            part.replace(target)

    def _entry(self, file: SourceFile, digest: str) -> Path:
        # The extension decides how text is read, and whether the file is misnamed.
        ending = extension_of(file.filename).encode()
        parts = (self._settings, digest.encode(), ending, b"named" if file.named else b"")
        return self._folder / f"{sha256_hex(b'|'.join(parts))}.msgpack"


def _with_filename(outcome: ReadingOutcome, filename: str) -> ReadingOutcome:
    if isinstance(outcome, RefusedDocument):
        return RefusedDocument(structs.replace(outcome.finding, file=filename))
    findings = tuple(structs.replace(finding, file=filename) for finding in outcome.findings)
    document = structs.replace(outcome.document, filename=filename)
    return structs.replace(outcome, document=document, findings=findings)


def _require_packages() -> None:
    for package in _PACKAGES:
        if find_spec(package) is None:
            raise AffidavitError(
                input_faults.EXTRA_MISSING,
                feature="reading documents",
                package=package.replace("_", "-"),
                extra="ledger",
            )
