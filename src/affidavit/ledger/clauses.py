"""Where a compound sentence is cut, so that each part stands alone. Rules C1 to C5, docs/ledger.md.

The tests are conservative: a sentence left whole is checked as a whole, but a wrong cut makes
claims that nobody made.
"""

import re
from itertools import pairwise
from typing import Final

from affidavit.ledger.grammar import (
    CONDITIONS,
    SUBORDINATORS,
    Word,
    find_main_verb,
    word_set,
    words_of,
)
from affidavit.ledger.model import Span

MAX_CHARS: Final = 500
"""The longest claim: seed-origins, C3."""

_JOINT: Final = re.compile(
    r";[ ]+(?:and[ ]|but[ ])?|,[ ](?:and|but|while|whereas|yet)[ ]", re.IGNORECASE
)
_LEANS: Final = word_set(
    """it he she they this that these those which who whom whose its their his her such both
    neither either each some others most one then so therefore otherwise else instead not also even
    only thus hence if unless whether when because until although though how what why where to
    in on at for by with from of under during into as through within without despite due rather
    just like sometimes"""
)
"""A part that begins with one of these leans on the part before it, or has no subject yet."""
_PAIRED: Final = frozenset({"between", "both", "either", "neither"})
_SUBJECT_WORDS: Final = 8
_ITEM_WORDS: Final = 4
_ANY_SUBJECT: Final = Word("it", 0, 0)
_LONGEST_COMPOUND: Final = 2000
_OPENING: Final = "([{\u201c\u2018"
_CLOSING: Final = ")]}\u201d\u2019"
_SOFT_CUTS: Final = ("; ", ": ", ", ", " ")


def clause_spans(sentence: str) -> tuple[Span, ...]:
    """Return the parts of a sentence that stand alone; the words between them are left out."""
    parts: list[Span] = []
    start = 0
    # Beyond this length it is no sentence that a person wrote, and only cut to size.
    joints = _JOINT.finditer(sentence) if len(sentence) <= _LONGEST_COMPOUND else ()
    for joint in joints:
        if _stand_alone(sentence[start : joint.start()], sentence[joint.end() :]):
            parts.append(Span(start, joint.start()))
            start = joint.end()
    parts.append(Span(start, len(sentence)))
    return tuple(piece for part in parts for piece in _pieces(sentence, part))


def _stand_alone(left: str, right: str) -> bool:
    return _is_balanced(left) and _left_stands(left) and _right_stands(right)


def _left_stands(left: str) -> bool:
    """A part stands if it has a verb of its own and nothing in it reaches over the joint."""
    words = words_of(left)
    if find_main_verb(words) is None or _ends_in_list(left):
        return False
    # A condition, "between" or "says that" on the left may reach over the joint.
    holders = (word.text in CONDITIONS or word.text in _PAIRED for word in words)
    return not any(holders) and not _reports(words)


def _ends_in_list(left: str) -> bool:
    """Tell whether the joint may be the last comma of a list, or belong to a relative clause."""
    _, comma, last = left.rpartition(", ")
    words = words_of(last)
    if not comma or not words:
        return False
    is_short = len(words) <= _ITEM_WORDS and find_main_verb(words) is None
    return is_short or words[0].text in SUBORDINATORS


def _reports(words: tuple[Word, ...]) -> bool:
    """Tell whether a verb is followed by "that": what it holds may go on behind the joint."""
    return any(
        that.text == "that" and find_main_verb((_ANY_SUBJECT, verb)) is not None
        for verb, that in pairwise(words)
    )


def _right_stands(right: str) -> bool:
    """A part stands if it begins with its own subject and has a verb soon behind it."""
    words = words_of(right)
    if not words or words[0].text in _LEANS or words[0].text in SUBORDINATORS:
        return False
    verb = find_main_verb(words[: _SUBJECT_WORDS + 1])
    if not verb or words[0].text.endswith("ly"):
        return False
    # Behind a comma the verb may be that of another clause.
    return "," not in right[: words[verb].start]


def _is_balanced(text: str) -> bool:
    """Tell whether every bracket and quotation that was opened is closed again."""
    opened = sum(text.count(mark) for mark in _OPENING)
    # An apostrophe looks like a closing quote, so more may close than open.
    closed = sum(text.count(mark) for mark in _CLOSING)
    return opened <= closed and text.count('"') % 2 == 0


def _pieces(sentence: str, part: Span) -> tuple[Span, ...]:
    """Cut a part of more than MAX_CHARS at its last joint, comma or space that keeps to it."""
    pieces: list[Span] = []
    start = part.start
    while part.end - start > MAX_CHARS:
        window = sentence[start : start + MAX_CHARS]
        length = next((cut for mark in _SOFT_CUTS if (cut := _last(window, mark))), MAX_CHARS)
        pieces.append(Span(start, start + length))
        start += length
    pieces.append(Span(start, part.end))
    return tuple(pieces)


def _last(window: str, mark: str) -> int:
    """Return the length of `window` up to its last `mark`, if that is not in its first half."""
    cut = window.rfind(mark) + len(mark)
    return cut if cut > MAX_CHARS // 2 else 0
