"""Split an answer into claims, each with its place in the answer as it was written.

Origin: evidence-ledger.md, sections 3.1, 5.1 and 10.1; the rules are in docs/ledger.md. Same
answer, same claims: nothing but the arguments decides. Identical claims are kept apart, because
each place of an answer must lead to its own evidence (rule S9).

The blocks of the answer (blocks.py) become plain text without marks and citations (flat.py), the
text becomes sentences (sentences.py), a sentence loses its lead-ins (remarks.py) and becomes
clauses with their subjects (clauses.py, subjects.py): drafts, which are then rated and cited.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType
from typing import Final

from msgspec import structs

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import evidence as faults
from affidavit.ledger.anchors import Anchor, owners
from affidavit.ledger.attributions import (
    attribution_joints,
    attribution_length,
    without_attribution,
)
from affidavit.ledger.blocks import blocks_of
from affidavit.ledger.clauses import MAX_CHARS, Assertion, clauses_of
from affidavit.ledger.flat import Flat, flatten
from affidavit.ledger.grammar import is_clause, is_command
from affidavit.ledger.importance import (
    DEFAULT_THRESHOLDS,
    ImportanceThresholds,
    importance_from_score,
    importance_score,
)
from affidavit.ledger.kinds import claim_type
from affidavit.ledger.languages import ENGLISH, UNKNOWN, language_of
from affidavit.ledger.model import (
    Claim,
    ClaimType,
    Exemption,
    FindingKind,
    Importance,
    LedgerFinding,
    LeftOut,
    LeftOutKind,
    Span,
)
from affidavit.ledger.page import Block, BlockKind
from affidavit.ledger.references import reference_list
from affidavit.ledger.remarks import find_exemption, lead_in_length
from affidavit.ledger.sentences import sentence_spans
from affidavit.ledger.subjects import Subject, continued, label_subject, resolved, subject_of


@dataclass(frozen=True, slots=True)
class ClaimOverride:
    """What the user says of a claim against the rules; None leaves the rule's word."""

    type: ClaimType | None = None
    importance: Importance | None = None


@dataclass(frozen=True, slots=True)
class SplitAnswer:
    """Everything that stands in an answer."""

    claims: tuple[Claim, ...]
    """What must rest on evidence: `clm_001`, `clm_002` and so on."""
    remarks: tuple[Claim, ...]
    """Sentences that need no evidence, each with its exemption: `clm_r001` and so on."""
    left_out: tuple[LeftOut, ...]
    findings: tuple[LedgerFinding, ...]


@dataclass(slots=True)
class _Draft:
    """A claim to be: its words, what it states, its place, and why it may need no evidence."""

    text: str
    statement: str
    span: Span
    exemption: Exemption | None
    sentence: Span | None = None


@dataclass(slots=True)
class _Drafts:
    """What the blocks of an answer yield, in their order."""

    found: list[_Draft] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    anchors: list[Anchor] = field(default_factory=list)
    cut: list[Span] = field(default_factory=list)
    """Sentences too long for one claim."""
    subject: Subject | None = None
    """What the last claim was about."""
    is_attributed: bool = False
    """Whether the last sentence said which source it is from."""


_NO_OVERRIDES: Final[Mapping[str, ClaimOverride]] = MappingProxyType({})


def split_answer(
    answer: str,
    query: str | None = None,
    *,
    numbered_sources: Sequence[str] = (),
    overrides: Mapping[str, ClaimOverride] = _NO_OVERRIDES,
    thresholds: ImportanceThresholds = DEFAULT_THRESHOLDS,
) -> SplitAnswer:
    """Return the claims of `answer`, what needs no evidence, and what was left out.

    `numbered_sources` is what `[1]`, `[2]` mean where the answer has no reference list.
    """
    blocks = blocks_of(answer)
    drafts = _drafts_of(answer, blocks)
    owned = owners(drafts.anchors, [draft.span for draft in drafts.found])
    references = reference_list(answer, blocks, numbered_sources)
    cites = _cites(drafts, owned, references)
    rate = _Rating(query, thresholds, language_of(answer))
    claims: list[Claim] = []
    remarks: list[Claim] = []
    ids: list[str] = []
    for draft, cited in zip(drafts.found, cites, strict=True):
        claim = rate.claim(draft, cited, len(claims) + 1, len(remarks) + 1)
        (claims if claim.requires_citation else remarks).append(claim)
        ids.append(claim.id)
    return SplitAnswer(
        overridden(claims, overrides),
        tuple(remarks),
        _accounted(answer, drafts),
        (*_anchor_findings(drafts.anchors, owned, ids), *_cut_findings(drafts, ids)),
    )


