"""The program `affidavit`: runs a command line and ends with one of the five exit codes."""

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
    """The root group; `affidavit.cli.errors` handles everything that click would print or raise."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> NoReturn:
        """Run a command line and exit. The program name does not depend on how it was started."""
        arguments = list(sys.argv[1:] if args is None else args)
        flags = Flags()
        try:
            shell = os.environ.get(COMPLETION_VARIABLE)
            code = self._complete(shell) if shell else self._run(arguments, flags, extra)
            if sys.stdout is not None:
                # Flush now, so that a full disk or a closed pipe gets an exit code.
                sys.stdout.flush()
        except BaseException as error:
            # A library that calls sys.exit(0) must not turn into our yes.
            from affidavit.cli.errors import report_error

            code = report_error(error, flags, arguments)
        sys.exit(code)

    def _run(self, arguments: list[str], flags: Flags, extra: dict[str, Any]) -> Exit:
        try:
            with self.make_context(self.name, list(arguments), obj=flags, **extra) as context:
                return Exit(self.invoke(context))
        except click.exceptions.Exit as exit_request:
            return Exit(exit_request.exit_code)

    def _complete(self, instruction: str) -> Exit:
        """Print completions for a shell."""
        from click.shell_completion import shell_complete

        return Exit(shell_complete(self, {}, ROOT.name, COMPLETION_VARIABLE, instruction))


def make_program(root: GroupEntry) -> Program:
    """Return the program for a table of commands."""
    version = click.version_option(__version__, message="%(prog)s %(version)s")
    program = Program(root, context_settings={"help_option_names": ["-h", "--help"]})
    version(program)
    return program


cli: Final = make_program(ROOT)
