"""`gate rag`: evaluate traces against a gold set on the chosen engine, and decide."""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import filterfalse
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta, field

from affidavit.app.gate_inputs import (
    STANDARD_INPUT,
    BadLines,
    GatePlan,
    Name,
    Names,
    RefusalMode,
    Tokens,
    baseline_outcomes,
    digest_of_files,
    files_named,
    listed,
    shown_name,
)
from affidavit.app.gate_rag_inputs import (
    GoldInput,
    ParallelRun,
    Questions,
    RagRequest,
    RagSource,
    RowJudging,
    inputs_of,
    read_gold,
    shards_needed,
    sources_named,
)
from affidavit.app.gate_rag_traces import (
    ScoredTraces,
    discard_rows,
    score_result_files,
    score_traces,
)
from affidavit.base.config import MAX_CONFIG_BYTES, ConfigFaults, parse_toml
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.base.files import read_bounded
from affidavit.base.strict_json import decode
from affidavit.decision.comparison import Comparison, compare_outcomes
from affidavit.decision.counts import EMPTY_LISTING
from affidavit.decision.report import Report
from affidavit.engine.local import LocalRunner, run_with_shared
from affidavit.gates.constraints import (
    DEFAULT_SCU_RULES,
    ConstraintJudge,
    ScuRule,
    ScuRuleFile,
    add_scu_rules,
)
from affidavit.gates.groundedness import ContextRow, Groundedness
from affidavit.gates.rag_counts import RagCounts, decode_profile, outcome_of
from affidavit.gates.rag_report import (
    RAG_KIND,
    ImportedExtras,
    RagPolicy,
    RagResult,
    make_offender,
    rag_report,
)
from affidavit.gates.rag_rows import require_digest
from affidavit.gates.rag_scoring import (
    DEFAULT_K,
    RagSettings,
    ScoredItems,
    counts_from_runs,
)
from affidavit.gates.refusals import REFUSAL, RefusalReader
from affidavit.gates.report import PlacedOffender

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from affidavit.app.groundedness import RowJudge
    from affidavit.engine.spark_rag import SparkRagRun

READINGS_FILE: Final = ".affidavit/judge/readings.sqlite"
"""Where the command keeps what the judge read; it may be deleted at any time."""


def _contradicts(constraint: str, claim: str) -> bool:
    # The tables of the judge are loaded only if a constraint has to be judged.
    from affidavit.judge.lexical.contradiction import contradicts

    return contradicts(constraint, claim)


CONSTRAINT_JUDGE: Final = ConstraintJudge("lexical 1", _contradicts)
"""The rules of the lexical judge; the encoder found no more in 1,500 labelled pairs."""

# One pass over the gold set and one over the traces; the rows of offenders are read again.


def decide_rag(request: RagRequest, find_out: Callable[[RagRequest], RagResult]) -> Report:
    """Decide from the result of an engine."""
    outcome = find_out(request)
    return rag_report(
        outcome.counts,
        request.policy,
        outcome.inputs,
        offenders=outcome.offenders,
        items=outcome.items if request.items else None,
        comparison=_compared(request, outcome),
        fail_on_regression=True,
        extras=outcome.extras,
        groundedness=outcome.groundedness,
    )


def _compared(request: RagRequest, outcome: RagResult) -> Comparison | None:
    if request.baseline is None:
        return None
    by_contexts = {} if outcome.groundedness is None else outcome.groundedness.outcomes()
    by_gold = {qid: outcome_of(profile) for qid, profile in outcome.items or ()}
    return compare_outcomes(request.baseline, {**by_contexts, **by_gold})


def evaluate_locally(request: RagRequest, run: ParallelRun) -> RagResult:
    """Evaluate on this machine; `run` executes the parts, in one process or several."""
    with (
        sources_named("trace", request.trace, request.columns, request.copies) as traces,
        sources_named("gold", request.gold, copies=request.copies) as named,
        _garbage_collector_off(),
    ):
        golds = named or _gold_in_traces(traces)
        count = shards_needed(golds, traces)
        if count:
            from affidavit.app.gate_rag_shards import evaluate_in_shards

            return evaluate_in_shards(request, golds, traces, count, run)
        return _evaluate(request, golds, traces, run)


def _gold_in_traces(traces: tuple[RagSource, ...]) -> tuple[RagSource, ...]:
    for source in traces:
        if source.is_own and not source.is_empty:
            raise source.doubt or AffidavitError(faults.GOLD_UNNAMED, Where(source.shown))
    return traces


