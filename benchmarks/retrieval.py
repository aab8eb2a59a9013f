"""How often the passage that answers a question is among the first ones.

The 100 questions in retrieval_questions.jsonl were written for passages that were drawn at random
from three manuals, in other words than theirs. An answer is a short quote: a passage that holds it
answers the question. Where another passage says the same, it is an answer too; those were found by
reading what the search had put before the one that was drawn.

The 96 in retrieval_paraphrases.jsonl ask for 48 facts of five documents of other publishers, twice
each: in the words of the document, and in everyday words that share few or none with it. Half of
each are claims, half are questions. The quotes were chosen before anything was searched for.

All documents are in one index.
"""

import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from affidavit.documents.index import SearchHit, SourceIndex
from affidavit.documents.ingest import index_sources
from affidavit.documents.model import ChunkSettings, DocumentSettings
from benchmarks.figure import Figure
from benchmarks.manuals import MANUALS, unpack_manuals

QUESTIONS = Path(__file__).with_name("retrieval_questions.jsonl")
PARAPHRASES = Path(__file__).with_name("retrieval_paraphrases.jsonl")
TOP = 8
TOP_OF_PARAPHRASES = 5


class Question(NamedTuple):
    """A question or claim, the (document, quote) pairs that answer it, and whose words it has."""

    id: str
    text: str
    answers: tuple[tuple[str, str], ...]
    words: str = ""


def measure(quick: bool = False) -> list[Figure]:
    """Return the shares of questions whose answer is among the first passages, by kind."""
    del quick
    paraphrases = read_questions(PARAPHRASES)
    kinds = {
        ("the passage that answers is in the top 8", TOP, 0.95): read_questions(QUESTIONS),
        **{
            (f"in {words} words, the passage is in the top 5", TOP_OF_PARAPHRASES, target): [
                question for question in paraphrases if question.words == words
            ]
            for words, target in (("own", 0.95), ("other", 0.75))
        },
    }
    with tempfile.TemporaryDirectory() as scratch:
        found = ranks_and_seconds(Path(scratch), ChunkSettings(), *kinds.values())
    return [
        _figure(f"retrieval: {name}", top, target, ranks, seconds)
        for (name, top, target), (ranks, seconds) in zip(kinds, found, strict=True)
    ]


def _figure(
    name: str, top: int, target: float, ranks: Sequence[int | None], seconds: float
) -> Figure:
    counts = {
        k: sum(rank is not None and rank <= k for rank in ranks) for k in sorted({1, 3, 5, 8, top})
    }
    detail = ", ".join(f"{count} of {len(ranks)} in the top {k}" for k, count in counts.items())
    return Figure(
        name=name,
        target=f"at least {target}",
        ratio=counts[top] / len(ranks),
        better="higher",
        limit=target,
        detail=f"{detail}; {1000 * seconds / len(ranks):.1f} ms CPU per question",
    )


def ranks_and_seconds(
    folder: Path, chunking: ChunkSettings, *sets: Sequence[Question]
) -> list[tuple[list[int | None], float]]:
    """Return the rank of the first answer for every question, and the CPU time, of each set."""
    manuals = folder / "manuals"
    manuals.mkdir(parents=True)
    unpack_manuals(manuals, *MANUALS)
    settings = DocumentSettings(chunking=chunking)
    found = []
    with index_sources([manuals], folder / "cache", settings, jobs=0).index as index:
        for questions in sets:
            start = time.process_time()
            ranks = [rank_of_answer(question, index) for question in questions]
            found.append((ranks, time.process_time() - start))
    return found


def rank_of_answer(question: Question, index: SourceIndex) -> int | None:
    """Return the rank of the first passage, of the first 20, that answers the question."""
    hits = index.search(question.text, 20)
    return next((at for at, hit in enumerate(hits, 1) if answers(question, hit, index)), None)


def answers(question: Question, hit: SearchHit, index: SourceIndex) -> bool:
    """Tell whether a passage holds one of the quotes."""
    filename = index.document(hit.chunk.document_id).filename
    text = " ".join(hit.chunk.text.split())
    return any(document == filename and quote in text for document, quote in question.answers)


def read_questions(path: Path) -> Sequence[Question]:
    """Return the questions of a file."""
    rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return [
        Question(
            row["id"],
            row["question"],
            tuple((answer["document"], answer["quote"]) for answer in row["answers"]),
            row.get("words", ""),
        )
        for row in rows
    ]


if __name__ == "__main__":
    # What the defaults were chosen by: the same questions over other sizes of passages.
    for target in (500, 700, 1000, 1500, 2000):
        for overlap in (0, 120, 250):
            with tempfile.TemporaryDirectory() as place:
                sizes = ChunkSettings(target_characters=target, overlap_characters=overlap)
                everything = [*read_questions(QUESTIONS), *read_questions(PARAPHRASES)]
                ((found_at, _),) = ranks_and_seconds(Path(place), sizes, everything)
            row = [sum(rank is not None and rank <= k for rank in found_at) for k in (1, 3, 8, 20)]
            print(f"target {target:5} overlap {overlap:4}: in the top 1, 3, 8, 20: {row}")
