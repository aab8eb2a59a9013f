"""The reference list of an answer: what `[1]` stands for. Rules A3 and A4 of docs/ledger.md."""

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from affidavit.ledger.model import Span
from affidavit.ledger.page import LABELLED, Block, BlockKind, Page

Found = tuple[tuple[Block, ...], int] | None

_NAMES: Final = (
    r"(?:references?|sources?(?: (?:documents?|used|cited))?|citations?|bibliography"
    r"|footnotes?|works cited)"
)
_SECTION: Final = re.compile(
    rf"(?:#{{1,6}}[ \t]+(?:\*\*)?{_NAMES}(?:\*\*)?:?|(?:\*\*|__){_NAMES}:?(?:\*\*|__):?|{_NAMES}:)",
    re.IGNORECASE,
)
_INLINE: Final = re.compile(
    rf"(?:\*\*|__)?{_NAMES}(?::(?:\*\*|__)?|(?:\*\*|__):)[ \t]+(?=\S)", re.IGNORECASE
)
# A comma does not end an entry where a page or section of the same source follows it.
_BETWEEN: Final = re.compile(
    r"[;,](?![ \t]*(?:pp?\.|pages?\b|sections?\b|\u00a7|\d))[ \t]*", re.IGNORECASE
)
_ENTRY: Final = re.compile(
    r"(?:\d{1,3}[.):][ \t]*)?\[(?P<label>\^?[\w.-]{1,32})\](?!\():?[ \t]*"
    r"|(?P<number>\d{1,3})[.):][ \t]*"
)
_BULLET: Final = re.compile(r"[-*+\u2022][ \t]+")
_MAX_WORDS: Final = 10
_DECORATION: Final = re.compile(r"[*`]+|(?<!\w)_+|_+(?!\w)")


def definition(page: Page, at: int) -> Found:
    """A line such as `[^1]: HR_Policy.pdf`, anywhere in the answer."""
    found = LABELLED.fullmatch(page.text(at))
    if found is None or not found[2]:
        return None
    return (_labelled(page, at, found),), at + 1


def labelled_tail(page: Page, at: int) -> Found:
    """A line such as `[1] HR_Policy.pdf`, if nothing but such lines follows it."""
    found = LABELLED.fullmatch(page.text(at)) if at >= page.tail else None
    return None if found is None else ((_labelled(page, at, found),), at + 1)


def reference_section(page: Page, at: int) -> Found:
    """A heading such as "Sources:" with its entries, or the entries on the heading's own line."""
    text = page.text(at)
    if _SECTION.fullmatch(text) is None:
        return _inline_section(page, at)
    heading = Block(BlockKind.HEADING, (page.span(at),))
    entries: list[Block] = []
    end = at + 1
    while (found := _next_entry(page, end)) is not None:
        entries.append(_entry(page, found, len(entries) + 1))
        end = found + 1
    return (heading, *entries), end


def _next_entry(page: Page, at: int) -> int | None:
    """Return the line of the next entry. Behind a blank line only what is marked as one is."""
    found = at
    while found < len(page.lines) and page.lines[found].is_blank:
        found += 1
    if found == len(page.lines):
        return None
    text = page.text(found)
    marked = _ENTRY.match(text) is not None or _BULLET.match(text) is not None
    return found if marked or found == at else None


def _entry(page: Page, at: int, ordinal: int) -> Block:
    text = page.text(at)
    bullet = _BULLET.match(text)
    label, start = _label(text, bullet.end() if bullet else 0, ordinal)
    return _reference(label, Span(page.lines[at].start + start, page.lines[at].end))


def _label(text: str, start: int, ordinal: int) -> tuple[str, int]:
    """Return what an entry is called and where it begins: `2. [7] Guide.docx` is called 7."""
    mark = _ENTRY.match(text, start)
    if mark is None:
        return str(ordinal), start
    return mark["label"] or mark["number"], mark.end()


def _inline_section(page: Page, at: int) -> Found:
    text = page.text(at)
    head = _INLINE.match(text)
    if head is None or text.endswith("."):
        return None
    parts = _parts(text, head.end())
    if any(len(text[part.start : part.end].split()) > _MAX_WORDS for part in parts):
        return None
    offset = page.lines[at].start
    blocks = []
    for ordinal, part in enumerate(parts, 1):
        label, start = _label(text, part.start, ordinal)
        blocks.append(_reference(label, Span(offset + start, offset + part.end)))
    return tuple(blocks), at + 1


def _parts(text: str, start: int) -> Sequence[Span]:
    parts = []
    for between in _BETWEEN.finditer(text, start):
        parts.append(Span(start, between.start()))
        start = between.end()
    return (*parts, Span(start, len(text)))


def _labelled(page: Page, at: int, found: re.Match[str]) -> Block:
    start = page.lines[at].start
    return _reference(found[1], Span(start + found.start(3), start + found.end(3)))


def _reference(label: str, span: Span) -> Block:
    return Block(BlockKind.REFERENCE, (span,), label=label.removeprefix("^"))


def reference_list(
    answer: str, blocks: Iterable[Block], numbered: Sequence[str] = ()
) -> Mapping[str, str]:
    """Return what each label refers to. The first entry of a label wins.

    `numbered` are the sources in the order in which the author of the answer received them: the
    meaning of `[1]` if the answer has no entry for it.
    """
    listed: dict[str, str] = {}
    for block in blocks:
        if block.kind is BlockKind.REFERENCE:
            span = block.lines[0]
            listed.setdefault(block.label, plain_reference(answer[span.start : span.end]))
    for ordinal, source in enumerate(numbered, 1):
        listed.setdefault(str(ordinal), source)
    return MappingProxyType(listed)


def plain_reference(text: str) -> str:
    """Return a reference without emphasis and with single spaces."""
    return " ".join(_DECORATION.sub("", text).split())
