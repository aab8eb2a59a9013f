"""Tables of HTML: one block per row, every cell behind the name of its column."""

from typing import TYPE_CHECKING, Final

from affidavit.sources.structure import BlockKind, TextBuilder, clean, row_text

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode


INLINE: Final = frozenset(
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
            parts.append(" " if before is not None and before.tag not in INLINE else "")
            parts.append(part.text_content or "")
        elif part.tag not in INLINE:
            parts.append(" ")
    return "".join(parts)


def add_table(table: "LexborNode", builder: TextBuilder) -> bool:
    """Add a table's rows; return False, adding nothing, if it only lays out the page."""
    rows = table.css("tr")
    if _lays_out(table, rows):
        return False
    caption = table.css_first("caption")
    if caption is not None:
        builder.add(BlockKind.PARAGRAPH, clean(text_under(caption)))
    header: tuple[str, ...] = ()
    for index, row in enumerate(rows):
        nodes = [node for node in row.iter() if node.tag in {"td", "th"}]
        cells = tuple(clean(text_under(node)) for node in nodes)
        names = all(node.tag == "th" for node in nodes) or (row.parent or row).tag == "thead"
        if names and index < len(rows) - 1:
            header = cells
        else:
            builder.add(BlockKind.ROW, row_text(header, cells))
    return True


def _lays_out(table: "LexborNode", rows: list["LexborNode"]) -> bool:
    """A table with another table, headings or one column in it is a frame, not data."""
    if table.css_first("table table, h1, h2, h3, h4, h5, h6, pre") is not None:
        return True
    return all(sum(node.tag in {"td", "th"} for node in row.iter()) <= 1 for row in rows)
