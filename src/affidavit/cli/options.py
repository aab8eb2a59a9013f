"""The options that every command has, also before its name: `affidavit --json doctor`."""

from dataclasses import dataclass

import click


@dataclass(slots=True)
class Flags:
    """What the common options say. One per run: each level of the command line adds to it."""

    json: bool = False
    no_color: bool = False
    quiet: bool = False
    verbose: bool = False


class CommonOption(click.Option):
    """An option of every command; the help lists these apart from a command's own."""


def _remember(context: click.Context, option: click.Parameter, given: bool) -> None:
    # Only what is given is written: `affidavit --json doctor` must not be undone by doctor's own.
    if given:
        setattr(context.ensure_object(Flags), str(option.name), True)


def _flag(*names: str, help: str) -> CommonOption:
    return CommonOption(names, is_flag=True, expose_value=False, callback=_remember, help=help)


def common_options() -> list[click.Parameter]:
    """Return the common options, new for each command, for click keeps them in it."""
    return [
        _flag("--json", help="Print one JSON document on standard output, for machines."),
        _flag("--no-color", help="Use no colors; the variable NO_COLOR does the same."),
        _flag("-q", "--quiet", help="Print the result only: no notes, no progress."),
        _flag("-v", "--verbose", help="Explain more, and show the traceback of a defect."),
    ]
