"""Resolving a citation: which passage do these eight digits name?

Origin: evidence-ledger.md, section 5.3.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence as faults
from affidavit.ledger.model import Chunk, Document
from affidavit.sources.index.opened import SourceIndex

UNAVAILABLE = "Citation references deleted or unavailable chunk"


@dataclass(frozen=True, slots=True)
class CitedPassage:
    """A passage and the document that it stands in."""

    document: Document
    chunk: Chunk


@dataclass(frozen=True, slots=True)
class CitationResolution:
    """What became of a citation. `ambiguous` is True where different passages share the hash."""

    chunk_hash: str
    resolved: bool
    passages: tuple[CitedPassage, ...] = ()
    error: str | None = None
    ambiguous: bool = False


def resolve_citation(chunk_hash: str, indexes: Iterable[SourceIndex]) -> CitationResolution:
    """Return the passages that a hash names in the first index that knows it."""
    wanted = chunk_hash.strip().removeprefix("[cite:").removesuffix("]").lower()
    for index in indexes:
        try:
            chunks = index.resolve(wanted)
        except AffidavitError as error:
            if error.fault is faults.CITATION_UNRESOLVED:
                continue
            return CitationResolution(wanted, False, error=error.message, ambiguous=True)
        passages = tuple(CitedPassage(index.document(each.document_id), each) for each in chunks)
        return CitationResolution(wanted, True, passages)
    return CitationResolution(wanted, False, error=UNAVAILABLE)
