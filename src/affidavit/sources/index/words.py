"""The word index: tantivy with stems of text and headings, and keys; BM25 over all of them."""

from collections.abc import Mapping, Sequence
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Final

from affidavit.sources.chunking import Passage
from affidavit.sources.index.terms import STEMS, Term, keys_of, stem_analyzer

if TYPE_CHECKING:
    from tantivy import Index, Schema

FOLDER_NAME: Final = "words"
_HEAP_BYTES: Final = 64 * 1024 * 1024
_PATH_WEIGHT: Final = 0.5
_KEY_WEIGHT: Final = 0.5
"""Against 1 for a word of the text; between 0.3 and 0.8 both change little."""


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

    def abandon(self) -> None:
        """Let the writing threads end, so that the folder can be thrown away."""
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

    def has(self, stem: str) -> bool:
        """Tell whether any passage has this stem."""
        return self._searcher.doc_freq("text", stem) > 0

    def rarity(self, stem: str) -> float:
        """Return how much a stem tells: BM25's inverse document frequency."""
        total, having = self._searcher.num_docs, self._searcher.doc_freq("text", stem)
        return log(1 + (total - having + 0.5) / (having + 0.5))

    def search(
        self, terms: Mapping[str, Term], keys: Sequence[str], limit: int
    ) -> list[tuple[int, float]]:
        """Return the numbers and BM25 scores of the best passages, best first."""
        from tantivy import Occur, Query

        boosts = [
            *(("text", stem, term.strength) for stem, term in terms.items()),
            *(
                ("path", stem, _PATH_WEIGHT * term.strength)
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
