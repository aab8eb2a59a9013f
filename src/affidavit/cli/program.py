"""The program `affidavit`: run a command line, and end with one of the five exit codes."""

import os
import sys
from collections.abc import Sequence
from typing import Any, Final, NoReturn

import click

from affidavit import __version__
from affidavit.base.exits import Exit
from affidavit.cli.command_classes import Flags, LazyGroup
from affidavit.cli.commands import COMPLETION_VARIABLE, ROOT, GroupEntry


class Program(LazyGroup):
    """The group at the root: all that click would print or raise goes through `failures`."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> NoReturn:
        """Run a command line and exit. The program has one name, however it was started."""
        arguments = list(sys.argv[1:] if args is None else args)
        flags = Flags()
        try:
            shell = os.environ.get(COMPLETION_VARIABLE)
            ended = self._complete(shell) if shell else self._run(arguments, flags, extra)
            if sys.stdout is not None:
                # Now, not when the interpreter ends: a full disk or a closed pipe has a code.
                sys.stdout.flush()
        except BaseException as error:
            # All of them: a library that calls sys.exit(0) must not turn into our yes.
            from affidavit.cli.errors import report_error

            ended = report_error(error, flags, arguments)
        sys.exit(ended)

    def _run(self, arguments: list[str], flags: Flags, extra: dict[str, Any]) -> Exit:
        try:
            with self.make_context(self.name, list(arguments), obj=flags, **extra) as context:
                return Exit(self.invoke(context))
        except click.exceptions.Exit as ended:
            return Exit(ended.exit_code)

    def _complete(self, instruction: str) -> Exit:
        """Answer a shell that completes a command line."""
        from click.shell_completion import shell_complete

        return Exit(shell_complete(self, {}, ROOT.name, COMPLETION_VARIABLE, instruction))


def make_program(branch: GroupEntry) -> Program:
    """Return the program of a table of commands."""
    version = click.version_option(__version__, message="%(prog)s %(version)s")
    made = Program(branch, context_settings={"help_option_names": ["-h", "--help"]})
    version(made)
    return made


cli: Final = make_program(ROOT)
