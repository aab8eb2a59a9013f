"""A command that teaches: its help ends with examples and with what its exit codes mean."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import click

from affidavit.base.exits import Exit
from affidavit.cli.given import refuse_twice
from affidavit.cli.options import CommonOption, common_options
from affidavit.cli.tree import Example

# Every command can end so, whatever else it says about its exit codes.
ALWAYS: Final[Mapping[Exit, str]] = MappingProxyType(
    {
        Exit.INPUT: "the command line or an input is wrong; the message says what to do next",
        Exit.UNKNOWN: "could not tell: it was stopped, or it met a defect of Affidavit",
    }
)


class DocumentedCommand(click.Command):
    """A click command that cannot be made without an example."""

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
                refuse_twice(ctx, self.make_parser(ctx).parse_args(written)[2])
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
            formatter.write_dl([(str(int(code)), said) for code, said in self.exits.items()])


def example_lines(examples: tuple[Example, ...], width: int) -> list[str]:
    """Return the examples with their notes aligned; where that is too wide, each note above.

    A command line is never wrapped: it must work when it is copied.
    """
    column = max(len(example.line) for example in examples)
    aligned = [f"{example.line:<{column}}  # {example.says}" for example in examples]
    if all(len(line) <= width for line in aligned):
        return aligned
    stacked = [line for example in examples for line in ("", f"# {example.says}", example.line)]
    return stacked[1:]
