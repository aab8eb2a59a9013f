"""What the commands on bundles have in common: limits, JSON files, and how outcomes are said."""

from collections.abc import Sequence
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from affidavit.base.errors import AffidavitError
from affidavit.base.json_limits import JsonValue
from affidavit.base.places import excerpt
from affidavit.cli.printable import on_one_line
from affidavit.cli.terminal import Terminal

if TYPE_CHECKING:
    from affidavit.app.evidence.packs_block import PacksBlock
    from affidavit.seal.bundle.limits import BundleLimits
    from affidavit.seal.bundle.manifest import Contents

_MAX_BYTES: Final = 16 * 1024 * 1024

# Two of the commands read a bundle twice, so they cannot take it from a pipe.
bundle_path = click.Path(path_type=Path)
piped_bundle_path = click.Path(path_type=Path, allow_dash=True)
limits_option = click.option(
    "--limits",
    help="Other limits: a JSON object, or @FILE that holds one; names as in docs/bundles.md.",
)
output_option = click.option(
    "--output", "-o", type=click.Path(path_type=Path), required=True, help="The bundle to write."
)

applied_option = click.option(
    "--pack",
    "pack_names",
    multiple=True,
    help="A pack that the run is held to, to be named in the manifest. Repeatable.",
)


def block_of(pack_names: tuple[str, ...]) -> "PacksBlock":
    """Return what the manifest says of the packs that the user names; none are the default."""
    from affidavit.app.evidence.packs_block import NO_PACKS, packs_block
    from affidavit.cli.lint_options import packs_named

    return packs_block(packs_named(pack_names)) if pack_names else NO_PACKS


def limits_from(text: str | None) -> "BundleLimits":
    """Return the limits that the user gave, or the defaults."""
    from affidavit.base.strict_json import decode
    from affidavit.seal.bundle.limits import DEFAULT_LIMITS, limits_from_wire

    if text is None:
        return DEFAULT_LIMITS
    name = text[1:] if text.startswith("@") else "--limits"
    try:
        value = json_file(Path(name)) if text.startswith("@") else decode(text.encode())
        return limits_from_wire(value)
    except AffidavitError as error:
        raise error.at(file=name) from None


def require_one_pipe(files: Sequence[Path]) -> None:
    """Refuse to read standard input twice."""
    from affidavit.app.evidence.bundle_files import STANDARD_INPUT

    if files.count(STANDARD_INPUT) > 1:
        raise click.UsageError("standard input can be one bundle only")


def show_sealed(terminal: Terminal, output: Path, contents: "Contents") -> None:
    """Say what was written, in one line."""
    named = in_words(contents.run_id)
    terminal.print(f"{output}: {contents.count} events of {named}, {contents.run_root}")


def note_limits(terminal: Terminal, contents: "Contents") -> None:
    """Say what the readers of a large bundle have to allow: by default they refuse it."""
    from affidavit.app.evidence.bundle_files import limits_to_raise

    if limits := limits_to_raise(contents):
        terminal.note(f"it is beyond the default limits: read it with --limits '{dumps(limits)}'")


def in_words(name: str) -> str:
    """Return a name from a bundle as part of a line: it adds no lines of its own."""
    return on_one_line(excerpt(name, 120))


def json_file(path: Path) -> JsonValue:
    """Return the JSON document that a file holds; an error names the file."""
    from affidavit.base.files import read_bounded
    from affidavit.base.strict_json import decode

    try:
        return decode(read_bounded(path, _MAX_BYTES))
    except AffidavitError as error:
        raise error.at(file=str(path)) from None
