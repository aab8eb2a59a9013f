"""`affidavit packs list|show|validate|new`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from affidavit.base.exits import Exit
from affidavit.cli.command import command
from affidavit.cli.commands import Example
from affidavit.cli.terminal import Terminal

if TYPE_CHECKING:
    from affidavit.packs.model import Pack


@command(
    examples=(Example("affidavit packs list", "built-in packs, and those of your config folder"),),
    exits={Exit.YES: "listed", Exit.INPUT: "a pack of your config folder cannot be read"},
)
def list_packs(terminal: Terminal) -> Exit:
    """List the packs that can be named."""
    from affidavit.app.lint import pack_as_wire
    from affidavit.app.pack_files import built_in_packs, load_pack, pack_folder, packs_in

    folder = pack_folder()
    names = dict.fromkeys((*built_in_packs(), *packs_in(folder)))
    packs = [load_pack(name, folder) for name in names]
    if terminal.json:
        terminal.print_json({"packs": [pack_as_wire(pack) for pack in packs]})
        return Exit.YES
    terminal.table(
        ("Pack", "Version", "Kind", "Rules", "From", "Says"),
        (
            (
                pack.name,
                pack.version,
                pack.kind.value,
                str(len(pack.rules)),
                pack.source,
                pack.description,
            )
            for pack in packs
        ),
    )
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
    """Show what a pack asks for."""
    from affidavit.app.pack_files import load_pack, pack_folder
    from affidavit.packs.explanations import describe_check

    found = load_pack(pack, pack_folder())
    if terminal.json:
        terminal.print_json(_pack_as_json(found))
        return Exit.YES
    terminal.print(f"{found.label} ({found.kind.value}): {found.description}")
    terminal.table(
        ("Rule", "Severity", "Reference", "Requires", "It checks that"),
        (
            (
                rule.id,
                rule.severity.value,
                rule.article_ref or "",
                ", ".join(rule.requires_signals),
                describe_check(rule),
            )
            for rule in found.rules
        ),
    )
    terminal.print(f"Digest {found.digest}")
    for remark in found.remarks:
        terminal.print(f"Remark: {remark}")
    if found.disclaimer:
        terminal.print(f"Disclaimer: {found.disclaimer.strip()}")
    return Exit.YES


def _pack_as_json(pack: "Pack") -> dict[str, object]:
    from affidavit.app.lint import pack_as_wire

    return {
        **pack_as_wire(pack),
        "description": pack.description,
        "author": pack.author,
        "license": pack.license,
        "disclaimer": pack.disclaimer,
        "requires_signals": list(pack.signals),
        "remarks": list(pack.remarks),
        "rules": _rules_as_json(pack),
    }


def _rules_as_json(pack: "Pack") -> list[dict[str, object]]:
    from affidavit.packs.explanations import describe_check

    return [
        {
            "id": rule.id,
            "canonical_id": pack.canonical_id(rule),
            "severity": rule.severity.value,
            "description": rule.description,
            "article_ref": rule.article_ref,
            "requires_signals": list(rule.requires_signals),
            "checks": describe_check(rule),
        }
        for rule in pack.rules
    ]


@command(
    examples=(
        Example("affidavit packs validate my-pack.yaml", "is it a pack?"),
        Example("affidavit packs validate a.yaml b.yaml", "and do they collide?"),
    ),
    exits={Exit.YES: "they can be run together; remarks are no errors"},
)
@click.argument("packs", nargs=-1, required=True, help="Paths or names of packs.")
def validate(terminal: Terminal, packs: tuple[str, ...]) -> Exit:
    """Check that packs can be run together.

    The first thing that is wrong is said with its line and column.
    """
    from affidavit.app.pack_files import load_packs, pack_folder

    loaded = load_packs(packs, pack_folder())
    if terminal.json:
        terminal.print_json({"valid": True, "packs": [_pack_as_json(pack) for pack in loaded]})
        return Exit.YES
    for pack in loaded:
        terminal.print(f"{pack.label}: valid, {len(pack.rules)} rules, {pack.digest}")
        for remark in pack.remarks:
            terminal.print(f"Remark: {remark}")
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
    """Begin a pack of your own.

    The file has one rule of each common kind, to be changed.
    """
    from affidavit.app.pack_files import create_pack

    path = output or Path(f"{name}.yaml")
    pack = create_pack(name, path)
    if terminal.json:
        terminal.print_json({"path": str(path), "pack": _pack_as_json(pack)})
    else:
        terminal.print(f"wrote {path}")
        terminal.note(f"next: affidavit packs validate {path}")
    return Exit.YES
