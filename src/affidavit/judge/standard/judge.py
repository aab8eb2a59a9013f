"""The default judge, and the fast one: words, rules, an encoder that is always asked, one sum.

For each sentence of a claim every passage is read by words and rules, and the most relevant ones by
the encoder. A contradiction counts only in a passage that is about the claim: one that has nearly
as much of it as the most relevant passage. A distant passage does not erase it.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

from msgspec import structs

from affidavit.base.digest import sha256_hex
from affidavit.judge.cells import CellFinding, has_rows, read_cells
from affidavit.judge.encoder import STANDARD, encoder_digest, encoder_folder, load_encoder
from affidavit.judge.lexical.claims import claim_of
from affidavit.judge.lexical.judge import LexicalJudge
from affidavit.judge.protocol import require_claim
from affidavit.judge.standard.combiner import Combiner, RiskBound, Weighed, shipped_combiner
from affidavit.judge.standard.evidence import (
    PassageEvidence,
    deciding_span,
    evidence_by_words,
    gain_beside,
    has_gap,
    note_of,
    read_together,
    read_window,
    with_answers,
)
from affidavit.judge.thresholded import CONFIDENCE, apply_thresholds
from affidavit.ledger.model import Chunk, JudgeIdentity, Reading, SupportLevel, Verdict
from affidavit.ledger.rules import JudgeThresholds

VERSION: Final = "1"
_ABOUT_MARGIN: Final = 0.1
"""A passage that has so much less of the claim than the best one speaks of something else."""
_MOST_CITED: Final = 2
"""So many cited passages are read even if others have more of the claim's words."""
_JOINT_GAIN: Final = 0.12
"""The share of a claim's words that a second passage must add before both are read together."""
_BY_RULE: Final = 0.97
"""What cells say is nearly certain: of 422 claims about tables not seen before, one was wrong."""
_OTHER_ROWS: Final = "these rows speak of something else"


