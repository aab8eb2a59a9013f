"""Styles and list numbering of a DOCX: heading levels, lists, and the numbers that a word
processor prints.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.etree import _Element
import re
from typing import TYPE_CHECKING, Final, NamedTuple

# Names in the XML of a DOCX, told apart by local name: two namespaces are in use for one format.
#
# Transitional files use schemas.openxmlformats.org, strict ones purl.oclc.org (ECMA-376 parts 1,
# 4).


def local_name(element: "_Element") -> str:
    """Return an element's name without its namespace."""
    return str(element.tag).rpartition("}")[2]


def attribute(element: "_Element | None", name: str) -> str | None:
    """Return an attribute by its local name."""
    if element is None:
        return None
    return next(
        (str(value) for key, value in element.items() if str(key).rpartition("}")[2] == name), None
    )


def children(element: "_Element | None", name: str) -> Iterator["_Element"]:
    """Yield the direct children of this local name."""
    return (child for child in (() if element is None else element) if local_name(child) == name)


def child(element: "_Element | None", *path: str) -> "_Element | None":
    """Return the first element down a path of local names."""
    for name in path:
        element = next(children(element, name), None)
    return element


def property_value(element: "_Element | None", *path: str) -> str | None:
    """Return the `val` of the element down a path, which is how OOXML writes most properties."""
    return attribute(child(element, *path), "val")


def integer(text: str | None) -> int | None:
    """Return a small whole number, or None if the text is not one."""
    if text is None or not text.lstrip("-").isdecimal() or len(text) > 9:
        return None
    return int(text)


def is_enabled(element: "_Element | None", *path: str) -> bool:
    """Tell whether a property is on: present, and not switched off by its value."""
    found = child(element, *path)
    return found is not None and attribute(found, "val") not in {"0", "false", "off", "none"}


# Styles of paragraphs: heading level, list, title, table of contents.

_HEADING_NAME: Final = re.compile(r"heading (\d)$", re.I)
_CONTENTS_NAME: Final = re.compile(r"(toc|table of figures)\b", re.I)
_LONGEST_CHAIN: Final = 20


class ParagraphStyle(NamedTuple):
    """What a paragraph is. `level` is 0 for body text; `number` and `depth` name its list."""

    level: int = 0
    number: str | None = None
    depth: int = 0
    is_title: bool = False
    is_contents: bool = False


BODY_TEXT: Final = ParagraphStyle()


class DocxStyles:
    """The styles of a document by id, with inherited properties."""

    def __init__(self, root: "_Element | None") -> None:
        self._elements = {
            attribute(style, "styleId") or "": style
            for style in children(root, "style")
            if attribute(style, "type") in {"paragraph", None}
        }
        self._known: dict[str, ParagraphStyle] = {}

    def of_paragraph(self, properties: "_Element | None") -> ParagraphStyle:
        """Return what a paragraph is; its own properties override those of its style."""
        name = property_value(properties, "pStyle")
        style = BODY_TEXT if name is None else self._named(name)
        return _refined(style, properties)

    def _named(self, name: str) -> ParagraphStyle:
        if name not in self._known:
            self._known[name] = self._resolved(name)
        return self._known[name]

    def _resolved(self, name: str) -> ParagraphStyle:
        chain: list[_Element] = []
        at: str | None = name
        while at is not None and at in self._elements and len(chain) < _LONGEST_CHAIN:
            chain.append(self._elements[at])
            at = property_value(chain[-1], "basedOn")
        style = BODY_TEXT
        for element in reversed(chain):
            title = property_value(element, "name") or ""
            heading = _HEADING_NAME.match(title)
            style = style._replace(
                level=int(heading[1]) if heading else style.level,
                is_title=style.is_title or title.lower() == "title",
                is_contents=style.is_contents or bool(_CONTENTS_NAME.match(title)),
            )
            style = _refined(style, child(element, "pPr"))
        return style


