"""An index in use: search for a claim, resolve a citation, look around a passage."""

import sqlite3
from pathlib import Path
from typing import Final, NamedTuple

from affidavit.base.digest import chunk_digest
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence as faults
from affidavit.ledger.model import Chunk, Document
from affidavit.sources.findings import Finding
from affidavit.sources.index.ranking import ClaimWords
from affidavit.sources.index.store import STORE_NAME, Store
from affidavit.sources.index.terms import Term, claim_keys, claim_terms, stems_of
from affidavit.sources.index.words import FOLDER_NAME, WordIndex

_SHORT_HASH: Final = 8
_CANDIDATES_PER_HIT: Final = 6
_MAX_TERMS: Final = 64


class Hit(NamedTuple):
    """A chunk found for a claim. The score, 0 to 1, ranks the hits of one claim only."""

    chunk: Chunk
    score: float


class SourceIndex:
    """The passages of a set of documents. It is only read, so many may use it at once."""

    def __init__(self, store: Store, words: WordIndex) -> None:
        self._store = store
        self._words = words
        self._documents = {document.id: document for document in store.documents}

    @property
    def documents(self) -> tuple[Document, ...]:
        """The documents, in the order in which they were read."""
        return self._store.documents

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was met while the documents were read."""
        return self._store.findings

    @property
    def chunk_count(self) -> int:
        """How many chunks the documents were cut into."""
        return self._store.passage_count

    def document(self, document_id: str) -> Document:
        """Return a document of a chunk of this index."""
        return self._documents[document_id]

    def search(self, claim: str, k: int = 8) -> tuple[Hit, ...]:
        """Return the `k` chunks that fit a claim best, best first, equal ones by chunk id."""
        terms = self._few(claim_terms(claim))
        keys = claim_keys(claim)[:_MAX_TERMS]
        found = self._words.search(terms, keys, _CANDIDATES_PER_HIT * k) if k > 0 else []
        if not found:
            return ()
        chunks = self._store.by_numbers([number for number, _ in found])
        words = ClaimWords(terms, self._words.rarity)
        best = found[0][1]
        hits = (
            Hit(chunks[number], words.score(stems_of(chunks[number].text), score / best))
            for number, score in found
        )
        return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.chunk.id))[:k])

    def _few(self, terms: dict[str, Term]) -> dict[str, Term]:
        """Return the terms; of very many, as a whole page has them, only the rarest."""
        if len(terms) <= 4 * _MAX_TERMS:
            return terms
        known = (stem for stem, term in terms.items() if term.is_own and self._words.has(stem))
        rarest = sorted(known, key=lambda stem: (-self._words.rarity(stem), stem))
        return {stem: terms[stem] for stem in rarest[:_MAX_TERMS]}

    def chunk(self, chunk_id: str) -> Chunk | None:
        """Return a chunk by its id."""
        return self._store.by_id(chunk_id)

    def resolve(self, citation: str) -> tuple[Chunk, ...]:
        """Return the chunks that a citation names, in the order of the documents.

        `citation` is a chunk hash: 8 hexadecimal digits, or more of the same digest, in either
        case. The same text at several places is several chunks. Nothing found, and different texts
        under one hash, are errors; the latter names the longer digests that tell them apart.
        """
        wanted = citation.strip().lower()
        found = [
            (chunk, digest)
            for chunk in self._store.by_hash(wanted[:_SHORT_HASH])
            if (digest := chunk_digest(chunk.text)).startswith(wanted)
        ]
        if not found:
            raise AffidavitError(faults.CITATION_UNRESOLVED, hash=citation)
        digests = sorted({digest for _, digest in found})
        if len(digests) > 1:
            listed = ", ".join(_telling_apart(digests))
            raise AffidavitError(
                faults.CITATION_AMBIGUOUS, hash=citation, count=len(digests), digests=listed
            )
        return tuple(chunk for chunk, _ in found)

    def neighbours(self, chunk: Chunk, before: int = 1, after: int = 1) -> tuple[Chunk, ...]:
        """Return the chunks around one in its document, and itself, in order."""
        return self._store.around(chunk, before, after)

    def page_at(self, chunk: Chunk, offset: int) -> int | None:
        """Return the page of a character of a chunk's text: a chunk may run over a page's end."""
        return self._store.page_at(chunk.document_id, chunk.span.start + offset)

    def close(self) -> None:
        """Let go of the files."""
        self._store.close()

    def __enter__(self) -> "SourceIndex":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _telling_apart(digests: list[str]) -> list[str]:
    """Return the shortest starts, at least 16 digits, that differ."""
    length = 2 * _SHORT_HASH
    while len({digest[:length] for digest in digests}) < len(digests):
        length += _SHORT_HASH
    return [digest[:length] for digest in digests]


def open_index(folder: Path) -> SourceIndex:
    """Open a finished index. What does not open is reported as such, never as empty."""
    try:
        store = Store(folder / STORE_NAME)
        words = WordIndex(folder / FOLDER_NAME)
        index = SourceIndex(store, words)
    except (sqlite3.Error, ValueError, OSError, RuntimeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise AffidavitError(faults.INDEX_UNUSABLE, reason=reason).at(file=str(folder)) from None
    return index
