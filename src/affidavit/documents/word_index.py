"""The full-text index (tantivy, BM25), and the ranking of its hits by coverage and proximity."""

from collections.abc import Mapping, Sequence
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Final

from affidavit.documents.search_terms import (
    STEMS,
    SearchTerm,
    claim_terms,
    exact_keys,
    stem_analyzer,
    stems_of,
)
from affidavit.ledger.model import Chunk

if TYPE_CHECKING:
    from tantivy import Document as Entry
    from tantivy import Index, Schema
from collections import deque
from collections.abc import Callable, Iterable
from math import fsum

# The word index: tantivy with stems of text and headings, and keys; BM25 over all of them.

WORD_INDEX_FOLDER: Final = "words"
_HEAP_BYTES: Final = 64 * 1024 * 1024
_HEADING_WEIGHT: Final = 0.5
_KEY_WEIGHT: Final = 0.5
"""Against 1 for a word of the text; between 0.3 and 0.8 both change little."""


def _schema(*, owned: bool = False) -> "Schema":
    import tantivy

    builder = tantivy.SchemaBuilder()
    if owned:
        builder.add_text_field("document", tokenizer_name="raw", index_option="basic")
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

    def add(self, numbers: range, chunks: Sequence[Chunk]) -> None:
        """Add the chunks of a document."""
        for number, chunk in zip(numbers, chunks, strict=True):
            self._writer.add_document(_entry(number, chunk))

    def finish(self) -> None:
        """Write everything to the disk."""
        self._writer.commit()
        self._writer.wait_merging_threads()

    def abandon(self) -> None:
        """Wait for the writing threads, so that the folder can be deleted."""
        self._writer.wait_merging_threads()


def _entry(number: int, chunk: Chunk, document: str | None = None) -> "Entry":
    import tantivy

    entry = tantivy.Document()
    if document is not None:
        entry.add_text("document", document)
    entry.add_unsigned("number", number)
    entry.add_text("text", chunk.text)
    entry.add_text("path", " ".join(chunk.heading_path))
    entry.add_text("keys", " ".join(exact_keys(chunk.text)))
    return entry


class GrowingWordIndex:
    """A word index whose documents are added and removed one by one, by one writer at a time."""

    def __init__(self, folder: Path) -> None:
        import tantivy

        folder.mkdir(parents=True, exist_ok=True)
        index = tantivy.Index(_schema(owned=True), path=str(folder))  # An existing one is opened.
        index.register_tokenizer(STEMS, stem_analyzer())
        self._writer = index.writer(heap_size=_HEAP_BYTES, num_threads=1)

    def replace(self, document: str, chunks: Mapping[int, Chunk]) -> None:
        """Add a document by the numbers of its chunks, or remove it if it has none."""
        self._writer.delete_documents_by_term("document", document)
        for number, chunk in chunks.items():
            self._writer.add_document(_entry(number, chunk, document))

    def finish(self) -> None:
        """Write everything to the disk, and remove the files that nothing needs any more."""
        self._writer.commit()
        self._writer.garbage_collect_files()
        self._writer.wait_merging_threads()

    def abandon(self) -> None:
        """Leave the index as it was."""
        self._writer.rollback()
        self._writer.wait_merging_threads()


