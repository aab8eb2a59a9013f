"""What the layers see of a row, before anything is weighed: the slow part, done once per row."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from affidavit.judge.encoder.entailment import Entailment
from affidavit.judge.encoder.reader import load_encoder
from affidavit.judge.layered.judge import sentences_of
from affidavit.judge.layered.weighing import scores_of
from affidavit.judge.lexical.judge import LexicalJudge
from affidavit.judge.lexical.windows import select_window
from affidavit.ledger.model import Chunk, Span
from tools.judge_bench.rows import Row

_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class Seen:
    """One sentence of a claim: its scores by words and rules, and the encoder's reading."""

    scores: dict[str, float]
    read: Entailment | None


@dataclass(frozen=True, slots=True)
class Signals:
    """A row's group and target, and what was seen of each sentence of its claim."""

    group: str
    target: int
    sentences: tuple[Seen, ...]


def signals_of(row: Row) -> Signals:
    """Return the signals of one row. The encoder reads every sentence that has a window."""
    seen = tuple(see(sentence, row.text) for sentence in sentences_of(row.claim))
    return Signals(row.group, row.target, seen)


def see(sentence: str, text: str) -> Seen:
    """Return what the layers see of one sentence."""
    (reading,) = LexicalJudge().read(sentence, [chunk_of(text)])
    window = select_window(sentence, text)
    read = load_encoder().read(window.text, sentence) if window.text else None
    return Seen(scores_of(reading, sentence), read)


def chunk_of(text: str) -> Chunk:
    """Return a text as the one passage of a source."""
    return Chunk(
        id="c",
        hash="0" * 8,
        document_id="d",
        index=0,
        text=text,
        span=Span(0, len(text)),
        page_number=None,
        heading_path=(),
    )


def all_signals(rows: Iterable[Row], jobs: int) -> Iterator[Signals]:
    """Yield the signals of all rows, in their order."""
    if jobs == 1:
        yield from map(signals_of, rows)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(signals_of, rows, chunksize=_AT_ONCE)
