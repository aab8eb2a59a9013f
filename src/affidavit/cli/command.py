"""The decorator that makes a function a command of `affidavit`."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, Concatenate, ParamSpec

import click

from affidavit.base.exits import Exit
from affidavit.cli.documented import DocumentedCommand
from affidavit.cli.options import Flags
from affidavit.cli.terminal import Terminal
from affidavit.cli.tree import Example

Values = ParamSpec("Values")


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
            # Whoever opens the file says what is wrong with it, by a code of its own.
            if isinstance(parameter.type, click.Path):
                parameter.type.readable = False
        return made

    return decorate
