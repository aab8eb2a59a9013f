"""A document as the readers return it: one normalised text, its blocks, and the findings made
while reading.
"""

import re
from enum import StrEnum
from typing import Final

import msgspec

from affidavit.base.errors import AffidavitError, Fault, Where
from affidavit.base.faults import evidence as faults
from affidavit.base.text import to_nfc
from affidavit.documents.settings import DocumentLimits

# What was met while reading sources: data that is stored and listed, and that stops nothing.


class DocumentFinding(msgspec.Struct, frozen=True):
    """One coded fault of one file. `read` tells whether the document is used in spite of it."""

    code: str
    name: str
    file: str
    message: str
    next_step: str
    read: bool

    def __str__(self) -> str:
        return f"{self.code}: {self.file}: {self.message}. Next: {self.next_step}"


class ReaderWarning(msgspec.Struct, frozen=True):
    """A fault that a reader met without giving up, before the file's name is known."""

    fault: Fault
    values: dict[str, object] = {}


def finding_from_fault(
    fault: Fault, file: str, *, read: bool = False, **values: object
) -> DocumentFinding:
    """Return the finding of a fault from the catalog."""
    return finding_from_error(AffidavitError(fault, Where(file=file), **values), file, read=read)


def finding_from_error(error: AffidavitError, file: str, *, read: bool = False) -> DocumentFinding:
    """Return an error as a finding of `file`."""
    fault = error.fault
    return DocumentFinding(fault.code, fault.name, file, error.message, error.next_step, read)


# A document as the readers hand it on: one normalised text, and the blocks that stand in it.
#
# Every offset of the product counts code points in that text. It is made so that the sentence rule
# (ledger/sentences.py) sees each block's end: a blank line between blocks, a list item behind its
# mark, a table row between bars with its header before every cell, code between fences.


class TextBlockKind(StrEnum):
    """What a block is."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    ITEM = "item"
    ROW = "row"
    CODE = "code"
    CONTENTS = "contents"
    """A line of a table of contents: part of the text, no evidence, so in no chunk."""


class TextBlock(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A stretch of the text. `level` is 1 for a top heading, 0 for an item of an outer list."""

    kind: TextBlockKind
    start: int
    end: int
    level: int = 0


class ParsedDocument(msgspec.Struct, frozen=True):
    """What one format's reader found, before the file's name, digest and date are put to it."""

    text: str
    blocks: tuple[TextBlock, ...]
    title: str = ""
    page_count: int | None = None
    page_marks: tuple[tuple[int, int], ...] = ()
    """(offset, page): from this offset on the text stands on this page, counted from 1."""
    stated_dates: tuple[str, ...] = ()
    """Dates of the document's own metadata, best first, as the format writes them."""
    warnings: tuple[ReaderWarning, ...] = ()


class ReadDocument(msgspec.Struct, frozen=True):
    """A document that was read."""

    filename: str
    digest: str
    media_type: str
    title: str
    date: str | None
    page_count: int | None
    text: str
    blocks: tuple[TextBlock, ...]
    page_marks: tuple[tuple[int, int], ...] = ()
    findings: tuple[DocumentFinding, ...] = ()


_CONTROL: Final = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
# Soft hyphens, joiners and direction marks are typography that would split or hide words; the
# ligatures are one glyph for two letters. The figure dash and minus signs stay: they carry meaning.
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
    """Return one line: white space runs become one space, what has no meaning is left out."""
    if not text.isascii():
        if _HAS_TYPOGRAPHY.search(text):
            text = text.translate(_TYPOGRAPHY)
        text = to_nfc(text)
    line = " ".join(text.split())
    return line if line.isprintable() else " ".join(_CONTROL.sub("", line).split())


def clean_code(text: str) -> str:
    """Return code with its lines and spaces as they are, and without control characters."""
    lines = (_CONTROL.sub("", line).rstrip() for line in text.expandtabs(4).splitlines())
    return "\n".join(lines).strip("\n")


class TextBuilder:
    """Puts a document's text together, block by block; a size over the limits is refused."""

    def __init__(self, limits: DocumentLimits) -> None:
        self._limits = limits
        self._parts: list[str] = []
        self._blocks: list[TextBlock] = []
        self._page_marks: list[tuple[int, int]] = []
        self._length = 0

    def on_page(self, page: int) -> None:
        """Say that what follows stands on this page."""
        if self._page_marks and self._page_marks[-1][0] == self._length:
            self._page_marks.pop()
        self._page_marks.append((self._length, page))

    def add(self, kind: TextBlockKind, text: str, level: int = 0) -> None:
        """Add a block whose text is clean already; an empty one is no block."""
        if not text:
            return
        start = self._length + self._separate(kind)
        self._parts.append(text)
        self._length = start + len(text)
        self._blocks.append(TextBlock(kind, start, self._length, level))
        self._check()

    def extend(self, text: str) -> None:
        """Let the last block go on with `text`: a paragraph that runs over a page break."""
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
        """Return where each page begins; a mark may stand on the white space before its page."""
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


# A tuple: members of an enumeration are compared faster than they are hashed.
_UNSPACED_KINDS: Final = (TextBlockKind.ITEM, TextBlockKind.ROW, TextBlockKind.CONTENTS)


def row_text(header: tuple[str, ...], cells: tuple[str, ...]) -> str:
    """Return a table row that can be read alone: every cell behind the name of its column.

    A column without a name, and a cell that says the same as its column, stand alone.
    """
    named = (
        f"{name}: {cell}" if name and name != cell else cell
        for name, cell in zip((*header, *("",) * (len(cells) - len(header))), cells, strict=False)
        if cell
    )
    body = " | ".join(named)
    return f"| {body} |" if body else ""


def code_text(code: str) -> str:
    """Return code between fences that it does not hold itself; no code is no block."""
    fence = "~~~" if "```" in code else "```"
    return f"{fence}\n{code}\n{fence}" if code.strip() else ""
