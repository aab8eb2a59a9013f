"""The index over documents: built once, stored, opened and searched."""

import os
import shutil
import sqlite3
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import msgspec
from msgspec import structs

from affidavit.base.digest import chunk_digest
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import evidence as faults
from affidavit.base.faults.input import FILE_UNWRITABLE
from affidavit.documents.model import (
    DocumentFinding,
    IngestedDocument,
    LineBox,
    ReadingOutcome,
    RefusedDocument,
)
from affidavit.documents.search_terms import SearchTerm, claim_keys, claim_terms, stems_of
from affidavit.documents.word_index import (
    WORD_INDEX_FOLDER,
    ClaimRanker,
    WordIndex,
    WordIndexWriter,
    rank_chunks,
)
from affidavit.ledger.model import Chunk, Document, Span

# Passages and documents in one SQLite file beside the word index.
#
# SQLite opens in a millisecond whatever the size, and finds by number, hash or id without reading
# the rest. The file is written once, in one transaction, and only read after that.

STORE_FILE: Final = "passages.sqlite"
_BOXES: Final = msgspec.msgpack.Decoder(tuple[tuple[int, LineBox], ...])
_SCHEMA: Final = """
CREATE TABLE documents (
  ordinal INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, filename TEXT NOT NULL,
  digest TEXT NOT NULL, media_type TEXT NOT NULL, title TEXT NOT NULL, date TEXT,
  page_count INTEGER, page_marks BLOB NOT NULL, line_boxes BLOB NOT NULL);
CREATE TABLE passages (
  ordinal INTEGER PRIMARY KEY, document INTEGER NOT NULL, position INTEGER NOT NULL,
  id TEXT NOT NULL, hash TEXT NOT NULL, start INTEGER NOT NULL, stop INTEGER NOT NULL,
  page INTEGER, path BLOB NOT NULL, text TEXT NOT NULL);
CREATE TABLE findings (body BLOB NOT NULL);
"""
_INDEXES: Final = """
CREATE INDEX passages_by_hash ON passages (hash);
CREATE INDEX passages_by_id ON passages (id);
"""
_PASSAGE: Final = (
    "SELECT p.ordinal, p.id, p.hash, d.id, p.position, p.text, p.start, p.stop, p.page, p.path"
    " FROM passages p JOIN documents d ON d.ordinal = p.document WHERE "
)


class PassageStoreWriter:
    """Fills a new store, which nobody can open before `finish`."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        # The folder is renamed when it is complete, so a journal would protect a file that nobody
        # reads; the builder of the index syncs it to the disk.
        self._connection.execute("PRAGMA journal_mode = OFF")
        self._connection.execute("PRAGMA synchronous = OFF")
        self._connection.execute("BEGIN")
        for statement in filter(str.strip, _SCHEMA.split(";")):
            self._connection.execute(statement)
        self._documents = 0
        self._chunks = 0

    def add(self, ingested: IngestedDocument) -> range:
        """Add a document and return the numbers of its chunks."""
        self._documents += 1
        first = self._chunks
        document = structs.astuple(ingested.document)
        marks = msgspec.msgpack.encode(ingested.page_marks)
        self._connection.execute(
            "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (self._documents, *document, marks, msgspec.msgpack.encode(ingested.line_boxes)),
        )
        self._connection.executemany(
            "INSERT INTO passages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (
                    *(first + chunk.index, self._documents, chunk.index, chunk.id, chunk.hash),
                    *(chunk.span.start, chunk.span.end, chunk.page_number),
                    *(msgspec.msgpack.encode(chunk.heading_path), chunk.text),
                )
                for chunk in ingested.chunks
            ),
        )
        self._chunks += len(ingested.chunks)
        return range(first, self._chunks)

    def finish(self, findings: Sequence[DocumentFinding]) -> None:
        """Add the findings and complete the store."""
        rows = ((msgspec.msgpack.encode(finding),) for finding in findings)
        self._connection.executemany("INSERT INTO findings VALUES (?)", rows)
        for statement in filter(str.strip, _INDEXES.split(";")):
            self._connection.execute(statement)
        self._connection.execute("COMMIT")
        self._connection.close()

    def abandon(self) -> None:
        """Close the file; its folder is going to be deleted."""
        self._connection.close()


class PassageStore:
    """A finished store, open for reading."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False
        )

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @cached_property
    def documents(self) -> tuple[Document, ...]:
        """All documents, in reading order."""
        rows = self._connection.execute(
            "SELECT id, filename, digest, media_type, title, date, page_count"
            " FROM documents ORDER BY ordinal"
        )
        names = Document.__struct_fields__  # In the order of the columns.
        return tuple(Document(**dict(zip(names, row, strict=True))) for row in rows)

    @cached_property
    def findings(self) -> tuple[DocumentFinding, ...]:
        """The findings of reading the documents."""
        rows = self._connection.execute("SELECT body FROM findings ORDER BY rowid")
        return tuple(msgspec.msgpack.decode(body, type=DocumentFinding) for (body,) in rows)

    def by_numbers(self, numbers: Sequence[int]) -> dict[int, Chunk]:
        """Return the chunks of these numbers."""
        marks = ",".join("?" * len(numbers))
        rows = self._connection.execute(f"{_PASSAGE} p.ordinal IN ({marks})", tuple(numbers))
        return {row[0]: _chunk(row) for row in rows}

    def by_hash(self, chunk_hash: str) -> tuple[Chunk, ...]:
        """Return all chunks with this hash."""
        rows = self._connection.execute(f"{_PASSAGE} p.hash = ? ORDER BY p.ordinal", (chunk_hash,))
        return tuple(_chunk(row) for row in rows)

    def by_id(self, chunk_id: str) -> Chunk | None:
        """Return the chunk of this id."""
        row = self._connection.execute(f"{_PASSAGE} p.id = ?", (chunk_id,)).fetchone()
        return None if row is None else _chunk(row)

    def chunks_of(self, document: str) -> tuple[Chunk, ...]:
        """Return the chunks of a document, in order."""
        rows = self._connection.execute(f"{_PASSAGE} d.id = ? ORDER BY p.ordinal", (document,))
        return tuple(_chunk(row) for row in rows)

    def page_at(self, document: str, offset: int) -> int | None:
        """Return the page of a character of a document's text."""
        row = self._connection.execute(
            "SELECT page_marks FROM documents WHERE id = ?", (document,)
        ).fetchone()
        return None if row is None else page_of(row[0], offset)

    def boxes_of(self, document: str, span: Span) -> tuple[LineBox, ...]:
        """Return where the printed lines of a range of a document's text are on its pages."""
        row = self._connection.execute(
            "SELECT line_boxes FROM documents WHERE id = ?", (document,)
        ).fetchone()
        return boxes_within(row[0], span) if row else ()


