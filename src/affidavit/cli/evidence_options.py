"""Options that the `affidavit evidence` commands share: bundle paths, limits and packs."""

from collections.abc import Sequence
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING

import click

from affidavit.base.text import excerpt
from affidavit.cli.terminal import Terminal
from affidavit.reports.text_tables import single_line

if TYPE_CHECKING:
    from affidavit.seal.bundle.container import BundleLimits
    from affidavit.seal.bundle.manifest import AssayBlockV1, ManifestContents

# Some commands read a bundle twice, so they cannot take it from a pipe.
bundle_path = click.Path(path_type=Path)
piped_bundle_path = click.Path(path_type=Path, allow_dash=True)
limits_option = click.option(
    "--limits",
    help="Other limits: a JSON object, or @FILE that holds one; names as in docs/bundles.md.",
)
bundle_output_option = click.option(
    "--output", "-o", type=click.Path(path_type=Path), required=True, help="The bundle to write."
)

applied_packs_option = click.option(
    "--pack",
    "pack_names",
    multiple=True,
    help="A pack that the run must satisfy, to name in the manifest. Repeatable.",
)


def packs_block_from_option(pack_names: tuple[str, ...]) -> "AssayBlockV1":
    """Return the block of the packs that the user names; there are none by default."""
    from affidavit.app.bundle_sealing import NO_PACKS, packs_block
    from affidavit.app.lint import packs_from_texts

    return packs_block(packs_from_texts(pack_names)) if pack_names else NO_PACKS


def limits_from_option(text: str | None) -> "BundleLimits":
    """Return the limits that the user gave, or the defaults."""
    from affidavit.app.bundles import limits_from_text

    return limits_from_text(text)


def require_single_stdin(files: Sequence[Path]) -> None:
    """Refuse to read standard input twice."""
    from affidavit.app.bundles import STANDARD_INPUT

    if files.count(STANDARD_INPUT) > 1:
        raise click.UsageError("standard input can be one bundle only")


def print_sealed(terminal: Terminal, output: Path, contents: "ManifestContents") -> None:
    """Print what was written, in one line."""
    named = single_line(excerpt(contents.run_id, 120))
    terminal.print(f"{output}: {contents.count} events of {named}, {contents.run_root}")


def print_limits_hint(terminal: Terminal, contents: "ManifestContents") -> None:
    """Tell which limits have to be raised to read a large bundle."""
    from affidavit.app.bundles import limits_hint

    if limits := limits_hint(contents):
        terminal.note(f"it is beyond the default limits: read it with --limits '{dumps(limits)}'")


pack_option = click.option(
    "--pack",
    "pack_names",
    multiple=True,
    help="A pack: a path, a built-in name, or one of your config folder; a,b for several."
    " Repeatable; by default cicd-starter.",
)
