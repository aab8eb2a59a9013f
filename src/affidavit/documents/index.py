"""The index of all sources: search for a claim, resolve a citation, and build it crash-safely.

An index is a folder named by its key: the digest of everything that determines its content. It is
filled under another name, synced to the disk, and renamed, so a folder named by a key is always
complete. A lock allows one builder at a time; the builder may remove what a killed one left behind.
"""

import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from affidavit.base.digest import chunk_digest
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import evidence as faults
from affidavit.base.faults.input import FILE_UNWRITABLE
from affidavit.documents.index_store import STORE_FILE, PassageStore, PassageStoreWriter
from affidavit.documents.model import DocumentFinding, ReadingOutcome, RefusedDocument
from affidavit.documents.search_terms import SearchTerm, claim_keys, claim_terms, stems_of
from affidavit.documents.word_index import (
    WORD_INDEX_FOLDER,
    ClaimRanker,
    WordIndex,
    WordIndexWriter,
)
from affidavit.ledger.model import Chunk, Document

_SHORT_HASH: Final = 8
_CANDIDATES_PER_HIT: Final = 6
_MAX_TERMS: Final = 64


class SearchHit(NamedTuple):
    """A chunk found for a claim. The score, 0 to 1, ranks the hits of one claim only."""

    chunk: Chunk
    score: float


class SourceIndex:
    """The chunks of a set of documents. It is read-only, so several users may share it."""

    def __init__(self, store: PassageStore, words: WordIndex) -> None:
        self._store = store
        self._words = words
        self._documents = {document.id: document for document in store.documents}

    @property
    def documents(self) -> tuple[Document, ...]:
        """The documents, in reading order."""
        return self._store.documents

    @property
    def findings(self) -> tuple[DocumentFinding, ...]:
        """The findings of reading the documents."""
        return self._store.findings

    def document(self, document_id: str) -> Document:
        """Return the document with this id."""
        return self._documents[document_id]

    def search(self, claim: str, k: int = 8) -> tuple[SearchHit, ...]:
        """Return the `k` chunks that fit a claim best, best first, equal ones by chunk id."""
        terms = self._limit_terms(claim_terms(claim))
        keys = claim_keys(claim)[:_MAX_TERMS]
        found = self._words.search(terms, keys, _CANDIDATES_PER_HIT * k) if k > 0 else []
        if not found:
            return ()
        chunks = self._store.by_numbers([number for number, _ in found])
        words = ClaimRanker(terms, self._words.rarity)
        best = found[0][1]
        hits = (
            SearchHit(chunks[number], words.score(stems_of(chunks[number].text), score / best))
            for number, score in found
        )
        return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.chunk.id))[:k])

    def _limit_terms(self, terms: dict[str, SearchTerm]) -> dict[str, SearchTerm]:
        """Return the terms, or only the rarest if there are very many."""
        if len(terms) <= 4 * _MAX_TERMS:
            return terms
        known = (stem for stem, term in terms.items() if term.is_own and self._words.has(stem))
        rarest = sorted(known, key=lambda stem: (-self._words.rarity(stem), stem))
        return {stem: terms[stem] for stem in rarest[:_MAX_TERMS]}

    def chunk(self, chunk_id: str) -> Chunk | None:
        """Return a chunk by its id."""
        return self._store.by_id(chunk_id)

    def resolve(self, citation: str) -> tuple[Chunk, ...]:
        """Return the chunks that a citation names, in the order of the documents.

        `citation` is a chunk hash: 8 hexadecimal digits, or more of the same digest, in either
        case. The same text at several places is several chunks. It is an error if nothing is found,
        or if texts under one hash differ; that error lists longer digests that are unique.
        """
        wanted = citation.strip().lower()
        found = [
            (chunk, digest)
            for chunk in self._store.by_hash(wanted[:_SHORT_HASH])
            if (digest := chunk_digest(chunk.text)).startswith(wanted)
        ]
        if not found:
            raise AffidavitError(faults.CITATION_UNRESOLVED, hash=citation)
        digests = sorted({digest for _, digest in found})
        if len(digests) > 1:
            listed = ", ".join(_distinct_prefixes(digests))
            raise AffidavitError(
                faults.CITATION_AMBIGUOUS, hash=citation, count=len(digests), digests=listed
            )
        return tuple(chunk for chunk, _ in found)

    def page_at(self, chunk: Chunk, offset: int) -> int | None:
        """Return the page of a character of a chunk, which may cover several pages."""
        return self._store.page_at(chunk.document_id, chunk.span.start + offset)

    def close(self) -> None:
        """Close the files."""
        self._store.close()

    def __enter__(self) -> "SourceIndex":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _distinct_prefixes(digests: list[str]) -> list[str]:
    """Return the shortest starts, at least 16 digits, that differ."""
    length = 2 * _SHORT_HASH
    while len({digest[:length] for digest in digests}) < len(digests):
        length += _SHORT_HASH
    return [digest[:length] for digest in digests]


