"""From the lines of a PDF to paragraphs, list items and headings.

A PDF has no paragraphs, only lines at places. A line goes on with the one above when it stands
right below it, in the same size, at the same edge, and its first word would not have fitted above.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final, NamedTuple

from affidavit.sources.readers.pdf_layout import Heading, Layout, Page
from affidavit.sources.readers.pdf_lines import HYPHEN, Line
from affidavit.sources.structure import BlockKind, TextBuilder, clean

_LEADERS: Final = re.compile(r"(?:\s?[.\u2026\u00b7]){4,}\s*(?:\d+|[ivxlc]+)$", re.I)
_BULLETS: Final = "\u2022\u2023\u25aa\u25cf\u25e6\u25a0\u00b7\uf0b7\u2043"
_ITEM_MARK: Final = re.compile(
    rf"(?P<bullet>[{_BULLETS}])\s*"
    r"|(?P<dash>[*+\u2013-])\s+"
    r"|\(?(?P<number>\d{1,3}|[a-z]|[ivx]{1,5})[.)]\s+"
)
_FIRST_NUMBERS: Final = frozenset({"1", "a", "i"})
_SENTENCE_END: Final = re.compile(r"[.:;!?][\"'\u2019\u201d)\]]*\d{0,2}$")
_BROKEN: Final = re.compile(rf"(\w*){HYPHEN}(\w*)")
_LETTER_WIDTH: Final = 0.5  # Of the size: an average over the usual text faces.


class _Piece(NamedTuple):
    """A run of lines that belong together."""

    kind: BlockKind
    level: int
    lines: list[Line]


def build_blocks(layout: Layout, builder: TextBuilder) -> None:
    """Put the pages into the builder, and join what a page break tore apart."""
    words = _Words(layout)
    for page in layout.pages:
        builder.on_page(page.number)
        for index, piece in enumerate(_pieces(page, layout)):
            text = clean(words.joined(" ".join(line.text for line in piece.lines)))
            if index == 0 and _goes_on(builder, piece, text):
                builder.extend(f" {text}")
            else:
                _add(builder, piece, text)


def _add(builder: TextBuilder, piece: _Piece, text: str) -> None:
    mark = _ITEM_MARK.match(text) if piece.kind is BlockKind.ITEM else None
    if mark and not mark["number"]:
        text = f"- {text[mark.end() :]}"
    builder.add(piece.kind, text, piece.level)


def _goes_on(builder: TextBuilder, piece: _Piece, text: str) -> bool:
    last = builder.last
    return (
        last is not None
        and last.kind in (BlockKind.PARAGRAPH, BlockKind.ITEM)
        and piece.kind is BlockKind.PARAGRAPH
        and text[:1].islower()
        and not _SENTENCE_END.search(builder.tail)
    )


def _pieces(page: Page, layout: Layout) -> Iterator[_Piece]:
    """Yield the runs of lines of a page."""
    edges = _right_edges(page.lines)
    run: _Piece | None = None
    for index, line in enumerate(page.lines):
        heading = layout.headings.get((page.number, index))
        kind = _kind(line, heading)
        flows = run is not None and _flows(run, line, edges, layout.pitch)
        if run and _joins(run, kind, heading, flows=flows, text=line.text):
            run.lines.append(line)
            continue
        if run:
            yield run
        run = _Piece(kind, heading.level if heading else 0, [line])
    if run:
        yield run


def _kind(line: Line, heading: Heading | None) -> BlockKind:
    if heading:
        return BlockKind.HEADING
    if line.text[-1].isalnum() and _has_leaders(line.text):
        return BlockKind.CONTENTS
    return BlockKind.ITEM if _ITEM_MARK.match(line.text) else BlockKind.PARAGRAPH


def _has_leaders(text: str) -> bool:
    # Two substring tests spare most lines the regular expression.
    return (". ." in text or "..." in text or "\u2026" in text) and bool(_LEADERS.search(text))


def _joins(
    run: _Piece, kind: BlockKind, heading: Heading | None, *, flows: bool, text: str
) -> bool:
    if heading:
        return run.kind is BlockKind.HEADING and not heading.starts
    if run.kind in (BlockKind.HEADING, BlockKind.CONTENTS) or kind is BlockKind.CONTENTS:
        return False
    return flows and (kind is BlockKind.PARAGRAPH or not _starts_item(run, text))


def _starts_item(run: _Piece, text: str) -> bool:
    """Tell a new item from a wrapped line that happens to begin with a dash or a number."""
    mark = _ITEM_MARK.match(text)
    return mark is not None and (
        run.kind is BlockKind.ITEM or bool(mark["bullet"]) or mark["number"] in _FIRST_NUMBERS
    )


def _flows(run: _Piece, line: Line, edges: Mapping[int, float], pitch: float) -> bool:
    """Whether the place of a line lets it go on with the run above it."""
    above = run.lines[-1]
    if abs(line.size - above.size) > 0.08 * above.size:
        return False
    gap = (above.y - line.y) / above.height
    if not 0 < gap <= 1.25 * pitch * above.size:
        return False
    shift = line.x - above.x
    if shift > 0.6 * above.size and not (run.kind is BlockKind.ITEM and len(run.lines) == 1):
        return False
    if shift < -0.6 * above.size and len(run.lines) > 1:
        return False
    first_word = len(line.text.split(" ", 1)[0]) * _LETTER_WIDTH * line.size
    edge = max(edges[round(above.x)], edges[round(line.x)])
    return above.right + first_word >= edge - above.size


def _right_edges(lines: Iterable[Line]) -> dict[int, float]:
    """Return how far the lines reach that begin at the same place: the edge of their column."""
    edges: dict[int, float] = {}
    for line in lines:
        edges[round(line.x)] = max(edges.get(round(line.x), 0.0), line.right)
    return edges


class _Words:
    """The document's words, to tell a hyphen that belongs to a word from one that broke it."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    @cached_property
    def _known(self) -> frozenset[str]:
        lines = (line.text for page in self._layout.pages for line in page.lines)
        return frozenset(" ".join(lines).lower().split())

    def joined(self, text: str) -> str:
        """Return the text with the words whole that were broken at a line's end."""
        return _BROKEN.sub(self._whole, text) if HYPHEN in text else text

    def _whole(self, broken: re.Match[str]) -> str:
        before, after = broken[1], broken[2]
        hyphenated = f"{before}-{after}"
        if f"{before}{after}".lower() in self._known:
            return f"{before}{after}"
        keep = after[:1].isupper() or after[:1].isdigit() or hyphenated.lower() in self._known
        return hyphenated if keep else f"{before}{after}"
