"""The default judge, which reads a claim in three layers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from msgspec import structs

from affidavit.base.digest import sha256_hex
from affidavit.judge.cells import CellFinding, has_rows, read_cells
from affidavit.judge.encoder.reader import load_encoder
from affidavit.judge.encoder.shipped import encoder_digest
from affidavit.judge.layered.combiner import Combiner, shipped_combiner
from affidavit.judge.layered.weighing import OWN_THRESHOLDS, Weighing, scores_of, settled
from affidavit.judge.lexical.claims import claim_of
from affidavit.judge.lexical.judge import LexicalJudge
from affidavit.judge.lexical.windows import select_window
from affidavit.judge.protocol import require_claim
from affidavit.judge.thresholded import apply_thresholds
from affidavit.ledger.model import Chunk, JudgeIdentity, Reading
from affidavit.ledger.rules import JudgeThresholds

VERSION: Final = "2"
_BY_RULE: Final = 0.97
"""What cells say is nearly certain: of 422 claims about tables not seen before, one was wrong."""
_OTHER_ROWS: Final = "these rows speak of something else"


@dataclass(frozen=True)
class LayeredJudge:
    """Reads by words and rules; asks the encoder where they are unsure; weighs both."""

    combiner: Combiner = field(default_factory=shipped_combiner)

    @property
    def reads_english_only(self) -> bool:
        """Rules and encoder know English words only."""
        return True

    @cached_property
    def identity(self) -> JudgeIdentity:
        """Name, version, and one digest over the tables, the weights and the combiner."""
        parts = (LexicalJudge().identity.digest, encoder_digest(), self.combiner.digest)
        digest = sha256_hex("\n".join(parts).encode())
        return JudgeIdentity("layered", VERSION, f"sha256:{digest}", rederivable=True)

    def read(self, claim: str, chunks: Sequence[Chunk]) -> tuple[Reading, ...]:
        """Return one reading per chunk, in the order of the chunks."""
        require_claim(claim)
        by_sentence = [self._weigh(sentence, chunks) for sentence in sentences_of(claim)]
        readings = [_reading(list(found)) for found in zip(*by_sentence, strict=True)]
        finding = read_cells(claim, [chunk.text for chunk in chunks], headings_of(chunks))
        return tuple(readings if finding is None else with_cells(readings, finding, chunks))

    def _weigh(self, sentence: str, chunks: Sequence[Chunk]) -> list[Weighing]:
        found = [self._by_words(sentence, each) for each in LexicalJudge().read(sentence, chunks)]
        for place in self._worth_reading(found):
            window = select_window(sentence, chunks[place].text)
            if not window.text:
                continue
            read = load_encoder().read(window.text, sentence)
            weighed = self.combiner.weigh(found[place].scores, read)
            found[place] = replace(found[place], weighed=weighed, read=read)
            if found[place].supports:
                break  # One passage that says so is enough; the next could only add doubt.
        return found

    def _by_words(self, sentence: str, reading: Reading) -> Weighing:
        scores = scores_of(reading, sentence)
        return Weighing(sentence, reading, scores, self.combiner.weigh(scores))

    def _worth_reading(self, found: Sequence[Weighing]) -> list[int]:
        """Return the unsure passages, the best first; the earlier one on a tie."""
        unsure = [place for place, each in enumerate(found) if self.combiner.is_unsure(each.scores)]
        unsure.sort(key=lambda place: (-found[place].weighed.support, place))
        return unsure[: self.combiner.table.cascade.most_passages]


def headings_of(chunks: Sequence[Chunk]) -> list[str]:
    """Return the headings above the chunks, each once."""
    return list(dict.fromkeys(name for chunk in chunks for name in chunk.heading_path))


def with_cells(
    readings: Sequence[Reading],
    finding: CellFinding,
    chunks: Sequence[Chunk],
    thresholds: JudgeThresholds = OWN_THRESHOLDS,
) -> Iterator[Reading]:
    """Yield the readings of a claim about cells. Of their table, only these cells speak of it.

    Other rows have other values, which are neither for nor against the claim.
    """
    table = {cell.passage for cell in finding.cells}
    first = finding.cells[0]
    for place, (reading, chunk) in enumerate(zip(readings, chunks, strict=True)):
        if place not in table and not has_rows(chunk.text):
            yield reading
            continue
        decides = place == first.passage
        support = decides and finding.agrees
        contradiction = decides and not finding.agrees
        span = first.span if decides else reading.snippet_span
        raw = structs.replace(
            reading,
            contradiction=_BY_RULE if contradiction else 0.0,
            snippet=chunk.text[span.start : span.end],
            snippet_span=span,
            notes=finding.note if decides else _OTHER_ROWS,
            scores=tuple(
                sorted({**dict(reading.scores), "support": _BY_RULE if support else 0.0}.items())
            ),
        )
        yield apply_thresholds(raw, thresholds)


def sentences_of(claim: str) -> tuple[str, ...]:
    """Return the sentences of a claim that can be judged by themselves; the claim if it has one."""
    parts = claim_of(claim).parts
    return tuple(part.sentence.text for part in parts) if len(parts) > 1 else (claim,)


def _reading(found: list[Weighing]) -> Reading:
    """Return what a passage makes of a claim, with all scores of the sentence that decided."""
    decides, weighed = settled(found)
    scores = {**decides.scores, "support": weighed.support}
    if decides.read:
        scores["encoder_entails"] = decides.read.entails
        scores["encoder_contradicts"] = decides.read.contradicts
    note = decides.note if len(found) == 1 else f'of "{decides.sentence}": {decides.note}'
    raw = structs.replace(
        decides.reading,
        contradiction=weighed.contradiction,
        notes=note,
        scores=tuple(sorted(scores.items())),
    )
    return apply_thresholds(raw, OWN_THRESHOLDS)
