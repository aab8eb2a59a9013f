"""The options `--gate` and `--gates`, which mean the same on every command that has gates."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeVar

import click

from affidavit.cli.program import DocumentedCommand

GATE_FLAGS: Final = ("--gate", "--gates")
_OPERATORS: Final = frozenset("=<>")
Function = TypeVar("Function", bound=Callable[..., Any])


def gates_option(examples: str) -> Callable[[Function], Function]:
    """Return the decorator that gives a command the option."""
    return click.option(*GATE_FLAGS, "gates", **gates_settings(examples))


def gates_settings(examples: str) -> dict[str, Any]:
    """Return the settings of the option."""
    help = f"Change gates: {examples}. Repeatable."
    return {"multiple": True, "metavar": "GATE...", "help": help}


class GatedCommand(DocumentedCommand):
    """A command whose `--gates` takes several words, as the seed documents write it.

    The words end at the next option, or at a word without an operator.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Repeat the option before each of its words, and parse."""
        return super().parse_args(ctx, list(_one_option_per_gate(args)))


def _one_option_per_gate(arguments: Iterable[str]) -> Iterator[str]:
    flag, words = "", 0
    for argument in arguments:
        if argument in GATE_FLAGS:
            flag, words = argument, 0
        elif flag and (
            words == 0 or (_OPERATORS.intersection(argument) and not argument.startswith("-"))
        ):
            if words:
                yield flag
            words += 1
        else:
            flag = ""
        yield argument