class _Rating:
    """Turns drafts into claims, in the order of the answer."""

    def __init__(self, query: str | None, thresholds: ImportanceThresholds, language: str) -> None:
        self.query = query
        self.thresholds = thresholds
        self.language = language

    def claim(self, draft: _Draft, cites: tuple[str, ...], number: int, remark: int) -> Claim:
        kind = claim_type(draft.statement)
        if draft.exemption is not None:
            name, importance = f"clm_r{remark:03}", Importance.MINOR
        else:
            score = importance_score(draft.statement, kind, self.query, is_first=number == 1)
            name, importance = f"clm_{number:03}", importance_from_score(score, self.thresholds)
        return Claim(
            id=name,
            text=draft.text,
            span=draft.span,
            type=kind,
            importance=importance,
            requires_citation=draft.exemption is None,
            cites=cites,
            exemption=draft.exemption,
            read_as="" if draft.statement == draft.text else draft.statement,
            sentence=draft.sentence,
            language=self._language(draft.statement),
        )

    def _language(self, statement: str) -> str:
        # Few words tell little: in a German answer they are German. In an English one they may
        # still be something else.
        found = language_of(statement)
        return self.language if found == UNKNOWN and self.language != ENGLISH else found


def overridden(
    claims: Iterable[Claim], overrides: Mapping[str, ClaimOverride]
) -> tuple[Claim, ...]:
    """Return the claims with the user's word in place of the rules'; an unknown id is an error."""
    listed = tuple(claims)
    known = {claim.id for claim in listed}
    for name in overrides:
        if name not in known:
            raise AffidavitError(faults.OVERRIDE_CLAIM, Where(field=name), count=len(listed))
    return tuple(_override(claim, overrides.get(claim.id)) for claim in listed)


def _override(claim: Claim, override: ClaimOverride | None) -> Claim:
    if override is None:
        return claim
    return structs.replace(
        claim,
        type=override.type or claim.type,
        importance=override.importance or claim.importance,
    )


_OVERRIDE: Final = re.compile(r"(clm_\d{3,})=([a-z]+)(?:,([a-z]+))?")


def parse_override(text: str) -> tuple[str, ClaimOverride]:
    """Read `clm_002=minor`, `clm_002=numeric` or `clm_002=numeric,critical`."""
    found = _OVERRIDE.fullmatch(text.strip())
    words = {word for word in (found[2], found[3]) if word} if found else set()
    kinds = words & set(ClaimType)
    ranks = words & set(Importance)
    if found is None or words - kinds - ranks or len(kinds) > 1 or len(ranks) > 1:
        raise AffidavitError(faults.OVERRIDE_SYNTAX, text=text)
    return found[1], ClaimOverride(
        next((ClaimType(word) for word in kinds), None),
        next((Importance(word) for word in ranks), None),
    )


# From blocks to drafts: rules S2 to S4.


@dataclass(frozen=True, slots=True)
class _Parent:
    """A block that the items below it may lean on."""

    indent: int
    text: str
    drafts: tuple[_Draft, ...]


_LEFT_OUT_BLOCKS: Final = {
    BlockKind.HEADING: LeftOutKind.HEADING,
    BlockKind.TABLE_HEADER: LeftOutKind.TABLE_HEADER,
    BlockKind.CODE: LeftOutKind.CODE,
    BlockKind.REFERENCE: LeftOutKind.REFERENCE,
    BlockKind.MARKUP: LeftOutKind.MARKUP,
}
_MAY_CITE: Final = frozenset({BlockKind.HEADING, BlockKind.TABLE_HEADER})
_HEADING_MARK: Final = re.compile(r"#{1,6}\s+")


def _drafts_of(answer: str, blocks: Sequence[Block]) -> _Drafts:
    drafts = _Drafts()
    parents: list[_Parent] = []
    for block in blocks:
        if block.kind is BlockKind.HEADING and _asserts(answer, block):
            _draft_text(drafts, answer, _without_mark(answer, block), [])
            parents.clear()
        elif block.kind in _LEFT_OUT_BLOCKS:
            _leave_out(drafts, answer, block)
            parents.clear()
        elif block.kind is BlockKind.ROW:
            _draft_row(drafts, answer, block)
            parents.clear()
        else:
            _draft_text(drafts, answer, block, parents)
    return drafts


def _asserts(answer: str, block: Block) -> bool:
    """Tell whether a heading is a sentence: what it says must not be out of the judge's sight."""
    text = flatten(answer, _without_mark(answer, block).lines).text
    return is_clause(text) and not text.endswith("?")


