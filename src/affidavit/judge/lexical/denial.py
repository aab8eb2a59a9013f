"""Whether claim and source deny the same things."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from affidavit.judge.lexical.clauses import clause_around
from affidavit.judge.lexical.lexicon import are_opposites
from affidavit.judge.lexical.links import Link
from affidavit.judge.lexical.passages import Sentence
from affidavit.judge.lexical.polarity import Negation, denied_by, negations_of
from affidavit.judge.lexical.tables import cues


class DenialGap(NamedTuple):
    """A negation that only one side has: its cue in the claim or in the source."""

    claim_cue: int | None
    evidence_cue: int | None
    share: float
    """The weighted share of the linked words on which the two sides differ."""


_NEARLY_ALL: Final = 0.8
_NEGATIVE: Final = cues("negative-words")


def find_denial_gap(
    claim: Sentence, evidence: Sentence, links: Sequence[Link], weight_of: Mapping[int, float]
) -> DenialGap | None:
    """Return the negation that one side has and the other lacks, on words that both share."""
    ours, theirs = _unmet_negations(
        _unspent(claim, {link.claim: evidence.words[link.evidence].stem for link in links}),
        _unspent(evidence, {link.evidence: claim.words[link.claim].stem for link in links}),
        links,
    )
    if not links or (not ours and not theirs):
        return None
    mine, other = denied_by(ours), denied_by(theirs)
    differing = [link for link in links if (link.claim in mine) != (link.evidence in other)]
    total = sum(weight_of[link.claim] for link in links)
    if not differing:
        close = total >= _NEARLY_ALL * sum(weight_of.values())
        if not close:
            return None
        return _empty_denial(
            [n for n in ours if _is_about(claim, n, {link.claim for link in links})],
            [n for n in theirs if _is_about(evidence, n, {link.evidence for link in links})],
        )
    share = sum(weight_of[link.claim] for link in differing) / total if total else 0.0
    claim_cue = _aimed(ours, {link.claim for link in differing})
    evidence_cue = _aimed(theirs, {link.evidence for link in differing})
    if claim_cue is None and evidence_cue is None:
        if share < _NEARLY_ALL:
            return None
        claim_cue = ours[0].cue if ours else None
        evidence_cue = theirs[0].cue if theirs and not ours else None
    if _cancels(claim, claim_cue, evidence) or _cancels(evidence, evidence_cue, claim):
        return None
    return DenialGap(claim_cue, evidence_cue, share)


def _unspent(sentence: Sentence, met_by: Mapping[int, str]) -> tuple[Negation, ...]:
    """Leave out a negative word inside a phrase that the other side puts into another word.

    "At no charge" is "free": no denial is left over.
    """
    return tuple(
        negation
        for negation in negations_of(sentence)
        if negation.is_ban
        or not any(
            at in met_by and met_by[at] != sentence.words[at].stem
            for at in _phrase_around(sentence, negation.cue)
        )
    )


def _phrase_around(sentence: Sentence, cue: int) -> Iterator[int]:
    groups = sentence.more_keys.get(cue, frozenset())
    for at in range(cue - 1, cue + 3):
        if not groups.isdisjoint(sentence.more_keys.get(at, ())):
            yield at


def _unmet_negations(
    ours: Sequence[Negation], theirs: Sequence[Negation], links: Sequence[Link]
) -> tuple[tuple[Negation, ...], tuple[Negation, ...]]:
    """Return the negations of both sides without those that meet on a shared word.

    "Found no errors" and "did not find any errors" deny the same, though not word by word.
    """
    left, right = list(ours), list(theirs)
    aims = {(link.claim, link.evidence) for link in links}
    for mine in ours:
        meeting = [
            other
            for other in right
            if any(link.claim in mine.reach and link.evidence in other.reach for link in links)
        ]
        if meeting:
            left.remove(mine)
            # Of several the one with the same aim: "not destroyed despite no scoring".
            right.remove(max(meeting, key=lambda other: (mine.focus, other.focus) in aims))
    return tuple(left), tuple(right)


def _empty_denial(ours: Sequence[Negation], theirs: Sequence[Negation]) -> DenialGap | None:
    """Return a negation that reaches no content word, "It is not over", against none at all."""
    for negation in ours if not theirs else theirs if not ours else ():
        if negation.focus == negation.cue and not negation.is_ban:
            mine, other = (negation.cue, None) if ours else (None, negation.cue)
            return DenialGap(mine, other, 1.0)
    return None


def _is_about(sentence: Sentence, negation: Negation, linked: set[int]) -> bool:
    """Say whether a negation speaks of what both share: in "but drinks are not", of drinks."""
    clause = clause_around(sentence.tokens, negation.cue)
    words = {at for at in clause if sentence.words[at].weight > 0}
    return not words or not words.isdisjoint(linked)


def _aimed(negations: Sequence[Negation], places: set[int]) -> int | None:
    """Return the cue of the first negation whose aim is among the places."""
    for negation in negations:
        aimed = negation.focus in places
        if aimed or (negation.is_ban and len(places.intersection(negation.reach)) >= 2):
            return negation.cue
    return None


def _cancels(sentence: Sentence, cue: int | None, other: Sentence) -> bool:
    """Say whether the other side denies in its own words: "not accept", "reject"; "avoided"."""
    if cue is None:
        return False
    if any(word.norm in _NEGATIVE for word in other.words):
        return True
    reached = [word for word in sentence.words[cue + 1 : cue + 6] if word.weight > 0]
    return any(are_opposites(word.stem, there.stem) for word in reached for there in other.words)
