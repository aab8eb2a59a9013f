"""Split an answer into claims, each with its place in the answer as it was written.

Origin: evidence-ledger.md, sections 3.1, 5.1 and 10.1; the rules are in docs/ledger.md. Same
answer, same claims: nothing but the arguments decides. Identical claims are kept apart, because
each place of an answer must lead to its own evidence (rule S9).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from msgspec import structs

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import evidence as faults
from affidavit.ledger.anchors import Anchor, owners
from affidavit.ledger.blocks import blocks_of
from affidavit.ledger.drafts import Draft, Drafts, drafts_of
from affidavit.ledger.importance import (
    DEFAULT_THRESHOLDS,
    ImportanceThresholds,
    importance_from_score,
    importance_score,
)
from affidavit.ledger.kinds import claim_type
from affidavit.ledger.model import (
    Claim,
    ClaimType,
    FindingKind,
    Importance,
    LedgerFinding,
    LeftOut,
    LeftOutKind,
    Span,
)
from affidavit.ledger.references import reference_list


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
    drafts = drafts_of(answer, blocks)
    owned = owners(drafts.anchors, [draft.span for draft in drafts.found])
    references = reference_list(answer, blocks, numbered_sources)
    cites = _cites(drafts, owned, references)
    rate = _Rating(query, thresholds)
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

    def __init__(self, query: str | None, thresholds: ImportanceThresholds) -> None:
        self.query = query
        self.thresholds = thresholds

    def claim(self, draft: Draft, cites: tuple[str, ...], number: int, remark: int) -> Claim:
        kind = claim_type(draft.text)
        if draft.exemption is not None:
            name, importance = f"clm_r{remark:03}", Importance.MINOR
        else:
            score = importance_score(draft.text, kind, self.query, is_first=number == 1)
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
        )


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


def _cites(
    drafts: Drafts, owned: Sequence[int | None], references: Mapping[str, str]
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


def _cut_findings(drafts: Drafts, ids: Sequence[str]) -> Iterable[LedgerFinding]:
    for span in drafts.cut:
        inside = [
            name
            for draft, name in zip(drafts.found, ids, strict=True)
            if span.start <= draft.span.start < span.end
        ]
        said = f"a sentence of {span.end - span.start} characters was cut into {len(inside)} claims"
        yield LedgerFinding(FindingKind.LONG_SENTENCE, said, inside[0], span)


def _accounted(answer: str, drafts: Drafts) -> tuple[LeftOut, ...]:
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
