"""A document when all work on it alone is done: what the workers and the cache hand on."""

from typing import ClassVar, Final

import msgspec

from affidavit.base.faults import evidence as faults
from affidavit.sources.chunking import Passage, cut_document
from affidavit.sources.findings import Finding
from affidavit.sources.reading import read_document
from affidavit.sources.settings import SourceSettings

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
    findings: tuple[Finding, ...]
    passages: tuple[Passage, ...]

    is_transient: ClassVar = False
    is_changed: ClassVar = False


class RefusedDocument(msgspec.Struct, frozen=True, tag="refused"):
    """A document that gave nothing but a finding."""

    finding: Finding

    @property
    def is_transient(self) -> bool:
        """Whether the next attempt may end in another way: a busy machine is slow."""
        return self.finding.code in _TRANSIENT

    @property
    def is_changed(self) -> bool:
        """Whether the file is no longer what it was when the reading was planned."""
        return self.finding.code == faults.DOCUMENT_CHANGED.code


Outcome = IngestedDocument | RefusedDocument
_TRANSIENT: Final = frozenset({faults.DOCUMENT_TIMEOUT.code, faults.DOCUMENT_CRASHED.code})


def ingest_bytes(
    data: bytes, filename: str, settings: SourceSettings, *, named: bool = False
) -> Outcome:
    """Read and cut one document in this process."""
    read = read_document(data, filename, settings.limits, named=named)
    if isinstance(read, Finding):
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
        passages=cut_document(read, settings.chunking),
    )
