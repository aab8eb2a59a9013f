"""`affidavit log`: an append-only log of attestations, in files that anybody can check."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from affidavit.base.exits import Exit
from affidavit.cli.attest import key_holders
from affidavit.cli.command import command, existing_project_option, require_output_paths
from affidavit.cli.commands import Example
from affidavit.cli.terminal import Terminal

if TYPE_CHECKING:
    from affidavit.app.transparency_log import LogState
    from affidavit.seal.transparency import NoteKey

log_argument = click.argument("log", type=click.Path(path_type=Path), help="The folder of the log.")
keeper_option = click.option(
    "--key", help="Who signs, as for `affidavit attest`; by default this project's key."
)
log_key_option = click.option(
    "--log-key", required=True, help="The key of the log, as `log init` printed it, or @FILE."
)


def _log_key(text: str) -> "NoteKey":
    from affidavit.app.attestation_checks import log_trust

    return log_trust([text]).keys[0]


def _print_state(terminal: Terminal, state: "LogState", said: str) -> None:
    if terminal.json:
        terminal.print_json(state)
    else:
        terminal.print(f"{said}: {state.size} entries, {state.root}")
        terminal.print(f"Key: {state.key}")


@command(
    examples=(
        Example("affidavit log init log --origin example.org/ai -o log.key", "an empty log"),
    ),
    exits={Exit.YES: "created"},
)
@log_argument
@click.option("--origin", required=True, help="The name of the log, usually a URL without https://")
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    help="A file for the key of the log, which those who verify need.",
)
@keeper_option
@existing_project_option
def init(
    terminal: Terminal,
    log: Path,
    origin: str,
    output: Path | None,
    key: str | None,
    project: Path,
) -> Exit:
    """Create an empty log.

    Give the key that it prints to those who verify: without it they believe no proof.
    """
    from affidavit.app.transparency_log import create_log
    from affidavit.base.files import write_atomically

    require_output_paths([output], [])
    (holder,) = key_holders([] if key is None else [key], project)
    state = create_log(log, origin, holder)
    if output is not None:
        write_atomically(output, f"{state.key}\n".encode())
    _print_state(terminal, state, f"Created {state.origin} in {log}")
    return Exit.YES


@command(
    examples=(
        Example("affidavit log append log run.tar.gz.dsse.json", "the file then has the proof"),
    ),
    exits={Exit.YES: "appended, and on the disk", Exit.TAMPERED: "the log was rewritten"},
)
@log_argument
@click.argument(
    "envelopes",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path),
    help="Attestations. A proof is added to each file; signatures and statement stay.",
)
@click.option(
    "--since",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A checkpoint that others kept; the proof that the log continues it goes along."
    " Repeatable.",
)
@keeper_option
@existing_project_option
def append(
    terminal: Terminal,
    log: Path,
    envelopes: tuple[Path, ...],
    since: tuple[Path, ...],
    key: str | None,
    project: Path,
) -> Exit:
    """Append attestations to a log."""
    from affidavit.app.transparency_log import append_files

    (holder,) = key_holders([] if key is None else [key], project)
    state, logged = append_files(log, envelopes, holder, since)
    if terminal.json:
        terminal.print_json({"log": state, "entries": logged})
        return Exit.YES
    for each in logged:
        terminal.print(f"{each.file}: entry {each.index} of {state.size} in {state.origin}")
    return Exit.YES


@command(
    examples=(
        Example(
            "affidavit log prove log run.tar.gz.dsse.json --log-key @log.key -o run.tlog-proof",
            "a proof as a file of its own",
        ),
        Example(
            "affidavit log prove log --since kept.checkpoint --log-key @log.key -o log.continues",
            "that it continues what somebody saw",
        ),
    ),
    exits={Exit.YES: "it is in the log, or the log continues", Exit.TAMPERED: "it was rewritten"},
)
@log_argument
@click.argument(
    "envelope", required=False, type=click.Path(path_type=Path), help="The attestation."
)
@log_key_option
@click.option(
    "--since",
    type=click.Path(path_type=Path),
    help="Instead of an attestation, a checkpoint that somebody kept.",
)
@click.option("--output", "-o", type=click.Path(path_type=Path), help="The file for the proof.")
def prove(
    terminal: Terminal,
    log: Path,
    envelope: Path | None,
    log_key: str,
    since: Path | None,
    output: Path | None,
) -> Exit:
    """Prove what is in a log or that it continues.

    The proof (C2SP tlog-proof, or the one that its witnesses are sent) has the newest checkpoint
    with its cosignatures.
    """
    from affidavit.app.transparency_log import prove_continues, prove_file
    from affidavit.base.files import write_atomically

    if (envelope is None) == (since is None):
        raise click.UsageError("name an attestation or --since, one of them")
    named = envelope or since
    require_output_paths([output], [named])
    said: dict[str, object]
    if envelope is not None:
        entry = prove_file(log, envelope, _log_key(log_key))
        text, said, shown = entry.text, {"index": entry.index}, f"is entry {entry.index}"
    else:
        continued = prove_continues(log, Path(str(since)), _log_key(log_key))
        text, said = continued.text, {"since": continued.old}
        shown = f"is continued: its {continued.old} entries are the first of the log"
    if output is not None:
        write_atomically(output, text.encode())
        terminal.note(f"wrote {output}")
    if terminal.json:
        terminal.print_json({**said, "proof": text})
    elif output is None:
        terminal.print(text.rstrip("\n"))
    else:
        terminal.print(f"{named} {shown}")
    return Exit.YES


@command(
    examples=(
        Example("affidavit log check log --log-key @log.key", "is it what it signed?"),
        Example(
            "affidavit log check log --log-key @log.key --since last.checkpoint",
            "and does it continue what you saw before?",
        ),
    ),
    exits={
        Exit.YES: "the log is whole and only appended",
        Exit.NO: "no key that you trust signed it",
        Exit.TAMPERED: "the log was rewritten or forked",
    },
)
@log_argument
@log_key_option
@click.option(
    "--since",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A checkpoint that you kept, which the log has to continue. Repeatable.",
)
def check(terminal: Terminal, log: Path, log_key: str, since: tuple[Path, ...]) -> Exit:
    """Compute a log again from its entries and compare."""
    from affidavit.app.transparency_log import check_log

    state = check_log(log, _log_key(log_key), since)
    _print_state(terminal, state, f"{state.origin} holds")
    return Exit.YES


@command(
    examples=(
        Example(
            "affidavit log cosign log --log-key @log.key --witness example.org/w --seen seen.txt",
            "as a witness, with what you saw last",
        ),
    ),
    exits={
        Exit.YES: "cosigned",
        Exit.NO: "no key that you trust signed it",
        Exit.TAMPERED: "the log does not continue what was seen; nothing was cosigned",
    },
)
@log_argument
@log_key_option
@click.option("--witness", required=True, help="The name of the witness.")
@click.option(
    "--seen",
    required=True,
    type=click.Path(path_type=Path),
    help="The file in which the witness keeps the last checkpoint that it saw.",
)
@keeper_option
@existing_project_option
def cosign(
    terminal: Terminal,
    log: Path,
    log_key: str,
    witness: str,
    seen: Path,
    key: str | None,
    project: Path,
) -> Exit:
    """Cosign the newest checkpoint of a log as a witness."""
    from affidavit.app.clock import datetime_of
    from affidavit.app.transparency_log import cosign_log

    # Compared with itself, every log continues.
    require_output_paths([seen], [log / "checkpoint"])
    (holder,) = key_holders([] if key is None else [key], project)
    state = cosign_log(log, _log_key(log_key), witness, holder, seen=seen, at=datetime_of(None))
    _print_state(terminal, state, f"Cosigned {state.origin}")
    return Exit.YES
