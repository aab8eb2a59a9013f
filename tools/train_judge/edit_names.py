"""Edits of who and what: the swapped-in name, role or attribute stands in the same window.

A reader who only checks that every word of the claim occurs in the source is fooled by these.
"""

import re

from numpy.random import Generator

from tools.train_judge.edit_values import MONTHS, pick
from tools.train_judge.windows import sentences
from tools.train_judge.word_lists import words

_PART = r"[A-Z][\w'\u2019&.-]*[\w]"
_NAME = re.compile(rf"{_PART}(?:(?: (?:of|the|de|la|van|von|del|al|bin|and the))* {_PART})*")
_NOT_NAMES = frozenset(words("not_names")) | frozenset(MONTHS)
_JOINED = re.compile(r"^\s*(?:,|and|or|&|/|-|with|vs\.?|versus|,\s*and)?\s*$")
_MUTUAL = re.compile(
    r"\b(?:between|both|married|met|together|merged|against|alongside|cousins?|siblings?|brothers?|"
    r"sisters?|tied|equal|similar|same|co-\w+|partners?|neighbou?rs?|border\w*)\b"
)
_PLACE_BEFORE = re.compile(r"\b(?:in|at|near|from|to|of|across|outside|into)(?: the)? $")
_GROUP = re.compile(
    r"\b(?:University|College|School|Company|Corporation|Party|League|Club|Team|Records|Studios?|"
    r"Institute|Council|Committee|Association|Army|Bank|Group|Band|Inc|Church|Court|Agency)\b"
)
_VERB = re.compile(
    r" (?:is|was|are|were|has|had|have|will|can|won|lost|became|began|served|played)\b"
)


def names_in(text: str) -> list[tuple[int, int, str]]:
    """Capitalised names with their places; a lone word that opens a sentence must recur inside."""
    found: list[tuple[int, int, str]] = []
    for match in _NAME.finditer(text):
        start, name = match.start(), match.group()
        opens = start == 0 or text[max(0, start - 2) : start] in (". ", "? ", "! ", '."', ' "')
        first, _, rest = name.partition(" ")
        if first in _NOT_NAMES:
            rest = rest.removeprefix("the ").removeprefix("of ")
            if not rest or not rest[:1].isupper():
                continue
            start, name, opens = start + len(match.group()) - len(rest), rest, False
        if opens and " " not in name and len(re.findall(rf"\b{re.escape(name)}\b", text)) < 2:
            continue
        if name.split(" ")[0] not in _NOT_NAMES and len(name) > 2:
            found.append((start, start + len(name), name))
    return found


_NATION = re.compile(r"[A-Z]\w*(?:ican|ian|ish|ese|ench|utch|reek|wiss|erman)(?:-[A-Z]\w*)?")


def _kind(name: str, before: str) -> str:
    if _NATION.fullmatch(name):
        return "nation"
    if _GROUP.search(name):
        return "group"
    if _PLACE_BEFORE.search(before[-14:]):
        return "place"
    return "person" if " " in name else "word"


def _shares_words(one: str, other: str) -> bool:
    return bool(set(one.lower().split()) & set(other.lower().split()))


def _exchanged(text: str, one: tuple[int, int, str], other: tuple[int, int, str]) -> str:
    (start, stop, first), (begin, end, second) = sorted((one, other))
    return text[:start] + second + text[stop:begin] + first + text[end:]


def swap_entity(claim: str, window: str, rng: Generator) -> str | None:
    """One name of the claim becomes another name of the window, of the same kind if possible."""
    own = names_in(claim)
    if not own:
        return None
    start, stop, name = own[int(rng.integers(len(own)))]
    kind = _kind(name, claim[:start])
    others = sorted(
        {
            (_kind(other, window[:at]) != kind, other)
            for at, _, other in names_in(window)
            if not _shares_words(other, name) and other not in claim
        }
    )
    if not others:
        return None
    best = [other for differs, other in others if differs == others[0][0]]
    return claim[:start] + (pick(best, rng) or "") + claim[stop:]


def swap_roles(claim: str, window: str, rng: Generator) -> str | None:
    """Two names of the claim change places, unless the relation may hold both ways."""
    del window
    if _MUTUAL.search(claim):
        return None
    own = names_in(claim)
    options = [
        _exchanged(claim, one, other)
        for place, one in enumerate(own)
        for other in own[place + 1 :]
        if one[2] != other[2]
        and not _shares_words(one[2], other[2])
        and not _JOINED.match(claim[one[1] : other[0]])
    ]
    return pick(options, rng)


def swap_predicate(claim: str, window: str, rng: Generator) -> str | None:
    """What another sentence of the window says of its subject is said of the claim's subject."""
    head = opening_name(claim)
    if head is None:
        return None
    options: list[str] = []
    for sentence in sentences(window):
        other = opening_name(sentence)
        if other and not _shares_words(head[0], other[0]) and head[0] not in other[1]:
            options.append(head[0] + other[1])
    return pick(options, rng)


_PRONOUN = re.compile(r"^(?:He|She|It)(?= )")


def with_name(sentence: str, before: str) -> str:
    """Put the subject of the sentence before in place of an opening pronoun, as claims do."""
    head = opening_name(before)
    return _PRONOUN.sub(head[0], sentence) if head else sentence


def opening_name(sentence: str) -> tuple[str, str] | None:
    """Split a sentence of the form `Name verb ...` into the name and the rest."""
    match = _NAME.match(sentence)
    if not match or match.group().split(" ")[0] in _NOT_NAMES:
        return None
    rest = sentence[match.end() :]
    return (match.group(), rest) if _VERB.match(rest) else None
