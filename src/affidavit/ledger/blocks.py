"""The blocks of an answer: prose, list items, table rows, headings, code, references.

A small reader of Markdown that only has to know where a claim may stand. Each recogniser takes the
page and the number of a line, and returns the blocks that begin there with the number of the first
line behind them, or None. They are tried in order; a line that none of them knows is prose.
Rules S1 to S6 of docs/ledger.md.
"""

import re
from collections.abc import Callable
from typing import Final

from affidavit.ledger.model import Span
from affidavit.ledger.page import Block, BlockKind, Line, Page, page_of
from affidavit.ledger.references import definition, labelled_tail, reference_section

Found = tuple[tuple[Block, ...], int] | None
Recogniser = Callable[[Page, int], Found]

_FENCE: Final = re.compile(r"(`{3,}|~{3,})")
_HEADING: Final = re.compile(r"#{1,6}(?:\s+|$)")
_RULER: Final = re.compile(r"([-*_])(?:[ \t]*\1){2,}$")
_UNDERLINE: Final = re.compile(r"(?:=+|-{2,})$")
_SENTENCE_END: Final = re.compile(r"[.!?:;,][\"')\u201d\u2019*_]*$")
_TITLE_LENGTH: Final = 80
_DELIMITER_ROW: Final = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?$")
_CELL: Final = re.compile(r"(?:\\.|[^|\\])+")
# Dashes, dots, arrows, check marks and other symbols that answers use as bullets.
_BULLET: Final = re.compile(
    r"(?:[-*+\u00b7\u2013\u2014\u2022\u2023\u2190-\u21ff\u2460-\u2473\u25a0-\u25ff\u2600-\u27bf"
    r"\U0001f300-\U0001faff]\ufe0f?)[ \t]+(?:\[[ xX]\][ \t]+)?"
)
_NUMBER: Final = re.compile(
    r"(?:\*\*)?\(?(\d{1,3}|[a-z]|[ivx]{2,4}|[A-Z](?=\)))(?:\\?\.|\))(?:\*\*)?[ \t]+"
)
_FIRST_NUMBERS: Final = frozenset({"1", "a", "i"})
_CODE_INDENT: Final = 4


def blocks_of(answer: str) -> tuple[Block, ...]:
    """Return the blocks of `answer` in their order."""
    page = page_of(answer)
    blocks: list[Block] = []
    at = 0
    while at < len(page.lines):
        if page.lines[at].is_blank:
            at += 1
            continue
        # Indented text below a list item belongs to the item; elsewhere it is code.
        below_item = bool(blocks) and blocks[-1].kind is BlockKind.ITEM
        found, at = _block_at(page, at, below_item)
        blocks.extend(found)
    return tuple(blocks)


def _block_at(page: Page, at: int, below_item: bool) -> tuple[tuple[Block, ...], int]:
    for recognise in _RECOGNISERS:
        if below_item and recognise is _indented_code:
            continue
        found = recognise(page, at)
        if found is not None:
            return found
    return _prose(page, at)


def _fenced_code(page: Page, at: int) -> Found:
    opening = _FENCE.match(page.text(at))
    if opening is None:
        return None
    fence = opening[1]
    end = at + 1
    while end < len(page.lines) and not page.text(end).startswith(fence):
        end += 1
    behind = min(end + 1, len(page.lines))
    return (_whole(BlockKind.CODE, page, at, behind),), behind


def _indented_code(page: Page, at: int) -> Found:
    follows_blank = at == 0 or page.lines[at - 1].is_blank
    if not follows_blank or page.lines[at].indent < _CODE_INDENT:
        return None
    if _BULLET.match(page.text(at)) or _NUMBER.match(page.text(at)):
        return None
    end = at
    while end < len(page.lines) and page.lines[end].indent >= _CODE_INDENT:
        end += 1
    return (_whole(BlockKind.CODE, page, at, end),), end


def _comment(page: Page, at: int) -> Found:
    if not page.text(at).startswith("<!--"):
        return None
    end = at
    while end < len(page.lines) - 1 and "-->" not in page.text(end):
        end += 1
    return (_whole(BlockKind.MARKUP, page, at, end + 1),), end + 1


def _heading(page: Page, at: int) -> Found:
    if _HEADING.match(page.text(at)) is None:
        return None
    return (_whole(BlockKind.HEADING, page, at, at + 1),), at + 1


def _bold_heading(page: Page, at: int) -> Found:
    """A line that is nothing but bold, with more below it, stands where a heading would."""
    text = page.text(at)
    bold = re.fullmatch(r"(\*\*|__)(?=\S)((?:(?!\1).)+)\1:?", text)
    if bold is None or _SENTENCE_END.search(bold[2].rstrip(":")) or not page.has_text_from(at + 1):
        return None
    if not page.lines[at + 1].is_blank and _item_mark(page.text(at + 1)) is None:
        return None
    return (_whole(BlockKind.HEADING, page, at, at + 1),), at + 1


