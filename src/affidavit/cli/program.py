"""The program `affidavit`: click classes with examples, common options and lazy groups."""

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click
from click.core import ParameterSource

from affidavit import __version__
from affidavit.base.exits import EXIT_MEANINGS, Exit
from affidavit.cli.commands import COMPLETION_VARIABLE, ROOT, CommandEntry, Example, GroupEntry

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


@dataclass(slots=True)
class Flags:
    """The common options of a run; `affidavit --json doctor` sets one before the command."""

    json: bool = False
    no_color: bool = False
    quiet: bool = False
    verbose: bool = False


class CommonOption(click.Option):
    """An option of every command; the help lists these separately."""


def _set_flag(context: click.Context, option: click.Parameter, given: bool) -> None:
    # Only set flags are stored, so doctor's default does not undo `affidavit --json doctor`.
    if given:
        setattr(context.ensure_object(Flags), str(option.name), True)


def _common_flag(*names: str, help: str) -> CommonOption:
    return CommonOption(names, is_flag=True, expose_value=False, callback=_set_flag, help=help)


def common_options() -> list[click.Parameter]:
    """Return new common options for a command; click stores them in it."""
    return [
        _common_flag("--json", help="Print one JSON document on standard output, for machines."),
        _common_flag("--no-color", help="Use no colors; the variable NO_COLOR does the same."),
        _common_flag("-q", "--quiet", help="Print the result only: no notes, no progress."),
        _common_flag(
            "-v", "--verbose", help="Print more details, and the traceback of an internal error."
        ),
    ]


# No option on the command line is silently ignored: one without a meaning is refused, and so is a
# second value for an option that takes one.


def reject_options(reason: str, *variables: str) -> None:
    """Refuse the options of these variables: "--master is for --engine spark".

    Defaults are not refused.
    """
    context = click.get_current_context()
    for option in context.command.params:
        if option.name in variables and is_on_command_line(str(option.name)):
            raise click.UsageError(f"{option_name(option)} {reason}")


def is_on_command_line(variable: str) -> bool:
    """Say whether the user wrote the option of a variable."""
    source = click.get_current_context().get_parameter_source(variable)
    return source is ParameterSource.COMMANDLINE


def reject_repeated_options(context: click.Context, order: Iterable[click.Parameter]) -> None:
    """Refuse an option that takes one value and is given twice; `order` comes from the parser.

    A repeated flag is harmless, unless it has an opposite. Environment variables are defaults and
    do not count.
    """
    seen: set[click.Parameter] = set()
    for parameter in order:
        if isinstance(parameter, click.Option) and _takes_one_value(parameter):
            if parameter in seen:
                name = "/".join((option_name(parameter), *parameter.secondary_opts))
                raise click.UsageError(f"{name} is given twice", context)
            seen.add(parameter)


def _takes_one_value(option: click.Option) -> bool:
    return not (option.multiple or option.count or (option.is_flag and not option.secondary_opts))


def option_name(option: click.Parameter) -> str:
    """Return the first long name of an option."""
    return next((name for name in option.opts if name.startswith("--")), option.opts[0])


# Exit codes of every command.
ALWAYS: Final[Mapping[Exit, str]] = MappingProxyType(
    {
        Exit.INPUT: "the command line or an input is wrong; the message says what to do next",
        Exit.UNKNOWN: "could not tell: interrupted, or an internal error",
    }
)


class DocumentedCommand(click.Command):
    """A click command whose help ends with examples and exit codes; an example is required."""

    def __init__(
        self,
        name: str | None,
        *,
        examples: tuple[Example, ...],
        exits: Mapping[Exit, str],
        params: list[click.Parameter] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(name, params=[*(params or ()), *common_options()], **settings)
        if not examples:
            raise ValueError(f"the command {self.name!r} has no example")
        self.examples = examples
        self.exits = MappingProxyType(dict(sorted({**ALWAYS, **exits}.items())))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, and let every error of the parser say at which command it happened."""
        written = list(args)
        try:
            left = super().parse_args(ctx, args)
            if not ctx.resilient_parsing:
                # Afterwards, for then --help has spoken. The parser alone knows what it met twice.
                reject_repeated_options(ctx, self.make_parser(ctx).parse_args(written)[2])
            return left
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command's own options first, then those that every command has."""
        own: list[tuple[str, str]] = []
        common: list[tuple[str, str]] = []
        help_option = self.get_help_option(ctx)
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None or isinstance(parameter, click.Argument):
                continue
            is_common = isinstance(parameter, CommonOption) or parameter is help_option
            (common if is_common else own).append(record)
        for title, records in (("Options", own), ("Common options", common)):
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples as they are typed, and the exit codes."""
        with formatter.section("Examples"):
            for line in example_lines(self.examples, formatter.width - formatter.current_indent):
                formatter.write(f"{' ' * formatter.current_indent}{line}".rstrip() + "\n")
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(int(code)), text) for code, text in self.exits.items()])


def example_lines(examples: tuple[Example, ...], width: int) -> list[str]:
    """Return the examples with their notes aligned; where that is too wide, each note above.

    A command line is never wrapped: it must work when it is copied.
    """
    column = max(len(example.line) for example in examples)
    aligned = [f"{example.line:<{column}}  # {example.description}" for example in examples]
    if all(len(line) <= width for line in aligned):
        return aligned
    stacked = [
        line for example in examples for line in ("", f"# {example.description}", example.line)
    ]
    return stacked[1:]


class LazyGroup(DocumentedCommand, click.Group):
    """A group of commands; a command is imported when it is called, not to list it."""

    def __init__(self, branch: GroupEntry, **settings: Any) -> None:
        super().__init__(
            branch.name,
            help=branch.help,
            examples=branch.examples,
            exits=EXIT_MEANINGS,
            **settings,
        )
        self.branch = branch
        self._members = {member.name: member for member in branch.members()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table."""
        return list(self._members)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command or create a group; both are cached."""
        member = self._members.get(cmd_name)
        if member is None:
            return None
        if cmd_name not in self.commands:
            self.commands[cmd_name] = (
                load_command(member) if isinstance(member, CommandEntry) else LazyGroup(member)
            )
        return self.commands[cmd_name]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by section, then the options."""
        self.format_commands(ctx, formatter)
        super().format_options(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections of the table with aligned columns."""
        column = max(map(len, self._members)) + formatter.indent_increment
        for section in self.branch.sections:
            with formatter.section(section.title):
                rows = [(f"{member.name:<{column - 2}}", member.help) for member in section.members]
                formatter.write_dl(rows)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Complete names from the table; click's default would import every command."""
        from click.shell_completion import CompletionItem

        names = [
            CompletionItem(member.name, help=member.help)
            for member in self._members.values()
            if member.name.startswith(incomplete)
        ]
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]


def load_command(entry: CommandEntry) -> click.Command:
    """Import the command of a table entry."""
    module, _, attribute = entry.target.partition(":")
    command = getattr(import_module(module), attribute)
    if not isinstance(command, DocumentedCommand):
        raise TypeError(f"{entry.target} was not made with affidavit.cli.command")
    return command


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

            code = report_error(error, arguments, as_json=flags.json, verbose=flags.verbose)
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
