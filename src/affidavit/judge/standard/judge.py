"""The judge with the large encoder, which is always asked: words, rules, one calibrated sum.

For each sentence of a claim every passage is read by words and rules, and the most relevant ones by
the encoder. A contradiction counts only in a passage that is about the claim: one that has nearly
as much of it as the most relevant passage. A distant passage does not erase it.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Final

from msgspec import structs

from affidavit.base.digest import sha256_hex
from affidavit.judge.cells import read_cells
from affidavit.judge.encoder.shipped import encoder_digest
from affidavit.judge.layered.combiner import Weighed
from affidavit.judge.layered.judge import headings_of, sentences_of, with_cells
from affidavit.judge.lexical.judge import LexicalJudge
from affidavit.judge.protocol import require_claim
from affidavit.judge.standard.combiner import StandardCombiner, standard_combiner
from affidavit.judge.standard.encoder import load_large_encoder, weights_folder
from affidavit.judge.standard.evidence import (
    PassageEvidence,
    deciding_span,
    encoder_scores,
    evidence_by_words,
    note_of,
)
from affidavit.judge.thresholded import apply_thresholds
from affidavit.ledger.model import Chunk, JudgeIdentity, Reading
from affidavit.ledger.rules import JudgeThresholds

VERSION: Final = "1"
THRESHOLDS: Final = JudgeThresholds(supported_from=0.7, weak_from=0.3, contradicted_from=0.8)
"""Of 500 held-out written claims, weighed as if half were true, fewer than 1 in 20 supported ones
are wrong from 0.7 on, and 1 in 12 from 0.6 on. From 0.8 on 1 in 25 true ones is contradicted."""
_ABOUT_MARGIN: Final = 0.1
"""A passage that has so much less of the claim than the best one speaks of something else."""


class StandardJudge:
    """Reads by words and rules, asks the encoder, and weighs both."""

    reads_english_only: Final = True

    def __init__(self, combiner: StandardCombiner | None = None) -> None:
        self.combiner: Final = combiner or standard_combiner()

    @cached_property
    def identity(self) -> JudgeIdentity:
        """Name, version, and one digest over the tables, the weights and the combiner."""
        weights = encoder_digest(weights_folder())
        parts = (LexicalJudge().identity.digest, weights, self.combiner.digest)
        digest = sha256_hex("\n".join(parts).encode())
        return JudgeIdentity("standard", VERSION, f"sha256:{digest}", rederivable=True)

    def read(self, claim: str, chunks: Sequence[Chunk]) -> tuple[Reading, ...]:
        """Return one reading per chunk, in the order of the chunks."""
        require_claim(claim)
        by_sentence = [self._weigh(sentence, chunks) for sentence in sentences_of(claim)]
        readings = [
            _reading(chunk, found)
            for chunk, found in zip(chunks, zip(*by_sentence, strict=True), strict=True)
        ]
        finding = read_cells(claim, [chunk.text for chunk in chunks], headings_of(chunks))
        return tuple(
            readings if finding is None else with_cells(readings, finding, chunks, THRESHOLDS)
        )

    def _weigh(self, sentence: str, chunks: Sequence[Chunk]) -> list[PassageEvidence]:
        found = [evidence_by_words(sentence, chunk) for chunk in chunks]
        relevant = sorted(range(len(found)), key=lambda at: (-found[at].relevance, at))
        asked = [at for at in relevant if found[at].narrow.text]
        for at in asked[: self.combiner.table.most_passages]:
            scores, answer = encoder_scores(found[at], load_large_encoder())
            found[at] = structs.replace(
                found[at], scores={**found[at].scores, **scores}, encoder=answer
            )
        best = max((each.relevance for each in found), default=0.0)
        return [self._weighed(each, best) for each in found]

    def _weighed(self, evidence: PassageEvidence, best: float) -> PassageEvidence:
        weighed = self.combiner.weigh(evidence.scores)
        if evidence.relevance < best - _ABOUT_MARGIN:
            weighed = Weighed(weighed.support, 0.0)
        return structs.replace(evidence, weighed=weighed)


def _reading(chunk: Chunk, found: Sequence[PassageEvidence]) -> Reading:
    """Return what a passage makes of a claim, with all scores of the sentence that decided."""
    decides, weighed = _settled(found)
    note = note_of(decides)
    span = deciding_span(decides)
    raw = structs.replace(
        decides.by_rule,
        contradiction=weighed.contradiction,
        snippet=chunk.text[span.start : span.end],
        snippet_span=span,
        notes=note if len(found) == 1 else f'of "{decides.sentence}": {note}',
        scores=tuple(sorted({**decides.scores, "support": weighed.support}.items())),
    )
    return apply_thresholds(raw, THRESHOLDS)


def _settled(found: Sequence[PassageEvidence]) -> tuple[PassageEvidence, Weighed]:
    """Return the sentence that decides on a claim, and what the claim is worth.

    A claim is as good as its weakest sentence, and false if one sentence is. Where one sentence is
    supported and another is not, the claim is supported in part.
    """
    worst = max(found, key=lambda each: each.weighed.contradiction)
    weakest = min(found, key=lambda each: each.weighed.support)
    is_false = worst.weighed.contradiction >= THRESHOLDS.contradicted_from
    support = weakest.weighed.support
    if any(each.weighed.support >= THRESHOLDS.supported_from for each in found):
        support = max(support, THRESHOLDS.weak_from)
    return worst if is_false else weakest, Weighed(support, worst.weighed.contradiction)
