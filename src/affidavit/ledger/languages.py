"""In which language a claim is written, as far as a rule can tell.

The answer is a BCP 47 tag: `en`, `de`, or `und-Cyrl` where only the script is certain. A judge that
does not read a language must not vouch for a claim in it.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from affidavit.ledger.grammar import word_set

# Where each script begins and ends in Unicode, and the language that alone uses it, if any.
_SCRIPTS: Final = (
    (0x0041, 0x024F, "und-Latn"),
    (0x0370, 0x03FF, "el"),
    (0x0400, 0x052F, "und-Cyrl"),
    (0x0531, 0x058F, "hy"),
    (0x0590, 0x05FF, "und-Hebr"),
    (0x0600, 0x06FF, "und-Arab"),
    (0x0900, 0x097F, "und-Deva"),
    (0x0980, 0x09FF, "und-Beng"),
    (0x0B80, 0x0BFF, "ta"),
    (0x0E00, 0x0E7F, "th"),
    (0x0E80, 0x0EFF, "lo"),
    (0x0F00, 0x0FFF, "bo"),
    (0x1000, 0x109F, "my"),
    (0x10A0, 0x10FF, "ka"),
    (0x1100, 0x11FF, "ko"),
    (0x1200, 0x139F, "und-Ethi"),
    (0x1780, 0x17FF, "km"),
    (0x1E00, 0x1EFF, "und-Latn"),
    (0x1F00, 0x1FFF, "el"),
    (0x3040, 0x30FF, "ja"),
    (0x3400, 0x9FFF, "zh"),
    (0xAC00, 0xD7AF, "ko"),
    (0xF900, 0xFAFF, "zh"),
    (0x20000, 0x3FFFF, "zh"),
)
_STARTS: Final = [start for start, _, _ in _SCRIPTS]
ENGLISH: Final = "en"
UNKNOWN: Final = "und-Latn"
"""Too few words for more than the script."""
_OTHER: Final = "und-Zzzz"
_NAME_SHARE: Final = 0.3
"""Up to this share of letters, another script may be that of a name in a Latin text."""
# Words that carry grammar, and that are rare in the other languages of the table.
_FUNCTION_WORDS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "en": word_set(
            """the of and is are was were to that with for by be has have it this from not which
            must may can will an at on or its their they you your all if within per up under over"""
        ),
        "de": word_set(
            """der die das und ist sind war wird werden nicht mit f\u00fcr von dem den des ein
            eine einer eines auf im zu zum zur auch als bei nach aus sich oder wurde m\u00fcssen
            kann"""
        ),
        "fr": word_set(
            """le la les des est sont une et du dans pour par sur avec que qui ne pas au aux ce
            cette plus ont \u00e9t\u00e9 peut doit tous leur"""
        ),
        "es": word_set(
            """el la los las es son una y del en por con para que no se al su m\u00e1s como fue
            est\u00e1 debe puede hay"""
        ),
        "it": word_set(
            """il lo la gli le \u00e8 sono una e di del della dei nel per con che non si al da ha
            essere pu\u00f2 pi\u00f9 anche"""
        ),
        "pt": word_set(
            """o os as \u00e9 s\u00e3o uma e do da dos das em no na por com para que n\u00e3o se
            ao foi mais pode deve est\u00e1"""
        ),
        "nl": word_set(
            """de het een en is zijn van met voor niet op aan te dat die wordt worden ook bij naar
            door kan moet uit"""
        ),
        "pl": word_set(
            "jest nie na do si\u0119 z w i o \u017ce s\u0105 by\u0142 dla przez od oraz mo\u017ce"
        ),
        "sv": word_set(
            "och \u00e4r det att som en ett f\u00f6r med p\u00e5 av inte till har den kan ska"
        ),
        "tr": word_set(
            "ve bir bu i\u00e7in ile de da olarak en \u00e7ok daha g\u00f6re veya de\u011fil olan"
        ),
    }
)
_LANGUAGES_WITH: Final = {
    word: tuple(tag for tag, listed in _FUNCTION_WORDS.items() if word in listed)
    for word in frozenset().union(*_FUNCTION_WORDS.values())
}
_WORD: Final = re.compile(r"[^\W\d_]+")
_ENOUGH: Final = 2


def language_of(text: str) -> str:
    """Return the BCP 47 tag of a text: its language, or `und-` with its script."""
    if text.isascii():
        return _latin_language(text)
    letters = Counter(map(_script, filter(str.isalpha, text)))
    total = letters.total()
    others = {tag: count for tag, count in letters.items() if tag != UNKNOWN}
    if total and sum(others.values()) / total > _NAME_SHARE:
        # Japanese is written with Chinese characters too, but Chinese has no kana.
        return "ja" if "ja" in others else max(sorted(others), key=lambda tag: others[tag])
    return _latin_language(text)


def _script(letter: str) -> str:
    code = ord(letter)
    at = bisect_right(_STARTS, code) - 1
    return _SCRIPTS[at][2] if at >= 0 and code <= _SCRIPTS[at][1] else _OTHER


def _latin_language(text: str) -> str:
    hits = Counter(
        tag for word in _WORD.findall(text.lower()) for tag in _LANGUAGES_WITH.get(word, ())
    )
    # English wins a tie: that proves no other language.
    best = max(_FUNCTION_WORDS, key=lambda tag: hits[tag])
    enough = 1 if best == ENGLISH else _ENOUGH
    return best if hits[best] >= enough else UNKNOWN
