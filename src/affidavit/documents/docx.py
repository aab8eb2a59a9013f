"""DOCX through zipfile and lxml: headings by style, lists, tables, notes, title and dates."""

from collections.abc import Iterable, Iterator, Sequence
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
from affidavit.documents.tables import TableCell, table_lines
from affidavit.documents.text_builder import TextBuilder, clean_line

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
                walk.over_note(note)
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

    def over_note(self, note: Iterable["_Element"]) -> None:
        """Add a footnote or an endnote as one block, behind the text."""
        paragraphs = (element for element in _unwrapped(note) if local_name(element) == "p")
        text = " ".join("".join(_inline_text(paragraph)) for paragraph in paragraphs)
        self._builder.add(TextBlockKind.NOTE, clean_line(text))

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
        elements = [row for row in _unwrapped(table) if local_name(row) == "tr"]
        rows: list[list[TableCell]] = []
        for element in elements:
            rows.append(list(_row_cells(element, rows[-1] if rows else ())))
        if all(len(row) <= 1 for row in rows):
            for row in rows:
                for cell in row:
                    self._builder.add(TextBlockKind.PARAGRAPH, cell.text)
            return
        header_rows = 0
        while header_rows < len(rows) and _is_header(table, elements[header_rows], header_rows):
            header_rows += 1
        self._builder.add_rows(table_lines(rows, header_rows))


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


def _row_cells(row: "_Element", above: Sequence[TableCell]) -> Iterator[TableCell]:
    column = integer(property_value(row, "trPr", "gridBefore")) or 0
    for element in _unwrapped(row):
        if local_name(element) != "tc":
            continue
        merge = child(element, "tcPr", "vMerge")
        text = clean_line("".join(_inline_text(element)))
        if merge is not None and attribute(merge, "val") != "restart":
            text = text or next((cell.text for cell in above if cell.column == column), "")
        span = min(max(integer(property_value(element, "tcPr", "gridSpan")) or 1, 1), 64)
        yield TableCell(text, column, span)
        column += span


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
