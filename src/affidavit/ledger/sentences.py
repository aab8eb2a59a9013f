"""Where the sentences of a text stand, for prose and for Markdown alike.

nupunkt decides inside a block of prose (abbreviations, numbers, quotes). The small rule on top
knows what a sentence model does not: a heading, a list item, a table row and a line of code end
where they end, with or without a full stop; a citation anchor behind the full stop belongs to the
sentence before it; and other scripts end a sentence with marks of their own. A span leaves out the
marks of its block (`#`, `-`, `1.`, `>`, `|`) and the white space around it. What holds no letter or
digit (a ruler, a table's separator) has no span.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from typing import Final, NamedTuple

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import input as faults
from affidavit.ledger.model import Span

_NUMBERS: Final = r"[A-Za-z]?\d{1,3}"
ANCHOR: Final = (
    r"\[cite:[0-9a-fA-F]{8}\]"
    rf"|\[{_NUMBERS}(?:[ ]?[,;\u2013-][ ]?{_NUMBERS})*\](?!\()"
    r"|\[\^[\w.-]{1,32}\]"
    r"|\([\w.-]{1,32}#[\w.-]{1,32}\)"
    r"|[\u00b9\u00b2\u00b3\u2070-\u2079]{1,3}"
    r"|\u3010[^\u3010\u3011\n]{1,64}\u3011"
)
"""Citation anchors: `[cite:b8b859ac]`, `[1]`, `[1, 2]`, `[^1]`, `(p1#2)`; not a Markdown link."""

# The full stops and question marks of Chinese, Japanese, Hindi, Urdu, Arabic, Amharic, Armenian,
# Khmer, Burmese and Tibetan, with the quotation marks that close behind them.
_SCRIPT_STOP: Final = re.compile(
    r"(?P<opens>[\u300c\u300e\uff08])|(?P<closes>[\u300d\u300f\uff09])"
    r"|(?P<stop>[\u3002\uff01\uff1f\uff61\u0964\u0965\u06d4\u061f\u1362\u1367\u1368\u0589\u17d4\u104b"
    r"\u0f0d]+[\u300d\u300f\u201d\u2019\uff09\u3011]*[ \t]*)"
)
_QUOTE_CLOSES: Final = "\u300d\u300f\uff09"
# "at 9 am. Visitors": the model takes "am." for an abbreviation.
_CLOCK_STOP: Final = (
    r"\b\d{1,2}(?::\d{2})? ?[ap]\.?m\.[ \t\n]+(?=[A-Z])"
    r"(?!(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|[A-Z]{2,4}\b"
    r"|(?:Eastern|Central|Mountain|Pacific|Greenwich)\b)"
)
# "per month. Their" and "5 m. The wall": what follows begins a sentence.
_WORD_STOP: Final = (
    r"(?:\b(?!approx|dept|govt|assn|univ|prof|corp|capt)[a-z]{4,}|\b\d[\d.,]* ?[a-zA-Z]{1,3})"
    r"\.[ \t\n]+"
    r"(?=(?:The|They|Their|It|Its|He|She|This|These|Those|We|Our|You|Your|There|However|If|When)\b)"
)
_PLAIN_STOP: Final = re.compile(f"{_CLOCK_STOP}|{_WORD_STOP}")
_MONTH: Final = (
    r"(?:Januar|J\u00e4nner|Februar|M\u00e4rz|April|Mai|Juni|Juli|August|September|Oktober|November"
    r"|Dezember)\b"
)
# "zum 1. M\u00e4rz": a German ordinal number ends no sentence.
_ORDINAL: Final = re.compile(rf"\b\d{{1,2}}\.[ \t\n]+(?={_MONTH})")

_ANCHORS_BEHIND_STOP: Final = re.compile(
    rf"(?<=[.!?])[\"')\u201d\u2019]*((?:[ \t]*(?:{ANCHOR}))+)(?=\s*(?:[^\W_a-z]|[\"'(\u201c*]|$))"
)
_LINE: Final = re.compile(r"[^\n]*\n?")
_FENCE: Final = re.compile(r"[ \t]*(`{3,}|~{3,})")
_QUOTE_MARK: Final = re.compile(r"[ \t]*(?:>[ \t]?)+")
_HEADING: Final = re.compile(r"[ \t]{0,3}#{1,6}[ \t]+")
_ROW: Final = re.compile(r"[ \t]*\|[ \t]*")
_BULLET: Final = re.compile(r"[ \t]*[-*+\u2022\u2023\u25aa\u25e6\u00b7][ \t]+(?:\[[ xX]\][ \t]+)?")
_NUMBERED: Final = re.compile(r"[ \t]*\(?(\d{1,3}|[a-z]|[ivx]{1,5})[.)][ \t]+")
_REFERENCE: Final = re.compile(rf"[ \t]*\[(?:\^[\w.-]{{1,32}}|{_NUMBERS})\](:?)[ \t]+")
_RULER: Final = re.compile(r"[ \t]*(?:=+|-+)[ \t]*$")
_HAS_WORD: Final = re.compile(r"[^\W_]")
_ENDLESS_WORD: Final = re.compile(r"\S{400,}")
_EDGES: Final = "|" + "".join(chr(code) for code in range(0x3001) if chr(code).isspace())


class _Block(NamedTuple):
    """A stretch of text that no sentence leaves; `start` is behind the block's own mark."""

    start: int
    end: int
    whole: bool = False
    """A line of code or a table row: one span, whatever its punctuation."""


class _Mark(NamedTuple):
    """What the beginning of a line says of it."""

    kind: str
    width: int = 0


_PROSE: Final = _Mark("prose")
_MORE: Final = _Mark("more")
_FIRST_NUMBERS: Final = frozenset({"1", "a", "i"})


