"""A group of commands that imports a command when it is called, and never to list it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from affidavit.base.exits import MEANINGS
from affidavit.cli.documented import DocumentedCommand
from affidavit.cli.tree import Branch, Leaf

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class LazyGroup(DocumentedCommand, click.Group):
    """The commands of one branch of the table, at any depth."""

    def __init__(self, branch: Branch, **settings: Any) -> None:
        super().__init__(
            branch.name,
            help=branch.help,
            examples=branch.examples,
            exits=MEANINGS,
            **settings,
        )
        self.branch = branch
        self._members = {member.name: member for member in branch.members()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table."""
        return list(self._members)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command, or make the group of a branch; both are kept for the next call."""
        member = self._members.get(cmd_name)
        if member is None:
            return None
        if cmd_name not in self.commands:
            self.commands[cmd_name] = (
                command_at(member) if isinstance(member, Leaf) else LazyGroup(member)
            )
        return self.commands[cmd_name]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by section, then the options."""
        self.format_commands(ctx, formatter)
        super().format_options(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections of the table, aligned with one another."""
        column = max(map(len, self._members)) + formatter.indent_increment
        for section in self.branch.sections:
            with formatter.section(section.title):
                rows = [(f"{member.name:<{column - 2}}", member.help) for member in section.members]
                formatter.write_dl(rows)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Complete the names from the table; click's own way would import every command."""
        from click.shell_completion import CompletionItem

        names = [
            CompletionItem(member.name, help=member.help)
            for member in self._members.values()
            if member.name.startswith(incomplete)
        ]
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]


def command_at(leaf: Leaf) -> click.Command:
    """Import the command that a line of the table names."""
    module, _, attribute = leaf.target.partition(":")
    command = getattr(import_module(module), attribute)
    if not isinstance(command, DocumentedCommand):
        raise TypeError(f"{leaf.target} was not made with affidavit.cli.command")
    return command
