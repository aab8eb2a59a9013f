"""Reads one document: bytes and a file name in, passages or one finding out."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePath
from types import MappingProxyType
from typing import ClassVar, Final

import msgspec

from affidavit.base.digest import digest_of
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence as faults
from affidavit.documents.chunking import DocumentPassage, chunk_document
from affidavit.documents.dates import document_date
from affidavit.documents.detection import (
    EXTENSIONS,
    MEDIA_TYPE_NAMES,
    MediaType,
    detect_media_type,
    extension_of,
)
from affidavit.documents.docx import read_docx
from affidavit.documents.html import read_html
from affidavit.documents.markdown import read_markdown
from affidavit.documents.model import (
    DocumentFinding,
    ParsedDocument,
    ReadDocument,
    finding_from_error,
    finding_from_fault,
)
from affidavit.documents.pdf import read_pdf
from affidavit.documents.plain_text import read_plain_text
from affidavit.documents.settings import DocumentLimits, DocumentSettings

# One document: bytes and a name in, what was read or one finding out. Nothing else can happen.

READERS: Final[Mapping[MediaType, Callable[[bytes, DocumentLimits], ParsedDocument]]] = (
    MappingProxyType(
        {
            MediaType.PDF: read_pdf,
            MediaType.DOCX: read_docx,
            MediaType.HTML: read_html,
            MediaType.MARKDOWN: read_markdown,
            MediaType.PLAIN: read_plain_text,
        }
    )
)
_TEXTS: Final = frozenset({MediaType.MARKDOWN, MediaType.PLAIN, MediaType.HTML})


def read_document(
    data: bytes, filename: str, limits: DocumentLimits, *, named: bool = False
) -> ReadDocument | DocumentFinding:
    """Read a document of any known kind. `named`: the user named this file, not a folder of it."""
    try:
        if len(data) > limits.max_bytes:
            raise AffidavitError(faults.DOCUMENT_TOO_LARGE, what="bytes", limit=limits.max_bytes)
        media_type = detect_media_type(data, filename, named=named)
        parsed = READERS[media_type](data, limits)
        if not parsed.text:
            raise AffidavitError(faults.DOCUMENT_EMPTY)
    except AffidavitError as error:
        return finding_from_error(error, filename)
    except (ValueError, RuntimeError, MemoryError, LookupError, TypeError) as error:
        # A library met what its makers did not think of. The document is at fault, and is named.
        reason = f"its reader stopped with {type(error).__name__}"
        return finding_from_fault(faults.DOCUMENT_CORRUPT, filename, reason=reason)
    return ReadDocument(
        filename=filename,
        digest=digest_of(data),
        media_type=media_type,
        title=parsed.title or PurePath(filename).stem,
        date=document_date(parsed.text, parsed.stated_dates),
        page_count=parsed.page_count,
        text=parsed.text,
        blocks=parsed.blocks,
        page_marks=parsed.page_marks,
        findings=tuple(_warnings(parsed, media_type, filename)),
    )


def _warnings(
    parsed: ParsedDocument, media_type: MediaType, filename: str
) -> Iterator[DocumentFinding]:
    promised = EXTENSIONS.get(extension_of(filename))
    if promised is not media_type and (
        promised or media_type not in _TEXTS or extension_of(filename)
    ):
        named = MEDIA_TYPE_NAMES[promised] if promised else extension_of(filename) or "nothing"
        found = MEDIA_TYPE_NAMES[media_type]
        yield finding_from_fault(
            faults.DOCUMENT_MISNAMED, filename, read=True, named=named, found=found
        )
    for warned in parsed.warnings:
        yield finding_from_fault(warned.fault, filename, read=True, **warned.values)


# A document when all work on it alone is done: what the workers and the cache hand on.

READER_VERSION: Final = 1
"""Goes up whenever any reader, date or chunking rule gives another result for the same bytes."""


class IngestedDocument(msgspec.Struct, frozen=True, tag="document"):
    """A document with its passages. The whole text is not kept: the passages hold it."""

    filename: str
    digest: str
    media_type: str
    title: str
    date: str | None
    page_count: int | None
    page_marks: tuple[tuple[int, int], ...]
    findings: tuple[DocumentFinding, ...]
    passages: tuple[DocumentPassage, ...]

    is_transient: ClassVar = False
    is_changed: ClassVar = False


class RefusedDocument(msgspec.Struct, frozen=True, tag="refused"):
    """A document that gave nothing but a finding."""

    finding: DocumentFinding

    @property
    def is_transient(self) -> bool:
        """Whether the next attempt may end in another way: a busy machine is slow."""
        return self.finding.code in _TRANSIENT

    @property
    def is_changed(self) -> bool:
        """Whether the file is no longer what it was when the reading was planned."""
        return self.finding.code == faults.DOCUMENT_CHANGED.code


ReadingOutcome = IngestedDocument | RefusedDocument
_TRANSIENT: Final = frozenset({faults.DOCUMENT_TIMEOUT.code, faults.DOCUMENT_CRASHED.code})


def read_passages(
    data: bytes, filename: str, settings: DocumentSettings, *, named: bool = False
) -> ReadingOutcome:
    """Read and cut one document in this process."""
    read = read_document(data, filename, settings.limits, named=named)
    if isinstance(read, DocumentFinding):
        return RefusedDocument(read)
    return IngestedDocument(
        filename=read.filename,
        digest=read.digest,
        media_type=read.media_type,
        title=read.title,
        date=read.date,
        page_count=read.page_count,
        page_marks=read.page_marks,
        findings=read.findings,
        passages=chunk_document(read, settings.chunking),
    )
