"""Where the citations of a claim lead. Rules A6 to A8 of docs/ledger.md.

Origin: evidence-ledger.md, section 5.3; decisions.md on hashes that two passages share.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from affidavit.ledger.model import BACKED, Chunk, Claim, Document, FindingKind, LedgerFinding
from affidavit.ledger.record import Citation, CitationStatus, LedgerEntry

_HASH: Final = re.compile(r"[0-9a-f]{8}")
_PASSAGE: Final = re.compile(r"(?P<document>.+)#(?P<ordinal>\d+)")
_PAGE: Final = re.compile(r"\b(?:pages?|pp?\.?) ?(\d{1,5})\b", re.IGNORECASE)
_SEPARATORS: Final = re.compile(r"[\s_\-]+")
_SHORTEST_NAME: Final = 4
HASH_CHARS: Final = 8


class CitationIndex(Struct, frozen=True):
    """The sources, indexed by everything that a citation may name."""

    documents: Mapping[str, Document]
    by_id: Mapping[str, Chunk]
    by_hash: Mapping[str, tuple[Chunk, ...]]
    by_ordinal: Mapping[tuple[str, int], Chunk]


def citation_index(documents: Iterable[Document], chunks: Iterable[Chunk]) -> CitationIndex:
    """Index documents and chunks. A chunk may be passed more than once."""
    by_id = {chunk.id: chunk for chunk in chunks}
    by_hash: dict[str, list[Chunk]] = defaultdict(list)
    for chunk in by_id.values():
        by_hash[chunk.hash[:HASH_CHARS]].append(chunk)
    by_ordinal = {(chunk.document_id, chunk.index + 1): chunk for chunk in by_id.values()}
    hashes = {name: tuple(found) for name, found in by_hash.items()}
    return CitationIndex({each.id: each for each in documents}, by_id, hashes, by_ordinal)


def cited_hashes(claims: Iterable[Claim]) -> tuple[str, ...]:
    """Return the chunk hashes that claims cite; these chunks must be read too."""
    cites = (reference for claim in claims for reference in claim.cites)
    return tuple(dict.fromkeys(each for each in cites if _HASH.fullmatch(each)))


def resolve_reference(reference: str, index: CitationIndex) -> Citation:
    """Return where a citation leads: a chunk by its hash or ordinal, or a document by its name."""
    if _HASH.fullmatch(reference):
        return _by_hash(reference, index)
    passage = _PASSAGE.fullmatch(reference)
    if passage:
        return _by_ordinal(reference, passage, index)
    page = _PAGE.search(reference)
    number = int(page[1]) if page else None
    return _by_name(reference, reference, index, number)


def _by_hash(reference: str, index: CitationIndex) -> Citation:
    found = index.by_hash.get(reference, ())
    texts = {_folded(chunk.text) for chunk in found}
    status = (
        CitationStatus.UNRESOLVED
        if not found
        else CitationStatus.RESOLVED
        if len(texts) == 1
        else CitationStatus.AMBIGUOUS
    )
    return _citation(
        reference,
        status,
        hashes=dict.fromkeys(chunk.hash for chunk in found),
        documents=dict.fromkeys(chunk.document_id for chunk in found),
    )


def _by_ordinal(reference: str, passage: re.Match[str], index: CitationIndex) -> Citation:
    chunk = index.by_id.get(reference)
    if chunk is None:
        named = _by_name(reference, passage["document"], index, None)
        if named.status is not CitationStatus.RESOLVED:
            return named
        chunk = index.by_ordinal.get((named.document_ids[0], int(passage["ordinal"])))
    if chunk is None:
        return _citation(reference, CitationStatus.UNRESOLVED)
    return _citation(
        reference, CitationStatus.RESOLVED, hashes=[chunk.hash], documents=[chunk.document_id]
    )


def _by_name(reference: str, name: str, index: CitationIndex, page: int | None) -> Citation:
    """Find the documents whose longest name is in the reference; two matches are ambiguous."""
    wanted = _folded(name)
    lengths = {
        document.id: _longest_name(document, wanted) for document in index.documents.values()
    }
    best = max(lengths.values(), default=0)
    if not best:
        return _citation(reference, CitationStatus.UNRESOLVED)
    found = tuple(name for name, length in lengths.items() if length == best)
    status = CitationStatus.RESOLVED if len(found) == 1 else CitationStatus.AMBIGUOUS
    return _citation(reference, status, documents=found, page=page)


def _citation(
    reference: str,
    status: CitationStatus,
    *,
    hashes: Iterable[str] = (),
    documents: Iterable[str] = (),
    page: int | None = None,
) -> Citation:
    return Citation(
        reference=reference,
        status=status,
        chunk_hashes=tuple(hashes),
        document_ids=tuple(documents),
        page_number=page,
    )


def _longest_name(document: Document, reference: str) -> int:
    base = re.split(r"[/\\]", document.filename)[-1]
    names = (document.id, document.filename, base, base.rpartition(".")[0], document.title)
    return max(
        (
            len(folded)
            for folded in map(_folded, names)
            if folded == reference
            or (len(folded) >= _SHORTEST_NAME and _is_named_in(folded, reference))
        ),
        default=0,
    )


def _is_named_in(name: str, reference: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", reference) is not None


def _folded(name: str) -> str:
    """Return a name in which "HR_Policy" and "hr policy" are the same."""
    return _SEPARATORS.sub(" ", name).strip().casefold()


def citation_findings(entries: Sequence[LedgerEntry]) -> Iterator[LedgerFinding]:
    """Yield the faults of the entries' citations."""
    for entry in entries:
        for citation in entry.citations:
            yield from _findings(entry, citation)


def _findings(entry: LedgerEntry, citation: Citation) -> Iterator[LedgerFinding]:
    if citation.status is CitationStatus.UNRESOLVED:
        message = f"the citation {citation.reference} leads to no source"
        kind = FindingKind.UNRESOLVED_CITATION
    elif citation.status is CitationStatus.AMBIGUOUS:
        message = f"the citation {citation.reference} fits more than one source"
        kind = FindingKind.AMBIGUOUS_CITATION
    elif entry.verdict in BACKED and not any(map(citation.covers, entry.deciding_readings)):
        message = f"the cited {citation.reference} does not support the claim; another source does"
        kind = FindingKind.UNSUPPORTIVE_CITATION
    else:
        return
    yield LedgerFinding(kind, message, entry.claim_id, entry.claim_span)


class CitedPassage(Struct, frozen=True):
    """A passage and its document."""

    document: Document
    chunk: Chunk


class CitationResolution(Struct, frozen=True, kw_only=True):
    """The passages that a hash names. `ambiguous`: different passages share the hash."""

    chunk_hash: str
    resolved: bool
    passages: tuple[CitedPassage, ...] = ()
    error: str | None = None
    ambiguous: bool = False
