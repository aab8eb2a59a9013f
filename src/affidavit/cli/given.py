"""What stands on the command line, as opposed to defaults: nothing of it is passed over in silence.

An option that the others make meaningless is refused, and so is one that takes one value and is
given two: which of them was meant, nobody knows.
"""

from collections.abc import Iterable

import click
from click.core import ParameterSource


def refuse_given(reason: str, *variables: str) -> None:
    """Refuse the options of these variables: "--master is for --engine spark".

    Only what the user wrote counts, so a default that has no meaning either is left alone.
    """
    context = click.get_current_context()
    for option in context.command.params:
        if option.name in variables and is_given(str(option.name)):
            raise click.UsageError(f"{name_of(option)} {reason}")


def is_given(variable: str) -> bool:
    """Say whether the user wrote the option of a variable."""
    source = click.get_current_context().get_parameter_source(variable)
    return source is ParameterSource.COMMANDLINE


def refuse_twice(context: click.Context, order: Iterable[click.Parameter]) -> None:
    """Refuse an option that takes one value and is given two; `order` is what the parser met.

    A flag that is given twice says the same twice; one with a contrary may contradict itself. A
    variable of the environment is a default: the parser does not meet it.
    """
    seen: set[click.Parameter] = set()
    for parameter in order:
        if isinstance(parameter, click.Option) and _takes_one(parameter):
            if parameter in seen:
                name = "/".join((name_of(parameter), *parameter.secondary_opts))
                raise click.UsageError(f"{name} is given twice", context)
            seen.add(parameter)


def _takes_one(option: click.Option) -> bool:
    return not (option.multiple or option.count or (option.is_flag and not option.secondary_opts))


def name_of(option: click.Parameter) -> str:
    """Return the name that people call an option by: its first long one."""
    return next((name for name in option.opts if name.startswith("--")), option.opts[0])
