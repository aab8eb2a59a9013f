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
from typing import Final, TypeAlias, TypeVar, cast

import msgspec
from msgspec import Struct, structs

from affidavit.app.check import CheckContext, check_answer
from affidavit.app.groundedness import MemoryJudge, RowJudge
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
from affidavit.gates.groundedness import ContextRow
from affidavit.judge.cascade import CascadeJudge
from affidavit.judge.chat.judge import ChatJudge
from affidavit.judge.protocol import Judge
from affidavit.judge.thresholded import with_thresholds
from affidavit.ledger.adjudication import CheckRequest, decide_entry, undecided_entry
from affidavit.ledger.citations import citation_index
from affidavit.ledger.model import (
    Chunk,
    Claim,
    ClaimType,
    Document,
    Importance,
    JudgeIdentity,
    Reading,
    Span,
    SupportLevel,
    Verdict,
)
from affidavit.ledger.rules import JudgeThresholds, LedgerRules, rules_digest
from affidavit.store.readings import ReadingStore

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


# The estimated and the actual use of a judge behind a server, and of a cascade.

Pair: TypeAlias = tuple[str, Sequence[Chunk]]
"""A claim, and the passages to read for it."""


class PairCollector:
    """A judge that reads nothing and records the pairs that it gets."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self.pairs: list[Pair] = []

    @property
    def identity(self) -> JudgeIdentity:
        """The identity of the judge that it replaces."""
        return self._judge.identity

    @property
    def reads_english_only(self) -> bool:
        """As the judge that it replaces."""
        return self._judge.reads_english_only

    def read(self, claim: str, chunks: Sequence[Chunk]) -> tuple[Reading, ...]:
        """Record the pair, and return readings without a result."""
        self.pairs.append((claim, tuple(chunks)))
        return tuple(
            Reading(
                chunk_id=chunk.id,
                support_level=SupportLevel.NONE,
                contradicts=False,
                similarity=0.0,
                contradiction=0.0,
                directness=0.0,
                snippet="",
                snippet_span=Span(0, 0),
                notes="",
            )
            for chunk in chunks
        )


def estimate_answers(
    answers: Iterable[tuple[CheckRequest, CheckContext]], judge: Judge, *, above_budget: bool
) -> str:
    """Return the estimate of checking answers, from a check without a judge."""
    listing = PairCollector(judge)
    for request, context in answers:
        check_answer(request, structs.replace(context, judge=listing))
    return estimate_pairs(judge, listing.pairs, above_budget=above_budget)


def estimate_contexts(rows: Iterable[ContextRow], judge: RowJudge, *, above_budget: bool) -> str:
    """Return the estimate of judging rows by their contexts; stored readings cost nothing."""
    named = judge_for(judge.choice, judge.project)
    listing = PairCollector(named)
    store = None if judge.store is None else ReadingStore(judge.store)
    memory = MemoryJudge(listing, store)
    for row in rows:
        judge.judge(row, memory)
    if store is not None:
        store.close()
    return estimate_pairs(named, listing.pairs, above_budget=above_budget)


def estimate_rows(files: Iterable[Path], scorer: RowScorer, *, above_budget: bool) -> str:
    """Return the estimate of scoring files of rows; the rows of a pipe are not known yet."""
    paths = tuple(files)
    if STANDARD_INPUT in paths:
        return "the cost of rows from a pipe is not known in advance"
    judge = judge_for(scorer.choice, scorer.project)
    listing = PairCollector(judge)
    for line in (line for path in paths for line in row_lines(path)):
        # The errors of a row are reported when it is scored, not here.
        outcome_of_line(line, listing, scorer.rules)
    return estimate_pairs(judge, listing.pairs, above_budget=above_budget)


def estimate_pairs(judge: Judge, pairs: Sequence[Pair], *, above_budget: bool) -> str:
    """Return the estimate of a run in words; refuse a run that exceeds its budget.

    `above_budget` permits such a run: it stops when the budget is spent.
    """
    if isinstance(judge, ChatJudge):
        return _chat_estimate(judge, pairs, above_budget=above_budget)
    if not isinstance(judge, CascadeJudge):
        return ""
    sent = judge.uncertain_pairs(pairs)
    name = judge.larger.identity.name
    text = f"{len(sent)} of {len(pairs)} claims are uncertain"
    if not isinstance(judge.larger, ChatJudge):
        count = sum(len(chunks) for _, chunks in sent)
        return f"{text}; {name} will read {count} passages for them"
    return f"{text}; {_chat_estimate(judge.larger, sent, above_budget=above_budget)}"


def _chat_estimate(judge: ChatJudge, pairs: Iterable[Pair], *, above_budget: bool) -> str:
    settings, estimate = judge.settings, judge.estimate(pairs)
    text = (
        f"{settings.endpoint} will be asked {estimate.pairs - estimate.cached} times"
        f" ({estimate.pairs} pairs, {estimate.cached} answered before),"
        f" about {estimate.input_tokens} tokens in and {estimate.output_tokens} out"
    )
    if estimate.cost is None or estimate.most is None:
        return f"{text}; no prices are set, so the cost is not known"
    amount = judge.spending.amount
    budget = settings.budget
    if budget is not None and estimate.cost > budget and not above_budget:
        raise AffidavitError(
            faults.BUDGET_TOO_SMALL, estimate=amount(estimate.cost), budget=amount(budget)
        )
    cap = "no budget is set" if budget is None else f"budget {amount(budget)}"
    return f"{text}: about {amount(estimate.cost)}, at most {amount(estimate.most)}; {cap}"


def cost_summary(judge: Judge) -> str:
    """Return the actual use in words; "" for a judge whose use is not counted."""
    if isinstance(judge, ChatJudge):
        return f"judge: {_chat_summary(judge)}"
    if not isinstance(judge, CascadeJudge):
        return ""
    counts = judge.counts
    larger = judge.larger
    text = (
        f"judge: {counts.sent_claims} of {counts.claims} claims were uncertain and sent to"
        f" {larger.identity.name}, {counts.sent_pairs} passages"
    )
    return f"{text}; {_chat_summary(larger)}" if isinstance(larger, ChatJudge) else text


def _chat_summary(judge: ChatJudge) -> str:
    tally = judge.tally()
    parts = [f"{tally.requests} requests", f"{tally.cached} replies from before"]
    if tally.unreadable:
        parts.append(f"{tally.unreadable} replies could not be read and count as nothing")
    if tally.refused:
        parts.append(f"{tally.refused} verdicts do not hold and count as nothing")
    if tally.spent is not None:
        parts.append(f"{tally.spent} spent")
    return ", ".join(parts)
