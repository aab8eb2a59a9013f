"""English stems: the Porter2 rules, behind a table of irregular forms.

Origin: M. Porter's description of the English (Porter2) stemmer, written anew from its rules.
A stem is a key for matching ("entitled", "entitles" -> "entitl"), not a word.
"""

import re
from functools import lru_cache
from typing import Final

from affidavit.judge.lexical.tables import IRREGULAR

_VOWELS: Final = frozenset("aeiouy")
_DOUBLES: Final = ("bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt")
_LI_ENDINGS: Final = frozenset("cdeghkmnrt")
_REGION: Final = re.compile(r"[^aeiouy]*[aeiouy]+[^aeiouy]")
_LONG_PREFIX: Final = re.compile(r"gener|commun|arsen|past|univers|later|emerg|organ|inter")
_HAS_VOWEL: Final = re.compile(r"[aeiouy]")
_SHORT_END: Final = re.compile(r"(?:^[aeiouy][^aeiouy]|[^aeiouy][aeiouy][^aeiouywxY])$")
_Y_AS_CONSONANT: Final = re.compile(r"(?<=[aeiouy])y")

_EXCEPTIONS: Final = {
    "skis": "ski", "skies": "sky", "idly": "idl", "gently": "gentl", "ugly": "ugli",
    "early": "earli", "only": "onli", "singly": "singl", "sky": "sky", "news": "news",
    "howe": "howe", "atlas": "atlas", "cosmos": "cosmos", "bias": "bias", "andes": "andes",
    "inning": "inning", "outing": "outing", "canning": "canning", "herring": "herring",
    "earring": "earring", "proceed": "proceed", "exceed": "exceed", "succeed": "succeed",
}  # fmt: skip
_STEP_2: Final = (
    ("ization", "ize"), ("isation", "ise"), ("ational", "ate"), ("fulness", "ful"),
    ("ousness", "ous"), ("iveness", "ive"), ("tional", "tion"), ("biliti", "ble"),
    ("lessli", "less"), ("entli", "ent"), ("ation", "ate"), ("alism", "al"), ("aliti", "al"),
    ("ousli", "ous"), ("iviti", "ive"), ("fulli", "ful"), ("enci", "ence"), ("anci", "ance"),
    ("abli", "able"), ("izer", "ize"), ("iser", "ise"), ("ator", "ate"), ("alli", "al"),
    ("bli", "ble"),
)  # fmt: skip
_STEP_3: Final = (
    ("ational", "ate"), ("tional", "tion"), ("alize", "al"), ("alise", "al"), ("icate", "ic"),
    ("iciti", "ic"), ("ical", "ic"), ("ness", ""), ("ful", ""),
)  # fmt: skip
_STEP_4: Final = (
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous",
    "ive", "ize", "ise", "al", "er", "ic",
)  # fmt: skip


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return the stem of a lower-case word; what is not English letters comes back as it is."""
    word = IRREGULAR.get(word, word)
    if len(word) < 3 or len(word) > 40 or not (word.isascii() and word.isalpha()):
        return word
    if word in _EXCEPTIONS:
        return _EXCEPTIONS[word]
    marked = _mark_consonant_y(word)
    first, second = _regions(marked)
    marked = _step_1b(_step_1a(marked), first)
    if len(marked) > 2 and marked[-1] in "yY" and marked[-2] not in _VOWELS:
        marked = marked[:-1] + "i"
    marked = _replaced(marked, _STEP_2, first) or _step_2_rest(marked, first)
    marked = _step_3(marked, first, second)
    return _step_5(_step_4(marked, second), first, second).lower()


def _mark_consonant_y(word: str) -> str:
    word = "Y" + word[1:] if word[0] == "y" else word
    return _Y_AS_CONSONANT.sub("Y", word)


def _regions(word: str) -> tuple[int, int]:
    special = _LONG_PREFIX.match(word)
    found = special or _REGION.match(word)
    if not found:
        return len(word), len(word)
    after = _REGION.match(word, found.end())
    return found.end(), after.end() if after else len(word)


def _step_1a(word: str) -> str:
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith(("ied", "ies")):
        return word[:-2] if len(word) > 4 else word[:-1]
    if word.endswith(("us", "ss")) or not word.endswith("s"):
        return word
    return word[:-1] if _HAS_VOWEL.search(word[:-2]) else word


def _step_1b(word: str, first: int) -> str:
    for ending in ("eedly", "eed"):
        if word.endswith(ending):
            return word[: -len(ending)] + "ee" if len(word) - len(ending) >= first else word
    for ending in ("ingly", "edly", "ing", "ed"):
        if word.endswith(ending):
            base = word[: -len(ending)]
            return _restored(base, first) if _HAS_VOWEL.search(base) else word
    return word


def _restored(base: str, first: int) -> str:
    if base.endswith(("at", "bl", "iz", "is")) and len(base) > 2:
        # "is" beside Porter's "iz": British and American spellings meet in one stem.
        return base + "e"
    if base.endswith(_DOUBLES):
        return base[:-1]
    return base + "e" if len(base) <= first and _SHORT_END.search(base) else base


def _replaced(word: str, rules: tuple[tuple[str, str], ...], region: int) -> str:
    for ending, better in rules:
        if word.endswith(ending):
            start = len(word) - len(ending)
            return word[:start] + better if start >= region else word
    return ""


def _step_2_rest(word: str, first: int) -> str:
    if word.endswith("ogi") and len(word) - 3 >= first and word[-4:-3] == "l":
        return word[:-1]
    if word.endswith("li") and len(word) - 2 >= first and word[-3:-2] in _LI_ENDINGS:
        return word[:-2]
    return word


def _step_3(word: str, first: int, second: int) -> str:
    if word.endswith("ative"):
        return word[:-5] if len(word) - 5 >= second else word
    return _replaced(word, _STEP_3, first) or word


def _step_4(word: str, second: int) -> str:
    for ending in _STEP_4:
        if word.endswith(ending):
            return word[: -len(ending)] if len(word) - len(ending) >= second else word
    if word.endswith("ion") and len(word) - 3 >= second and word[-4:-3] in ("s", "t"):
        return word[:-3]
    return word


def _step_5(word: str, first: int, second: int) -> str:
    if word.endswith("e"):
        base = word[:-1]
        if len(base) >= second or (len(base) >= first and not _SHORT_END.search(base)):
            return base
        return word
    if word.endswith("ll") and len(word) - 1 >= second:
        return word[:-1]
    return word