class WordIndex:
    """A finished word index, open for reading."""

    def __init__(self, folder: Path) -> None:
        import tantivy

        self._index: Index = tantivy.Index.open(str(folder))
        # A finished index does not change; the default would poll the disk.
        self._index.config_reader(reload_policy="manual")
        self._index.reload()
        self._searcher = self._index.searcher()

    def has(self, stem: str) -> bool:
        """Tell whether any passage has this stem."""
        return self._searcher.doc_freq("text", stem) > 0

    def rarity(self, stem: str) -> float:
        """Return the rarity of a stem: the inverse document frequency of BM25."""
        total, having = self._searcher.num_docs, self._searcher.doc_freq("text", stem)
        return log(1 + (total - having + 0.5) / (having + 0.5))

    def search(
        self, terms: Mapping[str, SearchTerm], keys: Sequence[str], limit: int
    ) -> list[tuple[int, float]]:
        """Return the numbers and BM25 scores of the best passages, best first."""
        from tantivy import Occur, Query

        boosts = [
            *(("text", stem, term.strength) for stem, term in terms.items()),
            *(
                ("path", stem, _HEADING_WEIGHT * term.strength)
                for stem, term in terms.items()
                if term.is_own
            ),
            *(("keys", key, _KEY_WEIGHT) for key in keys),
        ]
        schema = self._index.schema
        query = Query.boolean_query(
            [
                (
                    Occur.Should,
                    Query.boost_query(Query.term_query(schema, field, text, "freq"), boost),
                )
                for field, text, boost in boosts
            ]
        )
        hits = self._searcher.search(query, limit=limit, count=False).hits
        numbers = self._searcher.fast_field_values("number", [address for _, address in hits])
        found = zip(numbers, (score for score, _ in hits), strict=True)
        return sorted(
            ((int(number or 0), float(score)) for number, score in found),
            key=lambda scored: (-scored[1], scored[0]),
        )


# The ranking of passages for a claim. BM25 ignores where words occur. A passage about the claim has
# most of its words, close together, so two more figures count: the share of the claim's words in
# the passage, and the largest share within about 25 words. A word weighs its rarity, a synonym
# less. The weights and the width are the best of those measured by benchmarks/retrieval.py; nearby
# values differ by a question or two.

_BM25_WEIGHT: Final = 0.4
_COVERAGE_WEIGHT: Final = 0.3
_PROXIMITY_WEIGHT: Final = 0.3
_WINDOW_WORDS: Final = 25
_RARE_WEIGHT: Final = 0.15


class ClaimRanker:
    """The words of a claim with their weights, to score passages."""

    def __init__(self, terms: Mapping[str, SearchTerm], rarity: Callable[[str], float]) -> None:
        own = {
            term.word: rarity(stem) * term.strength for stem, term in terms.items() if term.is_own
        }
        self._total = sum(own.values()) or 1.0
        self._weights = {
            stem: (term.word, own[term.word] if term.is_own else own[term.word] * term.strength)
            for stem, term in terms.items()
        }
        # Frequent words are near everything; they count for coverage only.
        minimum = _RARE_WEIGHT * max(own.values(), default=0.0)
        self._telling = {
            stem: found for stem, found in self._weights.items() if found[1] >= minimum
        }

    def score(self, stems: Sequence[str], share_of_best: float) -> float:
        """Return how well a passage fits; `share_of_best` is its BM25 score over the best."""
        weights, telling = self._weights, self._telling
        covered = _total_weight(weights[stem] for stem in weights.keys() & set(stems))
        places = [(at, telling[stem]) for at, stem in enumerate(stems) if stem in telling]
        near = _best_window(places, _WINDOW_WORDS)
        return (
            _BM25_WEIGHT * share_of_best
            + (_COVERAGE_WEIGHT * covered + _PROXIMITY_WEIGHT * near) / self._total
        )


def rank_chunks(
    claim: str, chunks: Sequence[Chunk], rarity: Callable[[str], float]
) -> tuple[Chunk, ...]:
    """Return chunks in the order in which they fit a claim, best first, equal ones by id."""
    ranker = ClaimRanker(claim_terms(claim), rarity)
    scores = {chunk.id: ranker.score(stems_of(chunk.text), 0.0) for chunk in chunks}
    return tuple(sorted(chunks, key=lambda chunk: (-scores[chunk.id], chunk.id)))


def _total_weight(found: Iterable[tuple[int, float]]) -> float:
    """Return the total weight of the claim's words, each once with its best weight."""
    best: dict[int, float] = {}
    for word, weight in found:
        if weight > best.get(word, 0.0):
            best[word] = weight
    return fsum(best.values())


def _best_window(places: Sequence[tuple[int, tuple[int, float]]], width: int) -> float:
    """Return the largest weight of the claim's words within `width` words."""
    inside: deque[tuple[int, tuple[int, float]]] = deque()
    largest = 0.0
    for at, found in places:
        inside.append((at, found))
        while inside[0][0] < at - width:
            inside.popleft()
        largest = max(largest, _total_weight(found for _, found in inside))
    return largest
