"""From blocks to drafts: the sentences, items and rows of an answer, before they are claims.

Rules S3 (lists), S4 (tables) and S8 (ends of a claim's text) of docs/ledger.md.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from affidavit.ledger.anchors import Anchor
from affidavit.ledger.clauses import MAX_CHARS, clause_spans
from affidavit.ledger.flat import Flat, flatten
from affidavit.ledger.grammar import is_clause, is_command
from affidavit.ledger.model import Exemption, LeftOut, LeftOutKind, Span
from affidavit.ledger.page import Block, BlockKind
from affidavit.ledger.remarks import find_exemption, lead_in_length
from affidavit.ledger.sentences import sentence_spans

_STOPS: Final = ".!;:,\u2026"
_ABBREVIATED: Final = re.compile(
    r"(?:\b[^\W\d_]\.(?:[^\W\d_]\.)*|\b(?:inc|ltd|co|corp|etc|jr|sr|no|approx|dept|est)\.)$",
    re.IGNORECASE,
)
_LABELLED: Final = re.compile(r"[^:.]{2,60}:[ ]?\S")
_POINTING: Final = re.compile(
    r"[ ,]*\b(?:the following(?: \w+)?|as follows|these|as listed below)$", re.IGNORECASE
)
_HANGING: Final = re.compile(
    r"\b(?:the following(?: \w+)?|these|to|of|for|with|from|by|in|on|at|are|is|was|were|be"
    r"|includes?|including|must|may|can|should|shall|will|covers?|contains?|provides?|requires?|receives?"
    r"|gets?|offers?|need to|have to|not)$",
    re.IGNORECASE,
)
_EMPTY_LABEL: Final = re.compile(
    r"(?:(?:the |some |a few )?(?:key|main|important|other|additional|relevant)? ?(?:points?|facts?"
    r"|details?|takeaways?|highlights?|findings?|notes?|summary|overview|answer|information)"
    r"|in (?:summary|short))$",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Draft:
    """A claim to be: its text, its place, and why it may need no evidence."""

    text: str
    span: Span
    exemption: Exemption | None


@dataclass(slots=True)
class Drafts:
    """What the blocks of an answer yield."""

    found: list[Draft] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    anchors: list[Anchor] = field(default_factory=list)
    cut: list[Span] = field(default_factory=list)
    """Sentences too long for one claim."""


@dataclass(frozen=True, slots=True)
class _Parent:
    """A block that the items below it may lean on."""

    indent: int
    text: str
    drafts: tuple[Draft, ...]


_LEFT_OUT_BLOCKS: Final = {
    BlockKind.HEADING: LeftOutKind.HEADING,
    BlockKind.TABLE_HEADER: LeftOutKind.TABLE_HEADER,
    BlockKind.CODE: LeftOutKind.CODE,
    BlockKind.REFERENCE: LeftOutKind.REFERENCE,
    BlockKind.MARKUP: LeftOutKind.MARKUP,
}
_MAY_CITE: Final = frozenset({BlockKind.HEADING, BlockKind.TABLE_HEADER})


def drafts_of(answer: str, blocks: Sequence[Block]) -> Drafts:
    """Return the drafts of an answer in their order."""
    drafts = Drafts()
    parents: list[_Parent] = []
    for block in blocks:
        if block.kind in _LEFT_OUT_BLOCKS:
            _leave_out(drafts, answer, block)
            parents.clear()
        elif block.kind is BlockKind.ROW:
            _draft_row(drafts, answer, block)
            parents.clear()
        else:
            _draft_text(drafts, answer, block, parents)
    return drafts


def _leave_out(drafts: Drafts, answer: str, block: Block) -> None:
    drafts.left_out.extend(LeftOut(_LEFT_OUT_BLOCKS[block.kind], span) for span in block.lines)
    if block.kind in _MAY_CITE:
        drafts.anchors.extend(flatten(answer, block.lines).anchors)


def _draft_row(drafts: Drafts, answer: str, block: Block) -> None:
    """A row with its header is one claim: "Leave type: Annual; Days: 15"."""
    parts: list[str] = []
    spans: list[Span] = []
    for number, cell in enumerate(block.lines):
        flat = flatten(answer, (cell,))
        drafts.anchors.extend(flat.anchors)
        if flat.text:
            named = flatten(answer, block.header[number : number + 1]).text
            parts.append(f"{named}: {flat.text}" if named else flat.text)
            spans.append(flat.place(Span(0, len(flat.text))))
    text = "; ".join(parts)
    if any(char.isalnum() for cell in spans for char in answer[cell.start : cell.end]):
        span = Span(spans[0].start, spans[-1].end)
        pieces = [text[at : at + MAX_CHARS].strip() for at in range(0, len(text), MAX_CHARS)]
        drafts.found.extend(Draft(piece, span, find_exemption(piece)) for piece in pieces)
        if len(pieces) > 1:
            drafts.cut.append(span)


def _draft_text(drafts: Drafts, answer: str, block: Block, parents: list[_Parent]) -> None:
    flat = flatten(answer, block.lines)
    drafts.anchors.extend(flat.anchors)
    is_item = block.kind is BlockKind.ITEM
    while parents and (not is_item or parents[-1].indent >= block.indent):
        parents.pop()
    found = [
        draft
        for sentence in sentence_spans(flat.text)
        for draft in _draft_sentence(drafts, flat, sentence)
    ]
    if found and parents and _leans(flat.text, parents[-1]):
        _lean(found[0], parents[-1])
    drafts.found.extend(found)
    if found and (flat.text.endswith(":") or (is_item and _is_fragment(flat.text))):
        parents.append(_Parent(block.indent if is_item else -1, found[-1].text, tuple(found[-1:])))


def _is_fragment(text: str) -> bool:
    return not is_clause(text) and _LABELLED.match(text) is None


def _leans(text: str, parent: _Parent) -> bool:
    """Tell whether an item says nothing without what introduces its list."""
    if not _is_fragment(text):
        return False
    stands = text.endswith(".") or is_command(text)
    return not stands or _HANGING.search(parent.text) is not None


def _lean(item: Draft, parent: _Parent) -> None:
    """Put what introduces a list before an item that says nothing without it."""
    stem = _POINTING.sub("", parent.text)
    if not stem or _EMPTY_LABEL.match(stem) or _says_nothing(parent):
        return
    text = f"{stem}: {item.text}"
    if len(text) <= MAX_CHARS:
        item.text = text
        item.exemption = None
        for draft in parent.drafts:
            draft.exemption = Exemption.INTRODUCTION


def _says_nothing(parent: _Parent) -> bool:
    return any(draft.exemption in _TALK for draft in parent.drafts)


_TALK: Final = frozenset(
    {Exemption.META, Exemption.GREETING, Exemption.QUESTION, Exemption.ABSENCE}
)


def _draft_sentence(drafts: Drafts, flat: Flat, sentence: Span) -> Iterator[Draft]:
    text = flat.text[sentence.start : sentence.end]
    lead = lead_in_length(text)
    if lead:
        place = flat.place(Span(sentence.start, sentence.start + lead))
        drafts.left_out.append(LeftOut(LeftOutKind.CONNECTIVE, place))
    start = sentence.start + lead
    rest = flat.text[start : sentence.end]
    whole = find_exemption(rest)
    if whole is Exemption.ABSENCE:
        # "The documents do not mention notice, but leave is paid": each part for itself.
        whole = None
    parts = clause_spans(rest) if whole is None else (Span(0, len(rest)),)
    if whole is None and len(rest) > MAX_CHARS:
        drafts.cut.append(flat.place(Span(start, sentence.end)))
    behind = start
    for part in parts:
        drafts.left_out.extend(_between(flat, Span(behind, start + part.start)))
        behind = start + part.end
        piece = _trimmed(flat.text, Span(start + part.start, behind))
        if piece is not None:
            said = flat.text[piece.start : piece.end]
            exemption = whole or find_exemption(flat.text[piece.start : behind])
            yield Draft(said, flat.place(piece), exemption)


def _between(flat: Flat, gap: Span) -> Iterator[LeftOut]:
    if any(char.isalnum() for char in flat.text[gap.start : gap.end]):
        yield LeftOut(LeftOutKind.CONNECTIVE, flat.place(gap))


def _trimmed(text: str, span: Span) -> Span | None:
    """Return the span without the white space around it and the stop at its end."""
    start, end = span.start, span.end
    while start < end and text[start] in " " + _STOPS:
        start += 1
    while start < end and (text[end - 1] == " " or _is_stop(text[start:end])):
        end -= 1
    return Span(start, end) if start < end else None


def _is_stop(text: str) -> bool:
    return text[-1] in _STOPS and _ABBREVIATED.search(text) is None