def _without_mark(answer: str, block: Block) -> Block:
    span = block.lines[0]
    mark = _HEADING_MARK.match(answer, span.start, span.end)
    return Block(BlockKind.PROSE, (Span(mark.end() if mark else span.start, span.end),))


def _leave_out(drafts: _Drafts, answer: str, block: Block) -> None:
    drafts.left_out.extend(LeftOut(_LEFT_OUT_BLOCKS[block.kind], span) for span in block.lines)
    if block.kind in _MAY_CITE:
        drafts.anchors.extend(flatten(answer, block.lines).anchors)
    if block.kind is BlockKind.HEADING:
        title = flatten(answer, _without_mark(answer, block).lines).text
        drafts.subject = label_subject(title.rstrip(":")) or drafts.subject


def _draft_row(drafts: _Drafts, answer: str, block: Block) -> None:
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
        drafts.found.extend(_Draft(piece, piece, span, find_exemption(piece)) for piece in pieces)
        if len(pieces) > 1:
            drafts.cut.append(span)


_LABELLED: Final = re.compile(r"[^:.]{2,60}:[ ]?\S")


def _draft_text(drafts: _Drafts, answer: str, block: Block, parents: list[_Parent]) -> None:
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


# An item of a list and what introduces the list: rule S3.

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
_TALK: Final = frozenset(
    {Exemption.META, Exemption.GREETING, Exemption.QUESTION, Exemption.ABSENCE}
)


def _is_fragment(text: str) -> bool:
    return not is_clause(text) and _LABELLED.match(text) is None


def _leans(text: str, parent: _Parent) -> bool:
    """Tell whether an item says nothing without what introduces its list."""
    if not _is_fragment(text):
        return False
    stands = text.endswith(".") or is_command(text)
    return not stands or _HANGING.search(parent.text) is not None


def _lean(item: _Draft, parent: _Parent) -> None:
    """Put what introduces a list before an item that says nothing without it."""
    stem = _POINTING.sub("", parent.text)
    talks = any(draft.exemption in _TALK for draft in parent.drafts)
    if not stem or _EMPTY_LABEL.match(stem) or talks:
        return
    text = f"{stem}: {item.text}"
    if len(text) <= MAX_CHARS:
        joint = " " if _HANGING.search(stem) else ": "
        item.statement = f"{stem}{joint}{item.statement}"
        item.text = text
        item.exemption = None
        for draft in parent.drafts:
            draft.exemption = Exemption.INTRODUCTION


# From a sentence to drafts: rules S8, S10 and S11.

_STOPS: Final = ".!;:,\u2026\u3002\uff01\uff61\u0964\u0965\u1362\u06d4\u0589\u17d4\u104b\u0f0d"
_ABBREVIATED: Final = re.compile(
    r"(?:\b[^\W\d_]\.(?:[^\W\d_]\.)*|\b(?:inc|ltd|co|corp|etc|jr|sr|no|approx|dept|est)\.)$",
    re.IGNORECASE,
)
_LABEL: Final = re.compile(r"([^:.;,!?\"\u201c(]{2,60}):[ ]+(?=\S)")
_NUMBERED: Final = re.compile(r"(?<!\S)\(?(?:\d{1,2}|[a-h]|[ivx]{1,4})\)[ ]")
_FEWEST_NUMBERED: Final = 2


def _draft_sentence(drafts: _Drafts, flat: Flat, sentence: Span) -> Iterator[_Draft]:
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
    parts = (
        (Assertion(Span(0, len(rest)), rest),)
        if whole
        else tuple(_attributed_clauses(drafts, rest, text[:lead]))
    )
    if whole is None and len(rest) > MAX_CHARS:
        drafts.cut.append(flat.place(Span(start, sentence.end)))
    together = flat.place(Span(start, sentence.end)) if len(parts) > 1 else None
    behind = start
    for part in parts:
        drafts.left_out.extend(_between(flat, Span(behind, start + part.span.start)))
        behind = start + part.span.end
        piece = _trimmed(flat.text, Span(start + part.span.start, behind))
        if piece is not None:
            said = flat.text[piece.start : piece.end]
            exemption = whole or find_exemption(part.statement)
            statement = said if exemption else _resolved_statement(drafts, part.statement)
            yield _Draft(said, statement, flat.place(piece), exemption, together)


