"""The little grammar that the ledger needs: where a clause has its verb.

Not a parser. Closed lists of common English verbs, so that a rule that uses them can be read and
replayed; a verb that is not listed is not seen, and a sentence is then left whole.
"""

import re
from dataclasses import dataclass
from typing import Final


def word_set(words: str) -> frozenset[str]:
    """Return the words of a list that is written as text."""
    return frozenset(words.split())


AUXILIARIES: Final = word_set(
    """am is are was were be been has have had do does did can could cannot may might must shall
    should will would isn't aren't wasn't weren't hasn't haven't hadn't don't doesn't didn't can't
    couldn't mustn't shouldn't won't wouldn't needn't"""
)
_NOT_FINITE: Final = frozenset({"be", "been"})
# Forms that are nouns too ("costs", "need") are left out here, and so are participles ("hired").
_PLAIN_VERBS: Final = word_set(
    """accrue accrues adopt adopts allow allows appear appears applies apply arise arises became
    become becomes began begin begins believe believes belong belongs bring brings build
    builds came come comes comprise comprises consist consists contain contains continue
    continues cover covers decide decides depend depends describe describes determine
    determines differ differs earn earns employ employs ensure ensures equals exceed exceeds
    exist exists expire expires explain explains fell forbid forbids forfeit forfeits gave
    get gets give gives grew happen happens include includes indicate indicates involve
    involves keep keeps knew know knows lies lose loses maintain maintains make makes means
    mention mentions obtain obtains occur occurs offers operate operates owe owes own owns
    pays permit permits prohibit prohibits provide provides publish publishes ran reach
    reaches receive receives recommend recommends refer refers remain remains represent
    represents require requires retain retains rose said saw say says seem seems sell sells
    serve serves shrank specifies specify spend spends spoke stood suggest suggests take
    takes tell tells tend tends thought threw took treat treats vest vests went write writes
    wrote"""
)
_PAST_OR_PARTICIPLE: Final = word_set(
    """bought brought built got held kept led left lost made meant met paid sent sold spent taught
    told understood won"""
)
_COMMANDS: Final = word_set(
    """apply ask attend avoid book check complete contact create ensure file follow give keep make
    notify obtain provide report request return review send sign submit take use wait"""
)
SUBORDINATORS: Final = word_set(
    """if unless provided providing whether when whenever because until although though lest while
    since once after before as where wherever who whom whose which that"""
)
"""Words that open a clause which cannot stand alone, or which another clause holds."""

CONDITIONS: Final = word_set(
    "if unless provided providing whether when whenever because until although though lest"
)
_DETERMINERS: Final = word_set("a an the its their his her our your my this these")
_WORD: Final = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?|\d[\d.,]*")


@dataclass(frozen=True, slots=True)
class Word:
    """A word in lower case, with its place."""

    text: str
    start: int
    end: int


def words_of(text: str) -> tuple[Word, ...]:
    """Return the words and numbers of `text`."""
    return tuple(
        Word(found[0].lower().replace("\u2019", "'"), found.start(), found.end())
        for found in _WORD.finditer(text)
    )


def find_main_verb(words: tuple[Word, ...]) -> int | None:
    """Return the number of the first surely finite verb, or None.

    A verb behind a subordinator or a relative pronoun belongs to another clause, so the search
    ends there.
    """
    for number, word in enumerate(words):
        if word.text in SUBORDINATORS:
            return None
        if _is_finite(words, number):
            return number
    return None


def _is_finite(words: tuple[Word, ...], number: int) -> bool:
    text = words[number].text
    if number and words[number - 1].text == "to":
        return False
    if text in AUXILIARIES or text in _PLAIN_VERBS:
        return text not in _NOT_FINITE
    # "opened a plant" is past tense; "hired in 2020" may be a participle.
    behind = words[number + 1].text if number + 1 < len(words) else ""
    may_be_past = text.endswith("ed") or text in _PAST_OR_PARTICIPLE
    return number > 0 and may_be_past and behind in _DETERMINERS


def is_clause(text: str) -> bool:
    """Tell whether `text` surely has a main verb of its own."""
    return find_main_verb(words_of(text)) is not None


def is_command(text: str) -> bool:
    """Tell whether `text` begins like a command: "Submit the form"."""
    words = words_of(text)
    return bool(words) and words[0].text in _COMMANDS
