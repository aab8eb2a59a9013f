"""Who or what a claim is about, and which earlier subject a pronoun stands for.

Rules P1 to P5 of docs/ledger.md. A pronoun is replaced only where one antecedent is possible by
rule; else it stays. The claim keeps its own words: only what the judge reads is resolved.
"""

import re
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from affidavit.ledger.grammar import (
    ADVERBS,
    BE,
    PREPOSITIONS,
    SUBORDINATORS,
    Word,
    find_main_verb,
    is_adverb,
    is_base_verb,
    is_plural,
    verb_form,
    word_set,
    words_of,
)

_PRONOUNS: Final = word_set("it they he she i we you this that these those there who what one")
_POSSESSIVES: Final = word_set("its their his her")
_PERSONAL: Final = word_set("he she his her")
_PLURALS: Final = word_set("they their")
_STARTS_NO_NAME: Final = (
    PREPOSITIONS | SUBORDINATORS | word_set("however also but and so yes not there then")
)
_COMPANY: Final = word_set(
    """company firm organisation organization startup business corporation manufacturer publisher
    agency group provider retailer"""
)
_OWNING: Final = word_set("has have had")
_ONE_THING: Final = word_set("a an the this another")
_TITLES: Final = word_set(
    """analysis answer background conclusion context explanation history information introduction
    overview policy pricing section summary"""
)
_AMOUNT: Final = re.compile(
    r"(?:up to|at least|at most|more than|less than)[ ](?=\d|an? )", re.IGNORECASE
)
_BEGINNING: Final = re.compile(
    r"(?:(?P<pronoun>it|they|he|she)|(?P<possessive>its|their|his|her)|(?:the"
    r"|this) (?P<noun>[\w-]+))"
    r"(?=[ ])",
    re.IGNORECASE,
)
_EXPLETIVE: Final = re.compile(
    r"it (?:(?:is|was|will be|may be|can be) (?:\w+ly )?(?!\w+ed )\w+ (?:to|that|for|whether|if|how"
    r"|when)\b"
    r"|takes?\b|took\b|seems?\b|appears?\b|rains?\b|depends\b|follows\b|turns out\b)",
    re.IGNORECASE,
)
_KIND: Final = re.compile(
    r"(?:an?|the|one of the) ((?:[\w-]+ ){0,5}?[\w-]+)(?= (?:of|in|for|by|from"
    r"|with|that|which|who|based|founded|located|used|designed|made|on|at|to)\b|[,.;]|$)",
    re.IGNORECASE,
)
_LONGEST_SUBJECT: Final = 7


@dataclass(frozen=True, slots=True)
class Subject:
    """What a clause is about."""

    text: str
    is_plural: bool
    is_name: bool
    """Whether it is a name of capitalised words, with or without "the"."""
    nouns: frozenset[str]
    """What it may be called: the noun of "the Basic plan", and what "is a bank" says it is."""
    has_rival: bool = False
    """Whether its clause has an object that "it" could mean: "opened a plant"."""
    has_other_name: bool = False
    """Whether its clause has an object that "she" could mean: "met Beth"."""

    @property
    def may_be_person(self) -> bool:
        """Whether "she" or "he" may stand for it: a name of two or three words."""
        words = self.text.split()
        return self.is_name and 2 <= len(words) <= 3 and all(word[0].isupper() for word in words)


def subject_of(clause: str) -> Subject | None:
    """Return the subject of a clause, or None where it is a pronoun or cannot be told."""
    words = words_of(clause)
    verb = find_main_verb(words)
    if not verb:
        return None
    form = verb_form(words, verb)
    before = clause[: words[verb].start].rstrip()
    text = before.rpartition(", ")[2]
    amount = _AMOUNT.match(text)
    named = words_of(_without_adverbs(text[amount.end() :] if amount else text))
    if form is None or not _is_noun_phrase(named) or text.endswith(","):
        return None
    text = text[: named[-1].end + (amount.end() if amount else 0)]
    head = _head(named)
    nouns = {head.text} | _kinds(clause[words[verb].end :], words[verb].text)
    first = _first_object_word(words, verb)
    return Subject(
        text,
        is_plural(head.text, words[verb].text, form) or " and " in text,
        _is_name(named),
        frozenset(nouns),
        has_rival=first is not None and (first.text in _ONE_THING or first.is_capital),
        has_other_name=first is not None and first.is_capital,
    )


