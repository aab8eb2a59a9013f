"""What words, rules and the encoder show of a row, before anything is weighed: the slow part.

Signals are kept in `build/judge-signals`, one file per encoder and state of the rules, so that a
second fit over the same rows takes seconds.
"""

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from affidavit.base.digest import sha256_hex
from affidavit.judge.encoder import encoder_digest, encoder_folder, load_encoder
from affidavit.judge.standard.evidence import (
    evidence_by_words,
    read_window,
    text_as_chunk,
    with_answers,
)
from affidavit.judge.standard.judge import sentences_of
from tools.judge_bench.rows import Row

ROOT: Final = Path(__file__).resolve().parents[2]
CACHE: Final = ROOT / "build" / "judge-signals"
_AT_ONCE: Final = 8

Scores = dict[str, float]


class Signals(Struct, frozen=True):
    """A row's group and target, and the scores of each sentence of its claim."""

    group: str
    target: int
    sentences: tuple[Scores, ...]


def scores_of(encoder: str, claim: str, text: str) -> tuple[Scores, ...]:
    """Return the scores of each sentence of a claim. The encoder reads all that have a window."""
    found = []
    for sentence in sentences_of(claim):
        evidence = evidence_by_words(sentence, text_as_chunk(text))
        if evidence.tight.text:
            reader = load_encoder(encoder)
            windows = (evidence.tight, evidence.narrow)
            evidence = with_answers(
                evidence, *(read_window(evidence, window, reader) for window in windows)
            )
        found.append(dict(evidence.scores))
    return tuple(found)


def all_signals(encoder: str, rows: Sequence[Row], jobs: int) -> Iterator[Signals]:
    """Yield the signals of all rows, in their order, from the cache where it has them."""
    CACHE.mkdir(parents=True, exist_ok=True)
    code = sorted((ROOT / "src" / "affidavit" / "judge").rglob("*.py"))
    state = encoder_digest(encoder_folder(encoder)) + "".join(
        sha256_hex(file.read_bytes()) for file in code if file.parent.name != "chat"
    )
    cache = CACHE / f"{encoder}-{sha256_hex(state.encode())[:12]}.jsonl"
    known: dict[str, tuple[Scores, ...]] = {}
    if cache.exists():
        for line in cache.read_text("utf-8").splitlines():
            key, value = json.loads(line)
            known[key] = tuple(value)
    keys = [sha256_hex(f"{row.claim}\0{row.text}".encode()) for row in rows]
    todo = {key: row for key, row in zip(keys, rows, strict=True) if key not in known}
    with ProcessPoolExecutor(jobs) as pool, cache.open("a", encoding="utf-8") as file:
        read = partial(_scores_of_row, encoder)
        for key, scores in zip(
            todo, pool.map(read, todo.values(), chunksize=_AT_ONCE), strict=True
        ):
            known[key] = scores
            file.write(msgspec.json.encode([key, scores]).decode() + "\n")
    for key, row in zip(keys, rows, strict=True):
        yield Signals(row.group, row.target, known[key])


def _scores_of_row(encoder: str, row: Row) -> tuple[Scores, ...]:
    return scores_of(encoder, row.claim, row.text)