def _evaluate(
    request: RagRequest,
    golds: tuple[RagSource, ...],
    sources: tuple[RagSource, ...],
    run: ParallelRun,
) -> RagResult:
    settings = request.policy.settings
    bad_gold, bad_traces = BadLines(request.skip_bad), BadLines(request.skip_bad)
    doubts: dict[str, None] = {}
    questions = None
    judging = _RowSink(request)
    if golds == sources:
        gold, traces = score_result_files(sources, settings, bad_traces, doubts.setdefault, judging)
    else:
        # Our own traces always have a qid.
        if not all(source.is_own for source in sources):
            questions = Questions()
        gold = read_gold(golds, settings, bad_gold, on_doubt=doubts.setdefault, questions=questions)
    require_digest(gold.digest or "", request.expect_gold_digest, golds[0].shown)
    if golds != sources:
        traces = score_traces(
            sources,
            gold,
            settings,
            bad_traces,
            jobs=request.jobs,
            run=run,
            on_doubt=doubts.setdefault,
            questions=questions,
            sink=judging,
        )
    counts = counts_from_runs(gold.ready, traces.runs, gold.clusters)
    lacking = ""
    if request.judging is not None and golds == sources and (gold.ready or judging.rows):
        lacking = _lacking(sources, judging, has_gold=bool(gold.ready))
    elif golds == sources and not gold.ready and not bad_traces.count:
        doubts.setdefault(f"{_shown(sources)} has no rows")
    return RagResult(
        counts,
        inputs_of(
            request, (golds, gold.digest, bad_gold), (sources, traces.digest, bad_traces), counts
        ),
        tuple(_offenders(gold, traces, counts)),
        ScoredItems(gold.ready, traces.runs) if request.needs_items else None,
        ImportedExtras(
            traces.scores,
            EMPTY_LISTING if questions is None else questions.same(),
            gold.sentences if counts.lacks_texts() else 0,
            tuple(doubts),
            lacking,
        ),
        groundedness=judging.found,
    )


class _RowSink:
    """Takes the rows of the traces, and judges those that have contexts."""

    def __init__(self, request: RagRequest) -> None:
        self._request = request
        self.found: Groundedness | None = None
        self.rows = 0
        self.answers = 0

    def __call__(self, rows: Iterator[ContextRow]) -> None:
        judging = self._request.judging
        if judging is None:
            discard_rows(rows)
            return
        # The judge is loaded only if a row has contexts.
        from affidavit.app.check import ledger_rules_for
        from affidavit.app.groundedness import RowJudge, judge_rows
        from affidavit.app.judges import judge_named

        settings = self._request.policy.settings
        gc.enable()  # A judge is not made of rows alone.
        judge = RowJudge(
            rules=ledger_rules_for(None if judging.rules is None else Path(judging.rules), ()),
            choice=judge_named(judging.judge),
            top_k=judging.top_k,
            store=None if judging.store is None else Path(judging.store).absolute(),
            refusals=settings.refusals,
            exact_refusals=settings.exact_refusals,
        )
        with _told_costs(judge, judging) as estimate:
            self.found = judge_rows(
                self._counted(rows),
                judge,
                run=self._request.runner,
                sample=None if judging.sample is None else (judging.sample, judging.seed),
                keeps_claims=self._request.items,
                progress=judging.progress,
                estimate=estimate,
            )

    def _counted(self, rows: Iterator[ContextRow]) -> Iterator[ContextRow]:
        for row in rows:
            self.rows += 1
            self.answers += row.answer is not None
            yield row


@contextmanager
def _told_costs(
    judge: "RowJudge", judging: RowJudging
) -> Iterator[Callable[[Sequence[ContextRow]], None] | None]:
    """Yield a function that tells the estimated cost of rows; then tell the actual one."""
    from affidavit.app.judges import is_counted, judge_for

    tell = judging.on_cost
    if tell is None or not is_counted(judge.choice):
        yield None
        return
    from affidavit.app.judge_scoring import cost_summary, estimate_contexts

    is_estimated = False

    def estimate(rows: Sequence[ContextRow]) -> None:
        nonlocal is_estimated
        tell(estimate_contexts(rows, judge, above_budget=judging.above_budget))
        is_estimated = True

    try:
        yield estimate
    finally:
        if is_estimated:
            tell(cost_summary(judge_for(judge.choice, judge.project)))


