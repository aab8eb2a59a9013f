"""An answer as blocks that a template shows: its Markdown without any markup of its own.

The blocks are those in which the claims were found (`ledger/blocks.py`), so every claim has its
exact place. Nothing of the answer becomes markup of a page: a template writes the tags, and all
text is escaped. A link keeps its words only; nobody is led to an address that an answer names.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from affidavit.ledger.blocks import blocks_of
from affidavit.ledger.flat import flatten, styled_ranges
from affidavit.ledger.labels import VERDICT_NAMES, VERDICT_SYMBOLS
from affidavit.ledger.model import Span
from affidavit.ledger.page import Block, BlockKind
from affidavit.ledger.record import Ledger, LedgerEntry

View = dict[str, Any]

_FENCE: Final = re.compile(r"\A[ \t]*(?:`{3,}|~{3,})[^\n]*\n?|\n?[ \t]*(?:`{3,}|~{3,})[ \t]*\Z")
_HASHES: Final = re.compile(r"#{1,6}[ \t]+")
_CLOSING: Final = re.compile(r"[ \t]+#+[ \t]*\Z|\n[^\n]*\Z")
_NUMBERED: Final = re.compile(r"\(?(\w{1,4})[.)]")
_INDENT_OF_A_LEVEL: Final = 2
_DEEPEST: Final = 4


class _Marks:
    """Which claim and which styles each character of the answer has."""

    def __init__(self, ledger: Ledger) -> None:
        self.claim: list[LedgerEntry | None] = [None] * len(ledger.answer)
        self.numbers = {entry.claim_id: at for at, entry in enumerate(ledger.entries, 1)}
        for entry in sorted(ledger.entries, key=lambda entry: entry.claim_span.start):
            for place in range(entry.claim_span.start, min(entry.claim_span.end, len(self.claim))):
                # Two claims may share words (a row with its header); the first one shows them.
                self.claim[place] = self.claim[place] or entry


def answer_blocks(ledger: Ledger) -> list[View]:
    """Return the answer as blocks: paragraphs, headings, lists, tables and code."""
    marks = _Marks(ledger)
    answer = ledger.answer
    shown: list[View] = []
    for kind, group in groupby(blocks_of(answer), key=_family):
        blocks = list(group)
        if kind == "list":
            items = [_item(answer, block, marks) for block in blocks]
            shown.append({"kind": "list", "items": items})
        elif kind == "table":
            shown.extend(_tables(answer, blocks, marks))
        else:
            shown.extend(_plain(answer, block, marks) for block in blocks)
    return [block for block in shown if block]


def _family(block: Block) -> str:
    if block.kind is BlockKind.ITEM:
        return "list"
    return "table" if block.kind in (BlockKind.ROW, BlockKind.TABLE_HEADER) else "other"


def _plain(answer: str, block: Block, marks: _Marks) -> View:
    span = Span(block.lines[0].start, block.lines[-1].end)
    text = answer[span.start : span.end]
    match block.kind:
        case BlockKind.MARKUP:
            return {}
        case BlockKind.CODE:
            return {"kind": "code", "text": _FENCE.sub("", text)}
        case BlockKind.HEADING:
            hashes = _HASHES.match(text)
            closing = _CLOSING.search(text)
            start = span.start + (hashes.end() if hashes else 0)
            end = span.start + closing.start() if closing else span.end
            inner = (Span(start, max(start, end)),)
            return {"kind": "heading", "pieces": _pieces(answer, inner, marks)}
        case _:
            return {"kind": "text", "pieces": _pieces(answer, block.lines, marks)}


def _item(answer: str, block: Block, marks: _Marks) -> View:
    start = block.lines[0].start
    mark = answer[answer.rfind("\n", 0, start) + 1 : start].strip(" \t>*")
    numbered = _NUMBERED.search(mark)
    return {
        "mark": numbered[0] if numbered else "\u2022",
        "depth": min(block.indent // _INDENT_OF_A_LEVEL, _DEEPEST),
        "pieces": _pieces(answer, block.lines, marks),
    }


def _tables(answer: str, blocks: Sequence[Block], marks: _Marks) -> Iterator[View]:
    """Yield a table for each header. A header without rows has nothing to show."""
    rows = [block for block in blocks if block.kind is BlockKind.ROW]
    for header, group in groupby(rows, key=lambda block: block.header):
        yield {
            "kind": "table",
            "header": [_pieces(answer, (cell,), marks) for cell in header],
            "rows": [[_pieces(answer, (cell,), marks) for cell in block.lines] for block in group],
        }


def _pieces(answer: str, lines: Sequence[Span], marks: _Marks) -> list[View]:
    """Return the text of some lines in pieces of one claim and one style each."""
    flat = flatten(answer, lines)
    styles: dict[int, set[str]] = {}
    for span, style in styled_ranges(answer, lines):
        for place in range(span.start, span.end):
            styles.setdefault(place, set()).add(style)
    anchors: dict[int, str] = {}
    for anchor in flat.anchors:
        at = bisect_left(flat.at, anchor.span.start)
        anchors[at] = anchors.get(at, "") + anchor.text
    pieces: list[View] = []
    known: tuple[str | None, tuple[str, ...]] | None = None
    for index, char in enumerate(flat.text):
        if index in anchors:
            pieces.append(_anchor(anchors[index]))
            known = None
        entry = marks.claim[flat.at[index]]
        key = (entry.claim_id if entry else None, tuple(sorted(styles.get(flat.at[index], ()))))
        if key != known:
            pieces.append({"text": "", "styles": key[1], **_claim(entry, marks.numbers)})
            known = key
        pieces[-1]["text"] += char
    if len(flat.text) in anchors:
        pieces.append(_anchor(anchors[len(flat.text)]))
    return _numbered_once(pieces)


def _anchor(text: str) -> View:
    return {"text": text, "styles": ("cite",), "claim_id": None}


def _claim(entry: LedgerEntry | None, numbers: Mapping[str, int]) -> View:
    if entry is None:
        return {"claim_id": None}
    return {
        "claim_id": entry.claim_id,
        "number": numbers[entry.claim_id],
        "verdict": entry.verdict.value,
        "words": VERDICT_NAMES[entry.verdict],
        "symbol": VERDICT_SYMBOLS[entry.verdict],
    }


def _numbered_once(pieces: list[View]) -> list[View]:
    """Mark the last piece of each claim, behind which its symbol and number stand."""
    last = {piece["claim_id"]: at for at, piece in enumerate(pieces)}
    for at, piece in enumerate(pieces):
        piece["is_last"] = last[piece["claim_id"]] == at
    return pieces
