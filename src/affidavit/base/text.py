"""Positions, field paths and excerpts for error messages, Unicode normal forms, and which secrets
to mask.
"""

import unicodedata
from collections.abc import Iterable
from itertools import groupby
from typing import Final

# How an error names a place inside a document, and quotes from it.


def line_and_column(raw: bytes, at: int) -> tuple[int, int]:
    """Return where a byte stands, both counted from 1; a column is a character."""
    line_start = raw.rfind(b"\n", 0, at) + 1
    column = len(raw[line_start:at].decode(errors="replace")) + 1
    return raw.count(b"\n", 0, at) + 1, column


def field_path(steps: Iterable[str | int | None]) -> str | None:
    """Return a path as a reader writes it, `checks[2].path`; None for the value itself.

    A step that is None is not known. A key that is not a plain word stands in quotes, so that the
    path is never ambiguous and no control character of a hostile document reaches a terminal.
    """
    path = ""
    for step in steps:
        if isinstance(step, int):
            path += f"[{step}]"
        elif isinstance(step, str):
            word = excerpt(step)
            is_plain = word.isascii() and word.replace("-", "_").isidentifier()
            path += f"[{word!r}]" if not is_plain else f".{word}" if path else word
    return excerpt(path, 80) or None


def excerpt(text: str, longest: int = 60) -> str:
    """Return a text that is short enough for an error's message."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


# The two canonical forms of a Unicode text, in time that grows with its length.
#
# Origin: Unicode Standard Annex 15. Python orders a run of combining marks by inserting them one by
# one, which costs the square of their number: half a million of them, a megabyte that packs into
# some hundred bytes, would take minutes. So the marks of a long text are sorted before Python sees
# them.

_LONG: Final = 256
_combining_class = unicodedata.combining


def to_nfd(text: str) -> str:
    """Return a text in NFD. Two texts are equal in NFD exactly if they are equal in NFC."""
    if text.isascii() or unicodedata.is_normalized("NFD", text):
        return text
    if len(text) < _LONG:
        return unicodedata.normalize("NFD", text)
    letters = text.translate({ord(each): unicodedata.normalize("NFD", each) for each in set(text)})
    runs = groupby(letters, key=_is_mark)
    return "".join(
        "".join(sorted(run, key=_combining_class) if marks else run) for marks, run in runs
    )


def to_nfc(text: str) -> str:
    """Return a text in NFC."""
    if text.isascii() or unicodedata.is_normalized("NFC", text):
        return text
    return unicodedata.normalize("NFC", text if len(text) < _LONG else to_nfd(text))


def _is_mark(letter: str) -> bool:
    return _combining_class(letter) > 0


# Which of the texts that were sent are worth hiding.

_MIN_SECRET_LETTERS: Final = 6  # "none" and "EMPTY" are what servers without keys are given.


def is_worth_masking(secret: str) -> bool:
    """Say whether a secret is one: a text so short stands in many an innocent answer."""
    return len(secret) >= _MIN_SECRET_LETTERS
