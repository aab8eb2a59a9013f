"""Published verifiers: how each one is asked, what its outputs mean, and in which pieces it reads.

Every value is the one of the project's own inference code, which docs/judges.md names: another
prompt, order of labels or length of evidence gives scores that the model was not trained for.
"""

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Literal

from msgspec import Struct

from affidavit.judge.huggingface_settings import LabelMeaning, Preset
from affidavit.ledger.model import Span
from affidavit.ledger.sentences import sentence_spans


class VerifierHead(StrEnum):
    """Which outputs of a network are the answer."""

    PAIR = "pair"
    """A classifier of two texts, evidence and claim."""
    TEXT = "text"
    """A classifier of one text that holds both."""
    ANSWER = "answer"
    """An encoder with a decoder, which begins its answer with one of two tokens."""
    LEADING = "leading"
    """A classifier of tokens, read at the first token of one text that holds both."""
    MARKING = "marking"
    """A classifier of tokens, which marks the tokens of the claim that the evidence lacks."""


PieceUnit = Literal["words", "words and signs", "tokens"]


class VerifierForm(Struct, frozen=True, kw_only=True):
    """How a model is asked.

    `prompt` may name `{evidence}`, `{claim}` and `{eos}`, the token that ends a text. `meanings`
    are those of the outputs, in order; empty if the names of the labels tell. With `piece_size` the
    whole evidence is read in pieces of whole sentences, and the piece that supports the claim most
    counts; without it, the evidence is read at once. `reads_window` limits it to the sentences that
    are closest to the claim.
    """

    head: VerifierHead
    prompt: str = "{evidence}"
    meanings: tuple[LabelMeaning, ...] = ()
    max_tokens: int = 512
    answer_tokens: tuple[int, ...] = ()
    piece_size: int | None = None
    piece_unit: PieceUnit = "words"
    piece_joint: str | None = None
    """What stands between two sentences of a piece; None keeps the text as it is."""
    reads_window: bool = False


_NO_YES: Final[tuple[LabelMeaning, ...]] = ("neither", "supports")

_NLI: Final = VerifierForm(head=VerifierHead.PAIR, reads_window=True)
_MINICHECK_T5: Final = VerifierForm(
    head=VerifierHead.ANSWER,
    prompt="predict: {evidence}{eos}{claim}",
    meanings=_NO_YES,
    max_tokens=2048,
    answer_tokens=(3, 209),
    piece_size=500,
)
_MINICHECK_ENCODER: Final = VerifierForm(
    head=VerifierHead.TEXT,
    prompt="{evidence}{eos}{claim}",
    meanings=_NO_YES,
    max_tokens=2048,
    piece_size=400,
    piece_unit="tokens",
)
_HHEM: Final = VerifierForm(
    head=VerifierHead.LEADING,
    prompt=(
        "<pad> Determine if the hypothesis is true given the premise?\n\n"
        "Premise: {evidence}\n\nHypothesis: {claim}"
    ),
    meanings=_NO_YES,
    # The model has no limit of its own; this one bounds the memory of a pair.
    max_tokens=8192,
)
_FACTCG: Final = VerifierForm(
    head=VerifierHead.TEXT,
    prompt=(
        "{evidence}\n\nChoose your answer: based on the paragraph above can we conclude that"
        ' "{claim}"?\n\nOPTIONS:\n- Yes\n- No\nI think the answer is '
    ),
    meanings=_NO_YES,
    max_tokens=2048,
    piece_size=550,
    piece_unit="words and signs",
    piece_joint="\n",
)
_LETTUCEDETECT: Final = VerifierForm(
    head=VerifierHead.MARKING,
    prompt="Summarize the following text:\npassage 1: {evidence}\noutput:",
    meanings=("supports", "neither"),
    max_tokens=4096,
)
_FORMS: Final[Mapping[Preset, VerifierForm]] = MappingProxyType(
    {
        "nli": _NLI,
        "minicheck": _MINICHECK_ENCODER,
        "hhem": _HHEM,
        "factcg": _FACTCG,
        "lettucedetect": _LETTUCEDETECT,
    }
)


def verifier_form(preset: Preset, model_type: str) -> VerifierForm:
    """Return the form of a preset. MiniCheck has two, told apart by the type of the model."""
    if preset == "minicheck" and model_type == "t5":
        return _MINICHECK_T5
    return _FORMS[preset]


class EvidencePiece(Struct, frozen=True):
    """A part of the evidence as the model reads it, and its place."""

    text: str
    span: Span


_WORD: Final = re.compile(r"\S+")
_WORD_OR_SIGN: Final = re.compile(r"\w+|[^\w\s]")


def evidence_pieces(
    text: str, form: VerifierForm, count_tokens: Callable[[str], int]
) -> tuple[EvidencePiece, ...]:
    """Return the pieces of a text: as many whole sentences as fit, at least one."""
    sentences = sentence_spans(text)
    if form.piece_size is None or not sentences:
        return (EvidencePiece(text, Span(0, len(text))),)
    groups: list[list[Span]] = [[]]
    filled = 0
    for sentence in sentences:
        length = _length(text[sentence.start : sentence.end], form.piece_unit, count_tokens)
        if groups[-1] and filled + length > form.piece_size:
            groups.append([])
            filled = 0
        groups[-1].append(sentence)
        filled += length
    return tuple(_piece(text, group, form.piece_joint) for group in groups)


def _length(sentence: str, unit: PieceUnit, count_tokens: Callable[[str], int]) -> int:
    if unit == "tokens":
        return count_tokens(sentence)
    return len((_WORD if unit == "words" else _WORD_OR_SIGN).findall(sentence))


def _piece(text: str, sentences: list[Span], joint: str | None) -> EvidencePiece:
    span = Span(sentences[0].start, sentences[-1].end)
    if joint is None:
        return EvidencePiece(text[span.start : span.end], span)
    return EvidencePiece(joint.join(text[each.start : each.end] for each in sentences), span)
