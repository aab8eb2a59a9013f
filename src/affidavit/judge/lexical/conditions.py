"""Conditions of the source that a claim leaves out: "subject to", "if", "at the discretion of"."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from affidavit.judge.lexical.links import Link
from affidavit.judge.lexical.passages import Sentence
from affidavit.judge.lexical.tables import cues, listed

_CUES: Final = tuple(tuple(phrase.split()) for phrase in listed("conditions"))
_CUES_BY_FIRST: Final = {
    first: tuple(sorted((cue for cue in _CUES if cue[0] == first), key=len, reverse=True))
    for first in {cue[0] for cue in _CUES}
}
_CONDITIONAL_WORDS: Final = cues("conditional-words")
_ENDS: Final = cues("condition-ends")
_NO_CONDITION: Final = cues("whether")
_REACH: Final = 25


class Condition(NamedTuple):
    """A condition in a sentence: its cue's tokens, and the tokens that state it."""

    cue: range
    body: range


def conditions_of(sentence: Sentence) -> tuple[Condition, ...]:
    """Return the conditions that a sentence states."""
    found: list[Condition] = []
    norms = [token.word.norm for token in sentence.tokens]
    at = 0
    while at < len(norms):
        cue = next(
            (c for c in _CUES_BY_FIRST.get(norms[at], ()) if tuple(norms[at : at + len(c)]) == c),
            None,
        )
        if cue is None or _is_whether(norms, at):
            at += 1
            continue
        end = at + len(cue)
        stop = end
        while stop < len(norms) and stop - end < _REACH and norms[stop] not in _ENDS:
            stop += 1
        found.append(Condition(range(at, end), range(end, stop)))
        at = stop
    return tuple(found)


def _is_whether(norms: Sequence[str], at: int) -> bool:
    """Leave out "asked if", "as if", "even if", "what if": they state no condition."""
    return norms[at] == "if" and at > 0 and norms[at - 1] in _NO_CONDITION


def dropped_condition(
    claim: Sentence, evidence: Sentence, links: Sequence[Link]
) -> Condition | None:
    """Return the first condition of the source that the claim neither repeats nor replaces."""
    found = conditions_of(evidence)
    if not found or any(token.word.norm in _CONDITIONAL_WORDS for token in claim.tokens):
        return None
    linked = {link.evidence for link in links}
    for condition in found:
        words = [at for at in condition.body if evidence.tokens[at].word.weight > 0]
        total = sum(evidence.tokens[at].word.weight for at in words)
        kept = sum(evidence.tokens[at].word.weight for at in words if at in linked)
        outside = any(link.evidence not in condition.body for link in links)
        if outside and kept < 0.5 * total:
            return condition
    return None
