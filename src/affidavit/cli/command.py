"""The decorator that makes a function a command of `affidavit`."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, Concatenate, ParamSpec

import click

from affidavit.base.exits import Exit
from affidavit.cli.command_classes import DocumentedCommand, Flags
from affidavit.cli.commands import Example
from affidavit.cli.terminal import Terminal

Values = ParamSpec("Values")


class NamedPath(click.Path):
    """A path of which only the name is checked.

    The code that opens the file raises its own errors. An empty name would mean the current folder,
    and a dash a file of that name.
    """

    def __init__(self, *, allow_dash: bool, path_type: type[Any] | None) -> None:
        super().__init__(readable=False, allow_dash=allow_dash, path_type=path_type)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        if value == "":
            self.fail("the name is empty", param, ctx)
        if value == "-" and not self.allow_dash:
            self.fail("a dash is not allowed here; give a file", param, ctx)
        return super().convert(value, param, ctx)


def command(
    *,
    examples: tuple[Example, ...],
    exits: Mapping[Exit, str],
    kind: type[DocumentedCommand] = DocumentedCommand,
    **settings: Any,
) -> Callable[[Callable[Concatenate[Terminal, Values], Exit]], DocumentedCommand]:
    """Turn a function of the terminal and the values into a command; it returns the exit code.

    `exits` describes the exit codes of this command, except those of every command
    (command_classes.ALWAYS). The first line of the docstring is the description in the list of
    commands. `settings` are passed to a special `kind`.
    """

    def decorate(function: Callable[Concatenate[Terminal, Values], Exit]) -> DocumentedCommand:
        @functools.wraps(function)
        def run(*args: Values.args, **values: Values.kwargs) -> Exit:
            flags = click.get_current_context().ensure_object(Flags)
            # Exit() refuses None, so a command that forgets its exit code does not end with YES.
            return Exit(function(Terminal(flags), *args, **values))

        result = click.command(cls=kind, examples=examples, exits=exits, **settings)(run)
        for parameter in result.params:
            if isinstance(parameter.type, click.Path):
                parameter.type = NamedPath(
                    allow_dash=parameter.type.allow_dash, path_type=parameter.type.type
                )
        return result

    return decorate
