"""Keys that look the same: equal in NFC, and so one key to a reader that normalises.

Two texts are equal in NFC exactly if they are equal in NFD, which is cheaper to tell. Python orders
a run of combining marks by inserting them one by one: a key of half a million of them, which packs
into some hundred bytes, would cost minutes. A long key is therefore decomposed letter by letter and
its marks are sorted.
"""

import unicodedata
from collections.abc import Iterable
from itertools import groupby
from typing import Final

from affidavit.base.errors import AffidavitError
from affidavit.base.faults.input import UNICODE_COLLISION
from affidavit.base.places import excerpt

_LONG: Final = 256


def refuse_twin_keys(keys: Iterable[str]) -> None:
    """Raise if two of the keys of one object look the same."""
    first_of: dict[str, str] = {}
    for key in keys:
        first = first_of.setdefault(decomposed(key), key)
        if first != key:
            raise AffidavitError(UNICODE_COLLISION, first=excerpt(first), second=excerpt(key))


def decomposed(text: str) -> str:
    """Return a text in NFD, in time that grows with its length and not with the square of it."""
    if text.isascii() or unicodedata.is_normalized("NFD", text):
        return text
    if len(text) < _LONG:
        return unicodedata.normalize("NFD", text)
    letters = text.translate({ord(each): unicodedata.normalize("NFD", each) for each in set(text)})
    runs = groupby(letters, key=_is_mark)
    return "".join("".join(sorted(run, key=_class) if marks else run) for marks, run in runs)


_class = unicodedata.combining


def _is_mark(letter: str) -> bool:
    return _class(letter) > 0
