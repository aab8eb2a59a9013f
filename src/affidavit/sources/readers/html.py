"""HTML through selectolax: what a visitor reads, block by block."""

import re
from typing import TYPE_CHECKING, Final

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence as faults
from affidavit.sources.readers.decoding import decode_html
from affidavit.sources.readers.html_tables import INLINE, add_table, text_under
from affidavit.sources.settings import Limits
from affidavit.sources.structure import (
    BlockKind,
    Parsed,
    TextBuilder,
    clean,
    clean_code,
    code_text,
)

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_UNREAD: Final = frozenset(
    {"head", "script", "style", "template", "noscript", "nav", "svg", "iframe", "object", "canvas"}
    | {"audio", "video", "button", "select", "textarea", "input", "datalist", "dialog"}
)
_LEVELS: Final = {f"h{level}": level for level in range(1, 7)}
_DATE_NAMES: Final = (
    *("article:modified_time", "og:updated_time", "last-modified", "dcterms.modified"),
    *("article:published_time", "dcterms.date", "dc.date", "datepublished", "date", "pubdate"),
)
_OPENING: Final = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_CLOSED_BY_THE_NEXT: Final = frozenset(
    {"p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot", "option", "colgroup"}
    | {"br", "hr", "img", "input", "meta", "link", "col", "wbr", "area", "base", "source", "html"}
)
_DEEPEST: Final = 5_000
"""Parsing time grows with the square of the depth; browsers keep 512 levels, pages need 60."""
_HIDDEN_STYLE: Final = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)


def read_html(data: bytes, limits: Limits) -> Parsed:
    """Read HTML. Scripts, navigation and what the page hides are not text of the document."""
    from selectolax.lexbor import LexborHTMLParser

    source, warnings = decode_html(data)
    _refuse_depth(source)
    page = LexborHTMLParser(source)
    builder = TextBuilder(limits)
    if page.body is not None:
        _Walk(builder).over(page.body)
    return Parsed(
        text=builder.text(),
        blocks=builder.blocks(),
        title=_title(page),
        stated_dates=_dates(page),
        warnings=warnings,
    )


def _refuse_depth(source: str) -> None:
    depth = 0
    for closing, name in _OPENING.findall(source):
        if name.lower() not in _CLOSED_BY_THE_NEXT:
            depth = max(depth - 1, 0) if closing else depth + 1
            if depth > _DEEPEST:
                reason = f"elements nested deeper than {_DEEPEST}"
                raise AffidavitError(faults.DOCUMENT_UNSAFE, reason=reason)


def _title(page: "LexborHTMLParser") -> str:
    for selector in ("title", "h1"):
        node = page.css_first(selector)
        title = clean(node.text()).rstrip("\u00b6").rstrip() if node else ""
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


def _is_unread(node: "LexborNode") -> bool:
    if node.tag in _UNREAD:
        return True
    attributes = node.attributes
    if not attributes:
        return False
    return (
        "hidden" in attributes
        or attributes.get("role") in {"navigation", "search"}
        or bool(_HIDDEN_STYLE.search(attributes.get("style") or ""))
    )


class _Walk:
    """Goes over the tree without recursion; inline text gathers until a block begins or ends."""

    def __init__(self, builder: TextBuilder) -> None:
        self._builder = builder
        self._inline: list[str] = []
        self._numbers: list[int | None] = []
        self._mark = ""

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
        if tag.startswith("-") or _is_unread(node):
            return False
        if tag == "br":
            self._inline.append(" ")
            return False
        if tag in INLINE:
            return True
        self._flush()
        return self._enter_block(node, tag)

    def _enter_block(self, node: "LexborNode", tag: str) -> bool:
        if tag in _LEVELS:
            text = clean(text_under(node)).rstrip("\u00b6").rstrip()
            self._builder.add(BlockKind.HEADING, text, _LEVELS[tag])
            return False
        if tag == "pre":
            self._builder.add(BlockKind.CODE, code_text(clean_code(node.text())))
            return False
        if tag == "table":
            return not add_table(node, self._builder)
        if tag in {"ul", "ol", "menu"}:
            self._numbers.append(1 if tag == "ol" else None)
        elif tag == "li":
            self._open_item()
        return True

    def _open_item(self) -> None:
        number = self._numbers[-1] if self._numbers else None
        self._mark = "- " if number is None else f"{number}. "
        if number is not None:
            self._numbers[-1] = number + 1

    def _leave(self, node: "LexborNode") -> None:
        tag = node.tag or ""
        if tag in INLINE:
            return
        self._flush()
        if tag in {"ul", "ol", "menu"}:
            self._numbers.pop()
        elif tag == "li":
            self._mark = ""

    def _flush(self) -> None:
        text = clean("".join(self._inline))
        self._inline = []
        if not text:
            return
        if self._mark:
            self._builder.add(BlockKind.ITEM, self._mark + text, max(0, len(self._numbers) - 1))
            self._mark = ""
        else:
            self._builder.add(BlockKind.PARAGRAPH, text)
