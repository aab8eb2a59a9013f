"""Builds a document's text block by block, so that the sentence rule sees where each block ends.

Every offset of the product counts code points in that text. There is a blank line between blocks, a
list item follows its mark, a table row is between bars (see tables.py), and code is between fences
(see ledger/sentences.py).
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence as faults
from affidavit.base.text import to_nfc
from affidavit.documents.model import DocumentLimits, LineBox, TextBlock, TextBlockKind

_CONTROL: Final = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
# Soft hyphens, joiners and direction marks would split or hide words; a ligature is one glyph for
# two letters. The figure dash and minus signs stay: they have a meaning.
_TYPOGRAPHY: Final = str.maketrans(
    {
        **dict.fromkeys("\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff", None),
        **dict(
            zip(
                "\ufb00\ufb01\ufb02\ufb03\ufb04\ufb05\ufb06",
                ("ff", "fi", "fl", "ffi", "ffl", "st", "st"),
                strict=True,
            )
        ),
    }
)

_HAS_TYPOGRAPHY: Final = re.compile(f"[{''.join(map(chr, _TYPOGRAPHY))}]")


def clean_line(text: str) -> str:
    """Return one line with single spaces, without control characters and typography."""
    if not text.isascii():
        if _HAS_TYPOGRAPHY.search(text):
            text = text.translate(_TYPOGRAPHY)
        text = to_nfc(text)
    line = " ".join(text.split())
    return line if line.isprintable() else " ".join(_CONTROL.sub("", line).split())


def clean_code(text: str) -> str:
    """Return code with its lines and spaces, without control characters."""
    lines = (_CONTROL.sub("", line).rstrip() for line in text.expandtabs(4).splitlines())
    return "\n".join(lines).strip("\n")


class TextBuilder:
    """Builds the text and its blocks. A text over the limits is refused."""

    def __init__(self, limits: DocumentLimits) -> None:
        self._limits = limits
        self._parts: list[str] = []
        self._blocks: list[TextBlock] = []
        self._page_marks: list[tuple[int, int]] = []
        self._line_boxes: list[tuple[int, LineBox]] = []
        self._length = 0

    def on_page(self, page: int) -> None:
        """Start a page."""
        if self._page_marks and self._page_marks[-1][0] == self._length:
            self._page_marks.pop()
        self._page_marks.append((self._length, page))

    def add(self, kind: TextBlockKind, text: str, level: int = 0) -> None:
        """Add a block of clean text; empty text is ignored."""
        if not text:
            return
        start = self._length + self._separate(kind)
        self._parts.append(text)
        self._length = start + len(text)
        self._blocks.append(TextBlock(kind, start, self._length, level))
        self._check()

    def add_rows(self, lines: Iterable[str]) -> None:
        """Add the rows of a table."""
        for line in lines:
            self.add(TextBlockKind.ROW, line)

    def add_lines(
        self, kind: TextBlockKind, lines: Sequence[tuple[str, LineBox]], level: int = 0
    ) -> None:
        """Add a block of printed lines; each is text that continues the one before."""
        self.add(kind, "".join(text for text, _ in lines), level)
        at = self._blocks[-1].start
        for text, box in lines:
            if not self._page_marks or self._page_marks[-1][1] != box.page:
                self._page_marks.append((at, box.page))
            self._line_boxes.append((at, box))
            at += len(text)

    def text(self) -> str:
        """Return the whole text."""
        return "".join(self._parts)

    def blocks(self) -> tuple[TextBlock, ...]:
        """Return the blocks in order."""
        return tuple(self._blocks)

    def page_marks(self) -> tuple[tuple[int, int], ...]:
        """Return where each page begins; a mark may be on the white space before its page."""
        return tuple(self._page_marks)

    def line_boxes(self) -> tuple[tuple[int, LineBox], ...]:
        """Return where each printed line begins in the text, and its place on the page."""
        return tuple(self._line_boxes)

    def _separate(self, kind: TextBlockKind) -> int:
        if not self._blocks:
            return 0
        gap = "\n" if kind is self._blocks[-1].kind and kind in _UNSPACED_KINDS else "\n\n"
        self._parts.append(gap)
        return len(gap)

    def _check(self) -> None:
        if self._length > self._limits.max_characters:
            raise _too_large("characters of text", self._limits.max_characters)
        if len(self._blocks) > self._limits.max_blocks:
            raise _too_large("blocks", self._limits.max_blocks)


def _too_large(what: str, limit: int) -> AffidavitError:
    return AffidavitError(faults.DOCUMENT_TOO_LARGE, what=what, limit=limit)


# A tuple: comparing members of an enumeration is faster than hashing them.
_UNSPACED_KINDS: Final = (TextBlockKind.ITEM, TextBlockKind.ROW, TextBlockKind.CONTENTS)


def code_text(code: str) -> str:
    """Return code between fences that it does not contain; "" for no code."""
    fence = "~~~" if "```" in code else "```"
    return f"{fence}\n{code}\n{fence}" if code.strip() else ""
