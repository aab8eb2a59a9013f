"""Text from documents, answers and file names, made safe to show.

A control character in a source could clear the screen or paint a verdict that nobody reached, and
a bidirectional override could show a sentence in another order than the one that was judged. Both
are shown as escapes, and so is what nobody would see, but for the joiners of scripts and emoji.
`--json` needs none of this: JSON escapes them itself.
"""

import re
from typing import Final

_CONTROLS: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)
_BREAKS: Final = re.compile(r"\s*[\n\t]\s*")


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def printable(text: str) -> str:
    """Return the text with what a terminal would obey shown as escapes; line breaks stay."""
    return _CONTROLS.sub(_escape, text)


def on_one_line(text: str) -> str:
    """Return the text as one line: a line break, with the space around it, is one space."""
    return printable(_BREAKS.sub(" ", text.strip()))
