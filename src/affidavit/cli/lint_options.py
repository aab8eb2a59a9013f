"""The option of the commands that run packs."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from affidavit.packs.model import Pack

pack_option = click.option(
    "--pack",
    "pack_names",
    multiple=True,
    help="A pack: a path, a built-in name, or one of your config folder; a,b for several."
    " Repeatable; by default cicd-starter.",
)


def packs_named(pack_names: tuple[str, ...]) -> "tuple[Pack, ...]":
    """Return the packs that the option names, or the default one."""
    from affidavit.app.linting.loading import DEFAULT_PACK, load_packs
    from affidavit.wiring.pack_folder import pack_folder

    names = [name for text in pack_names for name in _split(text)]
    return load_packs(names or [DEFAULT_PACK], pack_folder())


def _split(text: str) -> list[str]:
    from affidavit.app.linting.loading import is_there

    # A path may hold a comma.
    return [text] if is_there(Path(text)) else [name.strip() for name in text.split(",")]