def _shown(sources: tuple[RagSource, ...]) -> str:
    return ", ".join(source.shown for source in sources)


def _lacking(sources: tuple[RagSource, ...], seen: _RowSink, *, has_gold: bool) -> str:
    """Say what files lack of which nothing can be measured, and the option that would help."""
    names = _shown(sources)
    if has_gold and not seen.rows:
        return (
            f"{names} has right answers and no answers to judge; give the file of the answers:"
            f" --gold {names} --trace FILE"
        )
    if not has_gold and not seen.answers:
        return f"{names}: no row has an answer; name its column with --map answer=NAME"
    if has_gold or seen.found is not None:
        return ""
    said = {source.without_contexts for source in sources} - {""}
    return (
        f"{names}: no row has a reference answer or the texts of its contexts;"
        f" {'; or '.join(sorted(said)) or 'name their column with --map contexts=NAME'},"
        " or give a gold set with --gold"
    )


def _offenders(
    gold: GoldInput, traces: ScoredTraces, counts: RagCounts
) -> Iterator[PlacedOffender]:
    """Yield the worst items with their rows."""
    qids = [qid for *_, qid in counts.offenders]
    numbers = {qid: gold.ready[qid].number for qid in qids}
    places = {qid: traces.runs.lines[number] for qid, number in numbers.items()}
    items = gold.reread(qids)
    found = traces.reread(list(places.values()))
    for qid in qids:
        again = found[places[qid]]
        profile = decode_profile(traces.runs.codes[numbers[qid]])
        yield make_offender(
            items[qid],
            again.trace,
            profile,
            line=again.line,
            file=again.file,
            expected=again.expected,
            passages=again.passages,
        )


