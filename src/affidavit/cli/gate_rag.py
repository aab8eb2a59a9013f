"""`affidavit gate rag`."""

from pathlib import Path

import click

from affidavit.base.exits import Exit
from affidavit.cli.gate_frame import EXITS, Frame, conclude, gate_command
from affidavit.cli.given import refuse_given
from affidavit.cli.shared_options import jobs_option
from affidavit.cli.terminal import Terminal
from affidavit.cli.tree import Example

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
    exits={**EXITS, Exit.TAMPERED: "the gold set is not the one that was expected"},
)
@click.argument(
    "files",
    nargs=-1,
    type=click.Path(allow_dash=True),
    help="Traces; without --gold they hold the gold items too.",
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
    help="What the pipeline answered; - for standard input. Repeatable, and a pattern may stand.",
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
    help="Gate on constraints also if no gold item has any.",
)
@click.option(
    "--scu-rules",
    type=click.Path(path_type=Path),
    help="More rules of contradiction: a JSON list, or TOML tables [[rule]] (docs/gates.md).",
)
@click.option("--expect-gold-digest", help="Refuse a gold set with another digest: sha256:...")
@click.option(
    "--items/--no-items",
    default=True,
    help="Whether the report names every item, for --fail-on-regression and compare.",
)
@jobs_option("How many processes read; the report is the same to the last byte.")
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
    frame: Frame,
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

    Measured are precision, citation hits, refusals, constraints and retrieval, each with its
    interval at 95%. What was not measured is counted and cannot make a gate pass.
    """
    from affidavit.wiring.gating import RagPlan, run_rag

    traces = (*trace, *files)
    if not traces:
        raise click.UsageError("there are no traces; name a file, or give --gold and --trace")
    if not refusal.strip():
        raise click.UsageError("--refusal is empty, so an answer without words would be one")
    if refusal.encode("utf-8", "replace").decode() != refusal:
        raise click.UsageError("--refusal is not text in UTF-8, so no answer can be it")
    if [*gold, *traces].count("-") > 1:
        raise click.UsageError("standard input can be one file only")
    _refuse_unused(engine, wants_items=items and not terminal.json and frame.report is None)
    frame.require_gates("rag")
    frame.refuse_to_replace((*gold, *traces, *((scu_rules,) if scu_rules else ())))
    report = run_rag(
        RagPlan(
            gold,
            traces,
            frame.gates,
            scu_enforced,
            scu_rules,
            k,
            refusal,
            frame.allow_missing,
            frame.skip_bad,
            expect_gold_digest,
            frame.baseline,
            # Only the JSON names every item.
            items and (terminal.json or frame.report is not None),
            jobs,
            engine,
            master,
        )
    )
    return conclude(terminal, frame, report)


def _refuse_unused(engine: str, *, wants_items: bool) -> None:
    """Refuse options of the other engine, and items where no JSON is to name them."""
    if engine == "spark":
        refuse_given("is for --engine local: Spark has its own", "jobs")
    else:
        refuse_given("is for --engine spark", "master")
    if wants_items:
        refuse_given("is for --report and --json, which name the items", "items")
