"""Checks the answers of a JSON lines file. A second run resumes where the first one stopped.

The results file has one line per finished answer. The line carries a key of everything that
determines it (the answer, sources, judge and rules); a line with another key is outdated and is
made again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Struct, structs

from affidavit.app.check import (
    CheckContext,
    CheckPlan,
    build_check_context,
    check_answer,
    require_documents,
    save_ledger,
)
from affidavit.base.canonical import jcs
from affidavit.base.digest import content_id, sha256_hex
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.exits import Exit, worst_exit
from affidavit.base.faults import evidence as faults
from affidavit.base.files import append_line_durably, read_bounded
from affidavit.base.json_values import JsonLimits, JsonValue
from affidavit.base.strict_json import decode_lines, split_lines
from affidavit.base.validation import problem_and_field
from affidavit.decision.decision import Decision
from affidavit.engine.local import run_in_order
from affidavit.ledger.adjudication import CheckRequest
from affidavit.ledger.record import SCHEMA
from affidavit.ledger.rules import rules_digest
from affidavit.reports.ledger_text import BatchOutcome, batch_outcome

MAX_BATCH_BYTES: Final = 1024 * 1024 * 1024
_LINE_LIMITS: Final = JsonLimits()
_RESULT_LINE_START: Final = b'{"id":"'
"""Every line of a results file begins like this."""


class BatchRow(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A line of a batch: an answer, and its own sources if they differ from the common ones."""

    id: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    answer: str
    query: str | None = None
    sources: tuple[str, ...] | None = None
    date: str | None = None


class BatchItem(Struct, frozen=True):
    """A row with the key of everything that determines its outcome."""

    row: BatchRow
    key: str


def read_batch_rows(path: Path) -> tuple[BatchRow, ...]:
    """Return the rows of a JSON lines file. Every row must have its own id."""
    rows: list[BatchRow] = []
    first_line: dict[str, int] = {}
    lines = split_lines(read_bounded(path, MAX_BATCH_BYTES))
    try:
        for number, value in decode_lines(lines, _LINE_LIMITS):
            row = _batch_row(value, number)
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


def _batch_row(value: JsonValue, number: int) -> BatchRow:
    try:
        return msgspec.convert(value, BatchRow)
    except msgspec.ValidationError as error:
        problem, field = problem_and_field(error)
        raise AffidavitError(
            faults.BATCH_ROW, Where(line=number, field=field), problem=problem
        ) from None


def finished_outcomes(path: Path) -> Mapping[str, BatchOutcome]:
    """Return the outcomes in a results file by id."""
    if not path.exists():
        return {}
    outcomes: dict[str, BatchOutcome] = {}
    for line in split_lines(read_bounded(path, MAX_BATCH_BYTES)):
        try:
            outcome = msgspec.json.decode(line, type=BatchOutcome)
        except msgspec.DecodeError:
            # A crash while writing leaves the start of a line; its answer is checked again.
            if line.startswith(_RESULT_LINE_START[: len(line)]):
                continue
            raise AffidavitError(faults.RESULTS_FOREIGN, Where(file=str(path))) from None
        outcomes[outcome.id] = outcome
    return outcomes


def run_batch(
    items: Iterable[BatchItem],
    results: Path,
    check: Callable[[Iterable[BatchItem]], Iterator[BatchOutcome]],
    is_valid: Callable[[BatchItem, BatchOutcome], bool],
) -> Iterator[BatchOutcome]:
    """Yield an outcome per item, in order; finished ones come from the results file.

    A finished line counts only if its key is current, it has no error, and `is_valid` accepts it.
    """
    wanted = tuple(items)
    known = finished_outcomes(results)
    done = {
        item.row.id: outcome
        for item in wanted
        if (outcome := known.get(item.row.id)) is not None
        and (outcome.key, outcome.error) == (item.key, None)
        and is_valid(item, outcome)
    }
    fresh = check(item for item in wanted if item.row.id not in done)
    for item in wanted:
        if item.row.id in done:
            yield done[item.row.id]
        else:
            outcome = next(fresh)
            append_line_durably(results, msgspec.json.encode(outcome))
            yield outcome


