"""How often the passage that answers a question is among the first eight.

The 100 questions in retrieval_questions.jsonl were written for passages that were drawn at random
from three manuals, in other words than theirs. An answer is a short quote: a passage that holds it
answers the question. Where another passage says the same, it is an answer too; those were found by
reading what the search had put before the one that was drawn.
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
TOP = 8


class Question(NamedTuple):
    """A question or claim, and the (document, quote) pairs that answer it."""

    id: str
    text: str
    answers: tuple[tuple[str, str], ...]


def measure(quick: bool = False) -> list[Figure]:
    """Return the share of questions whose answer is among the first eight passages."""
    del quick
    with tempfile.TemporaryDirectory() as scratch:
        ranks, seconds = ranks_and_seconds(Path(scratch), ChunkSettings())
    shares = {k: sum(rank is not None and rank <= k for rank in ranks) for k in (1, 3, TOP)}
    found = shares[TOP] / len(ranks)
    detail = ", ".join(f"{count} of {len(ranks)} in the top {k}" for k, count in shares.items())
    per_question = f"{1000 * seconds / len(ranks):.1f} ms CPU per question"
    return [
        Figure(
            name="retrieval: the passage that answers is in the top 8",
            target="at least 0.95",
            ratio=found,
            better="higher",
            limit=0.95,
            detail=f"{detail}; {per_question}",
        )
    ]


def ranks_and_seconds(folder: Path, chunking: ChunkSettings) -> tuple[list[int | None], float]:
    """Return the rank of the first answer for every question, and the CPU time of the searches."""
    manuals = folder / "manuals"
    manuals.mkdir(parents=True)
    unpack_manuals(manuals, *MANUALS)
    settings = DocumentSettings(chunking=chunking)
    with index_sources([manuals], folder / "cache", settings, jobs=0).index as index:
        start = time.process_time()
        ranks = [rank_of_answer(question, index) for question in read_questions()]
        return ranks, time.process_time() - start


def rank_of_answer(question: Question, index: SourceIndex) -> int | None:
    """Return the rank of the first passage, of the first 20, that answers the question."""
    hits = index.search(question.text, 20)
    return next((at for at, hit in enumerate(hits, 1) if answers(question, hit, index)), None)


def answers(question: Question, hit: SearchHit, index: SourceIndex) -> bool:
    """Tell whether a passage holds one of the quotes."""
    filename = index.document(hit.chunk.document_id).filename
    text = " ".join(hit.chunk.text.split())
    return any(document == filename and quote in text for document, quote in question.answers)


def read_questions() -> Sequence[Question]:
    """Return the questions of the file."""
    rows = (json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines())
    return [
        Question(
            row["id"],
            row["question"],
            tuple((answer["document"], answer["quote"]) for answer in row["answers"]),
        )
        for row in rows
    ]


if __name__ == "__main__":
    # What the defaults were chosen by: the same questions over other sizes of passages.
    for target in (500, 700, 1000, 1500, 2000):
        for overlap in (0, 120, 250):
            with tempfile.TemporaryDirectory() as place:
                sizes = ChunkSettings(target_characters=target, overlap_characters=overlap)
                found_at, _ = ranks_and_seconds(Path(place), sizes)
            row = [sum(rank is not None and rank <= k for rank in found_at) for k in (1, 3, 8, 20)]
            print(f"target {target:5} overlap {overlap:4}: in the top 1, 3, 8, 20: {row}")
