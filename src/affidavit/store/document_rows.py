"""Documents and their chunks, in the rows of one workspace."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct
from sqlalchemy import select

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import store as faults
from affidavit.ledger.model import Chunk, Document, Span
from affidavit.store.database import Scope
from affidavit.store.identity import known_id
from affidavit.store.tables import document_chunks, documents

_JSON: Final = msgspec.json
_AT_ONCE: Final = 500
"""SQLite takes up to 32,766 parameters; a long list is no faster."""


class StoredDocument(Struct, frozen=True, kw_only=True):
    """A document of a workspace. What is known only after reading it is None until then."""

    id: str
    filename: str
    digest: str
    bytes: int
    status: str
    error: dict[str, Any] | None
    findings: list[Any]
    content_id: str | None
    media_type: str | None
    title: str | None
    date: str | None
    page_count: int | None
    legal_hold: bool
    created_at: str
    updated_at: str

    def as_source(self) -> Document:
        """Return it as ledgers name it."""
        return Document(
            id=str(self.content_id),
            filename=self.filename,
            digest=self.digest,
            media_type=str(self.media_type),
            title=str(self.title),
            date=self.date,
            page_count=self.page_count,
        )


_COLUMNS: Final = tuple(documents.c[name] for name in StoredDocument.__struct_fields__)


def add_document(
    scope: Scope, filename: str, digest: str, size: int, at: str
) -> tuple[StoredDocument, bool]:
    """Return the document of these bytes, and whether it is new. One that failed is read again."""
    found = scope.first(select(*_COLUMNS).where(documents.c.digest == digest))
    if found is not None and found.status != "error":
        return _document(found), False
    if found is not None:
        scope.update(
            documents,
            documents.c.id == found.id,
            status="processing",
            error=None,
            filename=filename,
            updated_at=at,
        )
        return document(scope, found.id), True
    document_id = scope.new_id()
    row = {
        "id": document_id,
        "filename": filename,
        "digest": digest,
        "bytes": size,
        "status": "processing",
        "created_at": at,
        "updated_at": at,
    }
    scope.insert(documents, [row])
    return document(scope, document_id), True


def list_documents(
    scope: Scope, *, status: str | None = None, after: str | None = None, limit: int | None = None
) -> list[StoredDocument]:
    """Return documents in the order of their ids; `after` is the last id of the page before."""
    query = select(*_COLUMNS).order_by(documents.c.id).limit(limit)
    if status is not None:
        query = query.where(documents.c.status == status)
    if after is not None:
        query = query.where(documents.c.id > known_id("document", after))
    return [_document(row) for row in scope.rows(query)]


def document(scope: Scope, document_id: str) -> StoredDocument:
    """Return a document."""
    wanted = known_id("document", document_id)
    row = scope.first(select(*_COLUMNS).where(documents.c.id == wanted))
    if row is None:
        raise AffidavitError(faults.ITEM_UNKNOWN, kind="document", id=document_id)
    return _document(row)


def finish_document(
    scope: Scope,
    document_id: str,
    source: Document,
    chunks: Sequence[Chunk],
    *,
    page_marks: bytes,
    line_boxes: bytes,
    findings: Sequence[object],
    at: str,
) -> None:
    """Store what was read. Reading the same document twice leaves one copy."""
    document(scope, document_id)  # It may have been deleted meanwhile.
    scope.delete(document_chunks, document_chunks.c.document_id == document_id)
    scope.insert(
        document_chunks,
        (
            {
                "document_id": document_id,
                "id": chunk.id,
                "chunk_hash": chunk.hash,
                "position": chunk.index,
                "content": chunk.text,
                "start_offset": chunk.span.start,
                "end_offset": chunk.span.end,
                "page_number": chunk.page_number,
                "heading_path": _json(chunk.heading_path),
            }
            for chunk in chunks
        ),
    )
    scope.update(
        documents,
        documents.c.id == document_id,
        status="ready",
        error=None,
        findings=_json(findings),
        content_id=source.id,
        media_type=source.media_type,
        title=source.title,
        date=source.date,
        page_count=source.page_count,
        page_marks=page_marks,
        line_boxes=line_boxes,
        updated_at=at,
    )


def fail_document(scope: Scope, document_id: str, error: object, at: str) -> None:
    """Record why a document could not be read."""
    scope.update(
        documents,
        documents.c.id == document_id,
        documents.c.status == "processing",
        status="error",
        error=_json(error),
        updated_at=at,
    )


def hold_document(scope: Scope, document_id: str, *, hold: bool, at: str) -> StoredDocument:
    """Put a document under a legal hold, or lift it."""
    found = document(scope, document_id)
    scope.update(documents, documents.c.id == found.id, legal_hold=hold, updated_at=at)
    return document(scope, document_id)


def delete_document(scope: Scope, document_id: str) -> StoredDocument:
    """Delete a document. Ledgers keep its citations, which do not resolve any more."""
    found = document(scope, document_id)
    if found.legal_hold:
        raise AffidavitError(faults.ITEM_HELD, kind="document", id=document_id)
    scope.delete(documents, documents.c.id == found.id)
    return found


_CHUNK: Final = (
    document_chunks.c.number,
    document_chunks.c.id,
    document_chunks.c.chunk_hash,
    documents.c.content_id,
    document_chunks.c.position,
    document_chunks.c.content,
    document_chunks.c.start_offset,
    document_chunks.c.end_offset,
    document_chunks.c.page_number,
    document_chunks.c.heading_path,
)


def _chunks_where(scope: Scope, *where: Any) -> dict[int, Chunk]:
    query = (
        select(*_CHUNK)
        .join(documents, documents.c.id == document_chunks.c.document_id)
        .where(documents.c.status == "ready", *where)
        .order_by(document_chunks.c.number)
    )
    return {row.number: _chunk(row) for row in scope.rows(query)}


def chunks_by_numbers(scope: Scope, numbers: Iterable[int]) -> dict[int, Chunk]:
    """Return the chunks of ready documents with these numbers."""
    wanted = list(numbers)
    found: dict[int, Chunk] = {}
    for at in range(0, len(wanted), _AT_ONCE):
        part = document_chunks.c.number.in_(wanted[at : at + _AT_ONCE])
        found.update(_chunks_where(scope, part))
    return found


def chunks_by_hash(scope: Scope, chunk_hash: str) -> dict[int, Chunk]:
    """Return the chunks of ready documents with a hash: section 5.3."""
    return _chunks_where(scope, document_chunks.c.chunk_hash == chunk_hash)


def chunks_of_document(scope: Scope, document_id: str) -> dict[int, Chunk]:
    """Return the chunks of a document, in order."""
    return _chunks_where(scope, document_chunks.c.document_id == document_id)


def chunks_by_content_id(scope: Scope, content_id: str) -> dict[int, Chunk]:
    """Return the chunks of the document that ledgers call by this id, in order."""
    return _chunks_where(scope, documents.c.content_id == content_id)


def chunks_between(scope: Scope, document_id: str, start: int, end: int) -> list[Chunk]:
    """Return the chunks of a document that have some of its text from `start` to `end`."""
    found = _chunks_where(
        scope,
        document_chunks.c.document_id == document_id,
        document_chunks.c.start_offset < end,
        document_chunks.c.end_offset > start,
    )
    return list(found.values())


def document_by_content_id(scope: Scope, content_id: str) -> StoredDocument | None:
    """Return the document that ledgers call by this id, if it is ready."""
    query = select(*_COLUMNS).where(
        documents.c.content_id == content_id, documents.c.status == "ready"
    )
    row = scope.first(query)
    return None if row is None else _document(row)


def documents_by_content_ids(scope: Scope, content_ids: Sequence[str]) -> dict[str, str]:
    """Return the ids of the ready documents that ledgers call by these ids."""
    found: dict[str, str] = {}
    for at in range(0, len(content_ids), _AT_ONCE):
        query = select(documents.c.content_id, documents.c.id).where(
            documents.c.content_id.in_(content_ids[at : at + _AT_ONCE]),
            documents.c.status == "ready",
        )
        found.update((row.content_id, row.id) for row in scope.rows(query))
    return found


def places_of(scope: Scope, content_id: str) -> tuple[bytes, bytes]:
    """Return the page marks and the line boxes of a document, as they were stored."""
    query = select(documents.c.page_marks, documents.c.line_boxes).where(
        documents.c.content_id == content_id, documents.c.status == "ready"
    )
    row = scope.first(query)
    return (b"\x90", b"\x90") if row is None else (row.page_marks, row.line_boxes)


def _chunk(row: Any) -> Chunk:
    return Chunk(
        id=row.id,
        hash=row.chunk_hash,
        document_id=row.content_id,
        index=row.position,
        text=row.content,
        span=Span(row.start_offset, row.end_offset),
        page_number=row.page_number,
        heading_path=tuple(_JSON.decode(row.heading_path)),
    )


def _document(row: Any) -> StoredDocument:
    values = row._asdict()
    values["error"] = None if row.error is None else _JSON.decode(row.error)
    values["findings"] = _JSON.decode(row.findings)
    return StoredDocument(**values)


def _json(value: object) -> str:
    return _JSON.encode(value).decode()
