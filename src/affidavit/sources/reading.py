"""One document: bytes and a name in, what was read or one finding out. Nothing else can happen."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePath
from types import MappingProxyType
from typing import Final

from affidavit.base.digest import digest_of
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence as faults
from affidavit.sources.dates import document_date
from affidavit.sources.detect import ENDINGS, NAMES, MediaType, ending_of, media_type_of
from affidavit.sources.findings import Finding, finding, finding_from_error
from affidavit.sources.readers.docx import read_docx
from affidavit.sources.readers.html import read_html
from affidavit.sources.readers.markdown import read_markdown
from affidavit.sources.readers.pdf import read_pdf
from affidavit.sources.readers.plain import read_plain
from affidavit.sources.settings import Limits
from affidavit.sources.structure import Parsed, ReadDocument

READERS: Final[Mapping[MediaType, Callable[[bytes, Limits], Parsed]]] = MappingProxyType(
    {
        MediaType.PDF: read_pdf,
        MediaType.DOCX: read_docx,
        MediaType.HTML: read_html,
        MediaType.MARKDOWN: read_markdown,
        MediaType.PLAIN: read_plain,
    }
)
_TEXTS: Final = frozenset({MediaType.MARKDOWN, MediaType.PLAIN, MediaType.HTML})


def read_document(
    data: bytes, filename: str, limits: Limits, *, named: bool = False
) -> ReadDocument | Finding:
    """Read a document of any known kind. `named`: the user named this file, not a folder of it."""
    try:
        if len(data) > limits.max_bytes:
            raise AffidavitError(faults.DOCUMENT_TOO_LARGE, what="bytes", limit=limits.max_bytes)
        media_type = media_type_of(data, filename, named=named)
        parsed = READERS[media_type](data, limits)
        if not parsed.text:
            raise AffidavitError(faults.DOCUMENT_EMPTY)
    except AffidavitError as error:
        return finding_from_error(error, filename)
    except (ValueError, RuntimeError, MemoryError, LookupError, TypeError) as error:
        # A library met what its makers did not think of. The document is at fault, and is named.
        reason = f"its reader stopped with {type(error).__name__}"
        return finding(faults.DOCUMENT_CORRUPT, filename, reason=reason)
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


def _warnings(parsed: Parsed, media_type: MediaType, filename: str) -> Iterator[Finding]:
    promised = ENDINGS.get(ending_of(filename))
    if promised is not media_type and (promised or media_type not in _TEXTS or ending_of(filename)):
        named = NAMES[promised] if promised else ending_of(filename) or "nothing"
        found = NAMES[media_type]
        yield finding(faults.DOCUMENT_MISNAMED, filename, read=True, named=named, found=found)
    for warned in parsed.warnings:
        yield finding(warned.fault, filename, read=True, **warned.values)
