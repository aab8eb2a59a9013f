"""The commands that write bundles: `affidavit evidence seal|import|redact`."""

from pathlib import Path

import click

from affidavit.base.exits import Exit
from affidavit.cli.command import command
from affidavit.cli.commands import Example
from affidavit.cli.evidence_options import (
    applied_packs_option,
    bundle_output_option,
    bundle_path,
    limits_from_option,
    limits_option,
    packs_block_from_option,
    print_limits_hint,
    print_sealed,
)
from affidavit.cli.parameters import require_output_paths
from affidavit.cli.terminal import Terminal


@command(
    examples=(
        Example("affidavit evidence seal run.jsonl -o run.tar.gz", "what `affidavit.record` wrote"),
        Example(
            "affidavit evidence seal run.jsonl -o run.tar.gz --pack eu-ai-act-baseline",
            "and the pack that it must satisfy",
        ),
    ),
    exits={Exit.YES: "sealed; an unfinished run is marked as such"},
)
@click.argument("log", type=click.Path(path_type=Path), help="The log of a run.")
@bundle_output_option
@applied_packs_option
def seal(terminal: Terminal, log: Path, output: Path, pack_names: tuple[str, ...]) -> Exit:
    """Seal the log of a run in an evidence bundle.

    A run that was cut off is sealed as unfinished. A torn last line, which a crash may leave, is
    left out and reported. The same log makes the same bytes.
    """
    from affidavit.app.bundle_sealing import seal_run

    require_output_paths([output], [log])
    sealed = seal_run(log, output, packs_block_from_option(pack_names))
    if sealed.torn_bytes:
        terminal.note(f"the last line of {log} is torn: its {sealed.torn_bytes} bytes are left out")
    if not sealed.finished:
        terminal.note("the run is unfinished: its last event is not affidavit.run.finished")
    print_limits_hint(terminal, sealed.contents)
    if terminal.json:
        terminal.print_json({"bundle": str(output), **sealed.as_wire()})
        return Exit.YES
    print_sealed(terminal, output, sealed.contents)
    return Exit.YES


@command(
    examples=(
        Example("affidavit evidence import receipt.json gate.json -o run.tar.gz", "two documents"),
        Example("affidavit evidence import events.jsonl -o run.tar.gz --run-id nightly", "events"),
    ),
    exits={Exit.YES: "sealed"},
)
@click.argument(
    "files",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path),
    help="Receipts, ledgers, gate reports, promptfoo results; or JSON lines of events.",
)
@bundle_output_option
@applied_packs_option
@click.option("--run-id", help="The run's name, without a colon; by default that of the output.")
@click.option(
    "--source", default="urn:affidavit:import", show_default=True, help="The source of the events."
)
@click.option("--at", help="The time of documents without one; by default now.")
def import_evidence(
    terminal: Terminal,
    files: tuple[Path, ...],
    output: Path,
    pack_names: tuple[str, ...],
    run_id: str | None,
    source: str,
    at: str | None,
) -> Exit:
    """Seal stored results or events in a bundle.

    The content of a file determines its kind. A document becomes one event, a promptfoo result one
    event for each test, and a .jsonl file one event for each line with a type and data.
    """
    from affidavit.app.bundle_sealing import import_files, imported_run
    from affidavit.app.clock import time_of

    require_output_paths([output], files)
    run = imported_run(run_id, source, output)
    contents = import_files(files, output, run, time_of(at), packs_block_from_option(pack_names))
    print_limits_hint(terminal, contents)
    if terminal.json:
        terminal.print_json(
            {
                "bundle": str(output),
                "bundle_id": contents.run_root,
                "run_id": contents.run_id,
                "event_count": contents.count,
            }
        )
        return Exit.YES
    print_sealed(terminal, output, contents)
    return Exit.YES


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
@click.option("--path", "paths", multiple=True, help="A JSON pointer like /data/input. Repeatable.")
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

    Each value becomes a salted digest and its size. The new bundle verifies, and commits to the
    original behind a salt. The salts go to a separate file that only you can read: with its salt a
    value can be revealed and checked later; without it, not even a short value can be guessed.
    """
    if reveal is not None and not (paths or types or output or salts):
        return _check_revealed(terminal, bundle, reveal, limits)
    if reveal is not None or output is None or salts is None or not (paths or types):
        raise click.UsageError("name --path or --type, and --output and --salts; or --reveal alone")
    from affidavit.app.bundle_disclosure import redact_bundle, redaction_request_from
    from affidavit.app.keys import random_bytes

    require_output_paths([output, salts], [bundle])
    wanted = redaction_request_from(paths, types)
    contents, count = redact_bundle(
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
                "bundle_id": contents.run_root,
                "redacted_values": count,
                "salts": str(salts),
            }
        )
    else:
        terminal.print(f"{output}: {count} values redacted, {contents.run_root}")
        terminal.note(f"{salts} reveals them: keep it, and give it to nobody whole")
    return Exit.YES


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
