"""Checks the answers of a file of rows. A second run resumes where the first one stopped.

The results file has one line per finished answer. The line carries a key of everything that
determines it (the answer, sources, judge and rules); a line with another key is outdated and is
made again.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct, structs

from affidavit.app.batch_rows import BatchRow
from affidavit.app.check import (
    CheckContext,
    CheckPlan,
    build_check_context,
    check_answer,
    require_documents,
)
from affidavit.app.groundedness import MemoryJudge
from affidavit.app.judges import JudgeChoice, is_counted, judge_for
from affidavit.app.project import Project
from affidavit.base.canonical import jcs
from affidavit.base.digest import content_id, sha256_hex
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.exits import Exit, worst_exit
from affidavit.base.faults import evidence as faults
from affidavit.base.files import append_line_durably, read_bounded
from affidavit.base.strict_json import split_lines
from affidavit.decision.decision import Decision
from affidavit.documents.passages import PassageIndex
from affidavit.engine.local import LocalRunner, Runner
from affidavit.judge.thresholded import with_thresholds
from affidavit.ledger.adjudication import CheckRequest
from affidavit.ledger.record import SCHEMA, ledger_to_json
from affidavit.ledger.rules import rules_digest
from affidavit.reports.ledger_text import BatchOutcome, batch_outcome

MAX_BATCH_BYTES: Final = 1024 * 1024 * 1024
_RESULT_LINE_START: Final = b'{"id":"'
"""Every line of a results file begins like this."""


class BatchItem(Struct, frozen=True):
    """A row with the key of everything that determines its outcome."""

    row: BatchRow
    key: str


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
    known = finished_outcomes(results)
    waiting: deque[BatchOutcome | None] = deque()

    def fresh() -> Iterator[BatchItem]:
        for item in items:
            outcome = known.get(item.row.id)
            is_done = (
                outcome is not None
                and (outcome.key, outcome.error) == (item.key, None)
                and is_valid(item, outcome)
            )
            waiting.append(outcome if is_done else None)
            if not is_done:
                yield item

    for outcome in check(fresh()):
        while (finished := waiting.popleft()) is not None:
            yield finished
        append_line_durably(results, msgspec.json.encode(outcome))
        yield outcome
    yield from (finished for finished in waiting if finished is not None)


def failed_outcome(item: BatchItem, error: AffidavitError) -> BatchOutcome:
    """Return the line of an answer that could not be checked: not measured, so inconclusive."""
    return BatchOutcome(
        id=item.row.id, key=item.key, decision=Decision.INCONCLUSIVE, error=str(error)
    )


def batch_exit(outcomes: Iterable[BatchOutcome], skipped: int = 0) -> Exit:
    """Return the exit code of a batch: one answer that must not ship is enough for a no.

    A line that was skipped was not checked, so the batch is not a yes.
    """
    left_out = (Exit.UNKNOWN,) if skipped else ()
    return worst_exit((*(outcome.decision.exit for outcome in outcomes), *left_out))


@lru_cache(maxsize=8)
def _process_context(plan: CheckPlan) -> CheckContext:
    return build_check_context(structs.replace(plan, jobs=0 if plan.jobs > 1 else plan.jobs))


@lru_cache(maxsize=8)
def _process_memory(choice: JudgeChoice, project: Project) -> MemoryJudge:
    """Return the judge of rows with contexts: the same claims are read once."""
    return MemoryJudge(judge_for(choice, project), None)


class BatchChecker(Struct, frozen=True):
    """Checks rows of a batch, in any process."""

    plan: CheckPlan
    folder: Path
    """The folder of the batch file: a row names its sources relative to it."""
    generated_at: str

    def outcomes(
        self, rows: Iterable[BatchRow], results: Path, run: Runner
    ) -> Iterator[BatchOutcome]:
        """Yield an outcome per row, in order; new ones and their ledgers are stored."""
        items = (BatchItem(row, self.key(row)) for row in rows)
        run = LocalRunner() if is_counted(self.plan.judge) else run
        return run_batch(
            items, results, lambda fresh: self._stored(run(self, fresh)), self.is_valid
        )

    def _stored(self, checked: Iterable["CheckedAnswer"]) -> Iterator[BatchOutcome]:
        # Stored by this process: on Spark, the workers have other disks.
        for outcome, ledger in checked:
            if ledger is not None:
                self.plan.project.sessions.save(outcome.session_id or "", ledger)
            yield outcome

    def key(self, row: BatchRow) -> str:
        """Return the key of everything that determines the outcome of a row, except the time.

        It is empty for a row whose sources cannot be read: such a row fails, and is tried again.
        """
        try:
            context, _ = self.context_for(row)
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

    def context_for(self, row: BatchRow) -> tuple[CheckContext, tuple[str, ...]]:
        """Return what a row is checked with, and the names that `[1]`, `[2]` in it stand for."""
        if row.contexts is None:
            return _process_context(self.plan_for(row)), row.sources or ()
        index = PassageIndex(
            [context.text for context in row.contexts], [context.id for context in row.contexts]
        )
        rules = self.plan.rules
        memory = _process_memory(self.plan.judge, self.plan.project)
        memory.fresh.clear()
        judge = with_thresholds(memory, rules.judge_thresholds)
        context = CheckContext(index, judge, rules, self.plan.top_k)
        return context, tuple(index.names)

    def request_for(self, row: BatchRow, numbered_sources: tuple[str, ...]) -> CheckRequest:
        """Return the request of a row."""
        return CheckRequest(
            answer=row.answer,
            query=row.query,
            title=row.query or row.id,
            answer_date=row.date or self.generated_at[:10],
            generated_at=self.generated_at,
            numbered_sources=numbered_sources,
        )

    def requests(self, rows: Iterable[BatchRow]) -> Iterator[tuple[CheckRequest, CheckContext]]:
        """Yield the requests of the rows whose sources can be read, each with its context."""
        for row in rows:
            with suppress(AffidavitError):
                context, names = self.context_for(row)
                yield self.request_for(row, names), context

    def is_valid(self, item: BatchItem, outcome: BatchOutcome) -> bool:
        """Tell whether a finished line agrees with its stored, unchanged ledger."""
        try:
            ledger = self.plan.project.ledger(outcome.session_id or "")
        except AffidavitError:
            return False
        return batch_outcome(item.row.id, item.key, ledger) == outcome

    def __call__(self, item: BatchItem) -> "CheckedAnswer":
        """Check a row. An error is an outcome: the others go on."""
        try:
            context, names = self.context_for(item.row)
            if item.row.contexts is None:
                if item.row.sources is None and not self.plan.sources:
                    raise AffidavitError(faults.ROW_WITHOUT_SOURCES)
                require_documents(context)
            ledger = check_answer(self.request_for(item.row, names), context)
        except AffidavitError as error:
            return CheckedAnswer(failed_outcome(item, error))
        outcome = batch_outcome(item.row.id, item.key, ledger)
        return CheckedAnswer(outcome, ledger_to_json(ledger))


class CheckedAnswer(NamedTuple):
    """The outcome of an answer, and its ledger as it is stored, if it has one."""

    outcome: BatchOutcome
    ledger: bytes | None = None


def default_results_file(plan: CheckPlan, file: Path) -> Path:
    """Return the results file of a batch in the project."""
    return plan.project.batch(sha256_hex(str(file.resolve()).encode())[:16])
