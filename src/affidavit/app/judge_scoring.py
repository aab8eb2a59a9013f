"""Scores rows of claims and evidence with a judge, in one process or several."""

import gzip
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BufferedReader, BytesIO, RawIOBase
from pathlib import Path
from typing import Final, TypeVar, cast

import msgspec

from affidavit.app.judges import DEFAULT_JUDGE, JudgeChoice, is_remote, judge_for
from affidavit.app.project import Project
from affidavit.base.digest import chunk_hash, sha256_hex
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import evidence as evidence_faults
from affidavit.base.faults import evidence as faults
from affidavit.base.faults import input as input_faults
from affidavit.base.files import open_to_read
from affidavit.base.json_values import JsonLimits, JsonValue
from affidavit.base.notebook import result_table
from affidavit.base.statistics.arithmetic import rounded
from affidavit.base.strict_json import LineStream, decode, read_lines
from affidavit.base.validation import problem_and_field
from affidavit.engine.local import run_in_order
from affidavit.judge.protocol import Judge
from affidavit.judge.thresholded import with_thresholds
from affidavit.ledger.adjudication import decide_entry, undecided_entry
from affidavit.ledger.citations import citation_index
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
from affidavit.ledger.rules import JudgeThresholds, LedgerRules, rules_digest

# Rows of claims and evidence: JSON lines, plain or gzip'd, read one at a time.
#
# A row is `{id, claim, evidence}`: evidence is a text or a list of texts, each a source of its own.
# `hypothesis` and `premise` are other names for the two, as data sets have them. A row without an
# id is named by its line. A label is carried along; whatever else a row holds is passed over.

ROW_LIMITS: Final = JsonLimits(max_bytes=64 * 1024 * 1024, max_string=64 * 1024 * 1024)
_GZIP: Final = b"\x1f\x8b"
_ROWS_AT_ONCE: Final = 32
_BYTES_AT_ONCE: Final = 1024 * 1024
"""A batch ends at either, so that rows with long evidence do not fill the memory."""

_Text = TypeVar("_Text")


@dataclass(frozen=True, slots=True)
class JudgeRow:
    """A claim, what it is read against, and the line on which it stands."""

    id: str
    line: int
    claim: str
    evidence: tuple[str, ...]
    label: str | None = None


@dataclass(frozen=True, slots=True)
class RowLine:
    """The bytes of a row that nobody has looked at yet."""

    number: int
    text: bytes


class JudgeRowV1(msgspec.Struct, frozen=True):
    """A row as it is written."""

    id: str | int | None = None
    claim: str | None = None
    hypothesis: str | None = None
    evidence: str | tuple[str, ...] | None = None
    premise: str | tuple[str, ...] | None = None
    label: str | bool | int | None = None


def row_lines_of(stream: BufferedReader) -> Iterator[RowLine]:
    """Yield the lines that hold something; gzip is known by its first bytes, not by a name."""
    plain: LineStream = stream
    if stream.peek(2)[:2] == _GZIP:
        plain = cast(LineStream, gzip.GzipFile(fileobj=stream))
    lines = read_lines(plain, ROW_LIMITS.max_bytes)
    number = 0
    while True:
        try:
            text = next(lines, None)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            reason = str(error).rstrip(".")
            raise AffidavitError(faults.GZIP_DAMAGED, Where(line=number), reason=reason) from None
        except OSError as error:
            reason = error.strerror or str(error)
            raise AffidavitError(input_faults.FILE_UNREADABLE, reason=reason) from None
        if text is None:
            return
        number += 1
        if text.strip():
            yield RowLine(number, text.removesuffix(b"\n"))


def batches(lines: Iterable[RowLine]) -> Iterator[tuple[RowLine, ...]]:
    """Yield the lines in pieces of work, each small enough to be sent to another process."""
    batch: list[RowLine] = []
    size = 0
    for line in lines:
        batch.append(line)
        size += len(line.text)
        if len(batch) >= _ROWS_AT_ONCE or size >= _BYTES_AT_ONCE:
            yield tuple(batch)
            batch, size = [], 0
    if batch:
        yield tuple(batch)