def sentence_spans(text: str) -> tuple[Span, ...]:
    """Return the sentences of `text`, in order, without the white space around them."""
    blocks = tuple(_blocks(text))
    if not blocks:
        return ()
    cuts = _model()(text)
    return tuple(span for block in blocks for span in _inside(text, block, cuts))


@cache
def _model() -> Callable[[str], list[int]]:
    # The model is read from disk once per process, and only by who needs sentences.
    try:
        from nupunkt import load_default_model
    except ImportError:
        raise AffidavitError(
            faults.EXTRA_MISSING, feature="splitting sentences", package="nupunkt", extra="ledger"
        ) from None
    tokenizer = load_default_model()

    def cuts(text: str) -> list[int]:
        # nupunkt takes quadratic time over one endless word; no sentence ends inside of one.
        plain = _ENDLESS_WORD.sub(lambda word: "x" * len(word[0]), text)
        return [start for _, (start, _) in tokenizer.tokenize_with_spans(plain)]

    return cuts


def _inside(text: str, block: _Block, cuts: list[int]) -> Iterator[Span]:
    inner = [] if block.whole else _cuts_between(text, block, cuts)
    for start, end in pairwise((block.start, *inner, block.end)):
        part = text[start:end]
        if _HAS_WORD.search(part):
            lead = len(part) - len(part.lstrip(_EDGES))
            yield Span(start + lead, start + len(part.rstrip(_EDGES)))


def _cuts_between(text: str, block: _Block, cuts: list[int]) -> list[int]:
    found = cuts[bisect_right(cuts, block.start) : bisect_left(cuts, block.end)]
    # "Leave is 15 days. [1] It ...": the anchor goes with the sentence that it backs.
    for anchors in _ANCHORS_BEHIND_STOP.finditer(text, block.start, block.end):
        start, end = anchors.span()
        found[bisect_left(found, start) : bisect_right(found, end)] = [end]
    not_a_stop = {each.end() for each in _ORDINAL.finditer(text, block.start, block.end)}
    added = {each.end() for each in _PLAIN_STOP.finditer(text, block.start, block.end)}
    added.update(_script_stops(text, block))
    return sorted(({*found} - not_a_stop) | added) if added or not_a_stop else found


def _script_stops(text: str, block: _Block) -> Iterator[int]:
    """Yield the places behind the full stops of other scripts that stand in no quotation."""
    opened = 0
    for mark in _SCRIPT_STOP.finditer(text, block.start, block.end):
        if mark["opens"]:
            opened += 1
            continue
        opened -= sum(map(mark[0].count, _QUOTE_CLOSES))
        # Japanese reports speech with the particle "to" behind the quotation.
        stops = mark["stop"] and not text.startswith("\u3068", mark.end())
        if stops and opened <= 0 and mark.end() < block.end:
            opened = 0
            yield mark.end()


def _blocks(text: str) -> Iterator[_Block]:
    """Yield the blocks of `text`: one pass over its lines."""
    open_block: _Block | None = None
    for start, end, mark in _marked_lines(text):
        if mark.kind == "more" and open_block:
            open_block = _Block(open_block.start, end)
            continue
        if open_block:
            yield open_block
        line = _Block(start + mark.width, end, whole=mark.kind in _WHOLE)
        open_block = None if mark.kind in _NOTHING else line
    if open_block:
        yield open_block


def _marked_lines(text: str) -> Iterator[tuple[int, int, _Mark]]:
    """Yield every line with what it is; a line that goes on with the block above is "more"."""
    open_kind, fence = "blank", ""
    for line in _LINE.finditer(text):
        start, end = line.span()
        mark = _code_mark(text, start, end, fence) or _mark(text, start, end, open_kind)
        if mark.kind == "fence":
            fence = "" if fence else text[start:end].lstrip()[:3]
        if mark.kind == "prose" and open_kind in _CONTINUED:
            mark = _MORE
        else:
            open_kind = mark.kind
        yield start, end, mark


_CONTINUED: Final = frozenset({"prose", "item", "quote", "reference"})
_WHOLE: Final = frozenset({"code", "row", "heading"})
_NOTHING: Final = frozenset({"blank", "fence", "ruler"})


def _code_mark(text: str, start: int, end: int, fence: str) -> _Mark | None:
    opening = _FENCE.match(text, start, end)
    if fence:
        closes = opening is not None and opening[1].startswith(fence)
        return _Mark("fence") if closes else _Mark("code")
    return _Mark("fence") if opening else None


def _mark(text: str, start: int, end: int, open_kind: str) -> _Mark:
    """Say what kind of line this is. `open_kind` is the kind of block that it could continue."""
    if not text[start:end].strip():
        return _Mark("blank")
    if _RULER.match(text, start, end):
        return _Mark("ruler")
    for kind, pattern in (("heading", _HEADING), ("row", _ROW), ("item", _BULLET)):
        found = pattern.match(text, start, end)
        if found:
            return _Mark(kind, found.end() - start)
    quoted = _QUOTE_MARK.match(text, start, end)
    if quoted:
        return _PROSE if open_kind == "quote" else _Mark("quote", quoted.end() - start)
    return _numbered_or_prose(text, start, end, open_kind)


def _numbered_or_prose(text: str, start: int, end: int, open_kind: str) -> _Mark:
    # CommonMark 5.3: only a list that starts at 1 may interrupt a paragraph; else a wrapped line
    # such as "15. The rest" would be torn from its sentence.
    number = _NUMBERED.match(text, start, end)
    if number and (open_kind != "prose" or number[1] in _FIRST_NUMBERS):
        return _Mark("item", number.end() - start)
    reference = _REFERENCE.match(text, start, end)
    if reference and (reference[1] or open_kind != "prose"):
        return _Mark("reference")
    return _PROSE
