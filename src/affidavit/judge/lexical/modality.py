"""How strongly a sentence binds: must, should, may, will, or plainly so.

A claim that binds more strongly than its source, or much less, is supported in part at best.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from itertools import product
from types import MappingProxyType
from typing import Final, NamedTuple

from affidavit.judge.lexical.clauses import clause_around
from affidavit.judge.lexical.links import Link
from affidavit.judge.lexical.passages import Sentence
from affidavit.judge.lexical.tables import listed
from affidavit.judge.lexical.tokens import Token


class Mode(StrEnum):
    """The strength of an assertion."""

    MUST = "must"
    SHOULD = "should"
    MAY = "may"
    """May be so."""
    CAN = "can"
    """Is possible or allowed."""
    WILL = "will"
    SHALL = "shall"
    """Must in rules, will in contracts: it agrees with both."""


class Modal(NamedTuple):
    """A word that sets the mode, its token, and the first content word that it governs."""

    mode: Mode
    at: int
    focus: int
    is_verb: bool


class ModeGap(NamedTuple):
    """Claim and source bind differently: the words that say so, None where one says it plainly."""

    claim_at: int | None
    evidence_at: int | None
    is_stronger: bool


_VERBS: Final = {
    "must": Mode.MUST, "shall": Mode.SHALL, "should": Mode.SHOULD, "ought": Mode.SHOULD,
    "may": Mode.MAY, "might": Mode.MAY, "could": Mode.MAY, "can": Mode.CAN,
    "cannot": Mode.CAN, "can't": Mode.CAN, "couldn't": Mode.MAY, "mustn't": Mode.MUST,
    "shouldn't": Mode.SHOULD, "won't": Mode.WILL, "will": Mode.WILL, "would": Mode.WILL,
    "wouldn't": Mode.WILL,
}  # fmt: skip
_BEFORE_TO: Final = {
    "have": Mode.MUST, "has": Mode.MUST, "had": Mode.MUST, "need": Mode.MUST, "needs": Mode.MUST,
}  # fmt: skip
_OTHERS: Final = {
    word: mode
    for mode in (Mode.MUST, Mode.SHOULD, Mode.MAY, Mode.CAN)
    for word in listed(f"mode-{mode}")
}
# (claim, source) pairs where the claim says too much, and where it says too little.
_BINDING: Final = (Mode.MUST, Mode.SHALL, Mode.SHOULD, Mode.WILL, None)
_OPEN: Final = (Mode.MAY, Mode.CAN)
_TOO_STRONG: Final = frozenset(product(_BINDING, _OPEN)) | {
    (Mode.MUST, Mode.SHOULD), (Mode.SHALL, Mode.SHOULD), (Mode.WILL, Mode.SHOULD),
    (None, Mode.SHOULD), (Mode.MUST, Mode.WILL),
}  # fmt: skip
# "Can" for a plain statement says no less: what is so is possible.
_TOO_WEAK: Final = frozenset(product(_OPEN, _BINDING[:-1])) | {
    (Mode.MAY, None), (Mode.SHOULD, Mode.MUST), (Mode.SHOULD, Mode.SHALL), (Mode.SHOULD, Mode.WILL),
}  # fmt: skip
_REACH: Final = 8


@lru_cache(maxsize=4096)
def modals_of(sentence: Sentence) -> tuple[Modal, ...]:
    """Return the modal words of a sentence."""
    found = []
    for at in range(len(sentence.tokens)):
        mode = _verb_mode(sentence.tokens, at)
        if mode:
            found.append(Modal(mode, at, _focus(sentence, at, step=1), is_verb=True))
            continue
        mode = _OTHERS.get(sentence.tokens[at].word.norm)
        if mode:
            # "Registration is required": what is so stands before.
            found.append(Modal(mode, at, _focus(sentence, at, step=-1), is_verb=False))
    return tuple(found)


def _verb_mode(tokens: Sequence[Token], at: int) -> Mode | None:
    norm = tokens[at].word.norm
    if norm in _BEFORE_TO:
        is_duty = at + 1 < len(tokens) and tokens[at + 1].word.norm == "to"
        return _BEFORE_TO[norm] if is_duty else None
    is_month = tokens[at].text == "May" and at > 0
    return None if is_month else _VERBS.get(norm)


def _focus(sentence: Sentence, at: int, step: int) -> int:
    place = at + step
    while 0 <= place < len(sentence.tokens) and abs(place - at) <= _REACH:
        word = sentence.tokens[place].word
        if word.norm in (".", ";"):
            break
        if word.weight > 0:
            return place
        place += step
    return at


@lru_cache(maxsize=4096)
def _governed(sentence: Sentence) -> Mapping[int, Modal]:
    """Return the modal that governs each token: the last verb before it, else an adjective."""
    governed: dict[int, Modal] = {}
    for modal in modals_of(sentence):
        clause = clause_around(sentence.tokens, modal.at)
        if modal.is_verb:
            governed.update((place, modal) for place in range(modal.at, clause.stop))
        else:
            for place in clause:
                governed.setdefault(place, modal)
    return MappingProxyType(governed)


def find_mode_gap(claim: Sentence, evidence: Sentence, links: Sequence[Link]) -> ModeGap | None:
    """Return where claim and source bind differently, judged on the words that a modal aims at."""
    mine = {modal.focus for modal in modals_of(claim)}
    other = {modal.focus for modal in modals_of(evidence)}
    gaps = [
        gap
        for link in links
        if link.claim in mine or link.evidence in other
        for gap in (_gap(_governed(claim).get(link.claim), _governed(evidence).get(link.evidence)),)
        if gap
    ]
    return max(gaps, key=lambda gap: gap.is_stronger, default=None)


def _gap(ours: Modal | None, theirs: Modal | None) -> ModeGap | None:
    modes = (ours.mode if ours else None, theirs.mode if theirs else None)
    if modes not in _TOO_STRONG and modes not in _TOO_WEAK:
        return None
    return ModeGap(ours.at if ours else None, theirs.at if theirs else None, modes in _TOO_STRONG)
