"""The passages of the places that an answer cites: they are read first, and the others after them.

A citation names a passage, a page, a section or a whole source. Of a place with many passages those
are read that fit the claim best. A place that the source does not have, such as a page beyond the
last, counts as the whole source.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import zip_longest
from typing import Final, Protocol

from affidavit.base.errors import AffidavitError
from affidavit.documents.index import SearchHit
from affidavit.ledger.citations import (
    CitationIndex,
    Reference,
    citation_index,
    parse_reference,
    resolve_reference,
)
from affidavit.ledger.model import Chunk, Claim, Document, is_within, section_of
from affidavit.ledger.record import Citation

READ_OF_CITATION: Final = 3
"""Passages that are read of one cited place."""
READ_OF_CLAIM: Final = 8
"""Passages that are read of all places that one claim cites."""
_SEARCHED: Final = 64
_PASSAGE: Final = re.compile(r"(?P<source>.+)#\d+")


class SourceSearch(Protocol):
    """The chunks of the sources: an index on disk, or texts in memory."""

    @property
    def documents(self) -> tuple[Document, ...]:
        """The documents, in reading order."""
        ...

    def search(self, claim: str, k: int = 8) -> tuple[SearchHit, ...]:
        """Return the `k` chunks that fit a claim best."""
        ...

    def rank(self, claim: str, chunks: Sequence[Chunk]) -> tuple[Chunk, ...]:
        """Return chunks in the order in which they fit a claim, best first."""
        ...

    def chunks_of(self, document_id: str) -> tuple[Chunk, ...]:
        """Return the chunks of a document, in order."""
        ...

    def resolve(self, citation: str) -> tuple[Chunk, ...]:
        """Return the chunks with a hash; it is an error if there is none."""
        ...

    def page_at(self, chunk: Chunk, offset: int) -> int | None:
        """Return the page of a character of a chunk."""
        ...


class CitedPlaces:
    """Finds the passages of the places that claims cite. What it read of a source it keeps."""

    def __init__(self, index: SourceSearch) -> None:
        self._index = index
        self._names = citation_index(index.documents, ())
        self._chunks: dict[str, tuple[Chunk, ...]] = {}
        self.named: dict[str, Chunk] = {}
        """The chunks that citations name themselves, by a hash or a number, read or not."""

    def passages_for(self, claim: Claim) -> tuple[Chunk, ...]:
        """Return the passages that are read for a claim because it cites their places.

        The best one of each citation comes first, then the second of each.
        """
        places = [self._best(reference, claim.statement) for reference in claim.cites]
        in_turn = (chunk for row in zip_longest(*places) for chunk in row if chunk is not None)
        found = {chunk.id: chunk for chunk in in_turn}
        return tuple(found.values())[:READ_OF_CLAIM]

    def _best(self, reference: str, claim: str) -> tuple[Chunk, ...]:
        parsed = parse_reference(reference)
        citation = resolve_reference(reference, self._catalog(parsed))
        hashes = (parsed.chunk_hash,) if parsed.chunk_hash else citation.chunk_hashes
        named = tuple(self._with_hashes(hashes))
        if named:
            self.named.update((chunk.id, chunk) for chunk in named)
            return named[:READ_OF_CITATION]
        if citation.page_number is None and citation.section is None:
            return self._best_of_sources(citation.document_ids, claim)
        place = [
            chunk
            for document in citation.document_ids
            for chunk in self._at_place(self._chunks_of(document), citation)
        ]
        if not place:
            return self._best_of_sources(citation.document_ids, claim)
        return self._index.rank(claim, place)[:READ_OF_CITATION]

    def _catalog(self, reference: Reference) -> CitationIndex:
        """Return what a reference is looked up in; only some need the chunks of the sources."""
        passage = _PASSAGE.fullmatch(reference.text)
        if passage:
            sources = resolve_reference(passage["source"], self._names).document_ids
            chunks = [chunk for source in sources for chunk in self._chunks_of(source)]
            return citation_index(self._index.documents, chunks)
        is_section_alone = reference.section is not None and not reference.name
        return self._everything if is_section_alone else self._names

    @cached_property
    def _everything(self) -> CitationIndex:
        """Every chunk: the number of a section alone says nothing about where it is."""
        documents = self._index.documents
        return citation_index(
            documents, (chunk for each in documents for chunk in self._chunks_of(each.id))
        )

    def _with_hashes(self, hashes: Iterable[str]) -> Iterator[Chunk]:
        for chunk_hash in hashes:
            # The ledger reports a hash that is unresolved or ambiguous.
            with suppress(AffidavitError):
                yield from self._index.resolve(chunk_hash)

    def _best_of_sources(self, documents: Sequence[str], claim: str) -> tuple[Chunk, ...]:
        """Return the best passages of whole sources, even if those of others fit better."""
        if not documents:
            return ()
        hits = self._index.search(claim, _SEARCHED)
        found = [hit.chunk for hit in hits if hit.chunk.document_id in documents]
        if len(found) < READ_OF_CITATION:
            chunks = [chunk for each in documents for chunk in self._chunks_of(each)]
            found = list(self._index.rank(claim, chunks))
        return tuple(found[:READ_OF_CITATION])

    def _at_place(self, chunks: Sequence[Chunk], citation: Citation) -> Iterator[Chunk]:
        """Yield the chunks of a document that are on the cited pages and in the cited section."""
        tests: list[Callable[[Chunk], bool]] = []
        if citation.page_number is not None:
            first = citation.page_number
            last = citation.last_page or first
            tests.append(lambda chunk: self._is_on(chunk, first, last))
        if citation.section is not None:
            tests.append(_section_test(chunks, citation.section))
        return (chunk for chunk in chunks if all(test(chunk) for test in tests))

    def _is_on(self, chunk: Chunk, first: int, last: int) -> bool:
        if chunk.page_number is None or chunk.page_number > last:
            return False
        ends_on = self._index.page_at(chunk, chunk.span.end - chunk.span.start - 1)
        return (ends_on or chunk.page_number) >= first

    def _chunks_of(self, document: str) -> tuple[Chunk, ...]:
        if document not in self._chunks:
            self._chunks[document] = self._index.chunks_of(document)
        return self._chunks[document]


def _section_test(chunks: Sequence[Chunk], cited: str) -> Callable[[Chunk], bool]:
    """Return the test whether a chunk is in a section: by its headings, or else by its lines.

    In a policy whose paragraphs are numbered, "2.5" begins a line and is no heading.
    """

    def by_heading(chunk: Chunk) -> bool:
        return is_within(section_of(chunk.heading_path) or "", cited)

    if any(map(by_heading, chunks)):
        return by_heading
    line = re.compile(
        rf"^\W*(?:section |article |clause )?{re.escape(cited)}(?![\d])(?!\.\d)",
        re.IGNORECASE | re.MULTILINE,
    )
    return lambda chunk: line.search(chunk.text) is not None
