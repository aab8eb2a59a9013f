"""Builds a document's text block by block, so that the sentence rule sees where each block ends.

Every offset of the product counts code points in that text. There is a blank line between blocks, a
list item follows its mark, a table row is between bars with its header before every cell, and code
is between fences (see ledger/sentences.py).
"""

import re
from typing import Final

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence as faults
from affidavit.base.text import to_nfc
from affidavit.documents.model import DocumentLimits, TextBlock, TextBlockKind

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

    def extend(self, text: str) -> None:
        """Append `text` to the last block: a paragraph that continues after a page break."""
        last = self._blocks[-1]
        self._parts.append(text)
        self._length += len(text)
        self._blocks[-1] = TextBlock(last.kind, last.start, self._length, last.level)
        self._check()

    @property
    def last(self) -> TextBlock | None:
        """The block that was added last."""
        return self._blocks[-1] if self._blocks else None

    @property
    def tail(self) -> str:
        """The piece of text that was added last."""
        return self._parts[-1] if self._parts else ""

    def text(self) -> str:
        """Return the whole text."""
        return "".join(self._parts)

    def blocks(self) -> tuple[TextBlock, ...]:
        """Return the blocks in order."""
        return tuple(self._blocks)

    def page_marks(self) -> tuple[tuple[int, int], ...]:
        """Return where each page begins; a mark may be on the white space before its page."""
        return tuple(self._page_marks)

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


def row_text(header: tuple[str, ...], cells: tuple[str, ...]) -> str:
    """Return a table row that can be read alone: every cell after the name of its column.

    A cell whose column has no name, or the same text, is written without it.
    """
    named = (
        f"{name}: {cell}" if name and name != cell else cell
        for name, cell in zip((*header, *("",) * (len(cells) - len(header))), cells, strict=False)
        if cell
    )
    body = " | ".join(named)
    return f"| {body} |" if body else ""


def code_text(code: str) -> str:
    """Return code between fences that it does not contain; "" for no code."""
    fence = "~~~" if "```" in code else "```"
    return f"{fence}\n{code}\n{fence}" if code.strip() else ""
