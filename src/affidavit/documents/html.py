"""Reads HTML with selectolax: the visible text, block by block, and its tables row by row."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from affidavit.documents.model import TextBlockKind
from affidavit.documents.tables import TableCell, table_lines
from affidavit.documents.text_builder import TextBuilder, clean_line

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode
import re

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence as faults
from affidavit.documents.detection import decode_html
from affidavit.documents.model import DocumentLimits, ParsedDocument
from affidavit.documents.text_builder import clean_code, code_text

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

# Tables of HTML, with cells that cover several rows or columns.

_WIDEST: Final = 1_000  # The limit of the HTML standard for colspan.

INLINE_TAGS: Final = frozenset(
    {"a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em"}
    | {"font", "i", "ins", "kbd", "label", "mark", "q", "s", "samp", "small", "span", "strike"}
    | {"strong", "sub", "sup", "time", "tt", "u", "var", "wbr", "img", "ruby", "rt", "rp", "nobr"}
)


def text_under(node: "LexborNode") -> str:
    """Return the text of a node in one piece: inline parts touch, blocks are kept apart."""
    parts: list[str] = []
    for part in node.traverse(include_text=True):
        if part.tag == "-text":
            before = part.prev
            parts.append(" " if before is not None and before.tag not in INLINE_TAGS else "")
            parts.append(part.text_content or "")
        elif part.tag not in INLINE_TAGS:
            parts.append(" ")
    return "".join(parts)


def add_table(table: "LexborNode", builder: TextBuilder) -> bool:
    """Add a table's rows; return False, adding nothing, if it only lays out the page."""
    nodes = table.css("tr")
    if _is_layout_table(table, nodes):
        return False
    caption = table.css_first("caption")
    if caption is not None:
        builder.add(TextBlockKind.CAPTION, clean_line(text_under(caption)))
    rows: list[list[TableCell]] = []
    header_rows = 0
    for node, cells in zip(nodes, _expanded_rows(nodes), strict=True):
        is_header = _is_header_row(node)
        if is_header and len(rows) > header_rows:
            # A header in the middle begins another table below the first.
            builder.add_rows(table_lines(rows, header_rows))
            rows, header_rows = [], 0
        header_rows += is_header
        rows.append(cells)
    builder.add_rows(table_lines(rows, header_rows))
    return True


def _cell_nodes(row: "LexborNode") -> list["LexborNode"]:
    return [node for node in row.iter() if node.tag in {"td", "th"}]


def _is_header_row(row: "LexborNode") -> bool:
    if (row.parent or row).tag == "thead":
        return True
    cells = _cell_nodes(row)
    return len(cells) > 1 and all(
        cell.tag == "th" and (cell.attributes.get("scope") or "") != "row" for cell in cells
    )


def _expanded_rows(rows: list["LexborNode"]) -> Iterator[list[TableCell]]:
    """Yield the cells of each row; a cell over several rows is in each (HTML 4.9.12)."""
    open_cells: list[tuple[TableCell, int]] = []  # With the number of rows still to cover.
    for row in rows:
        cells = [cell for cell, _ in open_cells]
        taken = {cell.column + at for cell in cells for at in range(cell.span)}
        open_cells = [(cell, left - 1) for cell, left in open_cells if left > 1]
        column = 0
        for node in _cell_nodes(row):
            while column in taken:
                column += 1
            span = _span_of(node, "colspan")
            text = clean_line(text_under(node))
            cell = TableCell(text, column, span, is_header=node.tag == "th")
            cells.append(cell)
            below = _span_of(node, "rowspan") - 1
            if below:
                open_cells.append((cell, below))
            column += span
        yield sorted(cells, key=lambda cell: cell.column)


def _span_of(node: "LexborNode", name: str) -> int:
    written = (node.attributes.get(name) or "").strip()
    return min(max(int(written), 1), _WIDEST) if written.isdecimal() and len(written) < 6 else 1


def _is_layout_table(table: "LexborNode", rows: list["LexborNode"]) -> bool:
    """A table with another table, headings or one column in it is a frame, not data."""
    if table.css_first("table table, h1, h2, h3, h4, h5, h6, pre") is not None:
        return True
    return all(sum(node.tag in {"td", "th"} for node in row.iter()) <= 1 for row in rows)


# HTML through selectolax: what a visitor reads, block by block.

_SKIPPED_TAGS: Final = frozenset(
    {"head", "script", "style", "template", "noscript", "nav", "svg", "iframe", "object", "canvas"}
    | {"audio", "video", "button", "select", "textarea", "input", "datalist", "dialog"}
)
_LISTS: Final = frozenset({"ul", "ol", "menu", "dl"})
_HEADING_LEVELS: Final = {f"h{level}": level for level in range(1, 7)}
_DATE_NAMES: Final = (
    *("article:modified_time", "og:updated_time", "last-modified", "dcterms.modified"),
    *("article:published_time", "dcterms.date", "dc.date", "datepublished", "date", "pubdate"),
)
_OPENING: Final = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_IMPLICITLY_CLOSED: Final = frozenset(
    {"p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot", "option", "colgroup"}
    | {"br", "hr", "img", "input", "meta", "link", "col", "wbr", "area", "base", "source", "html"}
)
_MAX_NESTING: Final = 5_000
"""Parsing time grows with the square of the depth; browsers keep 512 levels, pages need 60."""
_HIDDEN_STYLE: Final = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)


