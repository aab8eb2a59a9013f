"""Resolving a citation: which passage do these eight digits name?

Origin: evidence-ledger.md, section 5.3.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import check as check_faults
from affidavit.base.faults import evidence as faults
from affidavit.ledger.model import Chunk, Document
from affidavit.sources.index.opened import SourceIndex

_HASH: Final = re.compile("[0-9a-f]{8,64}")
UNAVAILABLE: Final = "Citation references deleted or unavailable chunk"


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
    wanted = chunk_hash.strip().removeprefix("[").removeprefix("cite:").removesuffix("]").lower()
    if not _HASH.fullmatch(wanted):
        raise AffidavitError(check_faults.CITATION_SYNTAX, text=chunk_hash)
    searched = False
    for index in indexes:
        searched = True
        try:
            chunks = index.resolve(wanted)
        except AffidavitError as error:
            if error.fault is faults.CITATION_UNRESOLVED:
                continue
            return CitationResolution(wanted, False, error=error.message, ambiguous=True)
        passages = tuple(CitedPassage(index.document(each.document_id), each) for each in chunks)
        return CitationResolution(wanted, True, passages)
    if not searched:
        raise AffidavitError(check_faults.NOTHING_INDEXED)
    return CitationResolution(wanted, False, error=UNAVAILABLE)
