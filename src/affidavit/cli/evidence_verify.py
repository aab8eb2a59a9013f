"""`affidavit evidence verify`."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit, gravest
from affidavit.cli.command import command
from affidavit.cli.evidence_options import (
    in_words,
    limits_from,
    limits_option,
    piped_bundle_path,
    require_one_pipe,
)
from affidavit.cli.tables import Cell, Tone
from affidavit.cli.terminal import Terminal
from affidavit.cli.tree import Example

if TYPE_CHECKING:
    from affidavit.app.evidence.verifying import BundleOutcome, VerifiedBundle

_WORDS: Final = {
    Exit.YES: Cell("verified", Tone.GOOD),
    Exit.INPUT: Cell("not readable", Tone.BAD),
    Exit.TAMPERED: Cell("tampered", Tone.BAD),
}
_HOLDS: Final = "all steps hold"
_UNFINISHED: Final = "the run is unfinished"
_TONES: Final = {
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
    from affidavit.app.evidence.bundle_files import bundles_in
    from affidavit.app.evidence.verifying import VerifiedBundle, verify_files
    from affidavit.base.faults.recordings import BUNDLES_NONE

    files = bundles_in(bundles)
    if not files:
        raise AffidavitError(BUNDLES_NONE)
    require_one_pipe(files)
    each = verify_files(files, limits_from(limits))
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
                "exit": int(gravest(ends)),
                "bundles": [outcome.as_wire() for outcome in outcomes],
            }
        )
    elif len(outcomes) == 1 and isinstance(first, VerifiedBundle):
        _show_one(terminal, first)
    else:
        _show_many(terminal, outcomes)
    return gravest(ends)


def _show_one(terminal: Terminal, outcome: "VerifiedBundle") -> None:
    verification = outcome.verification
    terminal.table(
        ("Step", "What", "Result", "Code", "Detail"),
        (
            (
                str(step.number),
                step.name.value,
                Cell(step.status.value.replace("_", " "), _TONES[step.status.value]),
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
        run_id = in_words(known.run_id)
        terminal.print(f"Verified: {known.event_count} events of {run_id}, {known.bundle_id}")
        if known.ours is not None:
            terminal.print(f"Merkle root: {known.ours.merkle_root}")
        if verification.is_unfinished:
            terminal.print(f"But {_UNFINISHED}: its last event is not affidavit.run.finished")


def _show_many(terminal: Terminal, outcomes: "Sequence[BundleOutcome]") -> None:
    terminal.table(("Bundle", "Result", "Code", "Detail"), map(_row, outcomes))
    ends = Counter(outcome.exit for outcome in outcomes)
    parts = [f"{ends[end]} {word.text}" for end, word in _WORDS.items() if ends[end]]
    terminal.print(f"{len(outcomes)} bundles: {', '.join(parts)}")


def _row(outcome: "BundleOutcome") -> tuple[Cell | str, ...]:
    word = _WORDS[outcome.exit]
    if outcome.error is not None:
        return (outcome.name, word, outcome.error.fault.code, outcome.error.message)
    unfinished = outcome.verification.is_unfinished
    return (outcome.name, word, "", _HOLDS if not unfinished else f"{_HOLDS}; {_UNFINISHED}")
