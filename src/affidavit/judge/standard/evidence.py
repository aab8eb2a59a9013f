"""What one passage shows of one sentence of a claim: words, rules, and the encoder's answer."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from msgspec import Struct, structs

from affidavit.judge.encoder import Encoder, EncoderReading, Entailment
from affidavit.judge.lexical.judge import LexicalJudge
from affidavit.judge.standard.combiner import Weighed, logit
from affidavit.judge.standard.language import FOREIGN_SCORE, repeats, unknown_words
from affidavit.judge.standard.language import NOTE as FOREIGN_NOTE
from affidavit.judge.standard.language import TOO_MANY as TOO_MANY_FOREIGN
from affidavit.judge.standard.restate import lacks_figure, restated
from affidavit.judge.standard.windows import (
    EvidenceWindow,
    content_words,
    narrow_window,
    pieces_of,
    run_recall,
    share_of,
    tight_window,
    wide_window,
)
from affidavit.ledger.model import Chunk, Reading, Span

NOT_IN_PASSAGE_MOST: Final = 3
_SAYS: Final = 0.5
_GAPS: Final = ("condition", "mode_stronger", "quantifier")
"""Rules whose finding a note states: what the source says more exactly than the claim."""


class PassageEvidence(Struct, frozen=True, kw_only=True):
    """A passage read for a sentence of a claim."""

    sentence: str
    passage: str
    by_rule: Reading
    scores: Mapping[str, float]
    tight: EvidenceWindow
    narrow: EvidenceWindow
    relevance: float
    """How much of the claim's words the passage has."""
    weighed: Weighed = Weighed(0.0, 0.0)
    encoder: Entailment | None = None
    beside: str = ""
    """What was read of a second passage together with this one."""


def evidence_by_words(sentence: str, chunk: Chunk) -> PassageEvidence:
    """Return what words and rules show."""
    (by_rule,) = LexicalJudge().read(sentence, (chunk,))
    context = (sentence, chunk.text, heading_above(chunk))
    recall_wide = round(wide_window(*context).recall, 4)
    scores = dict(by_rule.scores)
    scores["words"] = scores.pop("support")
    around = "\n".join((*chunk.heading_path, chunk.text))
    # The rules know the figures that are written in another way: "ten", "$5 million".
    lacks = scores["facts_missing"] > 0 and lacks_figure(sentence, around)
    scores["figure_missing"] = float(lacks)
    is_same = not scores["facts_missing"] and restated(sentence, chunk.text) != sentence
    scores["amounts_restated"] = float(is_same)
    scores["recall_run"] = round(run_recall(*context), 4)
    scores["recall_wide"] = recall_wide
    scores["rule_contradiction"] = by_rule.contradiction if by_rule.contradicts else 0.0
    scores[FOREIGN_SCORE] = 0.0 if repeats(sentence, by_rule.snippet) else unknown_words(sentence)
    return PassageEvidence(
        sentence=sentence,
        passage=chunk.text,
        by_rule=by_rule,
        scores=scores,
        tight=tight_window(*context),
        narrow=narrow_window(*context),
        relevance=recall_wide,
    )


def heading_above(chunk: Chunk) -> str:
    """Return the nearest heading of a passage that does not begin with it."""
    heading = chunk.heading_path[-1] if chunk.heading_path else ""
    return "" if heading in chunk.text else heading


def read_window(
    evidence: PassageEvidence, window: EvidenceWindow, encoder: Encoder
) -> EncoderReading:
    """Ask the encoder about one window of the passage."""
    return _answer_of(encoder, window.text, restated(evidence.sentence, evidence.passage))


@lru_cache(maxsize=1024)
def _answer_of(encoder: Encoder, window: str, claim: str) -> EncoderReading:
    # Passages overlap, and a cited passage is read once more by itself: with the same windows.
    return encoder.read(window, claim)


def with_answers(
    evidence: PassageEvidence, tight: EncoderReading, narrow: EncoderReading
) -> PassageEvidence:
    """Return the evidence with the encoder's answers about both windows."""
    return structs.replace(
        evidence,
        scores={**evidence.scores, **scores_of_readings(tight, narrow)},
        encoder=max(tight.claim, narrow.claim, key=lambda each: each.entails),
    )


