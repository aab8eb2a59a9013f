"""What "View in Document" shows: a page as an image, and the place of a quote."""

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Final

import msgspec
from msgspec import Struct

from affidavit.app.ledger_store import LedgerStore
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import store as faults
from affidavit.documents.model import (
    DocumentLimits,
    DocumentSettings,
    LineBox,
    PageHighlight,
    QuotedLine,
    RefusedDocument,
)
from affidavit.documents.reader_pool import PageReader
from affidavit.documents.reader_process import HighlightingTask, RenderingTask
from affidavit.ledger.model import Chunk, Count, Span
from affidavit.store.database import Scope
from affidavit.store.document_rows import (
    StoredDocument,
    chunks_between,
    document,
    document_by_content_id,
    places_of,
)

WIDTHS: Final = (400, 800, 1200, 1600, 2400)
"""Of images, in pixels. A page is rendered at the next of these, so few images are kept."""
DEFAULT_WIDTH: Final = 1200
CONTEXT_CHARACTERS: Final = 600
LONGEST_QUOTE: Final = 20_000
MAX_OFFSET: Final = 2**31 - 1 - CONTEXT_CHARACTERS
"""Offsets are 32-bit integers in PostgreSQL."""
MAX_CACHED_BYTES: Final = 64 * 1024 * 1024
SECONDS_PER_PAGE: Final = 15.0
_PDF: Final = "application/pdf"
_LINES: Final = msgspec.msgpack.Decoder(tuple[tuple[int, LineBox], ...])


class QuoteV1(Struct, frozen=True, kw_only=True):
    """A passage of a document in its context, with its place on the pages of a PDF.

    `before` and `after` are the text around it. Boxes are left, top, right and bottom, in fractions
    of the page as it is shown. Documents of other kinds have no pages.
    """

    document_id: str
    filename: str
    media_type: str
    page_count: Count | None
    start: Count
    end: Count
    before: str
    quote: str
    after: str
    heading_path: list[str]
    pages: list[PageHighlight]


class PageViews:
    """Shows the documents of a store. Several threads may use it at the same time."""

    def __init__(self, store: LedgerStore) -> None:
        self._store = store
        limits = DocumentLimits(seconds_per_document=SECONDS_PER_PAGE)
        self._reader = PageReader(DocumentSettings(limits=limits))
        self._images: OrderedDict[tuple[str, int, int], bytes] = OrderedDict()
        self._lock = Lock()

    def page(self, workspace: str, document_id: str, page: str, width: int) -> bytes:
        """Return a page of a PDF as PNG. Pages are named `1.png`, and so on."""
        found = self._store.database.read(
            self._store.workspace(workspace), lambda scope: _ready(scope, document_id)
        )
        number = _page_number(found, page)
        wide = next((each for each in WIDTHS if each >= width), WIDTHS[-1])
        key = (found.digest, number, wide)
        with self._lock:
            if key in self._images:
                self._images.move_to_end(key)
                return self._images[key]
        task = RenderingTask(self._path(found), found.filename, number, wide)
        image = self._reader.render(task)
        if isinstance(image, RefusedDocument):
            raise _failed(number, image)
        self._keep(key, image.png)
        return image.png

    def quote(self, workspace: str, document_id: str, start: int, end: int) -> QuoteV1:
        """Return the text of a document from an offset to another, and where it is."""

        def work(scope: Scope) -> tuple[StoredDocument, list[Chunk], bytes]:
            found = _ready(scope, document_id)
            near: list[Chunk] = []
            if 0 <= start < end <= start + LONGEST_QUOTE and end <= MAX_OFFSET:
                first, last = start - CONTEXT_CHARACTERS, end + CONTEXT_CHARACTERS
                near = chunks_between(scope, found.id, first, last)
            return found, near, places_of(scope, str(found.content_id))[1]

        found, near, boxes = self._store.database.read(self._store.workspace(workspace), work)
        covered = [chunk for chunk in near if chunk.span.start < end and start < chunk.span.end]
        if not covered:
            where = Where(field="start")
            raise AffidavitError(
                faults.QUOTE_RANGE, where, start=start, end=end, filename=found.filename
            )
        text = DocumentText(near)
        return QuoteV1(
            document_id=found.id,
            filename=found.filename,
            media_type=str(found.media_type),
            page_count=found.page_count,
            start=start,
            end=end,
            before=text.between(start - CONTEXT_CHARACTERS, start),
            quote=text.between(start, end),
            after=text.between(end, end + CONTEXT_CHARACTERS),
            heading_path=list(covered[0].heading_path),
            pages=self._pages(found, quoted_lines(_LINES.decode(boxes), text, Span(start, end))),
        )

    def close(self) -> None:
        """End the process that renders."""
        self._reader.stop()

    def _pages(self, found: StoredDocument, lines: Sequence[QuotedLine]) -> list[PageHighlight]:
        if found.media_type != _PDF or not lines:
            return []
        task = HighlightingTask(self._path(found), found.filename, tuple(lines))
        places = self._reader.highlight(task)
        if isinstance(places, RefusedDocument):
            raise _failed(lines[0].box.page, places)
        return list(places.pages)

    def _path(self, found: StoredDocument) -> bytes:
        return bytes(self._store.blobs.path(found.digest))

    def _keep(self, key: tuple[str, int, int], png: bytes) -> None:
        with self._lock:
            self._images[key] = png
            while sum(map(len, self._images.values())) > MAX_CACHED_BYTES:
                self._images.popitem(last=False)


