"""From paths to an index: walk, skip what is known, read the rest apart, build or open.

The one entry for the use cases is `index_sources`; the steps are there for who needs one of them.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from affidavit.base.digest import sha256_hex
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence as faults
from affidavit.base.faults import input as input_faults
from affidavit.base.files import digest_file
from affidavit.documents.cache import DocumentCache
from affidavit.documents.index import SourceIndex, build_index, find_index
from affidavit.documents.model import DocumentFinding, finding_from_error, finding_from_fault
from affidavit.documents.reader_pool import read_in_processes
from affidavit.documents.reader_process import ReadingTask, run_task
from affidavit.documents.reading import READER_VERSION, ReadingOutcome
from affidavit.documents.settings import DocumentLimits, DocumentSettings
from affidavit.documents.source_files import SourceFile, list_sources

ReadingProgress = Callable[[int, int, str], None]
"""Called with how many documents are done, how many there are, and the name of the last one."""

INDEX_VERSION: Final = 1
"""Goes up whenever the files of an index change their form."""
_PACKAGES: Final = ("lxml", "markdown_it", "nupunkt", "pypdfium2", "selectolax", "tantivy")
_ATTEMPTS: Final = 3


class PlannedFile(NamedTuple):
    """A file to read, and the digest that it had when the plan was made."""

    source: SourceFile
    digest: str

    def task(self) -> ReadingTask:
        """Return what a worker needs to read it."""
        path = os.fsencode(self.source.path)
        return ReadingTask(path, self.source.filename, self.source.named, self.digest)


class ReadingPlan(NamedTuple):
    """The documents of the named paths, each content once, and what was met on the way."""

    files: tuple[PlannedFile, ...]
    findings: tuple[DocumentFinding, ...]


@dataclass(frozen=True, slots=True)
class IndexedSources:
    """An index of all documents that could be read, and everything that was met."""

    index: SourceIndex
    findings: tuple[DocumentFinding, ...]


class SourcesChangedError(Exception):
    """A file changed between the plan and its reading; the plan has to be made again."""


def index_sources(
    paths: Iterable[Path],
    folder: Path,
    settings: DocumentSettings,
    *,
    jobs: int = 1,
    progress: ReadingProgress | None = None,
) -> IndexedSources:
    """Return the index of the named files and folders, built if it is not in `folder` already.

    `folder` keeps indexes and documents that were read, both by digest. `jobs` workers read at the
    same time; 0 reads in this process, without protection from parsers that crash or hang.
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
    """Return what is to be read. The same bytes under two names are one document."""
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
    # A file that went since the walk has no size; opening it says what is wrong.
    with suppress(OSError):
        if path.stat().st_size > max_bytes:
            raise AffidavitError(faults.DOCUMENT_TOO_LARGE, what="bytes", limit=max_bytes)
    return digest_file(path)


def index_key(plan: ReadingPlan, settings: DocumentSettings) -> str:
    """Return the name of the index: the digest of all that decides its content."""
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
    """Yield one outcome per planned file, in order; what the cache knows is not read again."""
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
        if outcome is None:  # The entry was there and is torn.
            outcome = run_task(file.task(), settings)
        if outcome.is_changed:
            raise SourcesChangedError
        if is_new and not outcome.is_transient:
            cache.keep(file.source, file.digest, outcome)
        if progress is not None:
            progress(done, len(plan.files), file.source.filename)
        yield outcome


def _require_packages() -> None:
    for package in _PACKAGES:
        if find_spec(package) is None:
            raise AffidavitError(
                input_faults.EXTRA_MISSING,
                feature="reading documents",
                package=package.replace("_", "-"),
                extra="ledger",
            )
