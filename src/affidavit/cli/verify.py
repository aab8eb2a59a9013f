"""`affidavit verify`."""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit, gravest
from affidavit.cli.command import command
from affidavit.cli.given import refuse_given
from affidavit.cli.piped import PIPE, PIPE_NAME, bytes_of
from affidavit.cli.shared_options import existing_project_option, jobs_option, tsa_roots_option
from affidavit.cli.terminal import Terminal
from affidavit.cli.tree import Example

if TYPE_CHECKING:
    from affidavit.app.receipt_files import Subject

MAX_INPUT_BYTES = 256 * 1024 * 1024
_PORTION = 64  # Receipts handed to a process at a time: some 10 ms of work.


@command(
    examples=(
        Example("affidavit verify receipt.json --keys keys.json", "the five steps, offline"),
        Example("affidavit verify receipts --keys keys.json -j 4", "a folder, by four processes"),
        Example(
            "affidavit verify receipts.jsonl --keys registry.json --tsa-roots roots.pem",
            "a receipt a line, with key lifecycles and time stamps",
        ),
        Example("affidavit answer checks.json --json | affidavit verify -", "from a pipe"),
    ),
    exits={
        Exit.YES: "every receipt is verified: all that had to hold was checked and holds",
        Exit.NO: "a signature holds, and its key may not be believed",
        Exit.UNKNOWN: "something could not be checked: an unknown key, no time stamp",
        Exit.TAMPERED: "a digest, an id, a signature, a time stamp or a replay does not hold",
    },
)
@click.argument(
    "receipts",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path, allow_dash=True),
    help="Files, folders, .jsonl files with a receipt a line; - for standard input.",
)
@click.option(
    "--keys",
    "-k",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Keys to trust: a flat document, a registry, a JWK set; by default this project's.",
)
@tsa_roots_option
@click.option("--tsa-policy", help="The policy (an object identifier) that time stamps must have.")
@click.option("--stamp-required", is_flag=True, help="Ask for an independent time stamp.")
@click.option("--at", help="The day or time of the verification; by default now.")
@jobs_option("How many processes verify.")
@existing_project_option
def verify(
    terminal: Terminal,
    receipts: tuple[Path, ...],
    keys: tuple[Path, ...],
    tsa_roots: tuple[Path, ...],
    tsa_policy: str | None,
    stamp_required: bool,
    at: str | None,
    jobs: int,
    project: Path,
) -> Exit:
    """Verify receipts offline: anchor and signature and replay.

    Five steps: anchor, id, signature, evidence, replay. Whether a signature holds and whether its
    key may be believed are two lines. Nothing is taken from the receipt on trust, and nothing is
    fetched.
    """
    from affidavit.app.receipt_files import in_portions
    from affidavit.app.verifying import ReceiptVerifier
    from affidavit.cli.verify_text import as_wire, refuse_nothing, show
    from affidavit.engine.local import run_in_order
    from affidavit.wiring.keys import moment_of
    from affidavit.wiring.verifying import key_files, trust_from

    if not tsa_roots:
        refuse_given("needs --tsa-roots, whose authorities have the policy", "tsa_policy")
    if keys:
        refuse_given("is for the project's own keys, and --keys names others", "project")
    try:
        trusted = key_files(keys, project)
    except AffidavitError:
        require_readable(receipts)  # Without it no key would help.
        raise
    trust = trust_from(trusted, tsa_roots, tsa_policy, stamp_required=stamp_required)
    verifier = ReceiptVerifier(trust, moment_of(at))
    subjects, total = find_subjects(receipts)
    done = run_in_order(verifier, in_portions(subjects, _PORTION), jobs)
    each = chain.from_iterable(done)
    # One receipt is verified before a bar could be drawn.
    outcomes = tuple(each if total == 1 else terminal.progress(each, "Verifying receipts", total))
    refuse_nothing(outcomes)
    if not keys:
        terminal.note(f"trusting this project's own keys ({trusted[0]}); --keys names others")
    if terminal.json:
        terminal.print_json(as_wire(outcomes, trusted))
    else:
        show(terminal, outcomes)
    return gravest(outcome.exit for outcome in outcomes)


def find_subjects(receipts: Sequence[Path]) -> tuple["Iterator[Subject]", int | None]:
    """Return all receipts that are meant, and how many, if that is known beforehand."""
    from affidavit.app.receipt_files import LINE_ENDINGS, files_in, subjects_in, subjects_of_input

    files = files_in(path for path in receipts if path != PIPE)
    piped = (
        subjects_of_input(bytes_of(PIPE, MAX_INPUT_BYTES), PIPE_NAME) if PIPE in receipts else []
    )
    has_lines = any(file.suffix.lower() in LINE_ENDINGS for file in files)
    total = None if has_lines else len(files) + len(piped)
    return chain(piped, subjects_in(files)), total


def require_readable(receipts: Sequence[Path]) -> None:
    """Raise what is wrong with the first file that is named and cannot be opened."""
    from affidavit.base.files import is_folder, open_to_read

    for path in receipts:
        if path != PIPE and not is_folder(path):
            open_to_read(path).close()


def subject_named(path: Path) -> "Subject":
    """Return the one receipt that a path names, or that standard input holds."""
    from affidavit.app.receipt_files import Subject

    return (
        Subject(PIPE_NAME, None, bytes_of(PIPE, MAX_INPUT_BYTES))
        if path == PIPE
        else Subject(str(path))
    )