def _ruler(page: Page, at: int) -> Found:
    return ((), at + 1) if _RULER.match(page.text(at)) else None


def _table(page: Page, at: int) -> Found:
    """A header, a row of dashes, and rows; each row knows the header's cells."""
    text = page.text(at)
    if "|" not in text or at + 1 >= len(page.lines):
        return None
    below = page.text(at + 1)
    if "|" not in below or _DELIMITER_ROW.match(below) is None:
        return None
    header = _cells(page.answer, page.lines[at])
    blocks = [_whole(BlockKind.TABLE_HEADER, page, at, at + 2)]
    end = at + 2
    while end < len(page.lines) and "|" in page.text(end):
        blocks.append(Block(BlockKind.ROW, _cells(page.answer, page.lines[end]), header=header))
        end += 1
    return tuple(blocks), end


def _bare_row(page: Page, at: int) -> Found:
    text = page.text(at)
    if not (text.startswith("|") and text.endswith("|") and text.count("|") > 2):
        return None
    return (Block(BlockKind.ROW, _cells(page.answer, page.lines[at])),), at + 1


def _cells(answer: str, line: Line) -> tuple[Span, ...]:
    """Return the cells of a row. A cell may be empty; `\\|` does not end one."""
    body = answer[line.start : line.end]
    start = line.start + body.startswith("|")
    end = line.end - (body.endswith("|") and not body.endswith("\\|") and len(body) > 1)
    cells, at = [], start
    while at <= end:
        found = _CELL.match(answer, at, end)
        stop = found.end() if found else at
        cells.append(_trimmed(answer, at, stop))
        # A backslash at the very end of a row is no cell of its own.
        at = max(stop, at) + 1
    return tuple(cells)


def _trimmed(answer: str, start: int, end: int) -> Span:
    body = answer[start:end]
    lead = len(body) - len(body.lstrip())
    return Span(start + lead, max(start + lead, start + len(body.rstrip())))


def _item(page: Page, at: int) -> Found:
    line = page.lines[at]
    mark = _item_mark(page.text(at))
    if mark is None:
        return None
    start = line.start + mark.end()
    inner = _item_mark(page.answer[start : line.end])
    while inner is not None:
        start += inner.end()
        inner = _item_mark(page.answer[start : line.end])
    end = _end_of_text(page, at)
    lines = (Span(start, line.end), *(page.span(number) for number in range(at + 1, end)))
    return (Block(BlockKind.ITEM, lines, indent=line.indent),), end


def _item_mark(text: str) -> re.Match[str] | None:
    return _BULLET.match(text) or _NUMBER.match(text)


def _prose(page: Page, at: int) -> tuple[tuple[Block, ...], int]:
    end = _end_of_text(page, at)
    if end == at + 1 and _is_underlined(page, at):
        return (_whole(BlockKind.HEADING, page, at, at + 2),), at + 2
    lines = tuple(page.span(number) for number in range(at, end))
    return (Block(BlockKind.PROSE, lines, indent=page.lines[at].indent),), end


def _is_underlined(page: Page, at: int) -> bool:
    """Tell an underlined title from a sentence with a ruler right below it."""
    if at + 1 >= len(page.lines) or _UNDERLINE.match(page.text(at + 1)) is None:
        return False
    text = page.text(at)
    return len(text) <= _TITLE_LENGTH and _SENTENCE_END.search(text) is None


def _end_of_text(page: Page, at: int) -> int:
    quoted = page.lines[at].quoted
    end = at + 1
    while end < len(page.lines):
        line = page.lines[end]
        if line.is_blank or line.quoted != quoted or _opens(page, end):
            break
        end += 1
    return end


def _opens(page: Page, at: int) -> bool:
    """Tell whether the line begins a new block although no blank line stands before it.

    CommonMark 5.3: a numbered list interrupts a paragraph only if it starts at 1, or a wrapped
    line such as "15. The rest" would be torn from its sentence. Below an item every number counts.
    """
    text = page.text(at)
    if _BULLET.match(text) or _UNDERLINE.match(text):
        return True
    number = _NUMBER.match(text)
    if number:
        return number[1] in _FIRST_NUMBERS or _NUMBER.match(page.text(at - 1)) is not None
    return any(recognise(page, at) is not None for recognise in _INTERRUPTERS)


def _whole(kind: BlockKind, page: Page, at: int, end: int) -> Block:
    return Block(kind, (Span(page.lines[at].start, page.lines[end - 1].end),))


_INTERRUPTERS: Final[tuple[Recogniser, ...]] = (
    _fenced_code,
    _comment,
    _heading,
    _ruler,
    definition,
    labelled_tail,
    reference_section,
    _table,
    _bare_row,
    _bold_heading,
)
_RECOGNISERS: Final[tuple[Recogniser, ...]] = (
    _fenced_code,
    _indented_code,
    _comment,
    reference_section,
    _heading,
    _ruler,
    definition,
    labelled_tail,
    _table,
    _bare_row,
    _item,
    _bold_heading,
)
