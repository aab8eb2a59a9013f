"""The numbers that a word processor prints before headings and list items, but does not store.

Origin: ECMA-376 part 1, 17.9. Covered: levels, starts and their overrides, the common formats. A
bullet of any kind is "-".
"""

from typing import TYPE_CHECKING, Final, NamedTuple

from affidavit.sources.readers.docx_names import attribute, children, integer, value_of

if TYPE_CHECKING:
    from lxml.etree import _Element

_LEVELS: Final = 9
_ROMAN: Final = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc")),
    *((50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)


class _Level(NamedTuple):
    form: str
    text: str
    start: int


class Numbering:
    """Counts as it goes: ask for each numbered paragraph once, in the order of the document."""

    def __init__(self, root: "_Element | None") -> None:
        abstract = {
            attribute(item, "abstractNumId"): _levels(item)
            for item in children(root, "abstractNum")
        }
        self._levels: dict[str, dict[int, _Level]] = {}
        self._family: dict[str, str] = {}
        for item in children(root, "num"):
            number, family = attribute(item, "numId"), value_of(item, "abstractNumId")
            if number and family:
                overrides = _levels_overridden(item, abstract.get(family, {}))
                self._levels[number] = abstract.get(family, {}) | overrides
                # A list that starts again counts for itself; others of its family go on counting.
                self._family[number] = f"{family}/{number}" if overrides else family
        self._counts: dict[str, list[int | None]] = {}

    def label(self, number: str, level: int) -> str:
        """Return what stands before the paragraph, "-" for a bullet, "" for nothing."""
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

    def _text(self, levels: dict[int, _Level], counts: list[int | None], level: int) -> str:
        text = levels[level].text
        for index in range(level, -1, -1):
            shape = levels.get(index, _Level("decimal", "", 1))
            count = counts[index]
            number = shape.start if count is None else count
            text = text.replace(f"%{index + 1}", _formatted(number, shape.form))
        return text.strip()


def _levels(item: "_Element") -> dict[int, _Level]:
    levels: dict[int, _Level] = {}
    for element in children(item, "lvl"):
        index = integer(attribute(element, "ilvl"))
        if index is not None:
            start = integer(value_of(element, "start"))
            form = value_of(element, "numFmt") or "decimal"
            text = value_of(element, "lvlText") or ""
            levels[index] = _Level(form, text[:100], 1 if start is None else start)
    return levels


def _levels_overridden(item: "_Element", levels: dict[int, _Level]) -> dict[int, _Level]:
    overridden: dict[int, _Level] = {}
    for override in children(item, "lvlOverride"):
        index = integer(attribute(override, "ilvl"))
        if index is None:
            continue
        written = _levels(override).get(index) or levels.get(index)
        start = integer(value_of(override, "startOverride"))
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
