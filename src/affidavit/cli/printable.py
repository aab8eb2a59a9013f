"""Text from documents, answers and file names, made safe to show.

A control character in a source could clear the screen or paint a verdict that nobody reached, and
a bidirectional override could show a sentence in another order than the one that was judged. Both
are shown as escapes. `--json` needs none of this: JSON escapes them itself.
"""

import re
from typing import Final

_CONTROLS: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)
_BREAKS: Final = re.compile(r"\s*[\n\t]\s*")


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def printable(text: str) -> str:
    """Return the text with what a terminal would obey shown as escapes; line breaks stay."""
    return _CONTROLS.sub(_escape, text)


def on_one_line(text: str) -> str:
    """Return the text as one line: a line break, with the space around it, is one space."""
    return printable(_BREAKS.sub(" ", text.strip()))
