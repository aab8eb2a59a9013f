"""`affidavit packs list|show|validate|new`."""

from pathlib import Path

import click

from affidavit.base.exits import Exit
from affidavit.cli.command import command
from affidavit.cli.commands import Example
from affidavit.cli.terminal import Terminal


@command(
    examples=(Example("affidavit packs list", "built-in packs, and those of your config folder"),),
    exits={Exit.YES: "listed", Exit.INPUT: "a pack of your config folder cannot be read"},
)
def list_all(terminal: Terminal) -> Exit:
    """List the packs that can be named."""
    from affidavit.app.pack_files import list_packs, pack_folder
    from affidavit.reports.lint_text import pack_list_as_json, pack_list_text

    folder = pack_folder()
    packs = list_packs(folder)
    if terminal.json:
        terminal.print_json({"packs": pack_list_as_json(packs)})
        return Exit.YES
    terminal.show(pack_list_text(packs))
    terminal.note(f"your own packs are looked for in {folder}")
    return Exit.YES


@command(
    examples=(
        Example("affidavit packs show eu-ai-act-baseline", "its rules, signals and disclaimer"),
        Example("affidavit packs show my-pack.yaml --json", "with its digests, for machines"),
    ),
    exits={Exit.YES: "shown"},
)
@click.argument("pack", help="A path, a built-in name, or one of your config folder.")
def show(terminal: Terminal, pack: str) -> Exit:
    """Show the rules of a pack."""
    from affidavit.app.pack_files import load_pack, pack_folder
    from affidavit.reports.lint_text import pack_as_json, pack_text

    found = load_pack(pack, pack_folder())
    if terminal.json:
        terminal.print_json(pack_as_json(found))
    else:
        terminal.show(pack_text(found))
    return Exit.YES


@command(
    examples=(
        Example("affidavit packs validate my-pack.yaml", "is it a pack?"),
        Example("affidavit packs validate a.yaml b.yaml", "and do they collide?"),
    ),
    exits={Exit.YES: "they can be run together; remarks are not errors"},
)
@click.argument("packs", nargs=-1, required=True, help="Paths or names of packs.")
def validate(terminal: Terminal, packs: tuple[str, ...]) -> Exit:
    """Check that packs can be run together.

    The first error is reported with its line and column.
    """
    from affidavit.app.pack_files import load_packs, pack_folder
    from affidavit.reports.lint_text import pack_as_json, validated_packs_text

    loaded = load_packs(packs, pack_folder())
    if terminal.json:
        terminal.print_json({"valid": True, "packs": [pack_as_json(pack) for pack in loaded]})
    else:
        terminal.show(validated_packs_text(loaded))
    return Exit.YES


@command(
    examples=(
        Example("affidavit packs new my-team", "my-team.yaml, here"),
        Example("affidavit packs new my-team -o packs/my-team.yaml", "somewhere else"),
    ),
    exits={Exit.YES: "written"},
)
@click.argument("name", help="The name of the pack: small letters, digits and hyphens.")
@click.option("--output", "-o", type=click.Path(path_type=Path), help="Where to write it.")
def new(terminal: Terminal, name: str, output: Path | None) -> Exit:
    """Create a pack of your own.

    The file has one rule of each common kind, for you to change.
    """
    from affidavit.app.pack_files import create_pack
    from affidavit.reports.lint_text import pack_as_json

    path = output or Path(f"{name}.yaml")
    pack = create_pack(name, path)
    if terminal.json:
        terminal.print_json({"path": str(path), "pack": pack_as_json(pack)})
    else:
        terminal.print(f"wrote {path}")
        terminal.note(f"next: affidavit packs validate {path}")
    return Exit.YES
