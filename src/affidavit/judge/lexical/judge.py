"""The lexical judge: deterministic, explainable, and blind to what words alone cannot tell."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from affidavit.judge.lexical.claims import ClaimText, claim_of
from affidavit.judge.lexical.decide import NOTHING_SHARED, PassageDecision, decide
from affidavit.judge.lexical.examine import examine_part
from affidavit.judge.lexical.features import WORD_FOR_WORD, Features, features_of, heading_keys
from affidavit.judge.lexical.passages import Passage, passage_of
from affidavit.judge.lexical.tables import tables_digest
from affidavit.judge.protocol import require_claim
from affidavit.ledger.model import Chunk, JudgeIdentity, Reading, Span, SupportLevel

VERSION: Final = "1"
_MARGIN: Final = 0.1  # A statement that shares so much less of the claim does not contradict it.
_NO_WORDS: Final = replace(NOTHING_SHARED, note="the claim has no word that could be checked")
_VERBATIM: Final = PassageDecision(
    SupportLevel.FULL, False, 1.0, 1.0, 0.0, 1.0, 0, "the claim is a sentence of the source", 1.0
)
_ABOUT_SOURCE: Final = replace(
    NOTHING_SHARED, note="the claim speaks of what the source leaves out, which words cannot show"
)


class LexicalJudge:
    """Reads chunks by words, numbers, dates, negations and names alone."""

    reads_english_only: Final = True

    @property
    def identity(self) -> JudgeIdentity:
        """Name, version of the rules, and the digest of the tables."""
        return JudgeIdentity("lexical", VERSION, f"sha256:{tables_digest()}", rederivable=True)

    def read(self, claim: str, chunks: Sequence[Chunk]) -> tuple[Reading, ...]:
        """Return one reading per chunk, in the order of the chunks."""
        require_claim(claim)
        ready = claim_of(claim)
        found = [_decide_chunk(ready, chunk) for chunk in chunks]
        supporting = [
            one.decision.closeness for one in found if one.decision.level is SupportLevel.FULL
        ]
        return tuple(_reading(one, _settled(one, supporting)) for one in found)


@dataclass(frozen=True, slots=True)
class _Decided:
    """A chunk, what was decided on it alone, and the place of the deciding sentence."""

    chunk: Chunk
    decision: PassageDecision
    features: Features
    span: Span


def _decide_chunk(claim: ClaimText, chunk: Chunk) -> _Decided:
    # A long text is not remembered: it is made ready once, and its spans are taken here.
    passage = passage_of(chunk.text)
    decision, features = _decide_passage(claim, chunk, passage)
    span = Span(0, 0)
    if decision.sentence is not None:
        sentence = passage.sentences[decision.sentence]
        span = Span(sentence.start, sentence.end)
    return _Decided(chunk, decision, features, span)


def _decide_passage(
    claim: ClaimText, chunk: Chunk, passage: Passage
) -> tuple[PassageDecision, Features]:
    verbatim = passage.spelled.get(claim.spelling) if claim.spelling else None
    if verbatim is not None:
        return replace(_VERBATIM, sentence=verbatim), WORD_FOR_WORD
    if not claim.parts:
        return _NO_WORDS, Features()
    heading = heading_keys(" \u2013 ".join(chunk.heading_path))
    examined = [examine_part(part, passage, heading) for part in claim.parts]
    features = features_of(examined)
    return (_ABOUT_SOURCE if claim.is_about_source else decide(examined, passage)), features


def _settled(found: _Decided, supporting: Sequence[float]) -> PassageDecision:
    """Let the closest statement win.

    A passage that conflicts with the claim contradicts it, whatever others say, unless it is about
    something else: unless another passage states the claim and has more of its words.
    """
    decision = found.decision
    if not decision.contradicts:
        return decision
    if max(supporting, default=0.0) <= decision.closeness + _MARGIN:
        return decision
    note = f"another passage states the claim; here {decision.note}"
    return replace(decision, contradicts=False, contradiction=decision.contradiction / 2, note=note)


def _reading(found: _Decided, decision: PassageDecision) -> Reading:
    chunk, span = found.chunk, found.span
    scores = (*found.features.as_pairs(), ("support", round(decision.support, 4)))
    return Reading(
        chunk_id=chunk.id,
        support_level=decision.level,
        contradicts=decision.contradicts,
        similarity=round(decision.similarity, 4),
        contradiction=round(decision.contradiction, 4),
        directness=round(decision.directness, 4),
        snippet=chunk.text[span.start : span.end],
        snippet_span=span,
        notes=decision.note,
        scores=tuple(sorted(scores)),
    )
