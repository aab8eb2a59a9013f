"""`affidavit evidence redact`."""

from pathlib import Path

import click

from affidavit.base.exits import Exit
from affidavit.cli.command import command
from affidavit.cli.evidence_options import (
    bundle_path,
    json_file,
    limits_from,
    limits_option,
)
from affidavit.cli.places import require_places
from affidavit.cli.terminal import Terminal
from affidavit.cli.tree import Example


@command(
    examples=(
        Example(
            "affidavit evidence redact run.tar.gz --path /data/input -o public.tar.gz"
            " --salts salts.json",
            "inputs out, commitments in",
        ),
        Example(
            "affidavit evidence redact public.tar.gz --reveal revealed.json",
            "is this the value that was redacted?",
        ),
    ),
    exits={
        Exit.YES: "redacted; or the revealed value is the one",
        Exit.TAMPERED: "the revealed value is not the one, or the bundle contradicts itself",
    },
)
@click.argument("bundle", type=bundle_path, help="The bundle.")
@click.option("--path", "paths", multiple=True, help="A JSON pointer like /data/input. Repeatable.")
@click.option("--type", "types", multiple=True, help="Only events of this type. Repeatable.")
@click.option("--output", "-o", type=click.Path(path_type=Path), help="The redacted bundle.")
@click.option("--salts", type=click.Path(path_type=Path), help="Where the salts go: keep it.")
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

    Each value becomes a salted digest and its size. The new bundle verifies, and names the one that
    it was made from behind a salt. The salts are written apart, readable by you alone: with its
    salt a value can be revealed and checked later, and without it not even a short one is guessed.
    """
    if reveal is not None and not (paths or types or output or salts):
        return _reveal(terminal, bundle, reveal, limits)
    if reveal is not None or output is None or salts is None or not (paths or types):
        raise click.UsageError("name --path or --type, and --output and --salts; or --reveal alone")
    from affidavit.app.evidence.redacting import redact_bundle, wanted_from
    from affidavit.wiring.keys import chance

    require_places([output, salts], [bundle])
    wanted = wanted_from(paths, types)
    contents, count = redact_bundle(bundle, output, salts, wanted, chance, limits_from(limits))
    if terminal.json:
        terminal.print_json(
            {
                "bundle": str(output),
                "bundle_id": contents.run_root,
                "redacted_values": count,
                "salts": str(salts),
            }
        )
    else:
        terminal.print(f"{output}: {count} values redacted, {contents.run_root}")
        terminal.note(f"{salts} reveals them: keep it, and give it to nobody whole")
    return Exit.YES


def _reveal(terminal: Terminal, bundle: Path, reveal: Path, limits: str | None) -> Exit:
    from affidavit.app.evidence.revealing import RevealedV1, check_revealed

    revealed = check_revealed(bundle, json_file(reveal), limits_from(limits))
    if isinstance(revealed, RevealedV1):
        wire = {"event": revealed.event, "path": revealed.path}
        told = f"It is the value of event {revealed.event} at {revealed.path}"
    else:
        wire = {"origin": revealed.origin}
        told = f"It was made from the bundle with the digest {revealed.origin}"
    if terminal.json:
        terminal.print_json({"valid": True, **wire})
    else:
        terminal.print(told)
    return Exit.YES