def open_index(folder: Path) -> SourceIndex:
    """Open a finished index. A damaged index is an error, never an empty index."""
    try:
        store = PassageStore(folder / STORE_FILE)
        words = WordIndex(folder / WORD_INDEX_FOLDER)
        index = SourceIndex(store, words)
    except (sqlite3.Error, ValueError, OSError, RuntimeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise AffidavitError(faults.INDEX_UNUSABLE, reason=reason).at(file=str(folder)) from None
    return index


_LOCK_NAME: Final = "build.lock"
_UNFINISHED_PREFIX: Final = ".unfinished-"
_REMOVED_SUFFIX: Final = "-passing"
_WAIT_SECONDS: Final = 600.0
_KEPT_INDEXES: Final = 8


def find_index(place: Path, key: str) -> SourceIndex | None:
    """Return the index of this key, or None if it is missing or damaged."""
    try:
        return open_index(place / key) if (place / key).is_dir() else None
    except AffidavitError:
        return None


def build_index(
    place: Path,
    key: str,
    documents: Iterable[ReadingOutcome],
    *,
    wait_seconds: float = _WAIT_SECONDS,
) -> SourceIndex:
    """Build the index of these documents under `place`, or open it if another just built it.

    The index keeps the findings, so that a second run over unchanged sources reports them again. If
    a document failed for a transient reason, the index gets another name, so that the next run
    tries again.
    """
    try:
        place.mkdir(parents=True, exist_ok=True)
        with _lock(place, wait_seconds):
            return find_index(place, key) or _build(place, key, documents)
    except (OSError, sqlite3.Error, ValueError) as error:  # tantivy: a full disk
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise AffidavitError(FILE_UNWRITABLE, Where(file=str(place)), reason=reason) from error


def _build(place: Path, key: str, documents: Iterable[ReadingOutcome]) -> SourceIndex:
    for left_behind in place.glob(f"{_UNFINISHED_PREFIX}*"):
        shutil.rmtree(left_behind, ignore_errors=True)
    unfinished = place / f"{_UNFINISHED_PREFIX}{key}"
    unfinished.mkdir()
    try:
        is_lasting = _fill(unfinished, documents)
        target = place / (key if is_lasting else f"{key}{_REMOVED_SUFFIX}")
        _sync(unfinished)
        # find_index found a damaged index under this name; it is removed first.
        _remove(target)
        unfinished.rename(target)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    _prune(place, target.name)
    return open_index(target)


def _fill(folder: Path, documents: Iterable[ReadingOutcome]) -> bool:
    """Write everything; return whether reading the same files again would give the same."""
    store = PassageStoreWriter(folder / STORE_FILE)
    words = WordIndexWriter(folder / WORD_INDEX_FOLDER)
    findings: list[DocumentFinding] = []
    is_lasting = True
    try:
        for document in documents:
            is_lasting = is_lasting and not document.is_transient
            if isinstance(document, RefusedDocument):
                findings.append(document.finding)
            else:
                words.add(store.add(document), document.chunks)
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
    """Hold the lock of a folder; the system frees it when the process ends, however it ends."""
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
    """Sync the files to the disk before the rename makes them an index."""
    for path in (*folder.rglob("*"), folder):
        if path.is_dir() and not hasattr(os, "O_DIRECTORY"):  # Windows: a folder cannot be opened.
            continue
        handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _prune(place: Path, key: str) -> None:
    """Keep the newest indexes. A process that has an old one open keeps its files."""
    others = (path for path in place.iterdir() if path.is_dir() and path.name != key)
    newest = sorted(others, key=lambda path: (path.stat().st_mtime_ns, path.name), reverse=True)
    for path in newest[_KEPT_INDEXES - 1 :]:
        _remove(path)


def _remove(index: Path) -> None:
    """Remove an index. It is renamed first, so that a kill leaves no partial index."""
    nameless = index.with_name(f"{_UNFINISHED_PREFIX}removed-{index.name}")
    with suppress(OSError):
        index.rename(nameless)
    shutil.rmtree(nameless, ignore_errors=True)