def row_name(value: JsonValue, line: RowLine) -> str:
    """Return how a row is called, also one that is not right: by its id, else by its line."""
    given = value.get("id") if isinstance(value, dict) else None
    return str(given if isinstance(given, str | int) else line.number)


def row_value(line: RowLine) -> JsonValue:
    """Return the JSON value of a line."""
    return decode(line.text, ROW_LIMITS, line.number)


def row_from_value(value: JsonValue, line: RowLine) -> JudgeRow:
    """Return the row that a line holds; what is wrong names the line and the field."""
    try:
        wire = msgspec.convert(value, JudgeRowV1)
    except msgspec.ValidationError as error:
        problem, field = problem_and_field(error)
        raise _malformed(line, problem, field) from None
    evidence = _required_field(wire.evidence, wire.premise, "evidence", line)
    return JudgeRow(
        id=row_name(value, line),
        line=line.number,
        claim=_required_field(wire.claim, wire.hypothesis, "claim", line),
        evidence=(evidence,) if isinstance(evidence, str) else tuple(evidence),
        label=_label_text(wire.label),
    )


def _required_field(value: _Text | None, other: _Text | None, name: str, line: RowLine) -> _Text:
    given = other if value is None else value
    if given is None:
        raise _malformed(line, f"it has no {name}", name)
    return given


def _malformed(line: RowLine, problem: str, field: str | None) -> AffidavitError:
    return AffidavitError(
        faults.ROW_MALFORMED, Where(line=line.number, field=field), problem=problem
    )


def _label_text(label: str | bool | int | None) -> str | None:
    """Return a label as text: true is "true", 1 is "1"."""
    return str(label).lower() if isinstance(label, bool | int) else label


# One row: a claim read against its evidence, with the verdict that a ledger would give.
#
# The readings go through the ledger's own rules for verdicts and confidence, so that `judge score`
# and `check` agree. The texts of the evidence are read as the paragraphs of one undated source: a
# claim may rest on two of them.

NO_EVIDENCE: Final = "there is no evidence to read"
DECIMALS: Final = 4
_UNDATED: Final = "1970-01-01"
"""The day of the answer, which nothing depends on where no source has a date."""
_DEFAULT_THRESHOLDS: Final = JudgeThresholds()
_EVIDENCE: Final = Document(
    id="evidence",
    filename="evidence",
    digest="",
    media_type="text/plain",
    title="evidence",
    date=None,
    page_count=None,
)


@dataclass(frozen=True, slots=True)
class JudgedRow:
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


RowOutcome = JudgedRow | RowFault


def outcome_of_line(line: RowLine, judge: Judge, rules: LedgerRules) -> RowOutcome:
    """Return what became of a line. An error is an outcome, so that others can go on."""
    name = str(line.number)
    try:
        value = row_value(line)
        name = row_name(value, line)
        return judge_row(row_from_value(value, line), judge, rules)
    except AffidavitError as error:
        return RowFault(name, line.number, error.at(line=line.number))


