"""`affidavit gate research`."""

from pathlib import Path

import click

from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit
from affidavit.cli.gate_frame import EXITS, Frame, conclude, gate_command
from affidavit.cli.printable import on_one_line
from affidavit.cli.terminal import Terminal
from affidavit.cli.tree import Example


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
        **EXITS,
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
def research(terminal: Terminal, frame: Frame, golden: Path, outputs: Path) -> Exit:
    """Decide whether research runs rest on evidence.

    Evidence coverage, golden recall, abstention accuracy and manifest integrity, for each run and
    over all. Only what is stored counts, not what a run says of itself.
    """
    from affidavit.app.gating.research import ResearchGate, gate_research
    from affidavit.base.faults import gates as faults
    from affidavit.gates.report import system_error_wire

    frame.require_gates("research")
    frame.refuse_to_replace((golden,))
    asked = ResearchGate(
        golden, outputs, frame.gates, frame.skip_bad, frame.allow_missing, frame.baseline
    )
    try:
        report = gate_research(asked)
    except AffidavitError as error:
        if error.fault not in (faults.GOLDEN_MISSING, faults.GOLDEN_MALFORMED):
            raise
        click.echo(on_one_line(str(error)), err=True)
        return conclude(terminal, frame, system_error_wire("research", error), error.fault.exit)
    return conclude(terminal, frame, report)
