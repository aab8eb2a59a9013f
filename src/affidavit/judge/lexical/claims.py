"""A claim made ready to be judged: its parts, their words, facts and names."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from affidavit.judge.lexical.facts import Fact, facts_of
from affidavit.judge.lexical.lexicon import Kind
from affidavit.judge.lexical.names import names_of
from affidavit.judge.lexical.passages import Sentence, passage_of, spelling_of
from affidavit.judge.lexical.tokens import words_of

_SOURCE: Final = (
    r"(?:documents?|sources?|passages?|texts?|context|articles?|information|evidence|excerpts?"
    r"|search results|results|records?|documentation|materials?|snippets?)"
)
_KNOWN: Final = (
    r"(?:the |this |these |our |your |its )?(?:provided |given |available |retrieved |above "
    r"|attached |following |source |same )?"
)
# Openings that say where an answer comes from, not what is so.
_LEAD_IN: Final = re.compile(
    rf"(?:(?:based on|according to|as (?:stated|noted|described|mentioned|specified|per|set out)"
    rf"(?: in)?|per|from|in) {_KNOWN}(?:{_SOURCE}|policy|report|manual|guidelines?|handbook|paper)"
    rf"(?: provided| above)?, "
    rf"|(?:the|this|these) (?:provided |given )?(?:{_SOURCE}|policy|report|manual|guidelines?"
    rf"|handbook|paper|authors?)"
    rf" (?:states?|says?|notes?|explains?|mentions?|indicates?|specif(?:y|ies)|shows?) that "
    r"|(?:in (?:summary|short|conclusion|addition|general|fact|particular|other words)|overall"
    r"|additionally|furthermore|moreover|however|therefore|thus|also|finally|for example"
    r"|for instance|as a result|specifically|notably|importantly|yes|in contrast|similarly),? )",
    re.IGNORECASE,
)
_ABOUT_SOURCE: Final = re.compile(
    rf"\b{_SOURCE}(?: provided| given| above)? (?:does|do|did) not (?:\w+ )?(?:mention|state|say"
    rf"|specify|provide|contain|include|discuss|address|give|indicate)"
    rf"|\bno (?:information|mention|details?)\b.{{0,40}}\b{_SOURCE}"
    rf"|\bnot (?:mentioned|stated|specified|provided|found|discussed) in (?:the |this )?"
    rf"(?:provided |given )?{_SOURCE}",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One sentence of a claim. `words` are its content words outside of facts, as token places."""

    sentence: Sentence
    words: tuple[int, ...]
    facts: tuple[Fact, ...]
    names: frozenset[int]

    def weight(self, at: int) -> float:
        """Return how telling the word at `at` is."""
        return self.sentence.tokens[at].word.weight


@dataclass(frozen=True, slots=True, eq=False)
class ClaimText:
    """A claim: its parts, and whether it speaks of the source itself ("does not mention ...")."""

    text: str
    parts: tuple[Part, ...]
    is_about_source: bool
    spelling: tuple[str, ...]
    """The whole claim as a row of words, to find it word for word."""


@lru_cache(maxsize=512)
def claim_of(text: str) -> ClaimText:
    """Return the claim made ready, without the words that only say where it comes from."""
    body = text[_lead_in_end(text) :]
    parts = (part_of(sentence) for sentence in passage_of(body).sentences)
    kept = tuple(part for part in parts if part.words or part.facts)
    spelling = spelling_of(words_of(text, 0, len(text)))
    return ClaimText(text, kept, _ABOUT_SOURCE.search(text) is not None, spelling)


def _lead_in_end(text: str) -> int:
    end = 0
    for _ in range(2):  # "However, according to the policy, ..."
        found = _LEAD_IN.match(text, end)
        if not found:
            break
        end = found.end()
    return end


def part_of(sentence: Sentence) -> Part:
    """Return a sentence of a claim with its words, facts and names told apart."""
    facts = facts_of(sentence)
    # "First" and "one" are often mere words: they are read as facts and as words.
    strong = [fact for fact in facts if not fact.is_weak]
    taken = {place for fact in strong for place in range(fact.first, fact.end)}
    words = tuple(
        at
        for at, token in enumerate(sentence.tokens)
        if token.word.weight > 0 and token.word.kind is Kind.WORD and at not in taken
    )
    return Part(sentence, words, facts, names_of(sentence) - taken)
