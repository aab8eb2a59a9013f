"""The sources of one answer that are texts in memory: the contexts that a pipeline retrieved.

Texts are read as plain text and cut into the same chunks as documents. A few texts need no index:
all of them are read. Of many, the best are chosen by the words of the claim, as in the index.
"""

from collections import Counter
from collections.abc import Sequence
from functools import cached_property, lru_cache
from math import log
from typing import Final

from affidavit.base.digest import chunk_digest, content_id, digest_of
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence as faults
from affidavit.documents.chunking import chunk_document
from affidavit.documents.dates import document_date
from affidavit.documents.detection import MediaType
from affidavit.documents.index import SearchHit
from affidavit.documents.model import DocumentFinding, DocumentSettings, ReadDocument
from affidavit.documents.plain_text import read_plain_text
from affidavit.documents.search_terms import claim_terms, stems_of
from affidavit.documents.word_index import ClaimRanker, rank_chunks
from affidavit.ledger.model import Chunk, Document

_SETTINGS: Final = DocumentSettings()
_REMEMBERED: Final = 512
"""Texts whose chunks are kept: answers to one question are often given the same contexts."""
_LONGEST_REMEMBERED: Final = 20_000


class PassageIndex:
    """The chunks of some texts. The same text at two places is one document."""

    def __init__(self, texts: Sequence[str], titles: Sequence[str | None] = ()) -> None:
        self.names: list[str] = []
        """The name of the document of each text, in order; "" for a text without words."""
        documents: dict[str, Document] = {}
        chunks: list[Chunk] = []
        for number, text in enumerate(texts, 1):
            is_long = len(text) > _LONGEST_REMEMBERED
            found = _read_text(text) if is_long else _read_short_text(text)
            if found is None:
                self.names.append("")
                continue
            digest, date, cut = found
            document = documents.get(digest)
            if document is None:
                name = f"context {number}"
                document = documents[digest] = Document(
                    id=content_id("doc", digest.encode()),
                    filename=name,
                    digest=digest,
                    media_type=MediaType.PLAIN,
                    title=next(iter(titles[number - 1 : number]), None) or name,
                    date=date,
                    page_count=None,
                )
                chunks.extend(cut)
            self.names.append(document.filename)
        self.documents = tuple(documents.values())
        self.chunks = tuple(chunks)

    findings: tuple[DocumentFinding, ...] = ()

    def search(self, claim: str, k: int = 8) -> tuple[SearchHit, ...]:
        """Return the `k` chunks that fit a claim best; all of them, in order, if they are few."""
        if len(self.chunks) <= k:
            return tuple(SearchHit(chunk, 1.0) for chunk in self.chunks)
        ranker = ClaimRanker(claim_terms(claim), self._rarity)
        hits = (
            SearchHit(chunk, ranker.score(stems, 0.0))
            for chunk, stems in zip(self.chunks, self._stems, strict=True)
        )
        return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.chunk.id))[:k])

    def rank(self, claim: str, chunks: Sequence[Chunk]) -> tuple[Chunk, ...]:
        """Return chunks in the order in which they fit a claim, best first."""
        return rank_chunks(claim, chunks, self._rarity)

    def chunks_of(self, document_id: str) -> tuple[Chunk, ...]:
        """Return the chunks of a text, in order."""
        return tuple(chunk for chunk in self.chunks if chunk.document_id == document_id)

    def resolve(self, citation: str) -> tuple[Chunk, ...]:
        """Return the chunks with a hash; it is an error if there is none."""
        wanted = citation.strip().lower()
        found = tuple(each for each in self.chunks if chunk_digest(each.text).startswith(wanted))
        if not found:
            raise AffidavitError(faults.CITATION_UNRESOLVED, hash=citation)
        return found

    def page_at(self, chunk: Chunk, offset: int) -> int | None:
        """Return None: a text has no pages."""
        return None

    @cached_property
    def _stems(self) -> tuple[list[str], ...]:
        return tuple(stems_of(chunk.text) for chunk in self.chunks)

    @cached_property
    def _having(self) -> Counter[str]:
        return Counter(stem for stems in self._stems for stem in set(stems))

    def _rarity(self, stem: str) -> float:
        """Return the inverse document frequency of BM25, as the index does."""
        total, having = len(self.chunks), self._having[stem]
        return log(1 + (total - having + 0.5) / (having + 0.5))


def _read_text(text: str) -> tuple[str, str | None, tuple[Chunk, ...]] | None:
    """Return the digest, date and chunks of a text; None if it has no words."""
    data = text.encode("utf-8", "backslashreplace")
    parsed = read_plain_text(data, _SETTINGS.limits)
    if not parsed.text.strip():
        return None
    digest = digest_of(data)
    document = Document(
        id=content_id("doc", digest.encode()),
        filename="",
        digest=digest,
        media_type=MediaType.PLAIN,
        title="",
        date=document_date(parsed.text, parsed.stated_dates),
        page_count=None,
    )
    read = ReadDocument(document=document, text=parsed.text, blocks=parsed.blocks)
    return digest, document.date, chunk_document(read, _SETTINGS.chunking)


_read_short_text = lru_cache(_REMEMBERED)(_read_text)