def judge_row(row: JudgeRow, judge: Judge, rules: LedgerRules) -> JudgedRow:
    """Return the verdict on a row, with all that it rests on."""
    if not row.claim.strip():
        raise AffidavitError(faults.CLAIM_EMPTY, Where(line=row.line, field="claim"))
    texts = [text for text in row.evidence if text.strip()]
    chunks = [_chunk("\n\n".join(texts))] if texts else []
    readings = judge.read(row.claim, chunks) if chunks else ()
    index = citation_index([_EVIDENCE], chunks)
    claim = Claim(
        id=row.id,
        text=row.claim,
        span=Span(0, len(row.claim)),
        type=ClaimType.FACT,
        importance=Importance.MATERIAL,
    )
    entry = undecided_entry(claim, readings, index)
    entry = decide_entry(entry, index.documents, _UNDATED, rules)
    support = max(map(support_of, readings), default=0.0)
    decided = next(iter(entry.deciding_readings), None) or _closest(readings)
    return JudgedRow(
        id=row.id,
        line=row.line,
        verdict=entry.verdict,
        support=support,
        shown_support=(rules.judge_thresholds or _DEFAULT_THRESHOLDS).shifted(support),
        contradiction=max((each.contradiction for each in entry.readings), default=0.0),
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
    return Chunk(
        id=name,
        hash=chunk_hash(text),
        document_id=name,
        index=0,
        text=text,
        span=Span(0, len(text)),
        page_number=None,
        heading_path=(),
    )


class ClaimScore(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The verdict on one claim, as a line of the scores. `support` is for the rules' prior."""

    id: str
    verdict: Verdict
    support: float
    contradiction: float
    confidence: float
    snippet: str
    notes: str
    label: str | None = None

    def _repr_html_(self) -> str:
        row = (self.verdict.value, f"{self.confidence:.2f}", self.snippet, self.notes)
        columns = ("Verdict", "Confidence", "Evidence", "Why")
        return result_table("Claim", self.verdict.value, columns, (row,))


def score_of(row: JudgedRow) -> ClaimScore:
    """Return the score of a row, without what only an evaluation needs."""
    return ClaimScore(
        id=row.id,
        verdict=row.verdict,
        support=row.shown_support,
        contradiction=row.contradiction,
        confidence=row.confidence,
        snippet=row.snippet,
        notes=row.notes,
        label=row.label,
    )


def score_line(outcome: RowOutcome) -> bytes:
    """Return the JSON of an outcome, on one line: the score, or the error in its place."""
    if isinstance(outcome, RowFault):
        return msgspec.json.encode({"id": outcome.id, "error": outcome.error.as_wire()})
    return msgspec.json.encode(score_of(outcome))


# Rows of claims and evidence, scored by the judge of this installation, in one process or many.

STANDARD_INPUT: Final = Path("-")
_CURRENT_PROJECT: Final = Project(Path())


@dataclass(frozen=True, slots=True)
class RowScorer:
    """Scores some lines, in whichever process it is called."""

    rules: LedgerRules
    choice: JudgeChoice = DEFAULT_JUDGE
    project: Project = _CURRENT_PROJECT

    @property
    def judge(self) -> Judge:
        """The judge with the thresholds of the rules; its tables or weights are read once."""
        return with_thresholds(judge_for(self.choice, self.project), self.rules.judge_thresholds)

    @property
    def rules_digest(self) -> str:
        """The digest that names the rules."""
        return rules_digest(self.rules)

    def __call__(self, lines: tuple[RowLine, ...]) -> tuple[RowOutcome, ...]:
        """Return what became of each line, in their order."""
        reader = self.judge
        return tuple(outcome_of_line(line, reader, self.rules) for line in lines)


def judge_file(path: Path, scorer: RowScorer, jobs: int = 1) -> Iterator[RowOutcome]:
    """Yield what became of each row of a file, in order. `-` is standard input.

    Memory does not grow with the number of rows. A judge that asks a server is asked by one process
    alone, for several would share its budget and its rate.
    """
    jobs = 1 if is_remote(scorer.choice) else jobs
    name = _input_name(path)
    try:
        scored = run_in_order(scorer, batches(row_lines(path)), jobs)
        for outcome in (each for batch in scored for each in batch):
            if isinstance(outcome, RowFault):
                error = outcome.error.at(file=name)
                yield RowFault(outcome.id, outcome.line, error)
            else:
                yield outcome
    except AffidavitError as error:
        raise error.at(file=name) from None


def row_lines(path: Path) -> Iterator[RowLine]:
    """Yield the lines of a file that hold something. `-` is standard input."""
    try:
        with _open_input(path) as stream:
            yield from row_lines_of(stream)
    except AffidavitError as error:
        raise error.at(file=_input_name(path)) from None


def raise_on_fault(outcomes: Iterator[RowOutcome]) -> Iterator[RowOutcome]:
    """Pass the outcomes on until a row could not be judged, and raise what was wrong with it."""
    for outcome in outcomes:
        if isinstance(outcome, RowFault):
            raise outcome.error
        yield outcome


def _input_name(path: Path) -> str:
    return "standard input" if path == STANDARD_INPUT else str(path)


def _open_input(path: Path) -> BufferedReader:
    if path != STANDARD_INPUT:
        return open_to_read(path)
    # A closed standard input is None: nothing was given.
    raw = BytesIO() if sys.stdin is None else sys.stdin.buffer
    return BufferedReader(cast(RawIOBase, raw))