def failed_outcome(item: BatchItem, error: AffidavitError) -> BatchOutcome:
    """Return the line of an answer that could not be checked: not measured, so inconclusive."""
    return BatchOutcome(
        id=item.row.id, key=item.key, decision=Decision.INCONCLUSIVE, error=str(error)
    )


def batch_exit(outcomes: Iterable[BatchOutcome]) -> Exit:
    """Return the exit code of a batch: one answer that must not ship is enough for a no."""
    return worst_exit(outcome.decision.exit for outcome in outcomes)


@lru_cache(maxsize=8)
def _process_context(plan: CheckPlan) -> CheckContext:
    return build_check_context(structs.replace(plan, jobs=0 if plan.jobs > 1 else plan.jobs))


class BatchChecker(Struct, frozen=True):
    """Checks rows of a batch, in any process."""

    plan: CheckPlan
    folder: Path
    """The folder of the batch file: a row names its sources relative to it."""
    generated_at: str

    def outcomes(self, rows: Iterable[BatchRow], results: Path) -> Iterator[BatchOutcome]:
        """Yield an outcome per row, in order, and append new ones to the results file."""
        items = (BatchItem(row, self.key(row)) for row in rows)
        jobs = self.plan.checking_jobs
        return run_batch(
            items, results, lambda fresh: run_in_order(self, fresh, jobs), self.is_valid
        )

    def key(self, row: BatchRow) -> str:
        """Return the key of everything that determines the outcome of a row, except the time.

        It is empty for a row whose sources cannot be read: such a row fails, and is tried again.
        """
        try:
            context = _process_context(self.plan_for(row))
        except AffidavitError:
            return ""
        content = {
            "row": {"answer": row.answer, "query": row.query, "date": row.date},
            "sources": sorted(each.digest for each in context.index.documents),
            "judge": context.judge.identity.digest,
            "rules": rules_digest(context.rules),
            "schema": SCHEMA,
            "top_k": context.top_k,
        }
        return content_id("key", jcs(content))

    def plan_for(self, row: BatchRow) -> CheckPlan:
        """Return the plan of a row, with its own sources if it names some."""
        if row.sources is None:
            return self.plan
        return structs.replace(self.plan, sources=tuple(self.folder / each for each in row.sources))

    def request_for(self, row: BatchRow) -> CheckRequest:
        """Return the request of a row."""
        return CheckRequest(
            answer=row.answer,
            query=row.query,
            title=row.query or row.id,
            answer_date=row.date or self.generated_at[:10],
            generated_at=self.generated_at,
            numbered_sources=row.sources or (),
        )

    def requests(self, rows: Iterable[BatchRow]) -> Iterator[tuple[CheckRequest, CheckContext]]:
        """Yield the requests of the rows whose sources can be read, each with its context."""
        for row in rows:
            with suppress(AffidavitError):
                yield self.request_for(row), _process_context(self.plan_for(row))

    def is_valid(self, item: BatchItem, outcome: BatchOutcome) -> bool:
        """Tell whether a finished line agrees with its stored, unchanged ledger."""
        try:
            ledger = self.plan.project.ledger(outcome.session_id or "")
        except AffidavitError:
            return False
        return batch_outcome(item.row.id, item.key, ledger) == outcome

    def __call__(self, item: BatchItem) -> BatchOutcome:
        """Check a row and store its ledger. An error is an outcome: the others go on."""
        try:
            context = _process_context(self.plan_for(item.row))
            require_documents(context)
            ledger = check_answer(self.request_for(item.row), context)
        except AffidavitError as error:
            return failed_outcome(item, error)
        save_ledger(ledger, self.plan.project)
        return batch_outcome(item.row.id, item.key, ledger)


def default_results_file(plan: CheckPlan, file: Path) -> Path:
    """Return the results file of a batch in the project."""
    return plan.project.batch(sha256_hex(str(file.resolve()).encode())[:16])
