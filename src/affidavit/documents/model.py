"""The nouns of reading documents: settings, findings, blocks, and a document at each stage.

A reader returns a `ParsedDocument`. `ReadDocument` adds the file name, digest and date;
`IngestedDocument` has the chunks instead of the text.
"""

from enum import StrEnum
from typing import ClassVar, Final

import msgspec
from msgspec import Struct

from affidavit.base.errors import AffidavitError, Fault, Where
from affidavit.base.faults import evidence as faults
from affidavit.ledger.model import Chunk, Document

READER_VERSION: Final = 5
"""Increased whenever a reader, date or chunking rule gives another result for the same bytes."""


class DocumentLimits(Struct, frozen=True, kw_only=True):
    """Limits on one document. A document over a limit is refused with a finding, never cut."""

    max_bytes: int = 256 * 1024 * 1024
    max_pages: int = 20_000
    max_characters: int = 50_000_000
    """Of normalised text: some 20,000 dense pages."""
    max_blocks: int = 2_000_000
    max_unpacked_bytes: int = 512 * 1024 * 1024
    """Of a DOCX: all of its parts together."""
    max_compression_ratio: int = 400
    """Real word processors stay below 100; a zip bomb is at 1,000."""
    max_members: int = 10_000
    max_depth: int = 256
    """Of nested elements, list levels and tables."""
    seconds_per_document: float = 120.0
    max_memory_bytes: int = 4 * 1024**3
    """Of address space, per reading process; where the system can limit it."""


class ChunkSettings(Struct, frozen=True, kw_only=True):
    """How a document is cut into chunks.

    The defaults are the best of those measured by benchmarks/retrieval.py.
    """

    target_characters: int = 1_000
    """A chunk ends before the block that would make it larger than this."""
    overlap_characters: int = 120
    """At most this much, in whole sentences, is repeated where a section is cut for its size."""


class DocumentSettings(Struct, frozen=True, kw_only=True):
    """Everything that determines the content of an index, apart from the documents."""

    limits: DocumentLimits = DocumentLimits()
    chunking: ChunkSettings = ChunkSettings()


class DocumentFinding(Struct, frozen=True, kw_only=True):
    """One coded fault of one file. `read` tells whether the document is used anyway."""

    code: str
    name: str
    file: str
    message: str
    next_step: str
    read: bool

    def __str__(self) -> str:
        return f"{self.code}: {self.file}: {self.message}. Next: {self.next_step}"


class ReaderWarning(Struct, frozen=True):
    """A fault that did not stop a reader, before the file's name is known."""

    fault: Fault
    values: dict[str, object] = {}


def finding_from_fault(
    fault: Fault, file: str, *, read: bool = False, **values: object
) -> DocumentFinding:
    """Return the finding of a fault from the catalog."""
    return finding_from_error(AffidavitError(fault, Where(file=file), **values), file, read=read)


def finding_from_error(error: AffidavitError, file: str, *, read: bool = False) -> DocumentFinding:
    """Return an error as a finding of `file`."""
    fault = error.fault
    return DocumentFinding(
        code=fault.code,
        name=fault.name,
        file=file,
        message=error.message,
        next_step=error.next_step,
        read=read,
    )


class TextBlockKind(StrEnum):
    """What a block is."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    ITEM = "item"
    CAPTION = "caption"
    """The title of a table: context of the rows that follow."""
    ROW = "row"
    CODE = "code"
    NOTE = "note"
    """A footnote or an endnote: evidence, but apart from the running text."""
    CONTENTS = "contents"
    """A line of a table of contents: part of the text, but no evidence, so in no chunk."""


class TextBlock(Struct, frozen=True, array_like=True, gc=False):
    """A range of the text. `level` is 1 for a top heading, 0 for an item of an outer list."""

    kind: TextBlockKind
    start: int
    end: int
    level: int = 0


class LineBox(Struct, frozen=True, array_like=True, gc=False, kw_only=True):
    """Where a line is printed: page, and left, bottom, right and top in points, y upwards."""

    page: int
    x0: float
    y0: float
    x1: float
    y1: float


class ParsedDocument(Struct, frozen=True, kw_only=True):
    """The result of one format's reader, without the file's name, digest and date."""

    text: str
    blocks: tuple[TextBlock, ...]
    title: str = ""
    page_count: int | None = None
    page_marks: tuple[tuple[int, int], ...] = ()
    """(offset, page): the text from this offset on is on this page, counted from 1."""
    line_boxes: tuple[tuple[int, LineBox], ...] = ()
    """(offset, box): the text from this offset to the next is printed in this box."""
    stated_dates: tuple[str, ...] = ()
    """Dates from the document's metadata, best first, as the format writes them."""
    warnings: tuple[ReaderWarning, ...] = ()


class ReadDocument(Struct, frozen=True, kw_only=True):
    """A document that was read, before it is cut into chunks."""

    document: Document
    text: str
    blocks: tuple[TextBlock, ...]
    page_marks: tuple[tuple[int, int], ...] = ()
    line_boxes: tuple[tuple[int, LineBox], ...] = ()
    findings: tuple[DocumentFinding, ...] = ()


class IngestedDocument(Struct, frozen=True, kw_only=True, tag="document"):
    """A document with its chunks, as the reader processes and the cache return it."""

    document: Document
    page_marks: tuple[tuple[int, int], ...]
    findings: tuple[DocumentFinding, ...]
    chunks: tuple[Chunk, ...]
    line_boxes: tuple[tuple[int, LineBox], ...] = ()

    is_transient: ClassVar = False
    is_changed: ClassVar = False


class RefusedDocument(Struct, frozen=True, tag="refused"):
    """A document that could not be read, and why."""

    finding: DocumentFinding

    @property
    def is_transient(self) -> bool:
        """Whether the next attempt may succeed: a busy machine is slow."""
        return self.finding.code in _TRANSIENT_CODES

    @property
    def is_changed(self) -> bool:
        """Whether the file was changed after its reading was planned."""
        return self.finding.code == faults.DOCUMENT_CHANGED.code


class QuotedLine(Struct, frozen=True, array_like=True):
    """A printed line of which `text[start:end]` is quoted. The text is as it was read."""

    box: LineBox
    text: str
    start: int
    end: int


class PageImage(Struct, frozen=True, tag="image"):
    """A page of a document as PNG."""

    png: bytes


class PageHighlight(Struct, frozen=True, kw_only=True):
    """What is quoted of one page: boxes as left, top, right and bottom, in fractions of the page.

    `width` and `height` are those of the page as it is shown, in points.
    """

    page: int
    width: float
    height: float
    boxes: list[tuple[float, float, float, float]]


class Highlights(Struct, frozen=True, tag="highlights"):
    """What is quoted of each page, in order."""

    pages: tuple[PageHighlight, ...]


_TRANSIENT_CODES: Final = frozenset({faults.DOCUMENT_TIMEOUT.code, faults.DOCUMENT_CRASHED.code})
ReadingOutcome = IngestedDocument | RefusedDocument
OUTCOME_DECODER: Final = msgspec.msgpack.Decoder(IngestedDocument | RefusedDocument)
