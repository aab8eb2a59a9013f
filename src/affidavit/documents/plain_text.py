"""Plain text: paragraphs between blank lines, headings by underline or by number, lists, tables."""

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Final, NamedTuple

from affidavit.documents.detection import decode_text
from affidavit.documents.model import DocumentLimits, ParsedDocument, TextBlockKind
from affidavit.documents.tables import table_lines
from affidavit.documents.text_builder import TextBuilder, clean_line
from affidavit.documents.text_tables import find_tables

_UNDERLINE: Final = re.compile(r"[ \t]*([=\-~^\"'*+#])\1{2,}[ \t]*$")
_NUMBERED_HEADING: Final = re.compile(r"(\d{1,3}(?:\.\d{1,3})*)\.?[ \t]+[^\W\d_]")
_BULLET: Final = re.compile(r"[ \t]*[*+\u2022\u2023\u25aa\u25e6-][ \t]+")
_NUMBER: Final = re.compile(r"[ \t]*\(?(\d{1,3}|[a-z]|[ivx]{1,5})[.)][ \t]+")
_FIRST_NUMBERS: Final = frozenset({"1", "a", "i"})
_LONGEST_HEADING: Final = 100
_UNDERLINE_LEVELS: Final = "=-~^\"'*+#"


class _TextPiece(NamedTuple):
    kind: TextBlockKind
    text: str
    level: int = 0


def read_plain_text(data: bytes, limits: DocumentLimits) -> ParsedDocument:
    """Read plain text."""
    text, warnings = decode_text(data)
    builder = TextBuilder(limits)
    lines = text.splitlines()
    at = 0
    for table in find_tables(lines):
        _add_prose(builder, lines[at : table.start])
        builder.add_rows(table_lines(table.rows, table.header_rows))
        at = table.end
    _add_prose(builder, lines[at:])
    headings = (block for block in builder.blocks() if block.kind is TextBlockKind.HEADING)
    built = builder.text()
    title = next((built[block.start : block.end] for block in headings), "")
    return ParsedDocument(text=built, blocks=builder.blocks(), title=title, warnings=warnings)


def _add_prose(builder: TextBuilder, lines: list[str]) -> None:
    for is_blank, paragraph in groupby(lines, lambda line: not line.strip()):
        for piece in () if is_blank else _pieces(list(paragraph)):
            builder.add(piece.kind, clean_line(piece.text), piece.level)


def _pieces(lines: list[str]) -> Iterator[_TextPiece]:
    at = 0
    while at < len(lines):
        heading = _heading(lines[at : at + 2])
        if heading is None:
            break
        yield heading
        at += 2
    yield from _items_and_prose(lines[at:])


def _heading(lines: list[str]) -> _TextPiece | None:
    first = lines[0].strip()
    if len(first) > _LONGEST_HEADING:
        return None
    if len(lines) > 1:
        underline = _UNDERLINE.match(lines[1])
        level = _UNDERLINE_LEVELS.index(underline[1]) + 1 if underline else 0
        return _TextPiece(TextBlockKind.HEADING, first, level) if underline else None
    numbered = _NUMBERED_HEADING.match(first)
    if numbered and not first.endswith((".", ";", ",")):
        return _TextPiece(TextBlockKind.HEADING, first, numbered[1].count(".") + 1)
    return (
        _TextPiece(TextBlockKind.HEADING, first, 1) if first.isupper() and len(first) > 3 else None
    )


def _items_and_prose(lines: list[str]) -> Iterator[_TextPiece]:
    kind, run = TextBlockKind.PARAGRAPH, list[str]()
    for line in lines:
        starts = _item_text(line, kind if run else TextBlockKind.ITEM)
        is_row = line.lstrip().startswith("|")
        if starts or is_row or kind is TextBlockKind.ROW:
            if run:
                yield _TextPiece(kind, " ".join(run))
            run = []
            kind = (
                TextBlockKind.ROW
                if is_row
                else TextBlockKind.ITEM
                if starts
                else TextBlockKind.PARAGRAPH
            )
        run.append(starts or line)
    if run:
        yield _TextPiece(kind, " ".join(run))


def _item_text(line: str, open_kind: TextBlockKind) -> str:
    """Return the line as the first of an item, with a plain mark; "" if it starts none."""
    bullet = _BULLET.match(line)
    if bullet:
        return f"- {line[bullet.end() :]}"
    number = _NUMBER.match(line)
    # As in Markdown, a paragraph is only interrupted by the first number of a list.
    if number and (open_kind is TextBlockKind.ITEM or number[1] in _FIRST_NUMBERS):
        return line
    return ""