def read_html(data: bytes, limits: DocumentLimits) -> ParsedDocument:
    """Read HTML. Scripts, navigation and what the page hides are not text of the document."""
    from selectolax.lexbor import LexborHTMLParser

    source, warnings = decode_html(data)
    _refuse_depth(source)
    page = LexborHTMLParser(source)
    builder = TextBuilder(limits)
    if page.body is not None:
        _HtmlWalker(builder).over(page.body)
    return ParsedDocument(
        text=builder.text(),
        blocks=builder.blocks(),
        title=_title(page),
        stated_dates=_dates(page),
        warnings=warnings,
    )


def _refuse_depth(source: str) -> None:
    depth = 0
    for closing, name in _OPENING.findall(source):
        if name.lower() not in _IMPLICITLY_CLOSED:
            depth = max(depth - 1, 0) if closing else depth + 1
            if depth > _MAX_NESTING:
                reason = f"elements nested deeper than {_MAX_NESTING}"
                raise AffidavitError(faults.DOCUMENT_UNSAFE, reason=reason)


def _title(page: "LexborHTMLParser") -> str:
    for selector in ("title", "h1"):
        node = page.css_first(selector)
        title = clean_line(node.text()).rstrip("\u00b6").rstrip() if node else ""
        if title:
            return title
    return ""


def _dates(page: "LexborHTMLParser") -> tuple[str, ...]:
    named: dict[str, str] = {}
    for node in page.css("meta"):
        attributes = node.attributes
        name = attributes.get("property") or attributes.get("name") or attributes.get("itemprop")
        content = attributes.get("content")
        if name and content:
            named.setdefault(name.lower(), content)
    return tuple(named[name] for name in _DATE_NAMES if name in named)


def _is_skipped(node: "LexborNode") -> bool:
    if node.tag in _SKIPPED_TAGS:
        return True
    attributes = node.attributes
    if not attributes:
        return False
    return (
        "hidden" in attributes
        or attributes.get("role") in {"navigation", "search"}
        # DocBook links to the chapters before and after in a table.
        or (attributes.get("class") or "").lower() in {"navheader", "navfooter"}
        or bool(_HIDDEN_STYLE.search(attributes.get("style") or ""))
    )


class _HtmlWalker:
    """Goes over the tree without recursion; inline text gathers until a block begins or ends."""

    def __init__(self, builder: TextBuilder) -> None:
        self._builder = builder
        self._inline: list[str] = []
        self._numbers: list[int | None] = []
        self._mark = ""
        self._in_term = False
        self._terms: list[str] = []
        """The terms of a definition list whose definition is next."""

    def over(self, body: "LexborNode") -> None:
        """Add everything under `body`."""
        open_nodes: list[LexborNode] = []
        node = body.child
        while node is not None or open_nodes:
            if node is None:
                closed = open_nodes.pop()
                self._leave(closed)
                node = closed.next
            elif self._enter(node) and node.child is not None:
                open_nodes.append(node)
                node = node.child
            else:
                node = node.next
        self._flush()

    def _enter(self, node: "LexborNode") -> bool:
        """Take a node in; return whether what is under it is to be read too."""
        tag = node.tag or ""
        if tag == "-text":
            self._inline.append(node.text_content or "")
            return False
        if tag.startswith("-") or _is_skipped(node):
            return False
        if tag == "br":
            self._inline.append(" ")
            return False
        if tag in INLINE_TAGS:
            return True
        self._flush()
        return self._enter_block(node, tag)

    def _enter_block(self, node: "LexborNode", tag: str) -> bool:
        if tag in {"pre", "table", *_HEADING_LEVELS}:
            self._introduce()
        if tag in _HEADING_LEVELS:
            text = clean_line(text_under(node)).rstrip("\u00b6").rstrip()
            self._builder.add(TextBlockKind.HEADING, text, _HEADING_LEVELS[tag])
            return False
        if tag == "pre":
            self._builder.add(TextBlockKind.CODE, code_text(clean_code(node.text())))
            return False
        if tag == "table":
            return not add_table(node, self._builder)
        if tag in _LISTS:
            self._introduce()
            self._numbers.append(1 if tag == "ol" else None)
        elif tag == "li":
            self._open_item()
        elif tag == "dt":
            self._in_term = True
        return True

    def _introduce(self) -> None:
        """Add terms that no text follows: they introduce a list, a table or code."""
        if self._terms:
            self._builder.add(TextBlockKind.PARAGRAPH, f"{', '.join(self._terms)}:")
            self._terms.clear()

    def _open_item(self) -> None:
        number = self._numbers[-1] if self._numbers else None
        self._mark = "- " if number is None else f"{number}. "
        if number is not None:
            self._numbers[-1] = number + 1

    def _leave(self, node: "LexborNode") -> None:
        tag = node.tag or ""
        if tag in INLINE_TAGS:
            return
        self._flush()
        if tag in _LISTS:
            self._introduce()
            self._numbers.pop()
        elif tag == "li":
            self._mark = ""
        elif tag == "dt":
            self._in_term = False

    def _flush(self) -> None:
        text = clean_line("".join(self._inline))
        self._inline = []
        if not text:
            return
        if self._in_term:
            self._terms.append(text.rstrip("\u00b6").rstrip(" :,;"))
            return
        if self._terms:
            # A definition belongs to its term as a cell belongs to its row.
            text, self._mark = f"{', '.join(self._terms)}: {text}", "- "
            self._terms.clear()
        if self._mark:
            self._builder.add(TextBlockKind.ITEM, self._mark + text, max(0, len(self._numbers) - 1))
            self._mark = ""
        else:
            self._builder.add(TextBlockKind.PARAGRAPH, text)
