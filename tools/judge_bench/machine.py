"""The figures that are not about truth: speed, size, and verdicts that must not move."""

import time
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any, Final

import numpy as np

from affidavit.judge.encoder.entailment import Entailment, entailment_from
from affidavit.judge.encoder.reader import load_encoder
from affidavit.judge.layered.combiner import shipped_combiner
from affidavit.judge.layered.judge import LayeredJudge
from affidavit.judge.layered.weighing import OWN_THRESHOLDS, scores_of
from affidavit.judge.lexical.judge import LexicalJudge
from affidavit.judge.lexical.windows import select_window
from affidavit.ledger.model import Chunk
from tools.judge_bench.measuring import Figure
from tools.judge_bench.rows import Row
from tools.judge_bench.signals import chunk_of

PAIRS: Final = 384
SOURCE_WORDS: Final = 3000
SPEED_CLAIMS: Final = 150
SPEED_TARGET, SIZE_TARGET, MOVED_TARGET = 60.0, 50.0, 0.0
_LEVELS: Final = ("ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL")
# Threads, batch size, level: each by itself against the shipped setting, and all changed at once.
_SETTINGS: Final = (
    *((1, 1, level) for level in _LEVELS),
    (2, 1, "ORT_ENABLE_BASIC"),
    (1, 8, "ORT_ENABLE_BASIC"),
    (1, 16, "ORT_ENABLE_BASIC"),
    (2, 16, "ORT_ENABLE_ALL"),
)


def measure_size() -> Figure:
    """Weigh the shipped files of the encoder."""
    folder = files("affidavit.judge.encoder") / "data"
    size = sum(len(each.read_bytes()) for each in folder.iterdir()) / 1e6
    return Figure("weights", 1, "MB", round(size, 1), None, None, SIZE_TARGET, "lower")


def measure_speed(rows: Sequence[Row]) -> Figure:
    """Count claims per CPU-second against sources of 3,000 words, with the default cascade."""
    judge = LayeredJudge()
    work = list(_long_sources(rows))[:SPEED_CLAIMS]
    judge.read(work[0][0], [work[0][1]])  # Loading is not reading.
    begun = time.process_time()
    for claim, chunk in work:
        judge.read(claim, [chunk])
    rate = len(work) / (time.process_time() - begun)
    return Figure(
        "3,000-word sources",
        len(work),
        "claims per CPU-s",
        round(rate, 1),
        None,
        None,
        SPEED_TARGET,
    )


def _long_sources(rows: Sequence[Row]) -> Iterator[tuple[str, Chunk]]:
    """Join texts until they have 3,000 words, and ask the claims of those texts of all of them."""
    texts: list[str] = []
    claims: list[str] = []
    for row in rows:
        texts.append(row.text)
        claims.append(row.claim)
        if sum(len(text.split()) for text in texts) < SOURCE_WORDS:
            continue
        joined = " ".join(" ".join(texts).split()[:SOURCE_WORDS])
        yield from ((claim, chunk_of(joined)) for claim in claims)
        texts, claims = [], []


def measure_movement(rows: Sequence[Row]) -> Figure:
    """Count verdicts that differ under any threads, batch size, order or optimisation level."""
    combiner = shipped_combiner()
    pairs, scores = [], []
    for row in rows[:PAIRS]:
        (reading,) = LexicalJudge().read(row.claim, [chunk_of(row.text)])
        scores.append(scores_of(reading, row.claim))
        pairs.append((select_window(row.claim, row.text).text, row.claim))

    def verdicts(read: Sequence[Entailment]) -> list[str]:
        weighed = [combiner.weigh(score, each) for score, each in zip(scores, read, strict=True)]
        return [OWN_THRESHOLDS.verdict(each.support, each.contradiction) for each in weighed]

    encoder = load_encoder()
    expected = verdicts([encoder.read(*pair) for pair in pairs])
    moved = set()
    for threads, batch, level in _SETTINGS:
        found = verdicts(_read_in_batches(pairs, threads, batch, level))
        moved |= {at for at, (a, b) in enumerate(zip(expected, found, strict=True)) if a != b}
    return Figure(
        "threads, batches, orders, levels", len(pairs), "verdicts that differ",
        float(len(moved)), None, None, MOVED_TARGET, "lower",
    )  # fmt: skip


def _read_in_batches(
    pairs: Sequence[tuple[str, str]], threads: int, batch: int, level: str
) -> list[Entailment]:
    """Read pairs in another order, in padded batches, in a session with other settings."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    options.log_severity_level = 3
    model = (files("affidavit.judge.encoder") / "data" / "model.onnx").read_bytes()
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    order = np.random.default_rng([threads, batch]).permutation(len(pairs))
    read: dict[int, Entailment] = {}
    for begin in range(0, len(order), batch):
        places = order[begin : begin + batch].tolist()
        (logits,) = session.run(["logits"], _padded([pairs[place] for place in places]))
        for place, row in zip(places, logits, strict=True):
            read[place] = entailment_from(row.tolist())
    return [read[place] for place in range(len(pairs))]


def _padded(pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    rows = [load_encoder().inputs_for(*pair) for pair in pairs]
    width = max(row["tokens"].shape[1] for row in rows)
    return {
        name: np.concatenate(
            [np.pad(row[name], ((0, 0), (0, width - row[name].shape[1]))) for row in rows]
        )
        for name in rows[0]
    }
