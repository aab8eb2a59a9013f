"""From a model's reply to a reading: nothing counts that the passage does not hold.

A model is believed as far as it can be checked. Its quote must stand in the passage, letter for
letter but for white space; its verdict must agree with its own score. What fails is kept as a
reading that neither supports nor contradicts, with a note that says why.
"""

import re
from typing import Final

from affidavit.base.places import excerpt
from affidavit.judge.chat.reply import ReplyV1, Understood, Unreadable
from affidavit.ledger.model import Chunk, Reading, Span, SupportLevel

_SURE_FROM: Final = 0.5
_LEAST_QUOTE: Final = 8  # Letters; fewer are evidence only as two words ("15 days").
_LONGEST_REASON: Final = 300
_LEVELS: Final = {"supported": SupportLevel.FULL, "weak": SupportLevel.PARTIAL}


def locate_quote(quote: str, passage: str) -> Span | None:
    """Return where a quote first stands in a passage; runs of white space count as equal."""
    words = quote.split()
    if not words:
        return None
    match = re.search(r"\s+".join(map(re.escape, words)), passage)
    return None if match is None else Span(*match.span())


def reading_from(outcome: Understood | Unreadable, chunk: Chunk, remark: str | None) -> Reading:
    """Return what a reply means for a chunk. `remark` says how it came about, if not as usual."""
    if isinstance(outcome, Unreadable):
        problem = f"the model's reply could not be read and counts as nothing: {outcome.problem}"
        return _nothing(chunk, _joined(problem, remark), (("unreadable", 1.0),))
    reply = outcome.reply
    span = locate_quote(reply.quote, chunk.text)
    objection = _objection(reply, span)
    # As the model said them; what counts is below, and is nothing where no quote holds.
    scores = (("said_contradiction", reply.contradiction), ("said_support", reply.support))
    if objection is not None:
        notes = f"the model said {reply.verdict}, which counts as nothing: {objection}"
        return _nothing(chunk, _joined(notes, outcome.repair, remark), (("refused", 1.0), *scores))
    said = f"the model says: {excerpt(' '.join(reply.reason.split()), _LONGEST_REASON)}"
    notes = _joined(said, outcome.repair, remark)
    if span is None:
        return _nothing(chunk, notes, scores)
    return Reading(
        chunk_id=chunk.id,
        support_level=_LEVELS.get(reply.verdict, SupportLevel.NONE),
        contradicts=reply.verdict == "contradicted",
        similarity=round(reply.support, 4),
        contradiction=round(reply.contradiction, 4),
        directness=0.5 if reply.verdict == "weak" else 1.0,
        snippet=chunk.text[span.start : span.end],
        snippet_span=span,
        notes=notes,
        scores=scores,
    )


def _objection(reply: ReplyV1, span: Span | None) -> str | None:
    """Return why a verdict cannot be believed, if so. Not telling needs no evidence."""
    if reply.verdict == "not_found":
        return None if max(reply.support, reply.contradiction) < _SURE_FROM else _at_odds(reply)
    quote = reply.quote.split()
    if not quote:
        return "it quotes nothing"
    if span is None:
        return "its quote does not stand in the passage"
    if len(quote) < 2 and len(quote[0]) < _LEAST_QUOTE:
        return "its quote is too short to be evidence"
    own, other = reply.support, reply.contradiction
    if reply.verdict == "contradicted":
        own, other = other, own
    if own < _SURE_FROM or other >= own:
        return _at_odds(reply)
    return None


def _at_odds(reply: ReplyV1) -> str:
    return f"its scores say otherwise ({reply.support:g} for, {reply.contradiction:g} against)"


def _nothing(chunk: Chunk, notes: str, scores: tuple[tuple[str, float], ...]) -> Reading:
    return Reading(
        chunk_id=chunk.id,
        support_level=SupportLevel.NONE,
        contradicts=False,
        similarity=0.0,
        contradiction=0.0,
        directness=0.0,
        snippet="",
        snippet_span=Span(0, 0),
        notes=notes,
        scores=scores,
    )


def _joined(*notes: str | None) -> str:
    return "; ".join(note for note in notes if note)
