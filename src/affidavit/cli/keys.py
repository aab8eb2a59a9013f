"""`affidavit keys`: the keys that sign the receipts of a project."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from affidavit.base.exits import Exit
from affidavit.cli.command import command, existing_project_option, reject_overwrites
from affidavit.cli.commands import Example
from affidavit.cli.terminal import Terminal
from affidavit.reports.json_text import json_bytes
from affidavit.reports.text_tables import Cell, Tone

if TYPE_CHECKING:
    from affidavit.app.keys import ListedKey

key_argument = click.argument("key", help="The id of the key, or the start of it or its digits.")

_STATUS_TONES: Final = {
    "active": Tone.GOOD,
    "retired": Tone.FAINT,
    "compromised": Tone.BAD,
    "unregistered": Tone.UNSURE,
}


@command(
    examples=(
        Example("affidavit keys new", "a key for this project, readable by you alone"),
        Example("affidavit keys new --encrypt", "under a passphrase, which is asked for"),
    ),
    exits={Exit.YES: "created; it signs from now on"},
)
@click.option("--prefix", default="af", show_default=True, help="The prefix of the key's id.")
@click.option(
    "--encrypt",
    is_flag=True,
    help="Encrypt the key. If AFFIDAVIT_KEY_PASSPHRASE is set, it is encrypted with that.",
)
@existing_project_option
def new(terminal: Terminal, prefix: str, encrypt: bool, project: Path) -> Exit:
    """Create a key that signs receipts.

    Existing keys stay active until they are retired; the newest signs. No file is overwritten.
    """
    from affidavit.app.clock import datetime_of
    from affidavit.app.keys import create_key, key_folder, random_bytes

    secret = _new_passphrase(encrypt)
    made = create_key(key_folder(project), prefix, secret, random_bytes, datetime_of(None))
    if terminal.json:
        terminal.print_json(
            {"key_id": made.key_id, "private": str(made.path), "encrypted": made.is_encrypted}
        )
        return Exit.YES
    terminal.print(made.key_id)
    terminal.note(f"kept in {made.path}; give others `affidavit keys export`, never this file")
    return Exit.YES


def _new_passphrase(encrypt: bool) -> str | None:
    from affidavit.app.keys import find_passphrase
    from affidavit.base.errors import AffidavitError
    from affidavit.base.faults import receipts as faults

    found = find_passphrase()
    if found is not None or not encrypt:
        return found
    if sys.stdin is None or not sys.stdin.isatty():
        problem = "no passphrase was given, and nobody is there to type one"
        raise AffidavitError(faults.KEY_PASSPHRASE, problem=problem)
    typed: str = click.prompt("Passphrase", hide_input=True, confirmation_prompt=True, err=True)
    return typed


@command(
    examples=(Example("affidavit keys list", "which key signs, and which may be trusted"),),
    exits={Exit.YES: "listed, even if there is none"},
)
@existing_project_option
def list_keys(terminal: Terminal, project: Path) -> Exit:
    """List the keys of a project."""
    from affidavit.app import keys
    from affidavit.app.keys import key_folder

    listed = keys.list_keys(key_folder(project))
    if terminal.json:
        terminal.print_json({"keys": listed})
        return Exit.YES
    terminal.table(
        ("Key", "Status", "From", "Until", "Private part", "Remark"), map(_key_row, listed)
    )
    return Exit.YES


def _key_row(key: "ListedKey") -> tuple[Cell | str, ...]:
    until = key.compromised_after or key.retired_at or ""
    remark = "signs now" if key.signs_now else key.reason or ""
    status = Cell(key.status, _STATUS_TONES[key.status])
    return (key.key_id, status, key.active_from or "", until, key.private, remark)


@command(
    examples=(
        Example("affidavit keys export -o keys.json", "the public keys, for those who verify"),
        Example("affidavit keys export --registry", "with their lifecycles"),
    ),
    exits={Exit.YES: "written"},
)
@click.option("--registry", is_flag=True, help="Write the registry: status and dates of each key.")
@click.option("--output", "-o", type=click.Path(path_type=Path), help="Where to write it.")
@existing_project_option
def export(terminal: Terminal, registry: bool, output: Path | None, project: Path) -> Exit:
    """Write the public keys for those who verify.

    The flat document has no lifecycles, so it leaves compromised keys out.
    """
    from affidavit.app.keys import export_keys, key_folder
    from affidavit.base.files import write_atomically

    folder = key_folder(project)
    if output is not None:
        # Overwriting the registry would lose the lifecycles; overwriting a key, the key.
        reject_overwrites([output], folder.registry_path.parent.glob("*"))
    document = export_keys(folder, lifecycles=registry)
    if output is None:
        terminal.print_json(document)
        return Exit.YES
    write_atomically(output, json_bytes(document))
    if terminal.json:
        terminal.print_json({"output": str(output)})
    else:
        terminal.note(f"wrote {output}")
    return Exit.YES


@command(
    examples=(Example("affidavit keys retire af-ed25519-56475aa75463", "it no longer signs"),),
    exits={Exit.YES: "retired"},
)
@key_argument
@click.option("--at", help="The day or time from which it is retired; by default now.")
@existing_project_option
def retire(terminal: Terminal, key: str, at: str | None, project: Path) -> Exit:
    """Retire a key.

    Earlier signatures still verify if an independent time stamp shows that they are earlier.
    """
    from affidavit.app.clock import datetime_of
    from affidavit.app.keys import key_folder, retire_key

    changed = retire_key(key_folder(project), key, datetime_of(at), datetime_of(None))
    return _print_status(terminal, changed)


@command(
    examples=(
        Example(
            "affidavit keys compromise af-ed25519-56475aa75463 --since 2026-01-31 --reason 'lost'",
            "disavow what it signed since then",
        ),
    ),
    exits={Exit.YES: "recorded"},
)
@key_argument
@click.option(
    "--since", required=True, help="The day or time from which others may have had the key."
)
@click.option("--reason", required=True, help="What happened; it is published with the registry.")
@existing_project_option
def compromise(terminal: Terminal, key: str, since: str, reason: str, project: Path) -> Exit:
    """Record that a key was compromised.

    Nothing that it signed is trusted any more, except what an independent time stamp shows to be
    earlier. The time can later be moved to an earlier one, never to a later one.
    """
    from affidavit.app.clock import datetime_of
    from affidavit.app.keys import compromise_key, key_folder

    now = datetime_of(None)
    changed = compromise_key(key_folder(project), key, datetime_of(since), reason, now)
    return _print_status(terminal, changed)


def _print_status(terminal: Terminal, key: "ListedKey") -> Exit:
    if terminal.json:
        terminal.print_json(key)
    else:
        terminal.print(f"{key.key_id} is {key.status}")
        terminal.note("publish the registry again: `affidavit keys export --registry`")
    return Exit.YES
