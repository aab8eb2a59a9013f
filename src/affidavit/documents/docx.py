"""DOCX through zipfile and lxml: headings by style, lists, tables, notes, title and dates."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from affidavit.documents.docx_archive import DocxArchive
from affidavit.documents.docx_styles import (
    DocxNumbering,
    DocxStyles,
    attribute,
    child,
    integer,
    is_enabled,
    local_name,
    property_value,
)
from affidavit.documents.model import DocumentLimits, ParsedDocument, TextBlockKind
from affidavit.documents.text_builder import TextBuilder, clean_line, row_text

if TYPE_CHECKING:
    from lxml.etree import _Element

_SEPARATE_NOTES: Final = frozenset({"separator", "continuationSeparator", "continuationNotice"})
_SPACES: Final = frozenset({"tab", "br", "cr", "ptab"})
# Deleted and moved text is not in the document; a fallback repeats the content before it.
_NOT_TEXT: Final = frozenset({"del", "moveFrom", "Fallback", "pPr", "instrText", "txbxContent"})
_WRAPPERS: Final = frozenset({"sdt", "sdtContent", "ins", "moveTo", "customXml", "smartTag"})
_FIRST_ROW: Final = 0x0020  # Of the bit field w:tblLook@w:val (17.4.55).


def read_docx(data: bytes, limits: DocumentLimits) -> ParsedDocument:
    """Read a DOCX with all changes accepted. It has no pages."""
    archive = DocxArchive(data, limits)
    main = archive.main_part()
    folder = main.rpartition("/")[0]
    body = child(archive.required_xml(main), "body")
    builder = TextBuilder(limits)
    walk = _DocxWalker(
        builder,
        DocxStyles(archive.xml(f"{folder}/styles.xml")),
        DocxNumbering(archive.xml(f"{folder}/numbering.xml")),
    )
    walk.over(() if body is None else body)
    for notes in ("footnotes", "endnotes"):
        root = archive.xml(f"{folder}/{notes}.xml")
        for note in () if root is None else root:
            if attribute(note, "type") not in _SEPARATE_NOTES:
                walk.over(note)
    core = archive.xml("docProps/core.xml")
    return ParsedDocument(
        text=builder.text(),
        blocks=builder.blocks(),
        title=clean_line(_core_property(core, "title")) or walk.title,
        stated_dates=tuple(
            filter(None, (_core_property(core, "modified"), _core_property(core, "created")))
        ),
    )


def _core_property(core: "_Element | None", name: str) -> str:
    found = child(core, name)
    return "" if found is None else str(found.text or "")


class _DocxWalker:
    """Walks the blocks of a story (body, notes, text boxes) in order."""

    def __init__(self, builder: TextBuilder, styles: DocxStyles, numbering: DocxNumbering) -> None:
        self._builder = builder
        self._styles = styles
        self._numbering = numbering
        self.title = ""

    def over(self, elements: Iterable["_Element"]) -> None:
        for element in _unwrapped(elements):
            name = local_name(element)
            if name == "p":
                self._paragraph(element)
            elif name == "tbl":
                self._table(element)

    def _paragraph(self, paragraph: "_Element") -> None:
        style = self._styles.of_paragraph(child(paragraph, "pPr"))
        text = clean_line("".join(_inline_text(paragraph)))
        label = self._numbering.label(style.number, style.depth) if style.number else ""
        numbered = f"{label} {text}".strip() if text else ""
        if style.is_title and not self.title:
            self.title = text
        if style.is_contents:
            self._builder.add(TextBlockKind.CONTENTS, text)
        elif style.level or style.is_title:
            heading = text if label == "-" else numbered
            self._builder.add(TextBlockKind.HEADING, heading, max(style.level, 1))
        elif label:
            self._builder.add(TextBlockKind.ITEM, numbered, style.depth)
        else:
            self._builder.add(TextBlockKind.PARAGRAPH, text)
        for box in _text_boxes(paragraph):
            self.over(box)

    def _table(self, table: "_Element") -> None:
        rows = [row for row in _unwrapped(table) if local_name(row) == "tr"]
        header: tuple[str, ...] = ()
        above: tuple[str, ...] = ()
        for index, row in enumerate(rows):
            cells = tuple(_row_cells(row, above))
            above = cells
            if len(cells) == 1:
                self._builder.add(TextBlockKind.PARAGRAPH, cells[0])
            elif _is_header(table, row, index) and index < len(rows) - 1:
                header = cells
            else:
                self._builder.add(TextBlockKind.ROW, row_text(header, cells))


def _unwrapped(elements: Iterable["_Element"]) -> Iterator["_Element"]:
    """Yield blocks, including those in content controls and accepted changes."""
    stack = [iter(elements)]
    while stack:
        element = next(stack[-1], None)
        if element is None:
            stack.pop()
        elif local_name(element) in _WRAPPERS:
            stack.append(iter(element))
        else:
            yield element


def _inline_text(element: "_Element") -> Iterator[str]:
    """Yield the text under an element that a reader of the printed page would see."""
    stack = [iter(element)]
    while stack:
        part = next(stack[-1], None)
        if part is None:
            stack.pop()
            continue
        name = local_name(part)
        if name == "t":
            yield part.text or ""
        elif name in _SPACES:
            yield " "
        elif name == "noBreakHyphen":
            yield "-"
        elif name not in _NOT_TEXT and not (name == "r" and is_enabled(part, "rPr", "vanish")):
            stack.append(iter(part))
            if name == "p":
                yield " "


def _text_boxes(paragraph: "_Element") -> Iterator["_Element"]:
    for box in paragraph.iter("{*}txbxContent"):
        if not any(local_name(above) == "Fallback" for above in box.iterancestors()):
            yield box


def _row_cells(row: "_Element", above: tuple[str, ...]) -> Iterator[str]:
    column = 0
    for cell in _unwrapped(row):
        if local_name(cell) != "tc":
            continue
        merge = child(cell, "tcPr", "vMerge")
        text = clean_line("".join(_inline_text(cell)))
        if merge is not None and attribute(merge, "val") != "restart" and column < len(above):
            text = text or above[column]
        yield text
        # A cell over several columns counts for each, so that later cells keep their column names.
        width = min(integer(property_value(cell, "tcPr", "gridSpan")) or 1, 64)
        yield from ("",) * (width - 1)
        column += max(width, 1)


def _is_header(table: "_Element", row: "_Element", index: int) -> bool:
    if is_enabled(row, "trPr", "tblHeader"):
        return True
    look = child(table, "tblPr", "tblLook")
    first_row = attribute(look, "firstRow")
    if first_row is None:
        bits = attribute(look, "val") or "0"
        first_row = str(int(bits, 16) & _FIRST_ROW) if _is_hex(bits) else "0"
    return index == 0 and first_row not in {"0", "false", "off"}


def _is_hex(text: str) -> bool:
    return len(text) <= 8 and all(letter in "0123456789abcdefABCDEF" for letter in text)
