"""The commands `affidavit gate rag|latency|agreement|stability|research|all`."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import click

from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit
from affidavit.base.files import is_there
from affidavit.cli.command import FiniteFloatRange, jobs_option
from affidavit.cli.commands import Example
from affidavit.cli.gate_options import (
    GATE_EXITS,
    GateOptions,
    finish_gate,
    gate_command,
    refusal_options,
    require_refusals,
)
from affidavit.cli.judge_options import (
    JUDGING_NAMES,
    engine_options,
    judging_options,
    mapped_columns,
    require_engine,
    watch_rows,
)
from affidavit.cli.program import reject_options
from affidavit.cli.terminal import Terminal
from affidavit.reports.text_tables import single_line

if TYPE_CHECKING:
    from affidavit.app.gate_stability import RunOptions
    from affidavit.tools.pipelines import Pipeline


@gate_command(
    examples=(
        Example(
            "affidavit gate rag --gold eval/gold.jsonl --trace runs/trace.jsonl",
            "the decision, each figure with its interval, and the worst answers",
        ),
        Example(
            "affidavit gate rag results.csv",
            "a file of another tool, such as one of Ragas (docs/formats.md), with or without gold",
        ),
        Example(
            "affidavit gate rag rows.jsonl --gates 'groundedness>=0.9@95' -j 2",
            "questions, answers and contexts only: do the contexts support the claims?",
        ),
        Example(
            "affidavit gate rag --gold G --trace T --gates precision=0.80 'chr>=0.75@95'"
            " --scu_enforced",
            "gates of your own; @95 asks that the interval's bound holds too",
        ),
        Example(
            "affidavit gate rag --gold G --trace T --fail-on-regression last.json",
            "no ship if items became worse than in an earlier report",
        ),
        Example(
            "affidavit gate rag --gold G --trace 'runs/*.jsonl' -j 4", "many traces, four processes"
        ),
    ),
    exits={**GATE_EXITS, Exit.TAMPERED: "the gold set is not the one that was expected"},
)
@click.argument(
    "files",
    nargs=-1,
    type=click.Path(allow_dash=True),
    help="Traces; without --gold the files hold gold items, or answers and contexts.",
)
@click.option(
    "--gold",
    multiple=True,
    type=click.Path(allow_dash=True),
    help="The gold set: JSON lines, or another tool's file. Repeatable.",
)
@click.option(
    "--trace",
    multiple=True,
    type=click.Path(allow_dash=True),
    help="What the pipeline answered: a file or a pattern; - for standard input. Repeatable.",
)
@click.option(
    "--k",
    default=5,
    show_default=True,
    type=click.IntRange(1, 10_000),
    help="How many retrieved ids count for recall_at_k and chr_at_k.",
)
@refusal_options
@click.option(
    "--scu_enforced",
    "--scu-enforced",
    "scu_enforced",
    is_flag=True,
    help="Add the gate on constraints even if no gold item has any.",
)
@click.option(
    "--scu-rules",
    type=click.Path(path_type=Path),
    help="More contradiction rules: a JSON list, or TOML tables [[rule]] (docs/gates.md).",
)
@click.option("--expect-gold-digest", help="Refuse a gold set with another digest: sha256:...")
@click.option(
    "--map",
    "columns",
    multiple=True,
    metavar="OURS=THEIRS",
    help="Read a column of the traces under one of our names: answer=output. Repeatable.",
)
@click.option(
    "--items/--no-items",
    default=True,
    help="Whether the report names every item, for --fail-on-regression and compare.",
)
@judging_options
@jobs_option("How many processes read and judge; the report is the same.")
@engine_options
def rag(
    terminal: Terminal,
    options: GateOptions,
    files: tuple[str, ...],
    gold: tuple[str, ...],
    trace: tuple[str, ...],
    k: int,
    refusals: tuple[str, ...],
    refusal_mode: Literal["words", "exact"],
    scu_enforced: bool,
    scu_rules: Path | None,
    expect_gold_digest: str | None,
    columns: tuple[str, ...],
    items: bool,
    groundedness: bool,
    judge: str | None,
    rules: Path | None,
    top_k: int,
    sample: int | None,
    seed: int,
    cache: bool,
    yes: bool,
    jobs: int,
    engine: str,
    master: str,
) -> Exit:
    """Decide ship or no-ship from traces with or without gold.

    Against a gold set it measures precision, citation hits, refusals, constraints and retrieval.
    Where a row has its contexts, every claim of the answer is judged against them. Each figure has
    a 95% interval. What was not measured is counted and never passes a gate.
    """
    from affidavit.app.gate_rag import READINGS_FILE, RagPlan, gate_rag

    traces = (*trace, *files)
    if not traces:
        raise click.UsageError("there are no traces; name a file, or give --gold and --trace")
    require_refusals(refusals)
    if [*gold, *traces].count("-") > 1:
        raise click.UsageError("standard input can be one file only")
    names_items = terminal.json or "json" in options.report_files
    require_engine(engine)
    if items and not names_items:
        reject_options("is for --report and --json, which name the items", "items")
    if not groundedness:
        reject_options("is for judging answers, which --no-groundedness leaves out", *JUDGING_NAMES)
    options.require_gates("rag")
    read = (scu_rules, rules, judge)
    options.refuse_to_replace((*gold, *traces, *(each for each in read if each)))
    plan = RagPlan(
        gold=gold,
        trace=traces,
        scu_enforced=scu_enforced,
        scu_rules=None if scu_rules is None else str(scu_rules),
        k=k,
        refusal=refusals,
        refusal_mode=refusal_mode,
        expect_gold_digest=expect_gold_digest,
        map=mapped_columns(columns),
        jobs=jobs,
        allow_missing=options.allow_missing,
        groundedness=groundedness,
        judge=judge,
        rules=None if rules is None else str(rules),
        top_k=top_k,
        sample=sample,
        seed=seed,
        cache=READINGS_FILE if cache else None,
        **options.shared,
    )
    with watch_rows(terminal, "Judging answers", plan.inputs()) as progress:
        report = gate_rag(
            plan,
            items=items and names_items,
            engine=engine,
            master=master,
            progress=progress,
            on_cost=terminal.note,
            above_budget=yes,
        )
    return finish_gate(terminal, options, report)


@gate_command(
    examples=(
        Example("affidavit gate latency runs/latency.csv", "is P95 at most 2000 ms?"),
        Example(
            "affidavit gate latency runs/latency.jsonl --gates p95_ms/1rps=2000 p95_ms/5rps=2500"
            " p95=off",
            "a service level for each load",
        ),
        Example(
            "affidavit gate latency runs.jsonl --accuracy small=small.json --accuracy big=big.json",
            "which configurations are worth having; the files are reports of gate rag",
        ),
        Example(
            "affidavit gate latency runs.csv --accuracy rag.json --fail-on-regression last.json",
            "the rollback guard: P95 at most 15% above the last release, precision 0.02 below",
        ),
    ),
    without=("allow_missing",),
)
@click.argument(
    "files",
    nargs=-1,
    required=True,
    help="JSON lines or CSV with e2e_ms, or another tool's file; - for standard input. Repeatable.",
)
@click.option(
    "--rps",
    type=FiniteFloatRange(0.001),
    help="The load (requests per second) of rows that do not state one.",
)
@click.option(
    "--accuracy",
    multiple=True,
    metavar="[CONFIG=]REPORT",
    help="A report of gate rag: of the release, or of a configuration. Repeatable.",
)
@click.option(
    "--slower-by",
    default=0.15,
    show_default=True,
    type=FiniteFloatRange(0),
    help="How far P95 may rise above that of the last release, as a share of it.",
)
@click.option(
    "--worse-by",
    default=0.02,
    show_default=True,
    type=FiniteFloatRange(0, 1),
    help="How far precision may fall below that of the last release.",
)
def latency(
    terminal: Terminal,
    options: GateOptions,
    files: tuple[str, ...],
    rps: float | None,
    accuracy: tuple[str, ...],
    slower_by: float,
    worse_by: float,
) -> Exit:
    """Decide whether answers are fast enough.

    Percentiles, tail amplification (P99 over P50) and figures for each load, configuration and
    stage. With the accuracy of configurations, it shows the best trade-offs.
    """
    from affidavit.app.gate_latency import LatencyPlan, gate_latency

    if options.baseline is None:
        reject_options("is for --fail-on-regression", "slower_by", "worse_by")
    known = tuple(map(_accuracy_report, accuracy))
    if len({name for name, _ in known}) < len(known):
        raise click.UsageError("--accuracy names a configuration twice")
    if all(name is not None for name, _ in known):
        reject_options("needs --accuracy with a report of this release", "worse_by")
    options.require_gates("latency")
    options.refuse_to_replace((*files, *(path for _, path in known)))
    report = gate_latency(
        LatencyPlan(
            rows=files,
            rps=rps,
            accuracy={name: str(path) for name, path in known},
            slower_by=slower_by,
            worse_by=worse_by,
            **options.shared,
        )
    )
    return finish_gate(terminal, options, report)


def _accuracy_report(text: str) -> tuple[str | None, Path]:
    """Split `CONFIG=REPORT`; an existing file of that name is a report of the release."""
    name, found, path = text.rpartition("=")
    if not found or is_there(text):
        return None, Path(text)
    # The name is printed in the report, so invalid UTF-8 is escaped.
    return name.encode("utf-8", "backslashreplace").decode(), Path(path)


@gate_command(
    examples=(
        Example("affidavit gate agreement --pairs pairs.jsonl", "do two agents agree?"),
        Example(
            "affidavit gate agreement --scholar s.jsonl --auditor a.jsonl --disagreements d.tsv",
            "from the labels of each, with every disagreement and its arbitration in a file",
        ),
        Example(
            "affidavit gate agreement --pairs pairs.jsonl --gates pa=0.95 kappa=0.8 abstain=0",
            "gates of your own",
        ),
    ),
)
@click.option("--pairs", multiple=True, help="Both labels of each question, as JSON lines.")
@click.option("--scholar", help="The first agent's labels, as JSON lines of qid and label.")
@click.option("--auditor", help="The second agent's labels.")
@click.option(
    "--disagreements",
    type=click.Path(path_type=Path),
    help="Write the disagreements to this TSV file: qid, scholar, auditor, final, why.",
)
@click.option("--pa-gate", "--pa_gate", "pa_gate", help="As --gates percent_agreement=...")
@click.option("--kappa-gate", "--kappa_gate", "kappa_gate", help="As --gates kappa=...")
@click.option(
    "--abstain-gate", "--abstain_gate", "abstain_gate", help="As --gates abstain_rate=..."
)
def agreement(
    terminal: Terminal,
    options: GateOptions,
    pairs: tuple[str, ...],
    scholar: str | None,
    auditor: str | None,
    disagreements: Path | None,
    pa_gate: str | None,
    kappa_gate: str | None,
    abstain_gate: str | None,
) -> Exit:
    """Decide whether two agents agree on the same questions.

    Percent agreement, kappa with its base rate, and how often either agent abstains. Labels are
    VALID, NOT_IN_CONTEXT, REJECT and ABSTAIN; a shared refusal is agreement.
    """
    from affidavit.app.gate_agreement import AgreementPlan, disagreements_tsv, gate_agreement
    from affidavit.base.files import write_atomically

    named = (("percent_agreement", pa_gate), ("kappa", kappa_gate), ("abstain_rate", abstain_gate))
    gates = (f"{name}={value}" for name, value in named if value is not None)
    options = replace(options, gates=(*options.gates, *gates))
    plan = AgreementPlan(
        pairs=pairs,
        scholar=scholar,
        auditor=auditor,
        allow_missing=options.allow_missing,
        **options.shared,
    )
    if not plan.has_pairs_or_labels:
        raise click.UsageError("give --pairs, or both --scholar and --auditor")
    if pairs:
        reject_options("is for --scholar and --auditor: a pair lacks no label", "allow_missing")
    options.require_gates("agreement")
    if (
        scholar is not None
        and auditor is not None
        and Path(scholar).resolve() == Path(auditor).resolve()
    ):
        raise click.UsageError("--scholar and --auditor are one file, which agrees with itself")
    others = () if disagreements is None else (disagreements,)
    options.refuse_to_replace((*pairs, *filter(None, (scholar, auditor))), *others)
    report, counts = gate_agreement(plan)
    if disagreements is not None:
        write_atomically(disagreements, disagreements_tsv(counts))
        terminal.note(f"wrote {disagreements}")
    return finish_gate(terminal, options, report)


@gate_command(
    examples=(
        Example(
            "affidavit gate research --golden eval/golden_queries.json --outputs ./outputs",
            "are the stored runs good enough?",
        ),
        Example(
            "affidavit gate research --golden golden.json --outputs runs --gates golden_recall=0.9",
            "a gate of your own",
        ),
    ),
    exits={
        **GATE_EXITS,
        Exit.INPUT: "an input is wrong; golden queries that cannot be used are SYSTEM_ERROR",
    },
)
@click.option(
    "--golden",
    required=True,
    type=click.Path(path_type=Path),
    help="The golden queries: a JSON list of objective, required_evidence_ids,"
    " evidence_sufficient.",
)
@click.option(
    "--outputs",
    required=True,
    type=click.Path(path_type=Path),
    help="A folder of runs: each a folder with output.json, manifests.jsonl, events.jsonl.",
)
def research(terminal: Terminal, options: GateOptions, golden: Path, outputs: Path) -> Exit:
    """Decide whether research runs rest on evidence.

    Evidence coverage, golden recall, abstention accuracy and manifest integrity, for each run and
    over all. Only stored artifacts count, not what a run says about itself.
    """
    from affidavit.app.gate_research import ResearchPlan, gate_research
    from affidavit.base.faults import gates as faults
    from affidavit.decision.report import system_error_report

    options.require_gates("research")
    options.refuse_to_replace((golden,))
    plan = ResearchPlan(
        golden=str(golden),
        outputs=str(outputs),
        allow_missing=options.allow_missing,
        **options.shared,
    )
    try:
        report = gate_research(plan)
    except AffidavitError as error:
        if error.fault not in (faults.GOLDEN_MISSING, faults.GOLDEN_MALFORMED):
            raise
        click.echo(single_line(str(error)), err=True)
        return finish_gate(
            terminal, options, system_error_report("research", error), error.fault.exit
        )
    return finish_gate(terminal, options, report)


@gate_command(
    examples=(
        Example("affidavit gate all", "what affidavit.toml configures in its tables [gates.*]"),
        Example(
            "affidavit gate all -c ci/affidavit.toml --report report.json --junit report.xml",
            "another file, with reports for machines",
        ),
    ),
    exits={
        **GATE_EXITS,
        Exit.INPUT: "the config is wrong, or a gate could not be tried and none says no",
        Exit.TAMPERED: "a gold set is not the one that was expected",
    },
    without=("gates", "skip_bad", "allow_missing", "baseline", "correction"),
)
@click.option(
    "--config",
    "-c",
    default=Path("affidavit.toml"),
    show_default=True,
    type=click.Path(path_type=Path),
    help="The file with the tables [gates.*]; its paths are relative to it.",
)
def all_gates(terminal: Terminal, options: GateOptions, config: Path) -> Exit:
    """Run all gates of a project and decide.

    The worst gate decides. If the files of a gate are missing, the decision is never to ship.
    """
    from affidavit.app.gate_all import load_gate_config, run_all_gates

    loaded = load_gate_config(config)
    remembered = replace(options, history=options.history or loaded.history)
    remembered.refuse_to_replace((config, *loaded.inputs))
    found = run_all_gates(terminal.progress(loaded.runs(), "Deciding", len(loaded.gates)))
    for part in found.parts:
        if part.error is not None:
            click.echo(single_line(f"{part.error}"), err=True)
    return finish_gate(terminal, remembered, found.report, found.exit)


_RUN_MODE_OPTIONS: Final = (
    *("url", "command", "body", "headers", "seeds", "jitters"),
    *("reply", "timeout", "retries", "rps", "jobs"),
)


@gate_command(
    examples=(
        Example(
            "affidavit gate stability --gold gold.jsonl --runs runs/stability.jsonl",
            "are the answers the same in every recorded run?",
        ),
        Example(
            "affidavit gate stability --mode run --gold gold.jsonl --url http://localhost:8000/ask",
            "ask an endpoint every question under every seed and jitter, then decide",
        ),
        Example(
            "affidavit gate stability --mode run --gold gold.jsonl --command 'python ask.py'"
            " --seeds 0,1,2 --jitters none,ws,syn",
            "ask a command, which reads the question from standard input",
        ),
        Example(
            "affidavit gate stability --gold gold.jsonl --gates 'stable>=0.9' 'acr>=0.9' css=off",
            "nine of ten questions, each with limits of your own",
        ),
    ),
)
@click.option(
    "--mode",
    type=click.Choice(("score", "run")),
    default="score",
    show_default=True,
    help="Decide over recorded runs, or record them first.",
)
@click.option("--gold", required=True, help="The gold set, as JSON lines; - for standard input.")
@click.option(
    "--runs",
    "--stability",
    "runs",
    multiple=True,
    help="The recorded runs, as JSON lines. Repeatable.  [default: runs/stability.jsonl]",
)
@refusal_options
@click.option("--expect-gold-digest", help="Refuse a gold set with another digest.")
@click.option("--url", "--http", "url", help="Run: the address to POST questions to.")
@click.option("--command", help="Run: the command to start for each question, without a shell.")
@click.option("--body", help="Run: the JSON to post, with {question}, {qid}, {seed}, {jitter}.")
@click.option(
    "--header", "headers", multiple=True, help="Run: 'Name: text'; $NAME is a variable's value."
)
@click.option("--seeds", default="0,1,2,3,4", show_default=True, help="Run: the seeds, or 0-4.")
@click.option(
    "--jitters",
    default="none,ws,punct,syn",
    show_default=True,
    help="Run: how questions are changed; also order.",
)
@click.option(
    "--reply",
    type=click.Choice(("json", "text")),
    default="json",
    show_default=True,
    help="Run: answers are JSON as in traces, or text.",
)
@click.option(
    "--timeout",
    default=60.0,
    show_default=True,
    type=FiniteFloatRange(0.1, 3600),
    help="Run: seconds for one answer.",
)
@click.option(
    "--retries",
    default=2,
    show_default=True,
    type=click.IntRange(0, 10),
    help="Run: how often a question is sent again if it did not reach the pipeline.",
)
@click.option("--rps", type=FiniteFloatRange(0.001), help="Run: the most questions per second.")
@jobs_option("Run: how many questions at once.")
def stability(
    terminal: Terminal,
    options: GateOptions,
    mode: Literal["score", "run"],
    gold: str,
    runs: tuple[str, ...],
    refusals: tuple[str, ...],
    refusal_mode: Literal["words", "exact"],
    expect_gold_digest: str | None,
    url: str | None,
    command: str | None,
    body: str | None,
    headers: tuple[str, ...],
    seeds: str,
    jitters: str,
    reply: Literal["json", "text"],
    timeout: float,
    retries: int,
    rps: float | None,
    jobs: int,
) -> Exit:
    """Decide whether answers stay the same over repeated runs.

    Each question is scored over its runs: ACR, CGHC, CSS, NED50, RCR and SCU-Cons. With --mode run
    the runs are recorded first; recorded answers are not asked for again. A missing answer is
    recorded as a fault: it is neither a refusal nor an agreement.
    """
    from affidavit.app.gate_stability import StabilityPlan, gate_stability

    require_refusals(refusals)
    files = runs or ("runs/stability.jsonl",)
    options.require_gates("stability")
    options.refuse_to_replace((gold, *files))
    if [gold, *files].count("-") > 1:
        raise click.UsageError("standard input can be one file only")
    if mode == "run":
        from affidavit.app.gate_stability import RunOptions
        from affidavit.tools.pipelines import pipeline_named

        if len(files) > 1 or files[0] == "-" or gold == "-":
            raise click.UsageError(
                "--mode run needs one file of --runs to write, and --gold as one"
            )
        pipeline = pipeline_named(
            url=url,
            command=command,
            body=body,
            headers=headers,
            timeout_seconds=timeout,
            environment=os.environ,
        )
        _record_runs(
            terminal=terminal,
            pipeline=pipeline,
            pace=RunOptions(jobs, rps, retries, reply),
            gold=gold,
            file=files[0],
            seeds=seeds,
            jitters=jitters,
        )
    else:
        reject_options("is for --mode run", *_RUN_MODE_OPTIONS)
    report = gate_stability(
        StabilityPlan(
            gold=gold,
            runs=files,
            refusal=refusals,
            refusal_mode=refusal_mode,
            expect_gold_digest=expect_gold_digest,
            allow_missing=options.allow_missing,
            **options.shared,
        )
    )
    return finish_gate(terminal, options, report)


@contextmanager
def _interrupted_by_sigterm() -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C, for example when a job is cancelled."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _record_runs(
    terminal: Terminal,
    pipeline: "Pipeline",
    pace: "RunOptions",
    gold: str,
    file: str,
    seeds: str,
    jitters: str,
) -> None:
    """Ask the questions that have no answer yet, and record the runs."""
    from affidavit.app.gate_inputs import InputLines
    from affidavit.app.gate_stability import (
        RunFile,
        questions_of,
        run_pipeline,
        unfinished_questions,
    )
    from affidavit.gates.rag_rows import gold_by_qid, gold_from_chunk
    from affidavit.gates.stability import parse_jitters, parse_seeds

    # Options are checked first, so that a typo does not cost reading a large gold set.
    asked = parse_seeds(seeds), parse_jitters(jitters)
    items = gold_by_qid(InputLines("gold", [gold]).rows(gold_from_chunk), gold)
    questions = questions_of(items.values(), *asked, gold)
    recording = RunFile(Path(file))
    left = unfinished_questions(questions, pipeline, pace.form, recording.answered())
    if recording.was_torn:
        terminal.note(f"the last line of {file} was cut off; its run is made again")
    terminal.note(f"{len(questions)} runs, {len(questions) - len(left)} of them recorded before")
    if left:
        recording.make_folder()
    # Closed also when interrupted, so that no command keeps running.
    with (
        _interrupted_by_sigterm(),
        closing(run_pipeline(left, pipeline, pace, recording.keep, time)) as made,
    ):
        faults = sum(
            record.fault is not None for record in terminal.progress(made, "Asking", len(left))
        )
    if faults:
        terminal.note(f"{faults} of {len(left)} runs brought no answer; {file} says why")
