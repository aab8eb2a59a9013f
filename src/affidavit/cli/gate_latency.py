"""`affidavit gate latency`."""

from pathlib import Path

import click

from affidavit.base.exits import Exit
from affidavit.base.files import is_there
from affidavit.cli.gate_frame import Frame, conclude, gate_command
from affidavit.cli.given import refuse_given
from affidavit.cli.shared_options import Finite
from affidavit.cli.terminal import Terminal
from affidavit.cli.tree import Example


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
@click.option("--rps", type=Finite(0.001), help="The load of rows that do not say theirs.")
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
    type=Finite(0),
    help="How much of the last release's P95 may come on top.",
)
@click.option(
    "--worse-by",
    default=0.02,
    show_default=True,
    type=Finite(0, 1),
    help="How far precision may fall below the last release's.",
)
def latency(
    terminal: Terminal,
    frame: Frame,
    files: tuple[str, ...],
    rps: float | None,
    accuracy: tuple[str, ...],
    slower_by: float,
    worse_by: float,
) -> Exit:
    """Decide whether answers come fast enough.

    Percentiles, the tail's amplification (P99 over P50) and figures for each load, configuration
    and stage. With the accuracy of configurations it shows which of them no other beats in both.
    """
    from affidavit.app.gating.latency import LatencyGate, gate_latency
    from affidavit.gates.tradeoff import RollbackGuard

    if frame.baseline is None:
        refuse_given("is for --fail-on-regression", "slower_by", "worse_by")
    known = tuple(map(_accuracy, accuracy))
    if len({name for name, _ in known}) < len(known):
        raise click.UsageError("--accuracy names a configuration twice")
    if all(name is not None for name, _ in known):
        refuse_given("needs --accuracy with a report of this release", "worse_by")
    frame.require_gates("latency")
    frame.refuse_to_replace((*files, *(path for _, path in known)))
    report = gate_latency(
        LatencyGate(
            files,
            frame.gates,
            rps,
            known,
            RollbackGuard(slower_by, worse_by),
            frame.skip_bad,
            frame.baseline,
        )
    )
    return conclude(terminal, frame, report)


def _accuracy(text: str) -> tuple[str | None, Path]:
    """Split `CONFIG=REPORT`; a file of this very name is a report of the release."""
    name, found, path = text.rpartition("=")
    if not found or is_there(text):
        return None, Path(text)
    # Bytes that are no text become escapes: the name stands in the report.
    return name.encode("utf-8", "backslashreplace").decode(), Path(path)
