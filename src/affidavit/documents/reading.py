"""Reads one document: bytes and a file name in, chunks or one finding out.

The reader of a format is imported when a document of that format is read.
"""

from collections.abc import Callable, Iterator
from pathlib import PurePath
from typing import Final

from affidavit.base.digest import content_id, digest_of
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence as faults
from affidavit.documents.chunking import chunk_document
from affidavit.documents.dates import document_date
from affidavit.documents.detection import (
    EXTENSIONS,
    MEDIA_TYPE_NAMES,
    MediaType,
    detect_media_type,
    extension_of,
)
from affidavit.documents.model import (
    DocumentFinding,
    DocumentLimits,
    DocumentSettings,
    IngestedDocument,
    ParsedDocument,
    ReadDocument,
    ReadingOutcome,
    RefusedDocument,
    finding_from_error,
    finding_from_fault,
)
from affidavit.ledger.model import Document

_TEXT_TYPES: Final = frozenset({MediaType.MARKDOWN, MediaType.PLAIN, MediaType.HTML})


def _reader_for(media_type: MediaType) -> Callable[[bytes, DocumentLimits], ParsedDocument]:
    if media_type is MediaType.PDF:
        from affidavit.documents.pdf import read_pdf as reader
    elif media_type is MediaType.DOCX:
        from affidavit.documents.docx import read_docx as reader
    elif media_type is MediaType.HTML:
        from affidavit.documents.html import read_html as reader
    elif media_type is MediaType.MARKDOWN:
        from affidavit.documents.markdown import read_markdown as reader
    else:
        from affidavit.documents.plain_text import read_plain_text as reader
    return reader


def read_document(
    data: bytes, filename: str, limits: DocumentLimits, *, named: bool = False
) -> ReadDocument | DocumentFinding:
    """Read a document of any known format. `named`: the user named the file, not its folder."""
    try:
        if len(data) > limits.max_bytes:
            raise AffidavitError(faults.DOCUMENT_TOO_LARGE, what="bytes", limit=limits.max_bytes)
        media_type = detect_media_type(data, filename, named=named)
        parsed = _reader_for(media_type)(data, limits)
        if not parsed.text:
            raise AffidavitError(faults.DOCUMENT_EMPTY)
    except AffidavitError as error:
        return finding_from_error(error, filename)
    except (ValueError, RuntimeError, MemoryError, LookupError, TypeError) as error:
        # The library did not expect such a file. The document is at fault, and is named.
        reason = f"its reader stopped with {type(error).__name__}"
        return finding_from_fault(faults.DOCUMENT_CORRUPT, filename, reason=reason)
    digest = digest_of(data)
    return ReadDocument(
        document=Document(
            id=content_id("doc", digest.encode()),
            filename=filename,
            digest=digest,
            media_type=media_type,
            title=parsed.title or PurePath(filename).stem,
            date=document_date(parsed.text, parsed.stated_dates),
            page_count=parsed.page_count,
        ),
        text=parsed.text,
        blocks=parsed.blocks,
        page_marks=parsed.page_marks,
        line_boxes=parsed.line_boxes,
        findings=tuple(_warnings(parsed, media_type, filename)),
    )


def _warnings(
    parsed: ParsedDocument, media_type: MediaType, filename: str
) -> Iterator[DocumentFinding]:
    extension = extension_of(filename)
    expected = EXTENSIONS.get(extension)
    if expected is not media_type and (expected or media_type not in _TEXT_TYPES or extension):
        named = MEDIA_TYPE_NAMES[expected] if expected else extension or "nothing"
        found = MEDIA_TYPE_NAMES[media_type]
        yield finding_from_fault(
            faults.DOCUMENT_MISNAMED, filename, read=True, named=named, found=found
        )
    for warning in parsed.warnings:
        yield finding_from_fault(warning.fault, filename, read=True, **warning.values)


def read_chunks(
    data: bytes, filename: str, settings: DocumentSettings, *, named: bool = False
) -> ReadingOutcome:
    """Read one document in this process and cut it into chunks."""
    read = read_document(data, filename, settings.limits, named=named)
    if isinstance(read, DocumentFinding):
        return RefusedDocument(read)
    return IngestedDocument(
        document=read.document,
        page_marks=read.page_marks,
        line_boxes=read.line_boxes,
        findings=read.findings,
        chunks=chunk_document(read, settings.chunking),
    )
