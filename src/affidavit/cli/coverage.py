"""`affidavit coverage`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from affidavit.base.exits import Exit
from affidavit.cli.command import command
from affidavit.cli.shared_options import existing_project_option, routes_option, tools_option
from affidavit.cli.terminal import Terminal
from affidavit.cli.tree import Example

if TYPE_CHECKING:
    from affidavit.app.asking import ToolFeeds


@command(
    examples=(
        Example(
            "affidavit coverage --tools samples/answers/affidavit.toml", "what can be asked here"
        ),
        Example("affidavit coverage --json", "the manifest that a refusal carries"),
    ),
    exits={Exit.YES: "printed"},
)
@tools_option
@routes_option
@existing_project_option
def coverage(terminal: Terminal, tools: Path | None, routes: Path | None, project: Path) -> Exit:
    """Print what can be asked: tools and routes.

    Nothing is asked of the tools. What no route covers is refused, in a signed receipt.
    """
    from affidavit.checks.coverage import coverage_of
    from affidavit.wiring.answers import set_up

    setup = set_up(tools, routes, project)
    manifest = coverage_of(setup.toolbox.tools, setup.routes)
    if terminal.json:
        terminal.print_json(manifest)
        return Exit.YES
    terminal.table(
        ("Tool", "Needs", "What it says", "Fresh for", "Sources"),
        (_tool_row(setup.toolbox.by_name[name]) for name in sorted(setup.toolbox.by_name)),
    )
    show_routes(terminal, manifest)
    if setup.config is None:
        terminal.note("no tools file is named, and affidavit.toml is not here: docs/tools.md")
    return Exit.YES


def show_routes(terminal: Terminal, manifest: dict[str, Any]) -> None:
    """Print what a question may be, and what is not covered."""
    families = manifest["families"]
    if families:
        terminal.print("")
        terminal.table(
            ("Route", "Tool", "Questions and statements"),
            (
                (family["route_id"] if first else "", family["tool"] if first else "", text)
                for family in families
                for first, text in _first_marked([*family["ask"], *family["say"]])
            ),
        )
        terminal.print(f"Route table: sha256 {manifest['router_sha256']}")
    else:
        terminal.print("No question is covered: there is no route table")
    for each in manifest["not_covered"]:
        terminal.print(f"Not covered: {each}")


def _first_marked(texts: list[str]) -> list[tuple[bool, str]]:
    return [(number == 0, text) for number, text in enumerate(texts)]


def _tool_row(entry: "ToolFeeds") -> tuple[str, ...]:
    tool = entry.tool
    place = f"value at {tool.value_path}" if tool.value_path else "its whole result"
    says = "; ".join(part for part in (tool.description, tool.unit, place) if part)
    return (
        tool.name,
        ", ".join(tool.required_args) or "nothing",
        says,
        "never" if tool.max_age_s is None else f"{tool.max_age_s:g} s",
        ", ".join(source.feed.source.name for source in entry.sources),
    )
