"""Building an index so that a crash at any moment leaves nothing that opens wrongly.

An index is a folder named by its key: the digest of all that decides its content. It is filled
under another name, brought to the disk, and renamed; a folder with the name of a key is therefore
always whole. Builders of one place take turns by a lock, and who has the lock may remove whatever a
killed builder left behind.
"""

import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import evidence as faults
from affidavit.base.faults.input import FILE_UNWRITABLE
from affidavit.sources.findings import Finding
from affidavit.sources.index.opened import SourceIndex, open_index
from affidavit.sources.index.store import STORE_NAME, StoreWriter
from affidavit.sources.index.words import FOLDER_NAME, WordIndexWriter
from affidavit.sources.ingested import Outcome, RefusedDocument

_LOCK_NAME: Final = "build.lock"
_UNFINISHED: Final = ".unfinished-"
_PASSING: Final = "-passing"
_WAIT_SECONDS: Final = 600.0
_KEPT_INDEXES: Final = 8


def find_index(place: Path, key: str) -> SourceIndex | None:
    """Return the index of this key if it is there and opens; a broken one counts as missing."""
    try:
        return open_index(place / key) if (place / key).is_dir() else None
    except AffidavitError:
        return None


def build_index(
    place: Path,
    key: str,
    documents: Iterable[Outcome],
    *,
    wait_seconds: float = _WAIT_SECONDS,
) -> SourceIndex:
    """Build the index of these documents under `place`, or open it if another just built it.

    The findings of the documents are kept in the index, so that a second look at unchanged sources
    reports what the first reported. If a document was missed for a reason that may pass, the index
    gets another name, so that the next look tries again.
    """
    try:
        place.mkdir(parents=True, exist_ok=True)
        with _lock(place, wait_seconds):
            return find_index(place, key) or _build(place, key, documents)
    except (OSError, sqlite3.Error, ValueError) as error:  # tantivy says ValueError for a full disk
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise AffidavitError(FILE_UNWRITABLE, Where(file=str(place)), reason=reason) from error


def _build(place: Path, key: str, documents: Iterable[Outcome]) -> SourceIndex:
    for left_behind in place.glob(f"{_UNFINISHED}*"):
        shutil.rmtree(left_behind, ignore_errors=True)
    unfinished = place / f"{_UNFINISHED}{key}"
    unfinished.mkdir()
    try:
        is_lasting = _fill(unfinished, documents)
        target = place / (key if is_lasting else f"{key}{_PASSING}")
        _sync(unfinished)
        # A broken index under this name made find_index say None; it has to go first.
        _remove(target)
        unfinished.rename(target)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    _prune(place, target.name)
    return open_index(target)


def _fill(folder: Path, documents: Iterable[Outcome]) -> bool:
    """Write everything; return whether reading the same files again would give the same."""
    store = StoreWriter(folder / STORE_NAME)
    words = WordIndexWriter(folder / FOLDER_NAME)
    findings: list[Finding] = []
    is_lasting = True
    try:
        for document in documents:
            is_lasting = is_lasting and not document.is_transient
            if isinstance(document, RefusedDocument):
                findings.append(document.finding)
            else:
                words.add(store.add(document), document.passages)
                findings.extend(document.findings)
    except BaseException:
        words.abandon()
        store.abandon()
        raise
    words.finish()
    store.finish(findings)
    return is_lasting


@contextmanager
def _lock(place: Path, wait_seconds: float) -> Iterator[None]:
    """Hold the lock of a place; the system frees it when the process ends, however it ends."""
    lock = sqlite3.connect(place / _LOCK_NAME, timeout=wait_seconds, isolation_level=None)
    try:
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            where = Where(file=str(place))
            raise AffidavitError(faults.INDEX_BUSY, where, seconds=f"{wait_seconds:g}") from None
        yield
    finally:
        lock.close()


def _sync(folder: Path) -> None:
    """Bring the files to the disk before the rename makes them an index."""
    for path in (*folder.rglob("*"), folder):
        if path.is_dir() and not hasattr(os, "O_DIRECTORY"):  # Windows: a folder cannot be opened.
            continue
        handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _prune(place: Path, key: str) -> None:
    """Keep the newest indexes: whoever still reads an old one keeps its files until it is done."""
    others = (path for path in place.iterdir() if path.is_dir() and path.name != key)
    newest = sorted(others, key=lambda path: (path.stat().st_mtime_ns, path.name), reverse=True)
    for path in newest[_KEPT_INDEXES - 1 :]:
        _remove(path)


def _remove(index: Path) -> None:
    """Remove an index. It loses its name first: who is killed here leaves no half of one."""
    nameless = index.with_name(f"{_UNFINISHED}removed-{index.name}")
    with suppress(OSError):
        index.rename(nameless)
    shutil.rmtree(nameless, ignore_errors=True)
