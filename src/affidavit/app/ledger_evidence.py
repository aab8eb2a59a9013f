"""Where the evidence of a ledger is: what a citation leads to, and passages on their pages."""

from typing import Final

from msgspec import Struct

from affidavit.app.ledger_views import CitationV1, CitedChunkV1, PageV1, PassageV1
from affidavit.app.project import UNAVAILABLE
from affidavit.base.digest import chunk_digest
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import evidence
from affidavit.base.faults import store as faults
from affidavit.documents.index import boxes_within, page_of
from affidavit.documents.model import LineBox
from affidavit.documents.page_images import PagePlaces
from affidavit.ledger.model import Chunk, Span
from affidavit.store.database import Scope
from affidavit.store.document_rows import (
    StoredDocument,
    chunks_by_hash,
    chunks_within,
    document,
    document_by_content_id,
    places_of,
)

CONTEXT_CHARACTERS: Final = 600
MAX_PASSAGE_CHARACTERS: Final = 20_000
_HASH_CHARACTERS: Final = 8
_HEXADECIMAL: Final = frozenset("0123456789abcdef")


def citation_in(scope: Scope, chunk_hash: str) -> CitationV1:
    """Return what a citation leads to: section 5.3."""
    wanted = chunk_hash.lower()
    if not _HASH_CHARACTERS <= len(wanted) <= 64 or not _HEXADECIMAL.issuperset(wanted):
        raise AffidavitError(evidence.CITATION_SYNTAX, text=chunk_hash[:64])
    found = [
        chunk
        for chunk in chunks_by_hash(scope, wanted[:_HASH_CHARACTERS]).values()
        if chunk_digest(chunk.text).startswith(wanted)
    ]
    shown = [each for chunk in found if (each := _cited(scope, chunk)) is not None]
    if not shown:
        return CitationV1(chunk_hash=wanted, resolved=False, error=UNAVAILABLE)
    if len({chunk_digest(chunk.text) for chunk in found}) > 1:
        digests = ", ".join(sorted({chunk_digest(chunk.text)[:16] for chunk in found}))
        problem = AffidavitError(
            evidence.CITATION_AMBIGUOUS, hash=wanted, count=len(found), digests=digests
        )
        return CitationV1(chunk_hash=wanted, resolved=False, error=problem.message)
    return CitationV1(chunk_hash=wanted, resolved=True, chunk=shown[0], chunks=shown)


def _cited(scope: Scope, chunk: Chunk) -> CitedChunkV1 | None:
    source = document_by_content_id(scope, chunk.document_id)
    if source is None:
        return None
    boxes = boxes_within(places_of(scope, chunk.document_id)[1], chunk.span)
    return CitedChunkV1(
        id=chunk.id,
        chunk_hash=chunk.hash,
        document_id=source.id,
        filename=source.filename,
        text=chunk.text,
        start_offset=chunk.span.start,
        end_offset=chunk.span.end,
        page_number=chunk.page_number,
        heading_path=list(chunk.heading_path),
        boxes=[(box.page, box.x0, box.y0, box.x1, box.y1) for box in boxes],
    )


class FoundPassage(Struct, frozen=True, kw_only=True):
    """A range of a document's text, before it is known where its boxes are on their pages."""

    source: StoredDocument
    span: Span
    text: str
    before: str
    after: str
    page_number: int | None
    heading_path: tuple[str, ...]
    boxes: tuple[LineBox, ...]

    def shown(self, pages: tuple[PagePlaces, ...]) -> PassageV1:
        """Return it as the service shows it."""
        return PassageV1(
            document_id=self.source.id,
            filename=self.source.filename,
            text=self.text,
            start_offset=self.span.start,
            end_offset=self.span.end,
            before=self.before,
            after=self.after,
            page_number=self.page_number,
            heading_path=list(self.heading_path),
            pages=[
                PageV1(
                    number=page.number,
                    width=page.width,
                    height=page.height,
                    boxes=list(page.boxes),
                )
                for page in pages
            ],
        )


def ready_document(scope: Scope, document_id: str) -> StoredDocument:
    """Return a document that was read."""
    found = document(scope, document_id)
    if found.status != "ready":
        raise AffidavitError(faults.DOCUMENT_NOT_READY, id=found.id, status=found.status)
    return found


def passage_in(scope: Scope, document_id: str, start: int, end: int) -> FoundPassage:
    """Return a range of a document's text with what is around it."""
    source = ready_document(scope, document_id)
    if not start < end <= start + MAX_PASSAGE_CHARACTERS:
        problem = f"`end` has to be 1 to {MAX_PASSAGE_CHARACTERS} characters after `start`"
        raise AffidavitError(faults.REQUEST_INVALID, Where(field="end"), problem=problem)
    first, last = max(0, start - CONTEXT_CHARACTERS), end + CONTEXT_CHARACTERS
    chunks = chunks_within(scope, source.id, first, last)
    own = [each for each in chunks if each.span.start < end and each.span.end > start]
    if not own:
        raise AffidavitError(faults.ITEM_UNKNOWN, kind="passage", id=f"{start} to {end}")
    marks, boxes = places_of(scope, str(source.content_id))
    span = Span(start, end)
    return FoundPassage(
        source=source,
        span=span,
        text=_text_of(chunks, start, end),
        before=_text_of(chunks, first, start),
        after=_text_of(chunks, end, last),
        page_number=page_of(marks, start),
        heading_path=own[0].heading_path,
        boxes=boxes_within(boxes, span),
    )


def _text_of(chunks: list[Chunk], start: int, end: int) -> str:
    """Return a range of the text that chunks are cut from. They may overlap, or leave gaps."""
    pieces: list[str] = []
    at = start
    for chunk in chunks:
        if chunk.span.end <= at or chunk.span.start >= end:
            continue
        if pieces:  # Between chunks are blank lines, or tables of contents, which no chunk has.
            pieces.append("\n" * min(chunk.span.start - at, 2))
        since = max(at, chunk.span.start)
        pieces.append(chunk.text[since - chunk.span.start : end - chunk.span.start])
        at = chunk.span.end
    return "".join(pieces)