def _attributed_clauses(drafts: _Drafts, sentence: str, lead: str) -> Iterator[Assertion]:
    """Yield the clauses of a sentence. "The guide says that" before them is of the first one.

    `lead` is what was taken off the sentence, which may have said the same.
    """
    is_led = attribution_length(f"{lead}{sentence}", goes_on=drafts.is_attributed) > 0
    joints = attribution_joints(sentence) if is_led else ()
    for begin, end in pairwise([0, *joints, len(sentence)]):
        part = sentence[begin:end]
        start = attribution_length(part, goes_on=drafts.is_attributed or begin > 0)
        for number, clause in enumerate(_labelled_clauses(drafts, part[start:])):
            opens = begin + (start + clause.span.start if number else 0)
            yield Assertion(Span(opens, begin + start + clause.span.end), clause.statement)
    drafts.is_attributed = is_led


def _labelled_clauses(drafts: _Drafts, sentence: str) -> Iterator[Assertion]:
    """Yield the clauses of a sentence. A label before a clause is no part of what it states."""
    if len(_NUMBERED.findall(sentence)) >= _FEWEST_NUMBERED and len(sentence) <= MAX_CHARS:
        # "two stages: (1) the file is checked, and (2) the board decides" is one statement.
        yield Assertion(Span(0, len(sentence)), _NUMBERED.sub("", sentence))
        return
    label = _LABEL.match(sentence)
    if label is None or is_clause(label[1]) or not is_clause(sentence[label.end() :]):
        yield from clauses_of(sentence)
        return
    drafts.subject = label_subject(label[1]) or drafts.subject
    for number, clause in enumerate(clauses_of(sentence[label.end() :])):
        start = label.end() + clause.span.start if number else 0
        yield Assertion(Span(start, label.end() + clause.span.end), clause.statement)


def _resolved_statement(drafts: _Drafts, statement: str) -> str:
    """Return what the judge reads, and remember what it is about."""
    trimmed = _trimmed(statement, Span(0, len(statement)))
    plain = statement[trimmed.start : trimmed.end] if trimmed else statement
    said = without_attribution(resolved(plain, drafts.subject))
    if is_clause(said):
        subject = subject_of(said)
        drafts.subject = continued(subject, drafts.subject) if subject else None
    return said


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


# Citations, findings, and what became no claim.


def _cites(
    drafts: _Drafts, owned: Sequence[int | None], references: Mapping[str, str]
) -> list[tuple[str, ...]]:
    cites: list[dict[str, None]] = [{} for _ in drafts.found]
    for anchor, owner in zip(drafts.anchors, owned, strict=True):
        if owner is not None:
            cites[owner].update(dict.fromkeys(anchor.cites(references)))
    return [tuple(each) for each in cites]


def _anchor_findings(
    anchors: Iterable[Anchor], owned: Iterable[int | None], ids: Sequence[str]
) -> Iterable[LedgerFinding]:
    for anchor, owner in zip(anchors, owned, strict=True):
        name = None if owner is None else ids[owner]
        for part in anchor.malformed:
            said = f"{anchor.text} names {part!r}, which is not 8 hexadecimal digits"
            yield LedgerFinding(FindingKind.MALFORMED_CITATION, said, name, anchor.span)
        if owner is None:
            said = f"{anchor.text} stands near no claim"
            yield LedgerFinding(FindingKind.STRAY_CITATION, said, None, anchor.span)


def _cut_findings(drafts: _Drafts, ids: Sequence[str]) -> Iterable[LedgerFinding]:
    for span in drafts.cut:
        inside = [
            name
            for draft, name in zip(drafts.found, ids, strict=True)
            if span.start <= draft.span.start < span.end
        ]
        said = f"a sentence of {span.end - span.start} characters was cut into {len(inside)} claims"
        yield LedgerFinding(FindingKind.LONG_SENTENCE, said, inside[0], span)


def _accounted(answer: str, drafts: _Drafts) -> tuple[LeftOut, ...]:
    """Return all that became no claim, so that every letter and digit is in one or the other."""
    left_out = [
        *drafts.left_out,
        *(LeftOut(LeftOutKind.CITATION, anchor.span) for anchor in drafts.anchors),
    ]
    covered = bytearray(len(answer))
    for span in (*(draft.span for draft in drafts.found), *(each.span for each in left_out)):
        covered[span.start : span.end] = b"\1" * (span.end - span.start)
    left_out.extend(
        LeftOut(LeftOutKind.MARKUP, Span(found.start(), found.end()))
        for found in re.finditer(r"\S+", _uncovered(answer, covered))
        if any(char.isalnum() for char in found[0])
    )
    return tuple(sorted(left_out, key=lambda each: (each.span.start, each.span.end)))


def _uncovered(answer: str, covered: bytearray) -> str:
    return "".join(" " if hidden else char for char, hidden in zip(answer, covered, strict=True))