def _refined(style: ParagraphStyle, properties: "_Element | None") -> ParagraphStyle:
    if properties is None:
        return style
    outline = integer(property_value(properties, "outlineLvl"))
    if outline is not None:
        # Level 9 is body text (17.3.1.20).
        style = style._replace(level=outline + 1 if 0 <= outline < 9 else 0)
    number = property_value(properties, "numPr", "numId")
    depth = integer(property_value(properties, "numPr", "ilvl"))
    if number is not None:
        style = style._replace(number=None if number == "0" else number)
    return style if depth is None else style._replace(depth=depth)


# The numbers that a word processor prints before headings and list items, but does not store.
#
# Origin: ECMA-376 part 1, 17.9. Covered: levels, starts and their overrides, the common formats. A
# bullet of any kind is "-".

_LEVELS: Final = 9
_ROMAN: Final = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc")),
    *((50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)


class _NumberingLevel(NamedTuple):
    form: str
    text: str
    start: int


class DocxNumbering:
    """Counts paragraphs: call it once for each numbered paragraph, in document order."""

    def __init__(self, root: "_Element | None") -> None:
        abstract = {
            attribute(item, "abstractNumId"): _levels(item)
            for item in children(root, "abstractNum")
        }
        self._levels: dict[str, dict[int, _NumberingLevel]] = {}
        self._family: dict[str, str] = {}
        for item in children(root, "num"):
            number, family = attribute(item, "numId"), property_value(item, "abstractNumId")
            if number and family:
                overrides = _levels_overridden(item, abstract.get(family, {}))
                self._levels[number] = abstract.get(family, {}) | overrides
                # A restarted list has its own count; other lists of its family continue.
                self._family[number] = f"{family}/{number}" if overrides else family
        self._counts: dict[str, list[int | None]] = {}

    def label(self, number: str, level: int) -> str:
        """Return the text before the paragraph: "-" for a bullet, "" for nothing."""
        levels = self._levels.get(number)
        if levels is None or not 0 <= level < _LEVELS or level not in levels:
            return ""
        form = levels[level].form
        counts = self._counts.setdefault(self._family[number], [None] * _LEVELS)
        current = counts[level]
        counts[level] = levels[level].start if current is None else current + 1
        counts[level + 1 :] = [None] * (_LEVELS - level - 1)
        if form in {"bullet", "none"}:
            return "-" if form == "bullet" else ""
        return self._text(levels, counts, level)

    def _text(
        self, levels: dict[int, _NumberingLevel], counts: list[int | None], level: int
    ) -> str:
        text = levels[level].text
        for index in range(level, -1, -1):
            shape = levels.get(index, _NumberingLevel("decimal", "", 1))
            count = counts[index]
            number = shape.start if count is None else count
            text = text.replace(f"%{index + 1}", _formatted(number, shape.form))
        return text.strip()


def _levels(item: "_Element") -> dict[int, _NumberingLevel]:
    levels: dict[int, _NumberingLevel] = {}
    for element in children(item, "lvl"):
        index = integer(attribute(element, "ilvl"))
        if index is not None:
            start = integer(property_value(element, "start"))
            form = property_value(element, "numFmt") or "decimal"
            text = property_value(element, "lvlText") or ""
            levels[index] = _NumberingLevel(form, text[:100], 1 if start is None else start)
    return levels


def _levels_overridden(
    item: "_Element", levels: dict[int, _NumberingLevel]
) -> dict[int, _NumberingLevel]:
    overridden: dict[int, _NumberingLevel] = {}
    for override in children(item, "lvlOverride"):
        index = integer(attribute(override, "ilvl"))
        if index is None:
            continue
        written = _levels(override).get(index) or levels.get(index)
        start = integer(property_value(override, "startOverride"))
        if written is not None:
            overridden[index] = written if start is None else written._replace(start=start)
    return overridden


def _formatted(number: int, form: str) -> str:
    if form in {"lowerLetter", "upperLetter"} and 0 < number <= 26 * 30:
        letters = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
        return letters if form == "lowerLetter" else letters.upper()
    if form in {"lowerRoman", "upperRoman"} and 0 < number < 4000:
        roman = _roman(number)
        return roman if form == "lowerRoman" else roman.upper()
    return f"{number:02}" if form == "decimalZero" else str(number)


def _roman(number: int) -> str:
    letters = ""
    for value, sign in _ROMAN:
        letters += sign * (number // value)
        number %= value
    return letters
