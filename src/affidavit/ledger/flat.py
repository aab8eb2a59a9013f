"""A block of an answer as plain text that records where each character came from.

Emphasis marks, code marks, link targets, tags and citation anchors are taken out, line breaks
become spaces, and runs of white space become one. Rule S7 of docs/ledger.md.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from affidavit.ledger.anchors import ANCHOR, Anchor, anchor_from_match
from affidavit.ledger.model import Span

_TAGS: Final = r"a|b|br|code|del|div|em|i|ins|mark|p|s|small|span|strong|sub|sup|u"
_TOKEN: Final = re.compile(
    r"(?P<escape>\\[!-/:-@\[-`{-~])"
    r"|(?P<code>(?P<ticks>`+)(?P<inside>[^`\n]+)(?P=ticks)(?!`))"
    r"|(?P<image>!\[[^\[\]\n]*\]\([^()\n]*\))"
    rf"|(?P<anchor>{ANCHOR.pattern})"
    r"|(?P<link>\[(?P<shown>[^\[\]\n]+)\]\((?P<path>[^()\s]*(?:\([^()\s]*\)[^()\s]*)?)"
    r"(?:[ ]\"[^\"\n]*\")?\))"
    rf"|(?P<tag></?(?:{_TAGS})(?:\s[^<>\n]*)?/?>)"
    r"|<(?P<address>https?://[^<>\s]+)>",
    re.IGNORECASE,
)
_RUN: Final = re.compile(r"\*\*?|__?|~~")


Style = Literal["strong", "em", "del", "code", "link"]
_STYLES: Final[dict[str, Style]] = {
    "*": "em",
    "_": "em",
    "**": "strong",
    "__": "strong",
    "~~": "del",
}


@dataclass(frozen=True, slots=True)
class Flat:
    """Plain text; `at[i]` is the place of its character `i` in the answer."""

    text: str
    at: tuple[int, ...]
    anchors: tuple[Anchor, ...] = ()

    def place(self, span: Span) -> Span:
        """Return the place in the answer of a range of the text that is not empty."""
        return Span(self.at[span.start], self.at[span.end - 1] + 1)


class _Raw:
    """The raw text of a block while it is being taken apart."""

    def __init__(self, answer: str, lines: Sequence[Span]) -> None:
        self.text = "\n".join(answer[line.start : line.end] for line in lines)
        # The place behind a line is its line break.
        self.at = [place for line in lines for place in range(line.start, line.end + 1)]
        self.dropped = bytearray(len(self.text))
        self.literal = bytearray(len(self.text))
        self.anchors: dict[int, Anchor] = {}

    def drop(self, start: int, end: int) -> None:
        self.dropped[start:end] = b"\1" * (end - start)

    def keep_letter_for_letter(self, start: int, end: int) -> None:
        self.literal[start:end] = b"\1" * (end - start)

    def drop_around(self, whole: tuple[int, int], inner: tuple[int, int]) -> None:
        self.drop(whole[0], inner[0])
        self.drop(inner[1], whole[1])


def flatten(answer: str, lines: Sequence[Span]) -> Flat:
    """Return the plain text of the given lines of `answer`."""
    raw = _Raw(answer, lines)
    for token in _TOKEN.finditer(raw.text):
        _take_out(raw, token)
    for start, end in _emphasis_marks(raw):
        raw.drop(start, end)
    return _joined(raw)


def styled_ranges(answer: str, lines: Sequence[Span]) -> tuple[tuple[Span, Style], ...]:
    """Return which ranges of the answer its marks emphasise, or show as code or as a link."""
    raw = _Raw(answer, lines)
    ranges: list[tuple[int, int, Style]] = []
    for token in _TOKEN.finditer(raw.text):
        _take_out(raw, token)
        if token["code"]:
            ranges.append((*token.span("inside"), "code"))
        elif token["link"]:
            ranges.append((*token.span("shown"), "link"))
    marks = list(_emphasis_marks(raw))
    for opening, closing in zip(marks[::2], marks[1::2], strict=True):
        ranges.append((opening[1], closing[0], _STYLES[raw.text[slice(*opening)]]))
    return tuple(
        (Span(raw.at[start], raw.at[end - 1] + 1), style)
        for start, end, style in ranges
        if start < end
    )


def _take_out(raw: _Raw, token: re.Match[str]) -> None:
    start, end = token.span()
    if token["escape"]:
        raw.drop(start, start + 1)
        raw.keep_letter_for_letter(start + 1, end)
    elif token["code"]:
        raw.drop_around((start, end), token.span("inside"))
        raw.keep_letter_for_letter(start, end)
    elif token["anchor"]:
        raw.anchors[start] = anchor_from_match(token, raw.at[start] - start)
        raw.drop(start, end)
    elif token["link"]:
        raw.drop_around((start, end), token.span("shown"))
        _cite_link(raw, token)
    elif token["address"]:
        raw.drop_around((start, end), token.span("address"))
        raw.keep_letter_for_letter(start, end)
    else:
        raw.drop(start, end)


def _cite_link(raw: _Raw, token: re.Match[str]) -> None:
    """The target of a link in a sentence is a citation; a place on the same page is none."""
    if token["path"] and not token["path"].lower().startswith(("#", "mailto:", "tel:")):
        behind, end = token.end("shown"), token.end()
        span = Span(raw.at[behind], raw.at[end - 1] + 1)
        raw.anchors[behind] = Anchor(span, token[0], names=(token["path"],))


def _emphasis_marks(raw: _Raw) -> Iterator[tuple[int, int]]:
    """Yield the marks that open and close emphasis; a mark without its partner is text."""
    waiting: dict[str, list[tuple[int, int]]] = {}
    for run in _RUN.finditer(raw.text):
        start, end = run.span()
        if raw.literal[start] or raw.dropped[start]:
            continue
        before, behind = raw.text[start - 1 : start], raw.text[end : end + 1]
        opens, closes = _roles(run[0], before, behind)
        openers = waiting.setdefault(run[0], [])
        if closes and openers:
            yield openers.pop()
            yield start, end
        elif opens:
            openers.append((start, end))


def _roles(mark: str, before: str, behind: str) -> tuple[bool, bool]:
    """Tell whether a mark may open and may close: CommonMark's flanking rule, made stricter.

    Between two letters or digits a star is a product ("5*3") or a power ("2**8"), and an
    underscore is part of a name ("HR_Policy").
    """
    if before.isalnum() and behind.isalnum() and mark != "~~":
        return False, False
    return bool(behind) and not behind.isspace(), bool(before) and not before.isspace()


class _Joined:
    """The kept characters: single spaces, none at the ends, none where an anchor stood."""

    def __init__(self) -> None:
        self.chars: list[str] = []
        self.at: list[int] = []
        self.owed: int | None = None

    def take_back_space(self) -> None:
        """Before an anchor: "leave [1]." becomes "leave.", and "leave [1]but" "leave but"."""
        if self.chars and self.chars[-1] == " ":
            self.chars.pop()
            self.owed = self.at.pop()

    def add(self, char: str, place: int) -> None:
        if self.owed is not None and char.isalnum():
            self._append(" ", self.owed)
        self.owed = None
        if not char.isspace():
            self._append(char, place)
        elif self.chars and self.chars[-1] != " ":
            self._append(" ", place)

    def _append(self, char: str, place: int) -> None:
        self.chars.append(char)
        self.at.append(place)


def _joined(raw: _Raw) -> Flat:
    joined = _Joined()
    for index, char in enumerate(raw.text):
        if index in raw.anchors:
            joined.take_back_space()
        if not raw.dropped[index]:
            joined.add(char, raw.at[index])
    joined.take_back_space()
    return Flat("".join(joined.chars), tuple(joined.at), tuple(raw.anchors.values()))
