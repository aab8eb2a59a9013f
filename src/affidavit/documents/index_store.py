"""Passages and documents in one SQLite file beside the word index.

SQLite opens in a millisecond whatever the size, and finds by number, hash or id without reading
the rest. The file is written once, in one transaction, and only read after that.
"""

import sqlite3
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Final

import msgspec
from msgspec import structs

from affidavit.documents.model import DocumentFinding, IngestedDocument
from affidavit.ledger.model import Chunk, Document, Span

STORE_FILE: Final = "passages.sqlite"
_SCHEMA: Final = """
CREATE TABLE documents (
  ordinal INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, filename TEXT NOT NULL,
  digest TEXT NOT NULL, media_type TEXT NOT NULL, title TEXT NOT NULL, date TEXT,
  page_count INTEGER, page_marks BLOB NOT NULL);
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
            "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (self._documents, *document, marks),
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

    def page_at(self, document: str, offset: int) -> int | None:
        """Return the page of a character of a document's text."""
        row = self._connection.execute(
            "SELECT page_marks FROM documents WHERE id = ?", (document,)
        ).fetchone()
        marks: list[tuple[int, int]] = [] if row is None else msgspec.msgpack.decode(row[0])
        at = bisect_right([start for start, _ in marks], offset) - 1
        return marks[at][1] if at >= 0 else None


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
