""" "Only administrators can": what a source that names the few says of all the others."""

from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple

from affidavit.judge.lexical.claims import Part
from affidavit.judge.lexical.clauses import HARD_ENDS, clause_around
from affidavit.judge.lexical.lexicon import Kind, Lexeme, opposites_of
from affidavit.judge.lexical.links import Link
from affidavit.judge.lexical.passages import Sentence
from affidavit.judge.lexical.polarity import negations_of
from affidavit.judge.lexical.stemming import stem
from affidavit.judge.lexical.tables import cues
from affidavit.judge.lexical.tokens import norm_at


class Exclusive(NamedTuple):
    """Those who alone may: the tokens of "only", of who it is, and of the whole clause."""

    cue: range
    few: frozenset[int]
    clause: range


class Stance(StrEnum):
    """What a claim says of the others, whom the source shuts out."""

    DENIES = "others denied by name"
    """ "Non-members may not": the source says so."""
    GRANTS = "others granted"
    """ "Non-members may", "everyone may": the source says the opposite."""
    APART = "somebody else"
    """Somebody of whom the source does not say whether he is one of the few."""


class Exclusion(NamedTuple):
    """An "only" of the source, with those whom it names, and who the others are in the claim."""

    said: range
    stance: Stance
    others: frozenset[int]


_OPENS: Final = HARD_ENDS | {",", "and", "that", "then", "|"}
_THROUGH: Final = cues("through-names")
_NOT_SUBJECTS: Final = cues("not-subjects")
_NOBODY: Final = frozenset({"nobody", "none"})
_EXCEPT: Final = frozenset({"but", "except"})
_ALL: Final = cues("quantity-all")
_MOST_WORDS: Final = 4
_SAME_MATTER: Final = 0.5


@lru_cache(maxsize=4096)
def exclusive_of(sentence: Sentence) -> Exclusive | None:
    """Return the first "only X", "nobody but X" that opens a clause."""
    for at in range(len(sentence.words)):
        end = _cue_end(sentence, at)
        few = _few(sentence, end) if end > at else ()
        if few:
            return Exclusive(range(at, end), frozenset(few), clause_around(sentence.tokens, end))
    return None


def _cue_end(sentence: Sentence, at: int) -> int:
    """Return where "only" or "no one but" at `at` ends; `at` itself if there is none."""
    norms = [norm_at(sentence.tokens, at + step) for step in range(3)]
    if at and sentence.words[at - 1].norm not in _OPENS:
        return at
    if norms[0] == "only" and norms[1] not in _NOT_SUBJECTS:
        return at + 1
    if norms[0] in _NOBODY and norms[1] in _EXCEPT:
        return at + 2
    return at + 3 if norms[:2] == ["no", "one"] and norms[2] in _EXCEPT else at


def _few(sentence: Sentence, start: int) -> tuple[int, ...]:
    found: list[int] = []
    for place in range(start, len(sentence.words)):
        word = sentence.words[place]
        if word.kind is Kind.NUMBER or (word.weight == 0 and word.norm not in _THROUGH):
            return tuple(found)
        if word.weight > 0:
            found.append(place)
        if len(found) > _MOST_WORDS:
            break
    # No small verb closes the subject: "Only administrators delete projects".
    return tuple(found[:1])


def find_exclusion(part: Part, sentence: Sentence, links: Sequence[Link]) -> Exclusion | None:
    """Return what the claim says of those whom an "only" of the source shuts out."""
    source = exclusive_of(sentence)
    if not source or exclusive_of(part.sentence):
        return None
    said = range(source.cue.start, max(source.few) + 1)
    of_few = {link.claim for link in links if link.evidence in source.few}
    stems = frozenset(sentence.words[at].stem for at in source.few)
    named = {at for at in part.words if _is_other(part.sentence.words[at], stems)}
    if not _is_same_matter(part, source, links, named | of_few):
        return None
    denied = [n for n in negations_of(part.sentence) if n.focus not in of_few]
    outside = {n.focus for n in negations_of(part.sentence) if n.focus in of_few}
    if named or (outside and denied):
        stance = Stance.DENIES if denied else Stance.GRANTS
        return Exclusion(said, stance, frozenset(named))
    of_all = _speaks_of_all(part.sentence, links)
    if of_few and (not of_all or len(of_few) == len(source.few)):
        return None
    grants = not denied and of_all
    first = min(link.claim for link in links)
    others = frozenset(at for at in part.words if at < first)
    return Exclusion(said, Stance.GRANTS if grants else Stance.APART, others)


def _is_same_matter(
    part: Part, source: Exclusive, links: Sequence[Link], subject: set[int]
) -> bool:
    """Say whether the clause of the "only" has most of what the claim says of its subject."""
    total = sum(part.weight(at) for at in part.words if at not in subject)
    met = sum(
        part.weight(link.claim)
        for link in links
        if link.evidence in source.clause and link.claim not in subject
    )
    return met > 0 and met >= _SAME_MATTER * total


def _is_other(word: Lexeme, few: frozenset[str]) -> bool:
    """Say whether a word names those who are not of the few: "non-members", "unregistered"."""
    rests = {stem(word.norm.removeprefix(prefix)) for prefix in ("non", "un")} - {word.stem}
    return not few.isdisjoint(rests | opposites_of(word.stem))


def _speaks_of_all(claim: Sentence, links: Sequence[Link]) -> bool:
    """Say whether the claim's subject is everyone: "any user", "all staff"."""
    first = min(link.claim for link in links)
    return any(word.norm in _ALL for word in claim.words[: first + 1])
