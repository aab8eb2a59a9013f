"""`affidavit evidence replay`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from affidavit.base.exits import Exit
from affidavit.cli.command import command
from affidavit.cli.evidence_options import limits_from, limits_option, piped_bundle_path
from affidavit.cli.lint_options import pack_option, packs_named
from affidavit.cli.tables import Cell, Tone
from affidavit.cli.terminal import Terminal
from affidavit.cli.tree import Example

if TYPE_CHECKING:
    from affidavit.app.linting.linting import Linted
    from affidavit.app.linting.replaying import Replay, Replayed


@command(
    examples=(
        Example("affidavit evidence replay run.tar.gz", "do its receipts and verdicts follow?"),
        Example(
            "affidavit evidence replay run.tar.gz --report lint.json",
            "and is this what lint says of it?",
        ),
    ),
    exits={
        Exit.YES: "all that is recorded and can be run again comes out the same",
        Exit.UNKNOWN: "there was nothing to run again, or not all of it could be",
        Exit.TAMPERED: "something recorded does not follow, or the bundle does not verify",
    },
)
@click.argument("bundle", type=piped_bundle_path, help="The evidence bundle; - for standard input.")
@click.option(
    "--report", type=click.Path(path_type=Path), help="A lint report to hold against the bundle."
)
@pack_option
@limits_option
def replay(
    terminal: Terminal,
    bundle: Path,
    report: Path | None,
    pack_names: tuple[str, ...],
    limits: str | None,
) -> Exit:
    """Run again what a bundle records and compare.

    Receipts follow from their evidence, ledgers from their readings, gate reports from their
    figures, and lint and closure from the events. What reaches outside is listed, not run.
    """
    from affidavit.app.linting.replaying import packs_of_report, replay_bundle
    from affidavit.app.linting.report import closure_report

    names = packs_of_report(report) if report is not None and not pack_names else pack_names
    done, linted = replay_bundle(bundle, packs_named(names), limits_from(limits), report)
    if terminal.json:
        terminal.print_json(
            {
                "exit": int(done.exit),
                "replayed": [row.as_wire() for row in done.rows],
                "counts": {outcome.replace(" ", "_"): n for outcome, n in done.counts.items()},
                "not_run": dict(sorted(done.not_run.items())),
                "closure_report": closure_report(linted),
            }
        )
    else:
        _show(terminal, done, linted)
    return done.exit


def _show(terminal: Terminal, done: "Replay", linted: "Linted") -> None:
    if done.rows:
        terminal.table(("Line", "What", "Result", "Detail"), map(_row, done.rows))
    for kind, count in sorted(done.not_run.items()):
        terminal.print(f"Not run again: {count} of {kind}")
    counts = ", ".join(f"{n} {outcome}" for outcome, n in sorted(done.counts.items()))
    terminal.print(f"{linted.path}: {counts or 'nothing is recorded that could be run again'}")
    closure = linted.result.closure
    terminal.print(f"Closure {closure.score} (confidence {closure.confidence.value})")
    told = {
        Exit.YES: "Replays: all that was run again comes out as recorded",
        Exit.UNKNOWN: "Could not tell: not everything that is recorded could be run again",
        Exit.TAMPERED: "Does not replay: believe nothing that is recorded there",
    }
    terminal.print(told[done.exit])


def _row(row: "Replayed") -> tuple[Cell | str, ...]:
    tones = {"same": Tone.GOOD, "differs": Tone.BAD, "not run again": Tone.UNSURE}
    line = "" if row.line is None else str(row.line)
    return (line, row.what, Cell(row.outcome.value, tones[row.outcome.value]), row.detail)
