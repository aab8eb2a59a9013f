"""Turns any exception into one line on standard error and an exit code.

With `--json` the error is also the document on standard output, `{"error": {...}}`. Usage errors
suggest the nearest valid spelling.
"""

import contextlib
import errno
import os
import sys
from collections.abc import Iterable, Iterator, Sequence

import click

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.exits import Exit
from affidavit.base.faults import input as faults
from affidavit.base.faults.input import USAGE
from affidavit.cli.commands import GroupEntry
from affidavit.reports.text_tables import single_line

MAX_DETAIL_CHARACTERS = 300  # Of an internal error; -v prints the rest with the traceback.


def report_error(
    error: BaseException, arguments: Sequence[str], *, as_json: bool, verbose: bool
) -> Exit:
    """Print an error, and return the exit code."""
    if isinstance(error, BrokenPipeError):
        # The reader of the output has exited (`| head`), so nobody would see a message.
        discard_output()
        return Exit.UNKNOWN
    reported = error_from(error)
    try:
        if verbose and reported.fault is faults.DEFECT:
            import traceback

            click.echo("".join(traceback.format_exception(error)), nl=False, err=True)
        if isinstance(error, click.exceptions.NoArgsIsHelpError):
            click.echo(error.format_message() + "\n", err=True)
        click.echo(single_line(str(reported)), err=True)
        if as_json or _asks_for_json(error, arguments):
            from affidavit.reports.json_text import json_bytes

            click.echo(json_bytes({"error": reported.as_wire()}), nl=False)
    except OSError:
        # Both streams are on a full disk or closed; only the exit code is left.
        discard_output()
    if isinstance(error, OSError):
        discard_output()
    return reported.fault.exit


def error_from(error: BaseException) -> AffidavitError:
    """Return any exception as an error of the catalog; an unexpected one is a defect."""
    match error:
        case AffidavitError():
            return error
        case click.exceptions.NoArgsIsHelpError():
            problem = f"`{error.ctx.command_path}` needs a command"
            return AffidavitError(USAGE, problem=problem, hint="choose one from the list above")
        case click.UsageError():
            return usage_error_from(error)
        case click.ClickException():
            return usage_error_from(click.UsageError(error.format_message()))
        case (
            click.Abort()
            | KeyboardInterrupt()
            | EOFError()
            # Python wraps some exceptions that happen during an import.
            | Exception(__cause__=KeyboardInterrupt())
        ):
            return AffidavitError(faults.INTERRUPTED)
        case ModuleNotFoundError():
            return _missing_extra_error(error) or _defect_error(error)
        case OSError(errno=errno.ENOSPC | errno.EIO, filename=None):
            # A write error without a file name is one of the standard streams.
            reason = os.strerror(error.errno or 0)
            return AffidavitError(
                faults.FILE_UNWRITABLE, Where(file="standard output"), reason=reason
            )
        case _:
            return _defect_error(error)


def discard_output() -> None:
    """Discard buffered output, so that the interpreter does not complain when it exits."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        # A stream may be closed, or not be a file (in tests).
        with contextlib.suppress(OSError, ValueError, AttributeError):
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _asks_for_json(error: BaseException, arguments: Sequence[str]) -> bool:
    # In a command line that cannot be parsed, the option may come after the mistake.
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return isinstance(error, click.UsageError) and "--json" in options


def _missing_extra_error(error: ModuleNotFoundError) -> AffidavitError | None:
    from affidavit.app.doctor import find_extra_with

    package = (error.name or "").partition(".")[0]
    extra = find_extra_with(package)
    if extra is None:
        return None
    return AffidavitError(
        faults.EXTRA_MISSING, feature="this command", package=package, extra=extra
    )


def _defect_error(error: BaseException) -> AffidavitError:
    detail = str(error) or "no details"
    if len(detail) > MAX_DETAIL_CHARACTERS:
        detail = f"{detail[:MAX_DETAIL_CHARACTERS]} ..."
    return AffidavitError(faults.DEFECT, kind=type(error).__name__, detail=detail)


def usage_error_from(error: click.UsageError) -> AffidavitError:
    """Return a usage error of click as AF001, with the nearest valid spelling."""
    command = error.ctx.command_path if error.ctx else "affidavit"
    match error:
        case click.NoSuchCommand():
            problem = f"unknown command `{command} {error.command_name}`"
            nearest = _nearest_command(error)
        case click.NoSuchOption():
            problem = f"`{command}` has no option {error.option_name}"
            nearest = _nearest_option(error)
        case _:
            problem = _sentence(error.format_message())
            nearest = None
    guess = f"did you mean `{nearest}`? If not, " if nearest else ""
    return AffidavitError(USAGE, problem=problem, hint=f"{guess}run `{command} --help`")


def _sentence(message: str) -> str:
    # Messages of the catalog begin in lower case and have no final full stop.
    text = message.strip().rstrip(".")
    return text[:1].lower() + text[1:]


def _nearest_command(error: click.NoSuchCommand) -> str | None:
    """Search the commands of this group, then all commands: `lint` is `evidence lint`."""
    if error.ctx is None or not isinstance(error.ctx.command, click.Group):
        return None
    name = _nearest(error.command_name, error.ctx.command.list_commands(error.ctx))
    if name is not None:
        return f"{error.ctx.command_path} {name}"
    # Groups of the program have their table entry; `cli.program` imports this module.
    root = getattr(error.ctx.find_root().command, "branch", None)
    paths = _command_paths(root) if isinstance(root, GroupEntry) else ()
    by_last_word = {path.rpartition(" ")[2]: path for path in paths}
    word = _nearest(error.command_name, by_last_word)
    return None if word is None else by_last_word[word]


def _command_paths(branch: GroupEntry, above: str = "") -> Iterator[str]:
    for member in branch.members():
        path = f"{above or branch.name} {member.name}"
        yield path
        if isinstance(member, GroupEntry):
            yield from _command_paths(member, path)


def _nearest_option(error: click.NoSuchOption) -> str | None:
    if error.ctx is None:
        return None
    parameters = error.ctx.command.get_params(error.ctx)
    names = [
        name
        for parameter in parameters
        if isinstance(parameter, click.Option) and not parameter.hidden
        for name in (*parameter.opts, *parameter.secondary_opts)
    ]
    return _nearest(error.option_name, names)


def _nearest(word: str, known: Iterable[str]) -> str | None:
    from difflib import get_close_matches

    by_lower = {name.lower(): name for name in known}
    found = get_close_matches(word.lower(), by_lower, n=1)
    return by_lower[found[0]] if found else None