def _chunk(row: tuple[int, str, str, str, int, str, int, int, int | None, bytes]) -> Chunk:
    _, chunk_id, chunk_hash, document, position, text, start, stop, page, path = row
    titles = msgspec.msgpack.decode(path, type=tuple[str, ...])
    return Chunk(
        id=chunk_id,
        hash=chunk_hash,
        document_id=document,
        index=position,
        text=text,
        span=Span(start, stop),
        page_number=page,
        heading_path=titles,
    )


# The index of all sources: search for a claim, resolve a citation, and build it crash-safely.
#
# An index is a folder named by its key: the digest of everything that determines its content. It is
# filled under another name, synced to the disk, and renamed, so a folder named by a key is always
# complete. A lock allows one builder at a time; the builder may remove what a killed one left
# behind.

_SHORT_HASH: Final = 8
_CANDIDATES_PER_HIT: Final = 6
_MAX_TERMS: Final = 64


class SearchHit(NamedTuple):
    """A chunk found for a claim. The score, 0 to 1, ranks the hits of one claim only."""

    chunk: Chunk
    score: float


class Passages(Protocol):
    """Where an index has its documents and chunks: one file, or the store of a service."""

    @property
    def documents(self) -> tuple[Document, ...]:
        """All documents, in reading order."""
        ...

    @property
    def findings(self) -> tuple[DocumentFinding, ...]:
        """The findings of reading the documents."""
        ...

    def by_numbers(self, numbers: Sequence[int]) -> dict[int, Chunk]:
        """Return the chunks of these numbers."""
        ...

    def by_hash(self, chunk_hash: str) -> tuple[Chunk, ...]:
        """Return all chunks with this hash."""
        ...

    def by_id(self, chunk_id: str) -> Chunk | None:
        """Return the chunk of this id."""
        ...

    def chunks_of(self, document: str) -> tuple[Chunk, ...]:
        """Return the chunks of a document, in order."""
        ...

    def page_at(self, document: str, offset: int) -> int | None:
        """Return the page of a character of a document's text."""
        ...

    def boxes_of(self, document: str, span: Span) -> tuple[LineBox, ...]:
        """Return where the printed lines of a range of a document's text are on its pages."""
        ...

    def close(self) -> None:
        """Close what is open."""
        ...


def page_of(page_marks: bytes, offset: int) -> int | None:
    """Return the page of a character, by the marks of a document as they are stored."""
    marks: list[tuple[int, int]] = msgspec.msgpack.decode(page_marks)
    at = bisect_right([start for start, _ in marks], offset) - 1
    return marks[at][1] if at >= 0 else None


def boxes_within(line_boxes: bytes, span: Span) -> tuple[LineBox, ...]:
    """Return the boxes of the lines of a range, by those of a document as they are stored."""
    boxes = _BOXES.decode(line_boxes)
    starts = [start for start, _ in boxes]
    first = max(bisect_right(starts, span.start) - 1, 0)
    return tuple(box for start, box in boxes[first:] if start < span.end)


class SourceIndex:
    """The chunks of a set of documents. It is read-only, so several users may share it."""

    def __init__(self, store: Passages, words: WordIndex) -> None:
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
            if number in chunks  # A document of a service may be deleted meanwhile.
        )
        return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.chunk.id))[:k])

    def rank(self, claim: str, chunks: Sequence[Chunk]) -> tuple[Chunk, ...]:
        """Return chunks in the order in which they fit a claim, best first."""
        return rank_chunks(claim, chunks, self._words.rarity)

    def chunks_of(self, document_id: str) -> tuple[Chunk, ...]:
        """Return the chunks of a document, in order."""
        return self._store.chunks_of(document_id)

    def _limit_terms(self, terms: dict[str, SearchTerm]) -> dict[str, SearchTerm]:
        """Return the terms, or only the claim's rarest words if it has very many."""
        own = [stem for stem, term in terms.items() if term.is_own]
        if len(own) <= _MAX_TERMS:
            return terms
        known = filter(self._words.has, own)
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

    def boxes_of(self, chunk: Chunk, span: Span) -> tuple[LineBox, ...]:
        """Return the boxes of the printed lines that a range of a chunk touches."""
        start = chunk.span.start
        return self._store.boxes_of(chunk.document_id, Span(start + span.start, start + span.end))

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
        with hold_lock(place, wait_seconds):
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
def hold_lock(place: Path, wait_seconds: float = _WAIT_SECONDS) -> Iterator[None]:
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
