"""The figures that are not about truth: speed, size, and verdicts that must not move."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from affidavit.judge.encoder import (
    FAST,
    Encoder,
    EncoderReading,
    encoder_folder,
    entailment_from,
    load_encoder,
    read_files,
)
from affidavit.judge.standard.combiner import shipped_combiner
from affidavit.judge.standard.evidence import (
    PassageEvidence,
    evidence_by_words,
    scores_of_readings,
    text_as_chunk,
)
from affidavit.judge.standard.judge import StandardJudge
from affidavit.ledger.model import Chunk
from tools.judge_bench.measuring import Figure
from tools.judge_bench.rows import Row

PAIRS: Final = {FAST: 384}
FEW_PAIRS: Final = 96
SOURCE_WORDS: Final = 3000
SPEED_CLAIMS: Final = {FAST: 150}
FEW_CLAIMS: Final = 30
SPEED_TARGET: Final = {FAST: 40.0}
STANDARD_SPEED_TARGET: Final = 6.0
SIZE_TARGET, MOVED_TARGET = 115.0, 0.0
_LEVELS: Final = ("ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL")
# Threads and level: each by itself against the shipped setting, and both changed at once.
_SETTINGS: Final = (
    *((1, level) for level in _LEVELS),
    (2, "ORT_ENABLE_BASIC"),
    (2, "ORT_ENABLE_ALL"),
)


def measure_size(encoder: str) -> Figure:
    """Weigh the shipped files of the encoder."""
    sizes = [len(each.read_bytes()) for each in encoder_folder(encoder).iterdir() if each.is_file()]
    return Figure("weights", 1, "MB", round(sum(sizes) / 1e6, 1), None, None, SIZE_TARGET, "lower")


def measure_speed(encoder: str, rows: Sequence[Row]) -> Figure:
    """Count claims per CPU-second against sources of 3,000 words."""
    judge = StandardJudge(encoder)
    work = list(_long_sources(rows))[: SPEED_CLAIMS.get(encoder, FEW_CLAIMS)]
    judge.read(work[0][0], [work[0][1]])  # Loading is not reading.
    begun = time.process_time()
    for claim, chunk in work:
        judge.read(claim, [chunk])
    rate = round(len(work) / (time.process_time() - begun), 1)
    target = SPEED_TARGET.get(encoder, STANDARD_SPEED_TARGET)
    return Figure("3,000-word sources", len(work), "claims per CPU-s", rate, None, None, target)


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
        yield from ((claim, text_as_chunk(joined)) for claim in claims)
        texts, claims = [], []


def measure_movement(encoder: str, rows: Sequence[Row]) -> Figure:
    """Count verdicts that differ under any threads, order or optimisation level."""
    combiner = shipped_combiner(encoder)
    reader = load_encoder(encoder)
    seen = [evidence_by_words(row.claim, text_as_chunk(row.text)) for row in rows]
    seen = [each for each in seen if each.narrow.text][: PAIRS.get(encoder, FEW_PAIRS)]
    inputs = [_inputs(reader, each) for each in seen]

    def verdicts(read: Sequence[tuple[EncoderReading, EncoderReading]]) -> list[str]:
        found = (
            combiner.weigh({**each.scores, **scores_of_readings(*answers)})
            for each, answers in zip(seen, read, strict=True)
        )
        return [combiner.table.thresholds.verdict(*weighed) for weighed in found]

    expected = verdicts(
        [
            (reader.read(e.tight.text, e.sentence), reader.read(e.narrow.text, e.sentence))
            for e in seen
        ]
    )
    moved = set()
    for threads, level in _SETTINGS:
        found = verdicts(_read_again(encoder, inputs, threads, level))
        moved |= {at for at, (a, b) in enumerate(zip(expected, found, strict=True)) if a != b}
    return Figure(
        "threads, orders, levels", len(seen), "verdicts that differ",
        float(len(moved)), None, None, MOVED_TARGET, "lower",
    )  # fmt: skip


def _inputs(reader: Encoder, evidence: PassageEvidence) -> list[Mapping[str, Any]]:
    windows = (evidence.tight.text, evidence.narrow.text)
    return [reader.inputs_for(window, evidence.sentence) for window in windows]


def _read_again(
    encoder: str, inputs: Sequence[Sequence[Mapping[str, Any]]], threads: int, level: str
) -> list[tuple[EncoderReading, EncoderReading]]:
    """Read pairs in another order, in a session with other settings."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    options.log_severity_level = 3
    model = read_files(encoder_folder(encoder)).model
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def answer(given: Mapping[str, Any]) -> EncoderReading:
        by_head = session.run(["logits"], given)[0].reshape(-1, 3).tolist()
        return EncoderReading(entailment_from(by_head[0]), entailment_from(by_head[-1]))

    order = np.random.default_rng([threads, len(level)]).permutation(len(inputs)).tolist()
    read = {at: (answer(inputs[at][0]), answer(inputs[at][1])) for at in order}
    return [read[at] for at in range(len(inputs))]
