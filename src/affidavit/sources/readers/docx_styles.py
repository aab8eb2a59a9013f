"""What the styles of a DOCX say of a paragraph: heading level, list, title, table of contents."""

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from affidavit.sources.readers.docx_names import attribute, child, children, integer, value_of

if TYPE_CHECKING:
    from lxml.etree import _Element

_HEADING_NAME: Final = re.compile(r"heading (\d)$", re.I)
_CONTENTS_NAME: Final = re.compile(r"(toc|table of figures)\b", re.I)
_LONGEST_CHAIN: Final = 20


class Style(NamedTuple):
    """What a paragraph is. `level` is 0 for body text; `number` and `depth` name its list."""

    level: int = 0
    number: str | None = None
    depth: int = 0
    is_title: bool = False
    is_contents: bool = False


PLAIN: Final = Style()


class Styles:
    """The styles of a document, by id, with what each inherits."""

    def __init__(self, root: "_Element | None") -> None:
        self._elements = {
            attribute(style, "styleId") or "": style
            for style in children(root, "style")
            if attribute(style, "type") in {"paragraph", None}
        }
        self._known: dict[str, Style] = {}

    def of_paragraph(self, properties: "_Element | None") -> Style:
        """Return what a paragraph is: its own properties go before those of its style."""
        name = value_of(properties, "pStyle")
        style = PLAIN if name is None else self._named(name)
        return _refined(style, properties)

    def _named(self, name: str) -> Style:
        if name not in self._known:
            self._known[name] = self._resolved(name)
        return self._known[name]

    def _resolved(self, name: str) -> Style:
        chain: list[_Element] = []
        at: str | None = name
        while at is not None and at in self._elements and len(chain) < _LONGEST_CHAIN:
            chain.append(self._elements[at])
            at = value_of(chain[-1], "basedOn")
        style = PLAIN
        for element in reversed(chain):
            title = value_of(element, "name") or ""
            heading = _HEADING_NAME.match(title)
            style = style._replace(
                level=int(heading[1]) if heading else style.level,
                is_title=style.is_title or title.lower() == "title",
                is_contents=style.is_contents or bool(_CONTENTS_NAME.match(title)),
            )
            style = _refined(style, child(element, "pPr"))
        return style


def _refined(style: Style, properties: "_Element | None") -> Style:
    if properties is None:
        return style
    outline = integer(value_of(properties, "outlineLvl"))
    if outline is not None:
        # Level 9 is body text (17.3.1.20).
        style = style._replace(level=outline + 1 if 0 <= outline < 9 else 0)
    number = value_of(properties, "numPr", "numId")
    depth = integer(value_of(properties, "numPr", "ilvl"))
    if number is not None:
        style = style._replace(number=None if number == "0" else number)
    return style if depth is None else style._replace(depth=depth)
