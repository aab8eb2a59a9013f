"""Positions, field paths and excerpts for error messages; Unicode normal forms; secrets."""

import unicodedata
from collections.abc import Iterable
from itertools import groupby
from typing import Final


def line_and_column(raw: bytes, at: int) -> tuple[int, int]:
    """Return the line and column of a byte, counted from 1; columns count characters."""
    line_start = raw.rfind(b"\n", 0, at) + 1
    column = len(raw[line_start:at].decode(errors="replace")) + 1
    return raw.count(b"\n", 0, at) + 1, column


def field_path(steps: Iterable[str | int | None]) -> str | None:
    """Return a path such as `checks[2].path`; None for the value itself.

    An unknown step is None. A key that is not a plain word is quoted, so the path is unambiguous
    and no control character of a hostile document reaches a terminal.
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
    """Return a text shortened for an error message."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


# The Unicode normal forms (Unicode Standard Annex 15) in linear time. Python orders a run of
# combining marks by insertion, which is quadratic: half a million marks, a megabyte that compresses
# to some hundred bytes, would take minutes. So the marks of a long text are sorted first.

_LONG: Final = 256
_combining_class = unicodedata.combining


def to_nfd(text: str) -> str:
    """Return a text in NFD. Two texts are equal in NFD if and only if they are equal in NFC."""
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


_MIN_SECRET_LETTERS: Final = 6  # "none" and "EMPTY" are sent to servers without keys.


def is_worth_masking(secret: str) -> bool:
    """Say whether a secret is long enough to mask; shorter ones occur in ordinary answers."""
    return len(secret) >= _MIN_SECRET_LETTERS
