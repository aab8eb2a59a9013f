"""Scores rows of claims and evidence with a judge, in one process or several.

A row is a line of JSON, `{id, claim, evidence}`, in a plain or gzip file; evidence is a text or a
list of texts. `hypothesis` and `premise` are synonyms. A row without an id is named by its line
number, its label is passed on, and other fields are ignored.

The verdict follows from the rules of the ledger, so that `judge score` and `check` agree. The texts
of the evidence are the paragraphs of one undated source: a claim may rest on two of them.
"""

import gzip
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from io import BufferedReader, BytesIO, RawIOBase
from pathlib import Path
from typing import Final, TypeVar, cast

import msgspec
from msgspec import Struct

from affidavit.app.judges import DEFAULT_JUDGE, JudgeChoice, is_counted, judge_for
from affidavit.app.project import Project
from affidavit.base.digest import chunk_hash, sha256_hex
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import evidence as faults
from affidavit.base.faults import input as input_faults
from affidavit.base.files import open_to_read
from affidavit.base.json_values import JsonLimits, JsonValue
from affidavit.base.notebook import result_table
from affidavit.base.statistics import rounded
from affidavit.base.strict_json import LineStream, decode, read_lines
from affidavit.base.validation import problem_and_field
from affidavit.engine.local import LocalRunner, Runner
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

ROW_LIMITS: Final = JsonLimits(max_bytes=64 * 1024 * 1024, max_string=64 * 1024 * 1024)
_GZIP: Final = b"\x1f\x8b"
_ROWS_AT_ONCE: Final = 32
_BYTES_AT_ONCE: Final = 1024 * 1024
"""A batch ends at either limit, so that rows with long evidence do not fill the memory."""

_Text = TypeVar("_Text")


class JudgeRow(Struct, frozen=True, kw_only=True):
    """A claim, its evidence, and the number of its line."""

    id: str
    line: int
    claim: str
    evidence: tuple[str, ...]
    label: str | None = None


class RowLine(Struct, frozen=True):
    """The bytes of a line that is not decoded yet."""

    number: int
    text: bytes


class JudgeRowV1(Struct, frozen=True, kw_only=True):
    """A row in a file. Public data sets call the claim hypothesis and the evidence premise."""

    id: str | int | None = None
    claim: str | None = None
    hypothesis: str | None = None
    evidence: str | tuple[str, ...] | None = None
    premise: str | tuple[str, ...] | None = None
    label: str | bool | int | None = None


def row_lines_of(stream: BufferedReader) -> Iterator[RowLine]:
    """Yield the lines that are not blank. Gzip is detected by its first bytes."""
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
    """Yield the lines in batches, each small enough to be sent to another process."""
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
    """Return the name of a row, even of a malformed one: its id, or its line number."""
    row_id = value.get("id") if isinstance(value, dict) else None
    return str(row_id if isinstance(row_id, str | int) else line.number)


def row_value(line: RowLine) -> JsonValue:
    """Return the JSON value of a line."""
    return decode(line.text, ROW_LIMITS, line.number)


def row_from_value(value: JsonValue, line: RowLine) -> JudgeRow:
    """Return the row of a line; an error names the line and the field."""
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
    found = other if value is None else value
    if found is None:
        raise _malformed(line, f"it has no {name}", name)
    return found


def _malformed(line: RowLine, problem: str, field: str | None) -> AffidavitError:
    return AffidavitError(
        faults.ROW_MALFORMED, Where(line=line.number, field=field), problem=problem
    )


def _label_text(label: str | bool | int | None) -> str | None:
    """Return a label as text: true is "true", 1 is "1"."""
    return str(label).lower() if isinstance(label, bool | int) else label


NO_EVIDENCE: Final = "there is no evidence to read"
DECIMALS: Final = 4
_UNDATED: Final = "1970-01-01"
"""The day of the answer. It has no effect, because the source has no date."""
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