class DocumentText:
    """The text of a document as far as some of its chunks have it."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._chunks = chunks

    def between(self, start: int, end: int) -> str:
        """Return a range. What is in no chunk (a table of contents) becomes an empty line."""
        parts: list[str] = []
        at = start
        for chunk in self._chunks:
            if chunk.span.end <= at or chunk.span.start >= end:
                continue
            if chunk.span.start > at and parts:
                parts.append("\n\n")
            at = max(at, chunk.span.start)
            parts.append(chunk.text[at - chunk.span.start : end - chunk.span.start])
            at = min(end, chunk.span.end)
        return "".join(parts)


def quoted_lines(
    boxes: Sequence[tuple[int, LineBox]], text: DocumentText, span: Span
) -> list[QuotedLine]:
    """Return the printed lines of a range, by page, each with the part that is within it."""
    first = max(bisect_right([start for start, _ in boxes], span.start) - 1, 0)
    covered = [(start, box) for start, box in boxes[first:] if start < span.end]
    after = boxes[first + len(covered) :][:1]
    ends = [*(start for start, _ in (*covered, *after)), span.end + CONTEXT_CHARACTERS]
    lines = []
    for (start, box), end in zip(covered, ends[1:], strict=False):
        whole = text.between(start, end)
        begin, stop = max(span.start - start, 0), min(span.end - start, len(whole))
        if whole[begin:stop].strip():
            lines.append(QuotedLine(box, whole, begin, stop))
    # A paragraph that goes on after a table or a footnote is read in one piece.
    return sorted(lines, key=lambda line: line.box.page)


def _ready(scope: Scope, document_id: str) -> StoredDocument:
    """Return a document by its id in the store, or by the id that ledgers have for it."""
    found = document_by_content_id(scope, document_id) or document(scope, document_id)
    if found.status != "ready":
        raise AffidavitError(faults.DOCUMENT_NOT_READY, id=document_id, status=found.status)
    return found


def _page_number(found: StoredDocument, page: str) -> int:
    name = page.removesuffix(".png")
    problem = None
    if found.media_type != _PDF:
        problem = "it is no PDF"
    elif name == page or not name.isascii() or not name.isdecimal() or len(name) > 6:
        problem = "pages are named 1.png, 2.png and so on"
    elif not 1 <= int(name) <= (found.page_count or 0):
        problem = f"it has {found.page_count} pages"
    if problem:
        raise AffidavitError(
            faults.PAGE_UNKNOWN, filename=found.filename, page=page[:20], problem=problem
        )
    return int(name)


def _failed(page: int, refused: RefusedDocument) -> AffidavitError:
    return AffidavitError(faults.PAGE_FAILED, page=page, problem=refused.finding.message)
