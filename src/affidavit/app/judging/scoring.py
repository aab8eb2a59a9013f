"""One row: a claim read against its evidence, with the verdict that a ledger would give.

The readings go through the ledger's own rules for verdicts and confidence, so that `judge score`
and `check` agree. The texts of the evidence are read as the paragraphs of one undated source: a
claim may rest on two of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from affidavit.app.judging.rows import JudgeRow, Line, name_of, row_of, value_of
from affidavit.base.digest import chunk_hash, sha256_hex
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import evidence as evidence_faults
from affidavit.base.faults import judging as faults
from affidavit.base.statistics import rounded
from affidavit.judge.protocol import Judge
from affidavit.ledger.build import Case, bind, settle_case
from affidavit.ledger.citations import shelf_of
from affidavit.ledger.model import (
    Chunk,
    Claim,
    ClaimType,
    Document,
    Importance,
    Reading,
    Span,
    Verdict,
)
from affidavit.ledger.rules import LedgerRules
from affidavit.ledger.thresholds import JudgeThresholds

NO_EVIDENCE: Final = "there is no evidence to read"
DECIMALS: Final = 4
_UNDATED: Final = "1970-01-01"
"""The day of the answer, which nothing depends on where no source has a date."""
_OWN: Final = JudgeThresholds()
_EVIDENCE: Final = Document("evidence", "evidence", "", "text/plain", "evidence", None, None)


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of a row. `support` is for a prior of one half, `shown_support` for the rules'.

    `snippet` is the sentence that decided, or for not_found the one that came closest.
    """

    id: str
    line: int
    verdict: Verdict
    support: float
    shown_support: float
    contradiction: float
    confidence: float
    snippet: str
    notes: str
    digest: str
    """Of the claim and its evidence, so that equal rows can be known."""
    label: str | None = None


@dataclass(frozen=True, slots=True)
class RowFault:
    """A row that could not be judged, and why."""

    id: str
    line: int
    error: AffidavitError


Outcome = Judged | RowFault


def outcome_of_line(line: Line, judge: Judge, rules: LedgerRules) -> Outcome:
    """Return what became of a line. An error is an outcome, so that others can go on."""
    name = str(line.number)
    try:
        value = value_of(line)
        name = name_of(value, line)
        return judge_row(row_of(value, line), judge, rules)
    except AffidavitError as error:
        return RowFault(name, line.number, error.at(line=line.number))


def judge_row(row: JudgeRow, judge: Judge, rules: LedgerRules) -> Judged:
    """Return the verdict on a row, with all that it rests on."""
    if not row.claim.strip():
        raise AffidavitError(faults.CLAIM_EMPTY, Where(line=row.line, field="claim"))
    texts = [text for text in row.evidence if text.strip()]
    chunks = [_chunk("\n\n".join(texts))] if texts else []
    readings = judge.read(row.claim, chunks) if chunks else ()
    shelf = shelf_of([_EVIDENCE], chunks)
    exhibits = tuple(bind(reading, shelf) for reading in readings)
    claim = Claim(
        row.id,
        row.claim,
        Span(0, len(row.claim)),
        ClaimType.FACT,
        Importance.MATERIAL,
        requires_citation=True,
    )
    entry = settle_case(Case(claim, exhibits, ()), {_EVIDENCE.id: _EVIDENCE}, _UNDATED, rules)
    support = max(map(support_of, readings), default=0.0)
    decided = entry.evidence[0].reading if entry.evidence else _closest(readings)
    return Judged(
        id=row.id,
        line=row.line,
        verdict=entry.verdict,
        support=support,
        shown_support=(rules.judge or _OWN).shifted(support),
        contradiction=max((each.reading.contradiction for each in exhibits), default=0.0),
        confidence=entry.confidence_score,
        snippet=decided.snippet if decided else "",
        notes=decided.notes if decided else NO_EVIDENCE,
        digest=sha256_hex("\0".join((row.claim, *row.evidence)).encode()),
        label=row.label,
    )


def support_of(reading: Reading) -> float:
    """Return the judge's probability of support; a judge that gives none has its similarity."""
    support = dict(reading.scores).get("support", reading.similarity)
    if not 0 <= support <= 1:  # Not a number compares as false.
        raise AffidavitError(
            evidence_faults.READING_SCORE, Where(field="support"), name="support", score=support
        )
    return rounded(support, DECIMALS)


def _closest(readings: Sequence[Reading]) -> Reading | None:
    return max(
        readings, key=lambda reading: (support_of(reading), reading.similarity), default=None
    )


def _chunk(text: str) -> Chunk:
    name = _EVIDENCE.id
    return Chunk(name, chunk_hash(text), name, 0, text, Span(0, len(text)), None, ())


class ScoreV1(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of the scores."""

    id: str
    verdict: Verdict
    support: float
    contradiction: float
    confidence: float
    snippet: str
    notes: str
    label: str | None = None


def score_line(outcome: Outcome) -> bytes:
    """Return the JSON of an outcome, on one line: the score, or the error in its place."""
    if isinstance(outcome, RowFault):
        return msgspec.json.encode({"id": outcome.id, "error": outcome.error.as_wire()})
    return msgspec.json.encode(
        ScoreV1(
            outcome.id,
            outcome.verdict,
            outcome.shown_support,
            outcome.contradiction,
            outcome.confidence,
            outcome.snippet,
            outcome.notes,
            outcome.label,
        )
    )
