"""The commands `affidavit evidence verify` and `affidavit evidence replay`."""

from collections.abc import Iterator
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
    pack_option,
    piped_bundle_path,
    require_single_stdin,
)
from affidavit.cli.terminal import Terminal
from affidavit.reports.text_tables import Cell, TextPart, Tone, text_table

if TYPE_CHECKING:
    from affidavit.app.bundle_replay import BundleReplay, ReplayedItem
    from affidavit.packs.lint import BundleLint

_REPLAY_TONES: Final = {"same": Tone.GOOD, "differs": Tone.BAD, "not run again": Tone.UNSURE}
_CONCLUSIONS: Final = {
    Exit.YES: "Replays: all that was run again comes out as recorded",
    Exit.UNKNOWN: "Could not tell: not everything that is recorded could be run again",
    Exit.TAMPERED: "Does not replay: believe nothing that is recorded there",
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

    Six steps: container, manifest, events, totals, Merkle root, end. It stops at the first error.
    Nothing is extracted. A bundle that somebody sealed anew verifies, too: compare its id or its
    Merkle root with one that you trust.
    """
    from affidavit.app.bundles import bundles_in, require_readable, verify_files
    from affidavit.base.faults.bundles import BUNDLES_NONE
    from affidavit.reports.verification_text import bundles_as_json, bundles_text

    files = bundles_in(bundles)
    if not files:
        raise AffidavitError(BUNDLES_NONE)
    require_single_stdin(files)
    each = verify_files(files, limits_from_option(limits))
    outcomes = tuple(
        each if len(files) == 1 else terminal.progress(each, "Verifying bundles", len(files))
    )
    require_readable(outcomes)
    if terminal.json:
        terminal.print_json(bundles_as_json(outcomes))
    else:
        terminal.show(bundles_text(outcomes))
    return worst_exit(outcome.exit for outcome in outcomes)


@command(
    examples=(
        Example("affidavit evidence replay run.tar.gz", "recompute its receipts and verdicts"),
        Example(
            "affidavit evidence replay run.tar.gz --report lint.json",
            "and compare a lint report",
        ),
    ),
    exits={
        Exit.YES: "everything that can be recomputed is the same",
        Exit.UNKNOWN: "there was nothing to recompute, or not everything could be",
        Exit.TAMPERED: "something recorded differs, or the bundle does not verify",
    },
)
@click.argument("bundle", type=piped_bundle_path, help="The evidence bundle; - for standard input.")
@click.option(
    "--report", type=click.Path(path_type=Path), help="A lint report to compare with the bundle."
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
    """Replay what a bundle records and compare the results.

    Receipts follow from their evidence, ledgers from their readings, gate reports from their
    figures, and lint and closure from the events. Calls to the outside are listed, not run.
    """
    from affidavit.app.bundle_replay import packs_of_report, replay_bundle
    from affidavit.app.lint import closure_report, packs_from_texts

    names = packs_of_report(report) if report is not None and not pack_names else pack_names
    packs = packs_from_texts(names)
    replayed, linted = replay_bundle(bundle, packs, limits_from_option(limits), report)
    if terminal.json:
        terminal.print_json(
            {
                "exit": int(replayed.exit),
                "replayed": [row.as_wire() for row in replayed.rows],
                "counts": {outcome.replace(" ", "_"): n for outcome, n in replayed.counts.items()},
                "not_run": dict(sorted(replayed.not_run.items())),
                "closure_report": closure_report(linted),
            }
        )
    else:
        terminal.show(_replay_text(replayed, linted))
    return replayed.exit


def _replay_text(replayed: "BundleReplay", linted: "BundleLint") -> Iterator[TextPart]:
    if replayed.rows:
        yield text_table(("Line", "What", "Result", "Detail"), map(_replay_row, replayed.rows))
    for kind, count in sorted(replayed.not_run.items()):
        yield f"Not run again: {count} of {kind}"
    counts = ", ".join(f"{n} {outcome}" for outcome, n in sorted(replayed.counts.items()))
    yield f"{linted.name}: {counts or 'nothing is recorded that could be run again'}"
    closure = linted.result.closure
    yield f"Closure {closure.score} (confidence {closure.confidence.value})"
    yield _CONCLUSIONS[replayed.exit]


def _replay_row(row: "ReplayedItem") -> tuple[Cell | str, ...]:
    line = "" if row.line is None else str(row.line)
    return (line, row.what, Cell(row.outcome.value, _REPLAY_TONES[row.outcome.value]), row.detail)
