"""Many answers at once, so that a crash loses no finished one and the next run goes on.

A batch keeps one line per finished answer in its results file. The line carries the key of all
that decided it (the answer, the sources, the judge, the rules): a line with another key is old and
is made again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import msgspec

from affidavit.base.decision import Decision
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.exits import Exit, gravest
from affidavit.base.faults import check as faults
from affidavit.base.files import append_line_durably, read_bounded
from affidavit.base.json_limits import JsonLimits, JsonValue
from affidavit.base.json_lines import decode_lines, split_lines
from affidavit.ledger.record import Ledger
from affidavit.ledger.rules import placed_problem

MAX_BATCH_BYTES: Final = 1024 * 1024 * 1024
_LINE_LIMITS: Final = JsonLimits()
_START: Final = b'{"id":"'
"""Every line of the results begins so; what does not is somebody else's file."""


class RowV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line of a batch: an answer, and the sources to check it against if not the common ones."""

    id: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    answer: str
    query: str | None = None
    sources: tuple[str, ...] | None = None
    date: str | None = None


class OutcomeV1(msgspec.Struct, frozen=True):
    """A line of the results: what became of an answer. `error` is set where it has no ledger."""

    id: str
    key: str
    decision: Decision
    session_id: str | None = None
    ledger_id: str | None = None
    total_claims: int | None = None
    supported: int | None = None
    weak: int | None = None
    contradicted: int | None = None
    not_found: int | None = None
    evidence_coverage: float | None = None
    unsupported_rate: float | None = None
    findings: tuple[str, ...] = ()
    error: str | None = None

    def is_final_for(self, work: "Work") -> bool:
        """Tell whether the same inputs were checked; what failed may pass the next time."""
        return self.key == work.key and self.error is None


@dataclass(frozen=True, slots=True)
class Work:
    """A row with the key of all that decides its outcome."""

    row: RowV1
    key: str


def read_rows(path: Path) -> tuple[RowV1, ...]:
    """Return the rows of a JSON-lines file. Every row must have its own id."""
    rows: list[RowV1] = []
    first_line: dict[str, int] = {}
    lines = split_lines(read_bounded(path, MAX_BATCH_BYTES))
    try:
        for number, value in decode_lines(lines, _LINE_LIMITS):
            row = _row(value, number)
            if row.id in first_line:
                where, first = Where(line=number, field="id"), first_line[row.id]
                raise AffidavitError(faults.BATCH_ID_TWICE, where, id=row.id, first=first)
            first_line[row.id] = number
            rows.append(row)
    except AffidavitError as error:
        raise error.at(file=str(path)) from None
    if not rows:
        raise AffidavitError(faults.BATCH_EMPTY, Where(file=str(path)))
    return tuple(rows)


def _row(value: JsonValue, number: int) -> RowV1:
    try:
        return msgspec.convert(value, RowV1)
    except msgspec.ValidationError as error:
        problem, field = placed_problem(error)
        raise AffidavitError(
            faults.BATCH_ROW, Where(line=number, field=field), problem=problem
        ) from None


def finished(path: Path) -> Mapping[str, OutcomeV1]:
    """Return the outcomes that a results file holds, by id; a torn last line is no outcome."""
    if not path.exists():
        return {}
    outcomes: dict[str, OutcomeV1] = {}
    for line in split_lines(read_bounded(path, MAX_BATCH_BYTES)):
        try:
            outcome = msgspec.json.decode(line, type=OutcomeV1)
        except msgspec.DecodeError:
            # A crash in the middle of a line leaves the start of one; its answer is checked again.
            if line.startswith(_START[: len(line)]):
                continue
            raise AffidavitError(faults.RESULTS_FOREIGN, Where(file=str(path))) from None
        outcomes[outcome.id] = outcome
    return outcomes


def run_batch(
    works: Iterable[Work],
    results: Path,
    check: Callable[[Iterable[Work]], Iterator[OutcomeV1]],
    holds: Callable[[Work, OutcomeV1], bool],
) -> Iterator[OutcomeV1]:
    """Yield an outcome per row, in order; those that are finished come from the results file.

    A finished line is believed only if it holds against the ledger that was kept for it.
    """
    wanted = tuple(works)
    known = finished(results)
    done = {
        work.row.id: known[work.row.id]
        for work in wanted
        if work.row.id in known
        and known[work.row.id].is_final_for(work)
        and holds(work, known[work.row.id])
    }
    fresh = check(work for work in wanted if work.row.id not in done)
    for work in wanted:
        if work.row.id in done:
            yield done[work.row.id]
        else:
            outcome = next(fresh)
            append_line_durably(results, msgspec.json.encode(outcome))
            yield outcome


def outcome_of(work: Work, ledger: Ledger) -> OutcomeV1:
    """Return a ledger's line of the results."""
    summary = ledger.summary
    return OutcomeV1(
        id=work.row.id,
        key=work.key,
        decision=ledger.gates.decision,
        session_id=ledger.session_id,
        ledger_id=ledger.id,
        total_claims=summary.total_claims,
        supported=summary.by_verdict.supported,
        weak=summary.by_verdict.weak,
        contradicted=summary.by_verdict.contradicted,
        not_found=summary.by_verdict.not_found,
        evidence_coverage=summary.evidence_coverage,
        unsupported_rate=summary.unsupported_rate,
        findings=tuple(finding.message for finding in ledger.findings),
    )


def failed(work: Work, error: AffidavitError) -> OutcomeV1:
    """Return the line of an answer that could not be checked: not measured, so inconclusive."""
    return OutcomeV1(work.row.id, work.key, Decision.INCONCLUSIVE, error=str(error))


def batch_exit(outcomes: Iterable[OutcomeV1]) -> Exit:
    """Return how a batch ends: one answer that must not ship is enough to say no."""
    return gravest(outcome.decision.exit for outcome in outcomes)