def scores_of_readings(tight: EncoderReading, narrow: EncoderReading) -> dict[str, float]:
    """Return the encoder's answers as scores: logits for the sums, plain shares for the limits."""
    return {
        "entails": logit(narrow.claim.entails),
        "entails_tight": logit(tight.claim.entails),
        "contradicts": logit(max(tight.claim.contradicts, narrow.claim.contradicts)),
        "edited": 1 - max(tight.edit.entails, narrow.edit.entails),
    }


def has_gap(evidence: PassageEvidence) -> bool:
    """Tell whether the passage says more exactly what the claim says, such as with a condition."""
    return any(evidence.scores[name] >= _SAYS for name in _GAPS)


def gain_beside(first: PassageEvidence, second: PassageEvidence) -> float:
    """Return the share of the sentence's words that only the second passage's window has."""
    words = frozenset(content_words(first.sentence))
    there = content_words(first.tight.text)
    both = [*there, *content_words(second.tight.text)]
    return round(share_of(words, both) - share_of(words, there), 4)


def read_together(
    first: PassageEvidence, second: PassageEvidence, encoder: Encoder
) -> PassageEvidence:
    """Return the first passage's evidence with what its window and another's show together."""
    text = f"{first.tight.text}\n{second.tight.text}"
    joint = evidence_by_words(first.sentence, text_as_chunk(text))
    tight = read_window(joint, joint.tight, encoder)
    is_more = joint.narrow.text != joint.tight.text
    narrow = read_window(joint, joint.narrow, encoder) if is_more else tight
    joint = with_answers(joint, tight, narrow)
    return structs.replace(
        first, scores=joint.scores, encoder=joint.encoder, beside=second.tight.text
    )


def text_as_chunk(text: str) -> Chunk:
    """Return a text as the one passage of a source."""
    return Chunk(
        id="joint",
        hash="0" * 8,
        document_id="joint",
        index=0,
        text=text,
        span=Span(0, len(text)),
        page_number=None,
        heading_path=(),
    )


def note_of(evidence: PassageEvidence) -> str:
    """Say what decided. Every quotation is in the claim or in the passage, letter for letter."""
    notes = []
    if evidence.by_rule.contradicts or has_gap(evidence):
        notes.append(evidence.by_rule.notes)
    if evidence.encoder is not None:
        notes.append(_encoder_note(evidence.encoder))
    if evidence.scores[FOREIGN_SCORE] >= TOO_MANY_FOREIGN:
        notes.append(FOREIGN_NOTE)
    if evidence.beside:
        notes.append(f'read together with "{evidence.beside}"')
    missing = words_not_in(evidence.sentence, f"{evidence.passage}\n{evidence.beside}")
    if missing and not evidence.by_rule.contradicts:
        notes.append("not in the passage: " + ", ".join(f'"{word}"' for word in missing))
    return "; ".join(notes) or "the passage has the words of the claim"


def _encoder_note(read: Entailment) -> str:
    if read.entails >= _SAYS:
        return f"the encoder reads the passage as saying so ({read.entails:.2f})"
    if read.contradicts >= _SAYS:
        return f"the encoder reads the passage as saying otherwise ({read.contradicts:.2f})"
    return f"the encoder finds the claim left open ({read.neutral:.2f})"


def words_not_in(claim: str, passage: str) -> list[str]:
    """Return the first words of the claim that the passage does not have, by a literal search.

    A word counts as there if its stem is, or if its letters stand anywhere in the passage.
    """
    there, plain = _searched(passage)
    words = [word.strip(".,;:!?\"'()[]\u201c\u201d\u2018\u2019") for word in claim.split()]
    missing = [
        word
        for word in dict.fromkeys(words)
        if word
        and word.casefold() not in plain
        and any(each not in there for each in content_words(word))
    ]
    return missing[:NOT_IN_PASSAGE_MOST]


@lru_cache(maxsize=64)
def _searched(passage: str) -> tuple[frozenset[str], str]:
    return frozenset(content_words(passage)), passage.casefold()


def deciding_span(evidence: PassageEvidence) -> Span:
    """Return the place of the sentence that decided: the rule's, or the one with most words."""
    if evidence.by_rule.contradicts:
        return evidence.by_rule.snippet_span
    words = frozenset(content_words(evidence.sentence))
    pieces = evidence.narrow.pieces or pieces_of(evidence.passage)[:1]
    best = max(pieces, key=lambda piece: round(share_of(words, piece.words), 9), default=None)
    return Span(best.start, best.end) if best else Span(0, 0)
