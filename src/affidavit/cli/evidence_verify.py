"""The commands `affidavit evidence verify` and `affidavit evidence replay`."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit, worst_exit
from affidavit.cli.command import command
from affidavit.cli.commands import Example
from affidavit.cli.evidence_options import (
    limits_from_option,
    limits_option,
    piped_bundle_path,
    require_single_stdin,
    single_line_excerpt,
)
from affidavit.cli.terminal import Terminal
from affidavit.reports.text_tables import Cell, Tone

if TYPE_CHECKING:
    from affidavit.app.bundles import BundleOutcome, VerifiedBundle
from typing import TYPE_CHECKING

from affidavit.cli.evidence_options import pack_option, packs_named

if TYPE_CHECKING:
    from affidavit.app.bundle_replay import BundleReplay, ReplayedItem
    from affidavit.app.lint import LintedBundle

# `affidavit evidence verify`.

_RESULT_CELLS: Final = {
    Exit.YES: Cell("verified", Tone.GOOD),
    Exit.INPUT: Cell("not readable", Tone.BAD),
    Exit.TAMPERED: Cell("tampered", Tone.BAD),
}
_ALL_STEPS_PASSED: Final = "all steps hold"
_UNFINISHED: Final = "the run is unfinished"
_STEP_TONES: Final = {
    "passed": Tone.GOOD,
    "failed": Tone.BAD,
    "skipped": Tone.FAINT,
    "not_checked": Tone.UNSURE,
}


@command(
    examples=(
        Example("affidavit evidence verify run.tar.gz", "the six steps"),
        Example("affidavit evidence verify bundles --json", "all of a folder, for machines"),
        Example("cat run.tar.gz | affidavit evidence verify -", "from a pipe"),
        Example(
            "affidavit evidence verify big.tar.gz --limits '{\"max_events\": 1000000}'",
            "more events than the default allows",
        ),
    ),
    exits={
        Exit.YES: "every bundle is what was sealed",
        Exit.UNKNOWN: "no bundle was found",
        Exit.TAMPERED: "a bundle contradicts itself: a digest, a count, a sequence, a checksum",
    },
)
@click.argument(
    "bundles",
    nargs=-1,
    required=True,
    type=piped_bundle_path,
    help="Bundles, and folders of them (.tar.gz); - for standard input.",
)
@limits_option
def verify(terminal: Terminal, bundles: tuple[Path, ...], limits: str | None) -> Exit:
    """Verify evidence bundles offline step by step.

    Six steps: container, manifest, events, totals, Merkle root, end. It stops at the first thing
    that is wrong, and says what. Nothing is extracted. A bundle that somebody sealed anew verifies
    too: compare its id or its Merkle root with one that you trust.
    """
    from affidavit.app.bundles import VerifiedBundle, bundles_in, verify_files
    from affidavit.base.faults.bundles import BUNDLES_NONE

    files = bundles_in(bundles)
    if not files:
        raise AffidavitError(BUNDLES_NONE)
    require_single_stdin(files)
    each = verify_files(files, limits_from_option(limits))
    outcomes = tuple(
        each if len(files) == 1 else terminal.progress(each, "Verifying bundles", len(files))
    )
    ends = Counter(outcome.exit for outcome in outcomes)
    first = outcomes[0]
    if len(outcomes) == 1 and not isinstance(first, VerifiedBundle):
        raise first.error
    if terminal.json:
        terminal.print_json(
            {
                "valid": set(ends) == {Exit.YES},
                "exit": int(worst_exit(ends)),
                "bundles": [outcome.as_wire() for outcome in outcomes],
            }
        )
    elif len(outcomes) == 1 and isinstance(first, VerifiedBundle):
        _print_bundle(terminal, first)
    else:
        _print_bundles(terminal, outcomes)
    return worst_exit(ends)


def _print_bundle(terminal: Terminal, outcome: "VerifiedBundle") -> None:
    verification = outcome.verification
    terminal.table(
        ("Step", "What", "Result", "Code", "Detail"),
        (
            (
                str(step.number),
                step.name.value,
                Cell(step.status.value.replace("_", " "), _STEP_TONES[step.status.value]),
                step.error.fault.code if step.error else "",
                step.detail,
            )
            for step in verification.steps
        ),
    )
    if verification.error is not None:
        place = str(verification.error.where)
        told = "Tampered" if outcome.exit is Exit.TAMPERED else "Not readable"
        terminal.print(f"{told}: {outcome.name}{f', {place}' if place else ''}")
        terminal.print(f"Next: {verification.error.next_step}")
    elif verification.manifest is not None:
        known = verification.manifest.known
        run_id = single_line_excerpt(known.run_id)
        terminal.print(f"Verified: {known.event_count} events of {run_id}, {known.bundle_id}")
        if known.ours is not None:
            terminal.print(f"Merkle root: {known.ours.merkle_root}")
        if verification.is_unfinished:
            terminal.print(f"But {_UNFINISHED}: its last event is not affidavit.run.finished")


def _print_bundles(terminal: Terminal, outcomes: "Sequence[BundleOutcome]") -> None:
    terminal.table(("Bundle", "Result", "Code", "Detail"), map(_bundle_row, outcomes))
    ends = Counter(outcome.exit for outcome in outcomes)
    parts = [f"{ends[end]} {word.text}" for end, word in _RESULT_CELLS.items() if ends[end]]
    terminal.print(f"{len(outcomes)} bundles: {', '.join(parts)}")


def _bundle_row(outcome: "BundleOutcome") -> tuple[Cell | str, ...]:
    word = _RESULT_CELLS[outcome.exit]
    if outcome.error is not None:
        return (outcome.name, word, outcome.error.fault.code, outcome.error.message)
    unfinished = outcome.verification.is_unfinished
    return (
        outcome.name,
        word,
        "",
        _ALL_STEPS_PASSED if not unfinished else f"{_ALL_STEPS_PASSED}; {_UNFINISHED}",
    )


# `affidavit evidence replay`.


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
    from affidavit.app.bundle_replay import packs_of_report, replay_bundle
    from affidavit.app.lint import closure_report

    names = packs_of_report(report) if report is not None and not pack_names else pack_names
    done, linted = replay_bundle(bundle, packs_named(names), limits_from_option(limits), report)
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
        _print_replay(terminal, done, linted)
    return done.exit


def _print_replay(terminal: Terminal, done: "BundleReplay", linted: "LintedBundle") -> None:
    if done.rows:
        terminal.table(("Line", "What", "Result", "Detail"), map(_replay_row, done.rows))
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


def _replay_row(row: "ReplayedItem") -> tuple[Cell | str, ...]:
    tones = {"same": Tone.GOOD, "differs": Tone.BAD, "not run again": Tone.UNSURE}
    line = "" if row.line is None else str(row.line)
    return (line, row.what, Cell(row.outcome.value, tones[row.outcome.value]), row.detail)
