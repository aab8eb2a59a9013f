"""What a citation leads to: evidence-ledger.md, section 5.3."""

from typing import Final

from affidavit.app.ledger_views import CitationV1, CitedChunkV1
from affidavit.app.project import UNAVAILABLE
from affidavit.base.digest import chunk_digest
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence
from affidavit.documents.index import boxes_within
from affidavit.ledger.model import Chunk
from affidavit.store.database import Scope
from affidavit.store.document_rows import chunks_by_hash, document_by_content_id, places_of

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
