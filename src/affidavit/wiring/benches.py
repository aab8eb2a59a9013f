"""Setting up what answers are checked with."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from affidavit.app.batch import OutcomeV1, RowV1, Work, failed, outcome_of
from affidavit.app.checking import AskedAnswer, Bench, check_answer
from affidavit.base.canonical import jcs
from affidavit.base.digest import content_id
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import evidence as faults
from affidavit.base.files import read_bounded
from affidavit.judge.thresholded import with_thresholds
from affidavit.ledger.rules import (
    DEFAULT_RULES,
    LedgerRules,
    rules_digest,
    rules_from_toml,
    with_gates,
)
from affidavit.ledger.wire import ledger_to_json
from affidavit.sources.ingest import index_sources
from affidavit.sources.settings import SourceSettings
from affidavit.wiring.judges import DEFAULT_JUDGE, JudgeChoice, asks_a_server, judge_for
from affidavit.wiring.project import Project

MAX_RULES_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class BenchPlan:
    """All that a bench is made from: hashable and picklable, so each process makes it once."""

    project: Project
    sources: tuple[Path, ...]
    rules: LedgerRules
    top_k: int
    jobs: int = 1
    judge: JudgeChoice = DEFAULT_JUDGE

    @property
    def checking_jobs(self) -> int:
        """How many processes check answers: one where they would share a budget and a rate."""
        return 1 if asks_a_server(self.judge) else self.jobs


def rules_for(file: Path | None, gates: tuple[str, ...]) -> LedgerRules:
    """Return the rules of a file, or the default ones, with the gates of the command line."""
    rules = DEFAULT_RULES
    if file is not None:
        rules = rules_from_toml(read_bounded(file, MAX_RULES_BYTES), str(file))
    return with_gates(rules, gates) if gates else rules


def set_up_bench(plan: BenchPlan, progress: Callable[[int, int, str], None] | None = None) -> Bench:
    """Read and index the sources, or open their index, and put the judge beside it.

    A path that somebody named and that is not there is their mistake, not a finding.
    """
    for path in plan.sources:
        if not path.exists():
            raise AffidavitError(faults.SOURCE_MISSING, Where(file=str(path)))
    sources = index_sources(
        plan.sources, plan.project.sources, SourceSettings(), jobs=plan.jobs, progress=progress
    )
    judge = with_thresholds(judge_for(plan.judge, plan.project), plan.rules.judge)
    return Bench(sources, judge, plan.rules, plan.top_k)


def require_documents(bench: Bench) -> None:
    """Refuse to check against nothing: every claim would be not found, for the wrong reason."""
    if not bench.sources.index.documents:
        raise AffidavitError(faults.SOURCES_NONE)


@lru_cache(maxsize=8)
def _bench_of_process(plan: BenchPlan) -> Bench:
    return set_up_bench(replace(plan, jobs=0 if plan.jobs > 1 else plan.jobs))


@dataclass(frozen=True, slots=True)
class RowCheck:
    """Checks rows of a batch, in whichever process it is called."""

    plan: BenchPlan
    folder: Path
    """The sources that a row names are looked for from here: the folder of the batch's file."""
    generated_at: str

    def key(self, row: RowV1) -> str:
        """Return the key of all that decides on a row, apart from the time.

        A row whose sources cannot be read has a key that decides nothing: it fails, and a row that
        failed is tried again.
        """
        try:
            bench = _bench_of_process(self.plan_of(row))
        except AffidavitError:
            return ""
        decided_by = {
            "row": {"answer": row.answer, "query": row.query, "date": row.date},
            "sources": sorted(each.digest for each in bench.sources.index.documents),
            "judge": bench.judge.identity.digest,
            "rules": rules_digest(bench.rules),
            "top_k": bench.top_k,
        }
        return content_id("key", jcs(decided_by))

    def plan_of(self, row: RowV1) -> BenchPlan:
        """Return the plan of a row: its own sources, if it names some."""
        if row.sources is None:
            return self.plan
        return replace(self.plan, sources=tuple(self.folder / each for each in row.sources))

    def asked(self, row: RowV1) -> AskedAnswer:
        """Return the answer of a row with what is known about it."""
        return AskedAnswer(
            row.answer,
            row.query,
            row.query or row.id,
            row.date or self.generated_at[:10],
            self.generated_at,
            numbered_sources=row.sources or (),
        )

    def readable(self, rows: Iterable[RowV1]) -> Iterator[tuple[AskedAnswer, Bench]]:
        """Yield the answers whose sources can be read, each with its bench."""
        for row in rows:
            with suppress(AffidavitError):
                yield self.asked(row), _bench_of_process(self.plan_of(row))

    def holds(self, work: Work, outcome: OutcomeV1) -> bool:
        """Tell whether a finished line says what its kept ledger says, untouched."""
        try:
            ledger = self.plan.project.ledger(outcome.session_id or "")
        except AffidavitError:
            return False
        return outcome_of(work, ledger) == outcome

    def __call__(self, work: Work) -> OutcomeV1:
        """Check a row and keep its ledger; an error is an outcome, so the rest goes on."""
        row = work.row
        try:
            bench = _bench_of_process(self.plan_of(row))
            require_documents(bench)
            ledger = check_answer(self.asked(row), bench)
        except AffidavitError as error:
            return failed(work, error)
        self.plan.project.sessions.save(ledger.session_id, ledger_to_json(ledger))
        return outcome_of(work, ledger)