def label_subject(label: str) -> Subject | None:
    """Return what a heading or a label names, if it may be a name: "Acme Corp", "Basic plan"."""
    words = words_of(label)
    if not _is_noun_phrase(words) or not words[0].is_capital or len(words) < 2:
        return None
    last = words[-1].text
    if last in _TITLES or is_plural(last):
        return None
    return Subject(label, False, _is_name(words), frozenset({last}))


def continued(subject: Subject, earlier: Subject | None) -> Subject:
    """Return a subject with what an earlier claim called it."""
    if earlier is None or earlier.text != subject.text:
        return subject
    return replace(subject, nouns=subject.nouns | earlier.nouns)


def resolved(clause: str, subject: Subject | None) -> str:
    """Return the clause with a pronoun at its beginning replaced by what it stands for."""
    found = _BEGINNING.match(clause)
    if found is None or subject is None or _EXPLETIVE.match(clause):
        return clause
    rest = clause[found.end() :]
    if found["noun"]:
        return f"{subject.text}{rest}" if _is_called(subject, found["noun"].lower()) else clause
    if not _agrees(found[0].lower(), subject):
        return clause
    return f"{_possessive(subject) if found['possessive'] else subject.text}{rest}"


def begins_with_pronoun(clause: str) -> bool:
    """Tell whether a clause says nothing without what its first word stands for."""
    found = _BEGINNING.match(clause)
    return found is not None and not found["noun"]


def _is_noun_phrase(words: tuple[Word, ...]) -> bool:
    if not words or len(words) > _LONGEST_SUBJECT:
        return False
    return words[0].text not in _STARTS_NO_NAME and words[-1].text not in _PRONOUNS | _POSSESSIVES


def _without_adverbs(text: str) -> str:
    words = words_of(text)
    kept = len(words)
    while kept and is_adverb(words[kept - 1].text):
        kept -= 1
    return text[: words[kept - 1].end] if kept else ""


def _head(words: tuple[Word, ...]) -> Word:
    for word, following in pairwise(words):
        if following.text in PREPOSITIONS:
            return word
    return words[-1]


def _is_name(words: tuple[Word, ...]) -> bool:
    rest = words[1:] if words[0].text == "the" else words
    return bool(rest) and all(word.is_capital or word.text[0].isdigit() for word in rest)


def _kinds(predicate: str, verb: str) -> set[str]:
    found = _KIND.match(predicate.lstrip()) if verb in BE else None
    if found is None:
        return set()
    noun = found[1].lower().split()[-1]
    return {noun, noun.rpartition("-")[2]}


def _first_object_word(words: tuple[Word, ...], verb: int) -> Word | None:
    """Return the first word behind the verb, where an object would stand; None behind "is"."""
    if words[verb].text in BE or words[verb].text in _OWNING:
        return None
    at = verb + 1
    while at < len(words) and (words[at].text in ADVERBS or is_base_verb(words[at].text)):
        at += 1
    return words[at] if at < len(words) else None


def _agrees(pronoun: str, subject: Subject) -> bool:
    if pronoun in _PERSONAL:
        return subject.may_be_person and not subject.has_other_name
    if pronoun in _PLURALS:
        return subject.is_plural and not subject.has_rival
    return not subject.is_plural and not subject.has_rival


def _is_called(subject: Subject, noun: str) -> bool:
    if noun in _COMPANY:
        return subject.is_name and not subject.is_plural
    # "The plan" names nothing that another "the plan" does not.
    return noun in subject.nouns and subject.text.lower() not in (f"the {noun}", f"this {noun}")


def _possessive(subject: Subject) -> str:
    ends_in_s = subject.is_plural and subject.text.endswith("s")
    return f"{subject.text}'" if ends_in_s else f"{subject.text}'s"
