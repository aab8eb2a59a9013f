"""`affidavit evidence prove`."""

from pathlib import Path

import click

from affidavit.base.exits import Exit
from affidavit.cli.command import command
from affidavit.cli.evidence_options import (
    json_file,
    limits_from,
    limits_option,
    piped_bundle_path,
)
from affidavit.cli.given import refuse_given
from affidavit.cli.places import require_places
from affidavit.cli.terminal import Terminal, json_bytes
from affidavit.cli.tree import Example

_EITHER = "name a bundle and --event to make a proof; or --check, --root and --event-file"


@command(
    examples=(
        Example(
            "affidavit evidence prove run.tar.gz --event 3 -o proof.json --event-out event.json",
            "a proof, and the event",
        ),
        Example(
            "affidavit evidence prove --check proof.json --root sha256:... --event-file event.json",
            "checked without the bundle",
        ),
    ),
    exits={
        Exit.YES: "the proof was made, or holds",
        Exit.TAMPERED: "the proof does not hold, or the bundle contradicts itself",
    },
)
@click.argument(
    "bundle",
    required=False,
    type=piped_bundle_path,
    help="The bundle to prove from; - for standard input.",
)
@click.option("--event", type=click.IntRange(0), help="The event's number, from 0.")
@click.option("--output", "-o", type=click.Path(path_type=Path), help="Where the proof goes.")
@click.option("--event-out", type=click.Path(path_type=Path), help="Where the event goes.")
@click.option("--check", type=click.Path(path_type=Path), help="A proof to check.")
@click.option("--root", help="The Merkle root that you trust: sha256:<hex>.")
@click.option("--event-file", type=click.Path(path_type=Path), help="The event to check.")
@limits_option
def prove(
    terminal: Terminal,
    bundle: Path | None,
    event: int | None,
    output: Path | None,
    event_out: Path | None,
    check: Path | None,
    root: str | None,
    event_file: Path | None,
    limits: str | None,
) -> Exit:
    """Prove that an event stands in a bundle.

    With --event a proof is made; with --check one is checked, from the root that you trust and the
    one event alone: nothing else of the bundle has to be known.
    """
    if check is not None and root is not None and event_file is not None:
        _refuse_both(bundle, event, output, event_out)
        refuse_given("is for a bundle: a proof is checked without one", "limits")
        return _check(terminal, check, root, event_file)
    _refuse_both(check, root, event_file)
    if bundle is None or event is None:
        raise click.UsageError(_EITHER)
    from affidavit.app.evidence.proving import prove_event
    from affidavit.base.files import write_atomically

    require_places([output, event_out], [bundle])
    proof, line = prove_event(bundle, event, limits_from(limits))
    wire = {name: getattr(proof, name) for name in proof.__struct_fields__}
    if event_out is not None:
        write_atomically(event_out, line + b"\n")
        terminal.note(f"wrote {event_out}")
    if output is not None:
        write_atomically(output, json_bytes(wire))
        terminal.note(f"wrote {output}")
    if terminal.json or output is None:
        terminal.print_json(wire)
    else:
        terminal.print(f"event {event} of {proof.tree_size} under {proof.merkle_root}")
    return Exit.YES


def _refuse_both(*others: object) -> None:
    """Refuse what belongs to the other half of the command: it would be passed over in silence."""
    if any(other is not None for other in others):
        raise click.UsageError(_EITHER)


def _check(terminal: Terminal, check: Path, root: str, event_file: Path) -> Exit:
    from affidavit.app.evidence.proving import check_proof

    proof = check_proof(json_file(check), root, json_file(event_file))
    if terminal.json:
        terminal.print_json({"valid": True, "event": proof.event, "merkle_root": root})
    else:
        terminal.print(f"The proof holds: event {proof.event} of {proof.tree_size} under {root}")
    return Exit.YES
