"""The commands `affidavit evidence verify` and `affidavit evidence replay`."""

from pathlib import Path

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
    """Run again what a bundle records and compare.

    Receipts follow from their evidence, ledgers from their readings, gate reports from their
    figures, and lint and closure from the events. Calls to the outside are listed, not run.
    """
    from affidavit.app.bundle_replay import packs_of_report, replay_bundle
    from affidavit.app.lint import closure_report, packs_from_texts
    from affidavit.reports.bundle_text import replay_as_json, replay_text

    names = packs_of_report(report) if report is not None and not pack_names else pack_names
    packs = packs_from_texts(names)
    replayed, linted = replay_bundle(bundle, packs, limits_from_option(limits), report)
    if terminal.json:
        terminal.print_json({**replay_as_json(replayed), "closure_report": closure_report(linted)})
    else:
        terminal.show(replay_text(replayed, linted))
    return replayed.exit
