"""The one place that turns an error into its line on standard error and its exit code.

With `--json` the error is also the document on standard output, `{"error": {...}}`, so that a
machine always finds one document there and a log always shows the line.
"""

import contextlib
import errno
import os
import sys
from collections.abc import Sequence

import click

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.exits import Exit
from affidavit.base.faults import input as faults
from affidavit.cli.options import Flags
from affidavit.cli.printable import on_one_line
from affidavit.cli.usage import no_command_error, usage_error_from

MAX_DETAIL_LETTERS = 300  # Of a defect's own words; -v shows the rest with the traceback.


def report(error: BaseException, flags: Flags, arguments: Sequence[str]) -> Exit:
    """Tell the user what went wrong, and return how to end."""
    if isinstance(error, BrokenPipeError):
        # Whoever read our output has gone (`| head`). There is nobody to tell, and no yes or no.
        abandon_output()
        return Exit.UNKNOWN
    known = error_from(error)
    try:
        _tell(error, known, flags, arguments)
    except OSError:
        # Both streams are on a full disk, or nobody reads them: the exit code must speak alone.
        abandon_output()
    if isinstance(error, OSError):
        abandon_output()
    return known.fault.exit


def error_from(error: BaseException) -> AffidavitError:
    """Return any exception as an error of the catalog; what is not foreseen is a defect."""
    match error:
        case AffidavitError():
            return error
        case click.exceptions.NoArgsIsHelpError():
            return no_command_error(error.ctx.command_path)
        case click.UsageError():
            return usage_error_from(error)
        case click.ClickException():
            return usage_error_from(click.UsageError(error.format_message()))
        case (
            click.Abort()
            | KeyboardInterrupt()
            | EOFError()
            # Python wraps what happens in some corners of an import in an error of its own.
            | Exception(__cause__=KeyboardInterrupt())
        ):
            return AffidavitError(faults.INTERRUPTED)
        case ModuleNotFoundError():
            return _missing_extra(error) or _defect(error)
        case OSError(errno=errno.ENOSPC | errno.EIO, filename=None):
            # A write without a file name is one to the standard streams; files have their own.
            reason = os.strerror(error.errno or 0)
            return AffidavitError(
                faults.FILE_UNWRITABLE, Where(file="standard output"), reason=reason
            )
        case _:
            return _defect(error)


def abandon_output() -> None:
    """Send what is still buffered nowhere, so that the interpreter does not complain at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        # A stream may be closed, or be no file at all (in tests).
        with contextlib.suppress(OSError, ValueError, AttributeError):
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _tell(
    error: BaseException, known: AffidavitError, flags: Flags, arguments: Sequence[str]
) -> None:
    if known.fault is faults.DEFECT and flags.verbose:
        import traceback

        click.echo("".join(traceback.format_exception(error)), nl=False, err=True)
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message() + "\n", err=True)
    click.echo(on_one_line(str(known)), err=True)
    if flags.json or _asks_for_json(error, arguments):
        from affidavit.cli.terminal import json_bytes

        click.echo(json_bytes({"error": known.as_wire()}), nl=False)


def _asks_for_json(error: BaseException, arguments: Sequence[str]) -> bool:
    # A command line that cannot be parsed may hold the option behind the place of the mistake.
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return isinstance(error, click.UsageError) and "--json" in options


def _missing_extra(error: ModuleNotFoundError) -> AffidavitError | None:
    from affidavit.app.extras import find_extra_with

    package = (error.name or "").partition(".")[0]
    extra = find_extra_with(package)
    if extra is None:
        return None
    return AffidavitError(
        faults.EXTRA_MISSING, feature="this command", package=package, extra=extra
    )


def _defect(error: BaseException) -> AffidavitError:
    detail = str(error) or "no details"
    if len(detail) > MAX_DETAIL_LETTERS:
        detail = f"{detail[:MAX_DETAIL_LETTERS]} ..."
    return AffidavitError(faults.DEFECT, kind=type(error).__name__, detail=detail)
