"""Where the citations of a claim lead. Rules A6 to A8 of docs/ledger.md.

Origin: evidence-ledger.md, section 5.3; decisions.md on hashes that two passages share.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct, structs

from affidavit.ledger.model import (
    BACKED,
    Chunk,
    Document,
    FindingKind,
    LedgerFinding,
    is_within,
    section_of,
)
from affidavit.ledger.record import Citation, CitationStatus, LedgerEntry

_HASH: Final = re.compile(r"[0-9a-f]{8}")
_PASSAGE: Final = re.compile(r"(?P<document>.+)#(?P<ordinal>\d+)")
_PAGE: Final = re.compile(
    r"\b(?:pages?|pp?\.?) ?(\d{1,5})(?: ?[\u2013-] ?(\d{1,5}))?\b", re.IGNORECASE
)
_SECTION: Final = re.compile(
    r"(?:\u00a7{1,2}|\b(?:sections?|sec\.|articles?|art\.|clauses?|chapters?|ch\.|paragraphs?"
    r"|paras?\.?))"
    r" ?(\d{1,3}(?:\.\d{1,3})*)\b",
    re.IGNORECASE,
)
_LABEL: Final = re.compile(r"\[([^\[\]]{1,32})\]")
_NAME_EDGES: Final = " ,;:.()[]"
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


class Reference(Struct, frozen=True, kw_only=True):
    """A citation taken apart: what it says of the source, and of the place in it."""

    text: str
    chunk_hash: str | None = None
    name: str = ""
    """The source as the answer calls it: a file, a title, or `name#2`."""
    page: int | None = None
    last_page: int | None = None
    section: str | None = None
    index: str | None = None
    """A label that no list explains: the 7 of `[7]`."""


def parse_reference(reference: str) -> Reference:
    """Return the parts of a citation: "HR_Policy.pdf, pp. 3-4", "policy \u00a72.5", "b8b859ac"."""
    if _HASH.fullmatch(reference):
        return Reference(text=reference, chunk_hash=reference)
    label = _LABEL.fullmatch(reference)
    if label:
        return Reference(text=reference, index=label[1])
    page, section = _PAGE.search(reference), _SECTION.search(reference)
    name = _SECTION.sub("", _PAGE.sub("", reference)).strip(_NAME_EDGES)
    return Reference(
        text=reference,
        name=name,
        page=int(page[1]) if page else None,
        last_page=int(page[2]) if page and page[2] else None,
        section=section[1] if section else None,
    )


def resolve_reference(reference: str, index: CitationIndex) -> Citation:
    """Return where a citation leads: a chunk by its hash or ordinal, or a document by its name.

    A page or section without a name is one of the only document, or of those that have it.
    """
    parsed = parse_reference(reference)
    if parsed.chunk_hash is not None:
        return _by_hash(reference, index)
    passage = _PASSAGE.fullmatch(reference)
    if passage:
        return _by_ordinal(reference, passage, index)
    found = _named_documents(reference, index)
    if not found and parsed.name:
        found = _partly_named_documents(parsed.name, index)
    elif not found and parsed.index is None:
        found = _documents_with_place(parsed, index)
    if not found:
        return _citation(reference, CitationStatus.UNRESOLVED)
    status = CitationStatus.RESOLVED if len(found) == 1 else CitationStatus.AMBIGUOUS
    return structs.replace(
        _citation(reference, status, documents=found, page=parsed.page),
        last_page=parsed.last_page,
        section=parsed.section,
    )


def _documents_with_place(parsed: Reference, index: CitationIndex) -> tuple[str, ...]:
    """Return the documents that a page or section without a name may be in."""
    having = dict.fromkeys(
        chunk.document_id
        for chunk in index.by_id.values()
        if parsed.section is not None
        and is_within(section_of(chunk.heading_path) or "", parsed.section)
    )
    return tuple(having or index.documents)


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
        found = _named_documents(passage["document"], index)
        if len(found) > 1:
            return _citation(reference, CitationStatus.AMBIGUOUS, documents=found)
        ordinal = int(passage["ordinal"])
        chunk = index.by_ordinal.get((found[0], ordinal)) if found else None
    if chunk is None:
        return _citation(reference, CitationStatus.UNRESOLVED)
    return _citation(
        reference, CitationStatus.RESOLVED, hashes=[chunk.hash], documents=[chunk.document_id]
    )


def _named_documents(name: str, index: CitationIndex) -> tuple[str, ...]:
    """Return the documents whose longest name is in the reference; two of them are ambiguous."""
    wanted = _folded(name)
    lengths = {
        document.id: _longest_name(document, wanted) for document in index.documents.values()
    }
    best = max(lengths.values(), default=0)
    return tuple(name for name, length in lengths.items() if best and length == best)


def _partly_named_documents(name: str, index: CitationIndex) -> tuple[str, ...]:
    """Return the documents that a part of their name may mean: "policy" for HR_Policy.pdf."""
    part = _folded(name).removeprefix("the ")
    return tuple(
        document.id
        for document in index.documents.values()
        if len(part) >= _SHORTEST_NAME
        and any(_is_named_in(part, _folded(full)) for full in (document.filename, document.title))
    )


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