class ClaimScore(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The verdict on a claim: a line of `judge score`. `support` has the prior of the rules.

    `snippet` is the deciding sentence, or for not_found the closest one.
    """

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


class JudgedRow(Struct, frozen=True, kw_only=True):
    """A row that was judged."""

    line: int
    score: ClaimScore
    support: float
    """For a prior of one half."""
    digest: str
    """Of the claim and its evidence; equal rows have equal digests."""


class RowFault(Struct, frozen=True):
    """A row that could not be judged, and why."""

    id: str
    line: int
    error: AffidavitError


RowOutcome = JudgedRow | RowFault


def outcome_of_line(line: RowLine, judge: Judge, rules: LedgerRules) -> RowOutcome:
    """Return the outcome of a line. An error is an outcome: the others go on."""
    name = str(line.number)
    try:
        value = row_value(line)
        name = row_name(value, line)
        return judge_row(row_from_value(value, line), judge, rules)
    except AffidavitError as error:
        return RowFault(name, line.number, error.at(line=line.number))


def judge_row(row: JudgeRow, judge: Judge, rules: LedgerRules) -> JudgedRow:
    """Return the verdict on a row."""
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
    score = ClaimScore(
        id=row.id,
        verdict=entry.verdict,
        support=(rules.judge_thresholds or _DEFAULT_THRESHOLDS).shifted(support),
        contradiction=max((each.contradiction for each in entry.readings), default=0.0),
        confidence=entry.confidence_score,
        snippet=decided.snippet if decided else "",
        notes=decided.notes if decided else NO_EVIDENCE,
        label=row.label,
    )
    digest = sha256_hex("\0".join((row.claim, *row.evidence)).encode())
    return JudgedRow(line=row.line, score=score, support=support, digest=digest)


def support_of(reading: Reading) -> float:
    """Return the judge's probability of support, or else its similarity."""
    support = dict(reading.scores).get("support", reading.similarity)
    if not 0 <= support <= 1:  # Not a number compares as false.
        raise AffidavitError(
            faults.READING_SCORE, Where(field="support"), name="support", score=support
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


def score_line(outcome: RowOutcome) -> bytes:
    """Return an outcome as one line of JSON: the score, or the error."""
    if isinstance(outcome, RowFault):
        return msgspec.json.encode({"id": outcome.id, "error": outcome.error.as_wire()})
    return msgspec.json.encode(outcome.score)


STANDARD_INPUT: Final = Path("-")
_CURRENT_PROJECT: Final = Project(Path())


class RowScorer(Struct, frozen=True):
    """Scores lines, in any process."""

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
        """Return the outcome of each line, in order."""
        judge = self.judge
        return tuple(outcome_of_line(line, judge, self.rules) for line in lines)


_THIS_PROCESS: Final = LocalRunner()


def judge_file(path: Path, scorer: RowScorer, run: Runner = _THIS_PROCESS) -> Iterator[RowOutcome]:
    """Yield the outcome of each row of a file, in order. `-` is standard input.

    Memory does not grow with the number of rows. A judge behind a server is used by this process
    only: several would have to share its budget and its rate limit.
    """
    run = _THIS_PROCESS if is_counted(scorer.choice) else run
    name = _input_name(path)
    try:
        scored = run(scorer, batches(row_lines(path)))
        for outcome in (each for batch in scored for each in batch):
            if isinstance(outcome, RowFault):
                error = outcome.error.at(file=name)
                yield RowFault(outcome.id, outcome.line, error)
            else:
                yield outcome
    except AffidavitError as error:
        raise error.at(file=name) from None


def row_lines(path: Path) -> Iterator[RowLine]:
    """Yield the lines of a file that are not blank. `-` is standard input."""
    try:
        with _open_input(path) as stream:
            yield from row_lines_of(stream)
    except AffidavitError as error:
        raise error.at(file=_input_name(path)) from None


def raise_on_fault(outcomes: Iterator[RowOutcome]) -> Iterator[RowOutcome]:
    """Pass the outcomes on, and raise the error of the first row that could not be judged."""
    for outcome in outcomes:
        if isinstance(outcome, RowFault):
            raise outcome.error
        yield outcome


def _input_name(path: Path) -> str:
    return "standard input" if path == STANDARD_INPUT else str(path)


def _open_input(path: Path) -> BufferedReader:
    if path != STANDARD_INPUT:
        return open_to_read(path)
    # A closed standard input is None.
    raw = BytesIO() if sys.stdin is None else sys.stdin.buffer
    return BufferedReader(cast(RawIOBase, raw))
