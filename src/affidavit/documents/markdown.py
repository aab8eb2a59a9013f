"""Markdown through markdown-it (CommonMark and tables), as text: the marks of emphasis are gone."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from affidavit.documents.detection import decode_text
from affidavit.documents.model import DocumentLimits, ParsedDocument, TextBlockKind
from affidavit.documents.tables import TableCell, table_lines
from affidavit.documents.text_builder import TextBuilder, clean_code, clean_line, code_text
from affidavit.documents.text_tables import find_tables

if TYPE_CHECKING:
    from markdown_it.token import Token

_FRONT_MATTER: Final = re.compile(
    r"\A\ufeff?---[ \t]*\r?\n(.*?)\r?\n(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.S
)
_FIELD: Final = re.compile(
    r"^(title|date|updated|last_modified|lastmod)\s*:\s*(.+?)\s*$", re.I | re.M
)
_TAG: Final = re.compile(r"<[^<>]*>")
_LINE_END: Final = re.compile(r"\r\n?|\n")
_NOT_RUNNING: Final = frozenset(
    {"fence", "code_block", "html_block", "table_open", "blockquote_open"}
    | {"bullet_list_open", "ordered_list_open"}
)
_DATE_FIELDS: Final = ("updated", "last_modified", "lastmod", "date")


def read_markdown(data: bytes, limits: DocumentLimits) -> ParsedDocument:
    """Read Markdown. Front matter between `---` gives title and date and is not text."""
    from markdown_it import MarkdownIt

    source, warnings = decode_text(data)
    front = _FRONT_MATTER.match(source)
    fields = {
        name.lower(): value.strip("\"'")
        for name, value in _FIELD.findall(front[1] if front else "")
    }
    parser = MarkdownIt("commonmark").enable("table")
    body = source[front.end() if front else 0 :]
    # The targets of links: a part of the text may use what another part defines.
    references: dict[str, object] = {}
    tokens = parser.parse(body, references)
    builder = TextBuilder(limits)
    walker = _MarkdownWalker(builder)
    lines = _LINE_END.split(body)
    at = 0
    for table in find_tables(_running_lines(lines, tokens)):
        walker.over(parser.parse("\n".join(lines[at : table.start]), references))
        builder.add_rows(table_lines(table.rows, table.header_rows))
        at = table.end
    walker.over(parser.parse("\n".join(lines[at:]), references) if at else tokens)
    return ParsedDocument(
        text=builder.text(),
        blocks=builder.blocks(),
        title=fields.get("title", "") or _first_heading(builder),
        stated_dates=tuple(fields[name] for name in _DATE_FIELDS if name in fields),
        warnings=warnings,
    )


def _running_lines(lines: Sequence[str], tokens: Sequence["Token"]) -> list[str]:
    """Return the lines that can hold a table of plain text; all others are blank."""
    running = list(lines)
    for token in tokens:
        if token.type in _NOT_RUNNING and token.map:
            start, end = token.map
            running[start:end] = [""] * (end - start)
    return running


def _first_heading(builder: TextBuilder) -> str:
    heading = next(
        (block for block in builder.blocks() if block.kind is TextBlockKind.HEADING), None
    )
    return builder.text()[heading.start : heading.end] if heading else ""


class _MarkdownWalker:
    """Walks the tokens once and tracks the open lists and tables."""

    def __init__(self, builder: TextBuilder) -> None:
        self._builder = builder
        self._numbers: list[int | None] = []
        self._mark = ""
        self._heading_level = 0
        self._rows: list[list[TableCell]] = []
        self._in_row = False

    def over(self, tokens: Sequence["Token"]) -> None:
        for token in tokens:
            handler = _HANDLERS.get(token.type)
            if handler is not None:
                handler(self, token)

    def open_list(self, token: "Token") -> None:
        start = token.attrGet("start")
        ordered = token.type == "ordered_list_open"
        self._numbers.append(int(start) if start is not None else 1 if ordered else None)

    def close_list(self, _token: "Token") -> None:
        self._numbers.pop()

    def open_item(self, _token: "Token") -> None:
        number = self._numbers[-1]
        self._mark = "- " if number is None else f"{number}. "
        if number is not None:
            self._numbers[-1] = number + 1

    def open_heading(self, token: "Token") -> None:
        self._heading_level = int(token.tag[1])

    def close_heading(self, _token: "Token") -> None:
        self._heading_level = 0

    def open_table(self, _token: "Token") -> None:
        self._rows = []

    def open_row(self, _token: "Token") -> None:
        self._rows.append([])
        self._in_row = True

    def close_row(self, _token: "Token") -> None:
        self._in_row = False

    def close_table(self, _token: "Token") -> None:
        self._builder.add_rows(table_lines(self._rows, header_rows=1))

    def inline(self, token: "Token") -> None:
        text = clean_line("".join(_inline_text(token.children or ())))
        if self._in_row:
            self._rows[-1].append(TableCell(text, len(self._rows[-1])))
        elif self._heading_level:
            self._builder.add(TextBlockKind.HEADING, text, self._heading_level)
        elif self._mark and text:
            self._builder.add(TextBlockKind.ITEM, self._mark + text, len(self._numbers) - 1)
            self._mark = ""
        else:
            self._builder.add(TextBlockKind.PARAGRAPH, text)

    def code(self, token: "Token") -> None:
        lines = token.content.splitlines()
        table = next(find_tables(lines), None)
        if table is not None and (table.start, table.end) == (0, len(lines)):
            self._builder.add_rows(table_lines(table.rows, table.header_rows))
        else:
            self._builder.add(TextBlockKind.CODE, code_text(clean_code(token.content)))

    def html(self, token: "Token") -> None:
        self._builder.add(
            TextBlockKind.PARAGRAPH, clean_line(_TAG.sub(" ", _without_comments(token.content)))
        )


def _without_comments(source: str) -> str:
    """Return HTML without its comments; one that is never closed hides all that follows."""
    parts: list[str] = []
    at = 0
    while (start := source.find("<!--", at)) >= 0:
        parts.append(source[at:start])
        end = source.find("-->", start + 4)
        if end < 0:
            return " ".join(parts)
        at = end + 3
    return " ".join((*parts, source[at:]))


def _inline_text(children: Sequence["Token"]) -> Iterator[str]:
    for child in children:
        if child.type in {"text", "code_inline", "text_special"}:
            yield child.content
        elif child.type in {"softbreak", "hardbreak"}:
            yield " "
        elif child.type == "image":
            yield child.content


_HANDLERS: Final = {
    "bullet_list_open": _MarkdownWalker.open_list,
    "ordered_list_open": _MarkdownWalker.open_list,
    "bullet_list_close": _MarkdownWalker.close_list,
    "ordered_list_close": _MarkdownWalker.close_list,
    "list_item_open": _MarkdownWalker.open_item,
    "heading_open": _MarkdownWalker.open_heading,
    "heading_close": _MarkdownWalker.close_heading,
    "table_open": _MarkdownWalker.open_table,
    "tr_open": _MarkdownWalker.open_row,
    "tr_close": _MarkdownWalker.close_row,
    "table_close": _MarkdownWalker.close_table,
    "inline": _MarkdownWalker.inline,
    "fence": _MarkdownWalker.code,
    "code_block": _MarkdownWalker.code,
    "html_block": _MarkdownWalker.html,
}