class StandardJudge:
    """Reads by words and rules, asks an encoder, and weighs both."""

    reads_english_only: Final = True

    def __init__(self, encoder: str = STANDARD) -> None:
        self.encoder: Final = encoder
        self.combiner: Final[Combiner] = shipped_combiner(encoder)

    @property
    def thresholds(self) -> JudgeThresholds:
        """The bounds that were chosen for this encoder."""
        return self.combiner.table.thresholds

    @property
    def risks(self) -> tuple[RiskBound, ...]:
        """From which support on fewer and fewer supported claims were wrong."""
        return self.combiner.table.risks

    @cached_property
    def identity(self) -> JudgeIdentity:
        """Name, version, and one digest over the tables, the weights and the combiner."""
        weights = encoder_digest(encoder_folder(self.encoder))
        parts = (LexicalJudge().identity.digest, weights, self.combiner.digest)
        digest = sha256_hex("\n".join(parts).encode())
        return JudgeIdentity(self.encoder, VERSION, f"sha256:{digest}", rederivable=True)

    def read(self, claim: str, chunks: Sequence[Chunk]) -> tuple[Reading, ...]:
        """Return one reading per chunk, in the order of the chunks."""
        require_claim(claim)
        by_sentence = [self._weigh(sentence, chunks) for sentence in sentences_of(claim)]
        readings = [
            self._reading(chunk, found)
            for chunk, found in zip(chunks, zip(*by_sentence, strict=True), strict=True)
        ]
        finding = read_cells(claim, [chunk.text for chunk in chunks], headings_of(chunks))
        return tuple(
            readings if finding is None else _with_cells(readings, finding, chunks, self.thresholds)
        )

    def _weigh(self, sentence: str, chunks: Sequence[Chunk]) -> list[PassageEvidence]:
        """Read the most relevant passages in one or two sentences, the clearest in more of them.

        Of the cited ones the most relevant are read too, however many others have more of the
        claim's words: the answer says that they show it.
        """
        found = [evidence_by_words(sentence, chunk) for chunk in chunks]
        relevant = sorted(range(len(found)), key=lambda at: (-found[at].relevance, at))
        readable = [at for at in relevant if found[at].tight.text]
        asked = readable[: self.combiner.table.most_passages]
        cited = [at for at in readable if chunks[at].cited][:_MOST_CITED]
        asked += [at for at in cited if at not in asked]
        if asked:
            encoder = load_encoder(self.encoder)
            tight = {at: read_window(found[at], found[at].tight, encoder) for at in asked}
            clearest = max(tight.values(), key=lambda each: each.claim.entails).claim.entails
            for at in asked:
                narrow = tight[at]
                is_more = found[at].narrow.text != found[at].tight.text
                if is_more and narrow.claim.entails == clearest:
                    narrow = read_window(found[at], found[at].narrow, encoder)
                found[at] = with_answers(found[at], tight[at], narrow)
        return self._with_joint_reading(self._weighed(found), asked)

    def _weighed(self, found: Sequence[PassageEvidence]) -> list[PassageEvidence]:
        """Weigh every passage. One that is about something else does not contradict.

        It has less of the claim than the best one. But a sentence that repeats the claim with
        another number lacks that number, which a passage about something else may have: only one
        that states the claim shows that such a sentence is about something else.
        """
        best = max((each.relevance for each in found), default=0.0)
        stated = max((each.relevance for each in found if _states(each)), default=0.0)
        weighed = []
        for each in found:
            result = self.combiner.weigh(each.scores)
            bound = stated if self.combiner.is_another_fact(each.scores) else best
            if each.relevance < bound - _ABOUT_MARGIN:
                result = Weighed(result.support, 0.0)
            weighed.append(structs.replace(each, weighed=result))
        return weighed

    def _with_joint_reading(
        self, found: list[PassageEvidence], asked: Sequence[int]
    ) -> list[PassageEvidence]:
        """Read the best passage together with the one that has most of what is missing in it.

        Only a sentence that no passage supports by itself and none contradicts needs this. A joint
        reading can raise the support of the best passage, and nothing else.
        """
        unsupported = Verdict.WEAK, Verdict.NOT_FOUND
        verdicts = {self.thresholds.verdict(*each.weighed) for each in found}
        if len(asked) < 2 or not verdicts.issubset(unsupported):
            return found
        first = max(asked, key=lambda at: (found[at].weighed.support, -at))
        if has_gap(found[first]):
            return found  # No other passage takes a condition back.
        others = [at for at in asked if at != first]
        second = max(others, key=lambda at: (gain_beside(found[first], found[at]), -at))
        if gain_beside(found[first], found[second]) < _JOINT_GAIN:
            return found
        joint = read_together(found[first], found[second], load_encoder(self.encoder))
        weighed = Weighed(self.combiner.weigh(joint.scores).support, 0.0)
        if weighed.support > found[first].weighed.support:
            found[first] = structs.replace(joint, weighed=weighed)
        return found

    def _reading(self, chunk: Chunk, found: Sequence[PassageEvidence]) -> Reading:
        """Return what a passage makes of a claim, with all scores of the sentence that decided."""
        decides, weighed = self._settled(found)
        note = note_of(decides)
        span = deciding_span(decides)
        raw = structs.replace(
            decides.by_rule,
            contradiction=weighed.contradiction,
            snippet=chunk.text[span.start : span.end],
            snippet_span=span,
            notes=note if len(found) == 1 else f'of "{decides.sentence}": {note}',
            scores=tuple(
                sorted({**decides.scores, "support": weighed.support, CONFIDENCE: 0.0}.items())
            ),
        )
        return apply_thresholds(raw, self.thresholds)

    def _settled(self, found: Sequence[PassageEvidence]) -> tuple[PassageEvidence, Weighed]:
        """Return the sentence that decides on a claim, and what the claim is worth.

        A claim is as good as its weakest sentence, and false if one sentence is. Where one sentence
        is supported and another is not, the claim is supported in part.
        """
        worst = max(found, key=lambda each: each.weighed.contradiction)
        weakest = min(found, key=lambda each: each.weighed.support)
        is_false = worst.weighed.contradiction >= self.thresholds.contradicted_from
        support = weakest.weighed.support
        verdicts = {self.thresholds.verdict(each.weighed.support, 0.0) for each in found}
        if Verdict.SUPPORTED in verdicts:
            support = max(support, self.thresholds.unshifted(self.thresholds.weak_from))
        return worst if is_false else weakest, Weighed(support, worst.weighed.contradiction)


def _states(evidence: PassageEvidence) -> bool:
    """Tell whether a passage states the claim by its words, facts and rules."""
    read = evidence.by_rule
    return read.support_level is SupportLevel.FULL and not read.contradicts


def sentences_of(claim: str) -> tuple[str, ...]:
    """Return the sentences of a claim that can be judged by themselves; the claim if it has one."""
    parts = claim_of(claim).parts
    return tuple(part.sentence.text for part in parts) if len(parts) > 1 else (claim,)


def headings_of(chunks: Sequence[Chunk]) -> list[str]:
    """Return the headings above the chunks, each once."""
    return list(dict.fromkeys(name for chunk in chunks for name in chunk.heading_path))


def _with_cells(
    readings: Sequence[Reading],
    finding: CellFinding,
    chunks: Sequence[Chunk],
    thresholds: JudgeThresholds,
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
