"""The two canonical forms of a Unicode text, in time that grows with its length.

Origin: Unicode Standard Annex 15. Python orders a run of combining marks by inserting them one by
one, which costs the square of their number: half a million of them, a megabyte that packs into some
hundred bytes, would take minutes. So the marks of a long text are sorted before Python sees them.
"""

import unicodedata
from itertools import groupby
from typing import Final

_LONG: Final = 256
_class = unicodedata.combining


def decomposed(text: str) -> str:
    """Return a text in NFD. Two texts are equal in NFD exactly if they are equal in NFC."""
    if text.isascii() or unicodedata.is_normalized("NFD", text):
        return text
    if len(text) < _LONG:
        return unicodedata.normalize("NFD", text)
    letters = text.translate({ord(each): unicodedata.normalize("NFD", each) for each in set(text)})
    runs = groupby(letters, key=_is_mark)
    return "".join("".join(sorted(run, key=_class) if marks else run) for marks, run in runs)


def composed(text: str) -> str:
    """Return a text in NFC."""
    if text.isascii() or unicodedata.is_normalized("NFC", text):
        return text
    return unicodedata.normalize("NFC", text if len(text) < _LONG else decomposed(text))


def _is_mark(letter: str) -> bool:
    return _class(letter) > 0
