"""The word index: tantivy with stems of text and headings, and keys; BM25 over all of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from affidavit.sources.chunking import Passage
from affidavit.sources.index.terms import STEMS, claim_keys, claim_stems, keys_of, stem_analyzer

if TYPE_CHECKING:
    from tantivy import Index, Query, Schema

FOLDER_NAME: Final = "words"
_HEAP_BYTES: Final = 64 * 1024 * 1024
_WEIGHTS: Final = {"text": 1.0, "path": 0.5, "keys": 0.5}
"""Chosen by benchmarks/retrieval.py; between 0.3 and 0.8 the last two change little."""

_MAX_TERMS: Final = 64


class Scored(NamedTuple):
    """A passage's number and how well it fits."""

    number: int
    score: float


def _schema() -> "Schema":
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("number", fast=True)
    builder.add_text_field("text", tokenizer_name=STEMS, index_option="freq")
    builder.add_text_field("path", tokenizer_name=STEMS, index_option="freq")
    builder.add_text_field("keys", tokenizer_name="whitespace", index_option="freq")
    return builder.build()


class WordIndexWriter:
    """Fills a new word index, in one thread, so that the same passages give the same files."""

    def __init__(self, folder: Path) -> None:
        import tantivy

        folder.mkdir()
        self._schema = _schema()
        index = tantivy.Index(self._schema, path=str(folder))
        index.register_tokenizer(STEMS, stem_analyzer())
        self._writer = index.writer(heap_size=_HEAP_BYTES, num_threads=1)

    def add(self, numbers: range, passages: Sequence[Passage]) -> None:
        """Add the passages of a document."""
        import tantivy

        for number, passage in zip(numbers, passages, strict=True):
            entry = tantivy.Document()
            entry.add_unsigned("number", number)
            entry.add_text("text", passage.text)
            entry.add_text("path", " ".join(passage.heading_path))
            entry.add_text("keys", " ".join(keys_of(passage.text)))
            self._writer.add_document(entry)

    def finish(self) -> None:
        """Write everything to the disk."""
        self._writer.commit()
        self._writer.wait_merging_threads()


class WordIndex:
    """A finished word index, opened to read."""

    def __init__(self, folder: Path) -> None:
        import tantivy

        self._index: Index = tantivy.Index.open(str(folder))
        # Nobody writes to a finished index; the default would poll the disk for changes.
        self._index.config_reader(reload_policy="manual")
        self._index.reload()
        self._searcher = self._index.searcher()

    def search(self, claim: str, limit: int) -> list[Scored]:
        """Return the best passages for a claim, best first; equal scores by number."""
        query = self._query(claim)
        if query is None or limit <= 0:
            return []
        hits = self._searcher.search(query, limit=limit, count=False).hits
        numbers = self._searcher.fast_field_values("number", [address for _, address in hits])
        found = (
            Scored(int(number or 0), float(score))
            for number, (score, _) in zip(numbers, hits, strict=True)
        )
        return sorted(found, key=lambda scored: (-scored.score, scored.number))

    def _query(self, claim: str) -> "Query | None":
        from tantivy import Occur, Query

        stems = self._rarest("text", claim_stems(claim))
        wanted = [
            *(("text", stem) for stem in stems),
            *(("path", stem) for stem in stems),
            *(("keys", key) for key in self._rarest("keys", claim_keys(claim))),
        ]
        schema = self._index.schema
        parts = [
            (Occur.Should, Query.boost_query(Query.term_query(schema, field, term, "freq"), weight))
            for field, term in wanted
            if (weight := _WEIGHTS[field])
        ]
        return Query.boolean_query(parts) if parts else None

    def _rarest(self, field: str, terms: tuple[str, ...]) -> tuple[str, ...]:
        """Return the terms, of very many only the rarest: a claim may be as long as a page."""
        if len(terms) <= _MAX_TERMS:
            return terms
        return tuple(sorted(terms, key=lambda term: (self._searcher.doc_freq(field, term), term)))[
            :_MAX_TERMS
        ]