@contextmanager
def _garbage_collector_off() -> Iterator[None]:
    """Rows have no reference cycles, so garbage collection only costs time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class RagPlan(GatePlan, frozen=True, kw_only=True):
    """`[gates.rag]`; without `gold`, the files of the traces contain the gold items."""

    PATHS = ("gold", "trace", "scu_rules", "rules", "cache")

    trace: Name | Annotated[tuple[Name, ...], Meta(min_length=1)]
    gold: Names = ()
    k: Annotated[int, Meta(ge=1, le=10_000)] = DEFAULT_K
    refusal: Tokens = REFUSAL
    refusal_mode: RefusalMode = "words"
    scu_enforced: bool = False
    scu_rules: Name | None = None
    expect_gold_digest: Name | None = None
    allow_missing: bool = False
    map: dict[Name, Name] = field(default_factory=dict)
    jobs: Annotated[int, Meta(ge=1, le=256)] = 1
    groundedness: bool = True
    """Whether answers are judged, against their contexts and against locked constraints."""
    judge: Name | None = None
    rules: Name | None = None
    top_k: Annotated[int, Meta(ge=1, le=100)] = 8
    sample: Annotated[int, Meta(ge=1)] | None = None
    seed: Annotated[int, Meta(ge=0)] = 0
    cache: Name | None = None

    def judging(
        self,
        progress: Callable[[int, int], None] | None,
        on_cost: Callable[[str], None] | None,
        *,
        above_budget: bool,
    ) -> RowJudging | None:
        """Return how answers are judged; None if they are not."""
        if not self.groundedness:
            return None
        return RowJudging(
            judge=self.judge,
            rules=self.rules,
            top_k=self.top_k,
            sample=self.sample,
            seed=self.seed,
            store=self.cache,
            progress=progress,
            on_cost=on_cost,
            above_budget=above_budget,
        )


def gate_rag(
    plan: RagPlan,
    *,
    items: bool = True,
    engine: str = "local",
    master: str = "local[*]",
    progress: Callable[[int, int], None] | None = None,
    on_cost: Callable[[str], None] | None = None,
    above_budget: bool = False,
) -> Report:
    """Evaluate a run on an engine and decide; `items` are stored in the report if asked for.

    `progress` is called with the numbers of rows judged, and of readings that were new. `on_cost`
    gets the estimated and the actual use of a judge behind a server; a run whose estimate exceeds
    its budget is then refused, unless it may be `above_budget`.
    """
    rules = DEFAULT_SCU_RULES if plan.scu_rules is None else scu_rules_from_file(plan.scu_rules)
    tokens = RefusalReader(listed(plan.refusal)).tokens
    request = RagRequest(
        gold=listed(plan.gold),
        trace=listed(plan.trace),
        policy=RagPolicy(
            listed(plan.gates),
            plan.scu_enforced,
            plan.allow_missing,
            RagSettings(
                plan.k,
                tokens[0],
                rules,
                more_refusals=tokens[1:],
                exact_refusals=plan.refusal_mode == "exact",
                constraint_judge=CONSTRAINT_JUDGE if plan.groundedness else None,
            ),
            plan.correction,
        ),
        skip_bad=plan.skip_bad,
        expect_gold_digest=plan.expect_gold_digest,
        baseline=baseline_outcomes(plan.fail_on_regression, RAG_KIND),
        items=items,
        jobs=plan.jobs,
        columns=plan.map,
        judging=plan.judging(progress, on_cost, above_budget=above_budget),
        runner=LocalRunner(plan.jobs),
    )
    if engine == "spark":
        return decide_rag(request, lambda asked: _evaluate_on_spark(asked, master))
    return decide_rag(request, lambda asked: evaluate_locally(asked, run_with_shared))


def _evaluate_on_spark(request: RagRequest, master: str) -> RagResult:
    """Evaluate on Spark: our own rows are joined there, answers with contexts are judged there.

    Other rows are read by this process, which costs a small part of judging them.
    """
    from affidavit.engine.spark import copied_files, spark_session
    from affidavit.engine.spark_rag import score_rag_on_spark
    from affidavit.engine.spark_runner import SparkRunner

    for name in (*request.gold, *request.trace):
        if name == STANDARD_INPUT:
            raise AffidavitError(faults.SPARK_INPUT, Where(file=shown_name(name)))
    with spark_session(master) as spark:
        joined = _joined_run(request)
        if _can_join(spark, joined, is_judged=request.judging is not None):
            return score_rag_on_spark(spark, joined)
        with (
            copied_files(spark, filter(_is_elsewhere, request.gold)) as golds,
            copied_files(spark, filter(_is_elsewhere, request.trace)) as traces,
        ):
            here = replace(
                request,
                gold=(*filterfalse(_is_elsewhere, request.gold), *golds),
                trace=(*filterfalse(_is_elsewhere, request.trace), *traces),
                copies={**golds, **traces},
                runner=SparkRunner(spark),
            )
            return evaluate_locally(here, run_with_shared)


def _joined_run(request: RagRequest) -> "SparkRagRun":
    from affidavit.engine.spark_rag import SparkRagRun

    return SparkRagRun(
        gold=spark_paths(request.gold),
        trace=spark_paths(request.trace),
        shown=(", ".join(request.gold), ", ".join(request.trace)),
        settings=request.policy.settings,
        skip_bad=request.skip_bad,
        items=request.needs_items,
        expect_gold_digest=request.expect_gold_digest,
        digest=digest_of_files,
    )


def _can_join(spark: "SparkSession", run: "SparkRagRun", *, is_judged: bool) -> bool:
    """Tell whether all rows are ours and none has contexts to judge; the first rows tell."""
    from affidavit.engine.spark import members_of

    def is_joined(members: frozenset[str]) -> bool:
        return "answer_json" in members and not (is_judged and "contexts" in members)

    return (
        bool(run.gold)
        and all("answerable" in members_of(spark, name) for name in run.gold)
        and all(is_joined(members_of(spark, name)) for name in run.trace)
    )


def _is_elsewhere(name: str) -> bool:
    """Tell whether only Spark can read a file."""
    return "://" in name


def spark_paths(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the paths for Spark; local patterns are expanded to files."""
    found: list[str] = []
    for name in names:
        found.extend((name,) if _is_elsewhere(name) else files_named((name,)))
    return tuple(found)


def scu_rules_from_file(file: str) -> tuple[ScuRule, ...]:
    """Return the built-in rules and those of a file: a JSON list, or `[[rule]]` tables in TOML."""
    raw = read_bounded(Path(file), MAX_CONFIG_BYTES)
    if Path(file).suffix.lower() != ".toml":
        try:
            return add_scu_rules(decode(raw), file)
        except AffidavitError as error:
            raise error.at(file=file) from None
    document = parse_toml(raw, file, ConfigFaults(faults.SCU_RULE, faults.SCU_RULE))
    table = document.decode(ScuRuleFile, document.value)
    try:
        return add_scu_rules(table.rule, file)
    except AffidavitError as error:
        raise document.locate(error, "rule") from None
