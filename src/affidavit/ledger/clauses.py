"""Where a compound sentence is cut, so that each part stands alone. Rules C1 to C5, docs/ledger.md.

The tests are conservative: a sentence left whole is checked as a whole, but a wrong cut makes
claims that nobody made.
"""

import re
from typing import Final

from affidavit.ledger.grammar import CONDITIONS, SUBORDINATORS, find_main_verb, word_set, words_of
from affidavit.ledger.model import Span

MAX_CHARS: Final = 500
"""The longest claim: seed-origins, C3."""

_JOINT: Final = re.compile(
    r";[ ]+(?:and[ ]|but[ ])?|,[ ](?:and|but|while|whereas|yet)[ ]", re.IGNORECASE
)
_LEADS_ON: Final = word_set(
    """it he she they this that these those which who whom whose its their his her such both
    neither either each some others most one then so therefore otherwise else instead not also even
    only thus hence if unless whether when because until although though"""
)
"""A part that begins with one of these leans on the part before it."""
_PAIRED: Final = frozenset({"between", "both", "either", "neither"})
_SUBJECT_WORDS: Final = 8
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
    words = words_of(left)
    if find_main_verb(words) is None:
        return False
    # A condition or "between" on the left may reach over the joint.
    return not any(word.text in CONDITIONS or word.text in _PAIRED for word in words)


def _right_stands(right: str) -> bool:
    """A part stands if it begins with its own subject and has a verb soon behind it."""
    words = words_of(right)
    if not words or words[0].text in _LEADS_ON or words[0].text in SUBORDINATORS:
        return False
    verb = find_main_verb(words[: _SUBJECT_WORDS + 1])
    return verb is not None and verb > 0


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
