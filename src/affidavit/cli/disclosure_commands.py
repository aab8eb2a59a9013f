"""The commands `affidavit evidence prove|redact`, which disclose parts of a bundle."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from affidavit.base.exits import Exit
from affidavit.base.text import excerpt
from affidavit.cli.command import command, require_output_paths
from affidavit.cli.commands import Example
from affidavit.cli.evidence_commands import (
    bundle_path,
    limits_from_option,
    limits_option,
    piped_bundle_path,
)
from affidavit.cli.program import reject_options
from affidavit.cli.terminal import Terminal
from affidavit.reports.json_text import json_bytes
from affidavit.reports.text_tables import single_line

if TYPE_CHECKING:
    from affidavit.app.bundle_disclosure import RedactedBundle


@command(
    examples=(
        Example(
            "affidavit evidence redact run.tar.gz --path /data/input -o public.tar.gz"
            " --salts salts.json",
            "replace inputs by commitments",
        ),
        Example(
            "affidavit evidence redact public.tar.gz --reveal revealed.json",
            "is this the value that was redacted?",
        ),
    ),
    exits={
        Exit.YES: "redacted; or the revealed value is the redacted one",
        Exit.TAMPERED: "the revealed value is another one, or the bundle contradicts itself",
    },
)
@click.argument("bundle", type=bundle_path, help="The bundle.")
@click.option(
    "--path",
    "paths",
    multiple=True,
    help="A JSON pointer like /data/input, or /subject. Repeatable.",
)
@click.option("--type", "types", multiple=True, help="Only events of this type. Repeatable.")
@click.option("--output", "-o", type=click.Path(path_type=Path), help="The redacted bundle.")
@click.option(
    "--salts",
    type=click.Path(path_type=Path),
    help="The file for the salts. Keep it: without it nothing can be revealed.",
)
@click.option("--reveal", type=click.Path(path_type=Path), help="A revealed value to check.")
@limits_option
def redact(
    terminal: Terminal,
    bundle: Path,
    paths: tuple[str, ...],
    types: tuple[str, ...],
    output: Path | None,
    salts: Path | None,
    reveal: Path | None,
    limits: str | None,
) -> Exit:
    """Replace values of a bundle by commitments.

    Each value becomes a salted digest and a class of sizes. The new bundle verifies, and commits to
    the original behind a salt. A value that still stands elsewhere in the bundle is reported.

    The salts go to a separate file that only you can read: with its salt a value can be revealed
    and checked later; without it, not even a short value can be guessed.
    """
    if reveal is not None and not (paths or types or output or salts):
        return _check_revealed(terminal, bundle, reveal, limits)
    if reveal is not None or output is None or salts is None or not (paths or types):
        raise click.UsageError("name --path or --type, and --output and --salts; or --reveal alone")
    from affidavit.app.bundle_disclosure import redact_bundle, redaction_request_from
    from affidavit.app.keys import random_bytes

    require_output_paths([output, salts], [bundle])
    wanted = redaction_request_from(paths, types)
    done = redact_bundle(
        bundle,
        output,
        salts=salts,
        wanted=wanted,
        random=random_bytes,
        limits=limits_from_option(limits),
    )
    if terminal.json:
        terminal.print_json(
            {
                "bundle": str(output),
                **done.written.as_wire(),
                "redacted_values": done.redacted_values,
                "salts": str(salts),
                "leftovers": done.leftovers,
                "leftover_count": done.leftover_count,
            }
        )
    else:
        values, root = done.redacted_values, done.written.contents.run_root
        terminal.print(f"{output}: {values} values redacted, {root}")
        terminal.print(f"Manifest digest: {done.written.manifest_digest}")
        _warn_of_leftovers(terminal, done)
        terminal.note(f"{salts} reveals them: keep it, and give it to nobody whole")
    return Exit.YES


def _warn_of_leftovers(terminal: Terminal, done: "RedactedBundle") -> None:
    for each in done.leftovers:
        terminal.note(f"warning: the value of {each.value_of} still stands in {each.place}")
    if more := done.leftover_count - len(done.leftovers):
        terminal.note(f"warning: redacted values still stand in {more} more places")


def _check_revealed(terminal: Terminal, bundle: Path, reveal: Path, limits: str | None) -> Exit:
    from affidavit.app.bundle_disclosure import RevealedV1, check_revealed
    from affidavit.base.strict_json import read_json_file

    revealed = check_revealed(bundle, read_json_file(reveal), limits_from_option(limits))
    if isinstance(revealed, RevealedV1):
        wire = {"event": revealed.event, "path": revealed.path}
        result = f"It is the value of event {revealed.event} at {revealed.path}"
    else:
        wire = {"origin": revealed.origin}
        result = f"It was made from the bundle with the digest {revealed.origin}"
    if terminal.json:
        terminal.print_json({"valid": True, **wire})
    else:
        terminal.print(result)
    return Exit.YES


_USAGE = (
    "name a bundle and --event to make a proof; or --check, --event-file, and --root or"
    " --manifest-digest"
)


@command(
    examples=(
        Example(
            "affidavit evidence prove run.tar.gz --event 3 -o proof.json --event-out event.json",
            "a proof, and the event",
        ),
        Example(
            "affidavit evidence prove --check proof.json --root sha256:... --event-file event.json",
            "check it without the bundle",
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
@click.option("--output", "-o", type=click.Path(path_type=Path), help="The file for the proof.")
@click.option("--event-out", type=click.Path(path_type=Path), help="The file for the event.")
@click.option(
    "--manifest",
    "with_manifest",
    is_flag=True,
    help="Put the manifest into the proof, which then also proves size, run and bundle.",
)
@click.option("--check", type=click.Path(path_type=Path), help="A proof to check.")
@click.option("--root", help="The Merkle root that you trust: sha256:<hex>.")
@click.option("--manifest-digest", help="The digest of manifest.json that you trust: sha256:<hex>.")
@click.option("--event-file", type=click.Path(path_type=Path), help="The event to check.")
@limits_option
def prove(
    terminal: Terminal,
    bundle: Path | None,
    event: int | None,
    output: Path | None,
    event_out: Path | None,
    with_manifest: bool,
    check: Path | None,
    root: str | None,
    manifest_digest: str | None,
    event_file: Path | None,
    limits: str | None,
) -> Exit:
    """Prove that an event is in a bundle.

    --event makes a proof. --check checks one against the event and what you trust, the Merkle root
    or the digest of the manifest, without the rest of the bundle.
    """
    if check is not None and (root or manifest_digest) is not None and event_file is not None:
        _reject_other_mode(bundle, event, output, event_out, with_manifest or None)
        reject_options("is for a bundle: a proof is checked without one", "limits")
        return check_event_proof(terminal, check, event_file, root, manifest_digest)
    _reject_other_mode(check, root, manifest_digest, event_file)
    if bundle is None or event is None:
        raise click.UsageError(_USAGE)
    from affidavit.app.bundle_disclosure import is_salted, prove_event
    from affidavit.base.files import write_atomically

    require_output_paths([output, event_out], [bundle])
    proof, line = prove_event(
        bundle, event, limits_from_option(limits), with_manifest=with_manifest
    )
    if not is_salted(line):
        terminal.note(
            "warning: the events have no salts, so this proof helps to guess its neighbours"
        )
    if event_out is not None:
        write_atomically(event_out, line + b"\n")
        terminal.note(f"wrote {event_out}")
    if output is not None:
        write_atomically(output, json_bytes(proof))
        terminal.note(f"wrote {output}")
    if terminal.json or output is None:
        terminal.print_json(proof)
    else:
        terminal.print(f"event {event} of {proof.tree_size} under {proof.merkle_root}")
    return Exit.YES


def _reject_other_mode(*others: object) -> None:
    """Refuse options of the other mode, which would be ignored in silence."""
    if any(other is not None for other in others):
        raise click.UsageError(_USAGE)


def check_event_proof(
    terminal: Terminal,
    check: Path,
    event_file: Path,
    root: str | None,
    manifest_digest: str | None,
) -> Exit:
    """Check the proof of an event against what is trusted, and print what it proves."""
    from affidavit.app.bundle_disclosure import check_proof
    from affidavit.base.strict_json import read_json_file

    proof = check_proof(
        read_json_file(check),
        read_json_file(event_file),
        root=root,
        manifest_digest=manifest_digest,
    )
    if terminal.json:
        terminal.print_json(proof)
        return Exit.YES
    run = single_line(excerpt(proof.run_id, 120))
    terminal.print(f"The proof holds: event {proof.event} of {run} is under {proof.merkle_root}")
    if proof.bundle_id is not None:
        terminal.print(f"It is one of {proof.tree_size} events of the bundle {proof.bundle_id}")
    else:
        terminal.print("Not covered: how many events there are, and the bundle's id and manifest")
        terminal.note("--manifest-digest covers them, with a proof that was made with --manifest")
    return Exit.YES
