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
    """A path as every command takes it: only its name is looked at here.

    What is wrong with a file says whoever opens it, by a code of its own. An empty name would be
    the folder that one happens to be in, and a dash a file that nobody meant.
    """

    def __init__(self, *, allow_dash: bool, path_type: type[Any] | None) -> None:
        super().__init__(readable=False, allow_dash=allow_dash, path_type=path_type)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        if value == "":
            self.fail("the name is empty", param, ctx)
        if value == "-" and not self.allow_dash:
            self.fail("a dash does not stand for a pipe here; name a file", param, ctx)
        return super().convert(value, param, ctx)


def command(
    *,
    examples: tuple[Example, ...],
    exits: Mapping[Exit, str],
    kind: type[DocumentedCommand] = DocumentedCommand,
    **settings: Any,
) -> Callable[[Callable[Concatenate[Terminal, Values], Exit]], DocumentedCommand]:
    """Make a command of a function that takes the terminal and its values, and returns its exit.

    `exits` says what the codes mean for this command; the two that every command can end with
    (documented.ALWAYS) need no line. The first line of the docstring is the line of the table.
    `settings` are those of a `kind` of its own.
    """

    def decorate(function: Callable[Concatenate[Terminal, Values], Exit]) -> DocumentedCommand:
        @functools.wraps(function)
        def run(*args: Values.args, **values: Values.kwargs) -> Exit:
            flags = click.get_current_context().ensure_object(Flags)
            # Exit() refuses None: a command that forgot to say how it ended must not end as a yes.
            return Exit(function(Terminal(flags), *args, **values))

        made = click.command(cls=kind, examples=examples, exits=exits, **settings)(run)
        for parameter in made.params:
            if isinstance(parameter.type, click.Path):
                parameter.type = NamedPath(
                    allow_dash=parameter.type.allow_dash, path_type=parameter.type.type
                )
        return made

    return decorate
