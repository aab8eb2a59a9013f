"""Whether an event may hold a secret or personal data, told from its bytes in a few microseconds.

A mark is something without which no form of secrets.py and personal_data.py matches. Bytes without
one need no second look; bytes with one may still be harmless. Every test is one that runs at the
speed of C: a literal in a text, or a literal in a text whose letters were replaced by their kinds.
A law in the tests holds this module to the forms.
"""

import re
from collections.abc import Sequence
from string import ascii_letters, ascii_uppercase, digits
from typing import Final

from affidavit.packs.events import EventHead

# Every key that an issuer gives out is one long word, so a text without long words holds none. In
# a long text the search for long words would cost more than it saves.
_LONG_WORD: Final = "w" * 20
_LONG_TEXT: Final = 500
_WORDS: Final = bytes.maketrans((ascii_letters + digits + "_-").encode(), b"w" * 64)
# Each begins with one letter that is found at the speed of memchr.
_PREFIXES: Final = (
    # Words end in sk, too: before a key stands no letter, but perhaps the n of a line feed.
    re.compile(
        r"-(?:(?<=[^\w-]sk-)|(?<=\\[a-z]sk-)|(?<=glpat-)|(?<=xox[abeoprs]-)|(?<=pypi-))", re.ASCII
    ),
    re.compile(
        r"_(?:(?<=[^\w-][sr]k_)|(?<=\\[a-z][sr]k_)|(?<=gh[pousr]_)|(?<=github_pat_)|(?<=hf_)"
        r"|(?<=npm_))",
        re.ASCII,
    ),
    re.compile(r"A(?:KIA|SIA|ROA|IDA|Iza)"),
)
_NAMES: Final = tuple(
    (name, re.compile(rf"{name}{rest}\\?[\"']?\s*[:=]", re.ASCII))
    for name, rest in (("token", ""), ("secret", ""), ("passw", "(?:or)?d"), ("key", ""))
)
# Digits are 0 and capitals A, and the spaces between groups of them are gone. Hyphens stay: every
# UUID has them.
_SHAPES: Final = bytes.maketrans((digits + ascii_uppercase).encode(), b"0" * 10 + b"A" * 26)
_SPACE: Final = b" "
_CARDS: Final = ("0" * 13, "0000-0000-0000-0000", "0000-000000-00000")
_ACCOUNT: Final = "AA00"
_PHONE: Final = re.compile(r"\+[1-9]")


def may_be_sensitive(heads: Sequence[EventHead]) -> bool:
    """Say whether some events deserve a second look; False only if there is nothing in them."""
    # A quote between them, so that none can end or begin a word of the next.
    return has_mark(b'"'.join([*(each.data for each in heads), *subjects_of(heads)]))


def subjects_of(heads: Sequence[EventHead]) -> list[bytes]:
    """Return the subjects of those events that have one."""
    subjects = (each.subject for each in heads if each.subject is not None)
    return [subject.encode("utf-8", "surrogatepass") for subject in subjects]


def has_mark(raw: bytes) -> bool:
    """Say whether JSON or text may hold something sensitive."""
    text = raw.decode("latin-1")
    return (
        "@" in text
        or "PRIVATE KEY" in text
        or "\\u" in text  # It may spell any of these, and canonical JSON seldom has one.
        or ("+" in text and _PHONE.search(text) is not None)
        or _has_prefix(raw, text)
        or _has_number(raw)
        or _has_name(text.lower())
    )


def _has_number(raw: bytes) -> bool:
    shapes = raw.translate(_SHAPES, _SPACE).decode("latin-1")
    one, grouped, short = _CARDS
    return one in shapes or _ACCOUNT in shapes or grouped in shapes or short in shapes


def _has_prefix(raw: bytes, text: str) -> bool:
    if len(raw) < _LONG_TEXT and _LONG_WORD not in raw.translate(_WORDS).decode("latin-1"):
        return False
    return "eyJ" in text or any(pattern.search(text) for pattern in _PREFIXES)


def _has_name(lowered: str) -> bool:
    if "bearer " in lowered:
        return True
    return any(name in lowered and with_value.search(lowered) for name, with_value in _NAMES)
