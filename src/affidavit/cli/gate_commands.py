"""The commands `affidavit gate rag|latency|agreement|research|all`."""

from dataclasses import replace
from pathlib import Path

import click

from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit
from affidavit.base.files import is_there
from affidavit.cli.command_classes import reject_options
from affidavit.cli.commands import Example
from affidavit.cli.gate_options import GATE_EXITS, GateOptions, finish_gate, gate_command
from affidavit.cli.parameters import FiniteFloatRange, jobs_option
from affidavit.cli.terminal import Terminal
from affidavit.reports.text_tables import single_line

# `affidavit gate rag`.

ENGINES = ("local", "spark")


@gate_command(
    examples=(
        Example(
            "affidavit gate rag --gold eval/gold.jsonl --trace runs/trace.jsonl",
            "the decision, each figure with its interval, and the worst answers",
        ),
        Example(
            "affidavit gate rag results.csv",
            "a file of another tool that holds both, such as one of Ragas (docs/formats.md)",
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
    help="Traces; without --gold the files must also hold the gold items.",
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
@click.option(
    "--refusal", default="not in context", show_default=True, help="The exact refusal token."
)
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
    "--items/--no-items",
    default=True,
    help="Whether the report names every item, for --fail-on-regression and compare.",
)
@jobs_option("How many processes read; the report is the same.")
@click.option(
    "--engine",
    default="local",
    show_default=True,
    type=click.Choice(ENGINES),
    help="Where it runs: on this machine, or on Spark.",
)
@click.option("--master", default="local[*]", show_default=True, help="The address of Spark.")
def rag(
    terminal: Terminal,
    options: GateOptions,
    files: tuple[str, ...],
    gold: tuple[str, ...],
    trace: tuple[str, ...],
    k: int,
    refusal: str,
    scu_enforced: bool,
    scu_rules: Path | None,
    expect_gold_digest: str | None,
    items: bool,
    jobs: int,
    engine: str,
    master: str,
) -> Exit:
    """Decide ship or no-ship from a gold set and traces.

    Measures precision, citation hits, refusals, constraints and retrieval, each with a 95%
    interval. What was not measured is counted and never passes a gate.
    """
    from affidavit.app.gate_rag import RagPlan, gate_rag

    traces = (*trace, *files)
    if not traces:
        raise click.UsageError("there are no traces; name a file, or give --gold and --trace")
    if not refusal.strip():
        raise click.UsageError("--refusal is empty, so an answer without words would be one")
    if refusal.encode("utf-8", "replace").decode() != refusal:
        raise click.UsageError("--refusal is not text in UTF-8, so no answer can be it")
    if [*gold, *traces].count("-") > 1:
        raise click.UsageError("standard input can be one file only")
    _reject_unused_rag_options(
        engine, wants_items=items and not terminal.json and "json" not in options.report_files
    )
    options.require_gates("rag")
    options.refuse_to_replace((*gold, *traces, *((scu_rules,) if scu_rules else ())))
    report = gate_rag(
        RagPlan(
            gold=gold,
            trace=traces,
            gates=options.gates,
            scu_enforced=scu_enforced,
            scu_rules=scu_rules,
            k=k,
            refusal=refusal,
            allow_missing=options.allow_missing,
            skip_bad=options.skip_bad,
            expect_gold_digest=expect_gold_digest,
            baseline=options.baseline,
            # Only the JSON names every item.
            items=items and (terminal.json or "json" in options.report_files),
            jobs=jobs,
            engine=engine,
            master=master,
        )
    )
    return finish_gate(terminal, options, report)


def _reject_unused_rag_options(engine: str, *, wants_items: bool) -> None:
    """Refuse options of the other engine, and --items without a JSON report."""
    if engine == "spark":
        reject_options("is for --engine local: Spark has its own", "jobs")
    else:
        reject_options("is for --engine spark", "master")
    if wants_items:
        reject_options("is for --report and --json, which name the items", "items")


# `affidavit gate latency`.


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
    help="Latencies as JSON lines or CSV with e2e_ms; - for standard input. Repeatable.",
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
    from affidavit.app.gate_latency import LatencyGate, gate_latency
    from affidavit.decision.baseline import RollbackGuard

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
        LatencyGate(
            files=files,
            gates=options.gates,
            rps=rps,
            accuracy=known,
            guard=RollbackGuard(slower_by, worse_by),
            skip_bad=options.skip_bad,
            baseline=options.baseline,
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


# `affidavit gate agreement`.


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
    from affidavit.app.gate_agreement import AgreementGate, disagreements_tsv, gate_agreement
    from affidavit.base.files import write_atomically

    labels = (scholar, auditor)
    if bool(pairs) is any(labels) or (any(labels) and not all(labels)):
        raise click.UsageError("give --pairs, or both --scholar and --auditor")
    if pairs:
        reject_options("is for --scholar and --auditor: a pair lacks no label", "allow_missing")
    named = (("percent_agreement", pa_gate), ("kappa", kappa_gate), ("abstain_rate", abstain_gate))
    gates = (*options.gates, *(f"{name}={value}" for name, value in named if value is not None))
    replace(options, gates=gates).require_gates("agreement")
    if (
        scholar is not None
        and auditor is not None
        and Path(scholar).resolve() == Path(auditor).resolve()
    ):
        raise click.UsageError("--scholar and --auditor are one file, which agrees with itself")
    others = () if disagreements is None else (disagreements,)
    options.refuse_to_replace((*pairs, *filter(None, labels)), *others)
    report, counts = gate_agreement(
        AgreementGate(
            pairs=pairs,
            scholar=scholar,
            auditor=auditor,
            gates=gates,
            skip_bad=options.skip_bad,
            allow_missing=options.allow_missing,
            baseline=options.baseline,
        )
    )
    if disagreements is not None:
        write_atomically(disagreements, disagreements_tsv(counts))
        terminal.note(f"wrote {disagreements}")
    return finish_gate(terminal, options, report)


# `affidavit gate research`.


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
    from affidavit.app.gate_research import ResearchGate, gate_research
    from affidavit.base.faults import gates as faults
    from affidavit.decision.report import system_error_report

    options.require_gates("research")
    options.refuse_to_replace((golden,))
    asked = ResearchGate(
        golden=golden,
        outputs=outputs,
        gates=options.gates,
        skip_bad=options.skip_bad,
        allow_missing=options.allow_missing,
        baseline=options.baseline,
    )
    try:
        report = gate_research(asked)
    except AffidavitError as error:
        if error.fault not in (faults.GOLDEN_MISSING, faults.GOLDEN_MALFORMED):
            raise
        click.echo(single_line(str(error)), err=True)
        return finish_gate(
            terminal, options, system_error_report("research", error), error.fault.exit
        )
    return finish_gate(terminal, options, report)


# `affidavit gate all`.


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
    without=("gates", "skip_bad", "allow_missing", "baseline"),
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
