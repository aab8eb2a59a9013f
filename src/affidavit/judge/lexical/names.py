"""Names and codes in a sentence: what is capitalised for its own sake, or holds digits."""

from functools import lru_cache

from affidavit.judge.lexical.lexicon import IDF, NAMES, Kind
from affidavit.judge.lexical.passages import Sentence
from affidavit.judge.lexical.tokens import Token


@lru_cache(maxsize=4096)
def names_of(sentence: Sentence) -> frozenset[int]:
    """Return the tokens of a sentence that belong to a name or are a code."""
    tokens = sentence.tokens
    if _is_title_case(tokens):
        return frozenset(at for at, token in enumerate(tokens) if _is_code(token))
    return frozenset(at for at, token in enumerate(tokens) if _is_name(tokens, at, token))


def name_around(names: frozenset[int], at: int) -> set[int]:
    """Return the words of the name that holds `at`: "Acme Holding Ltd" is one name."""
    run = {at}
    for step in (-1, 1):
        place = at + step
        while place in names and at in names:
            run.add(place)
            place += step
    return run


def _is_code(token: Token) -> bool:
    text = token.text
    if token.word.kind is not Kind.WORD or token.word.weight == 0:
        return False
    return any(char.isdecimal() for char in text) or (len(text) > 1 and text.isupper())


def _is_name(tokens: tuple[Token, ...], at: int, token: Token) -> bool:
    if token.word.kind is not Kind.WORD or token.word.weight == 0:
        return False
    if _is_code(token):
        return True
    if not token.text[0].isupper():
        return False
    if not _opens_sentence(tokens, at):
        return True
    after = tokens[at + 1].text if at + 1 < len(tokens) else ""
    is_pair = after[:1].isupper() and tokens[at + 1].word.weight > 0
    # Every first word has a capital; there a word is a name if it mostly is one, or is unheard of.
    return is_pair or token.word.stem in NAMES or token.word.stem not in IDF


def _opens_sentence(tokens: tuple[Token, ...], at: int) -> bool:
    return at == 0 or tokens[at - 1].text in (
        '"',
        "\u201c",
        "(",
        ":",
        ".",
        "|",
        "-",
        "\u2014",
        "?",
        "!",
    )


def _is_title_case(tokens: tuple[Token, ...]) -> bool:
    """A heading or table row in capitals: there a capital marks no name."""
    words = [token for token in tokens if token.word.kind is Kind.WORD and token.word.weight > 0]
    capitals = sum(token.text[0].isupper() for token in words)
    return len(words) > 3 and capitals * 10 >= len(words) * 9
