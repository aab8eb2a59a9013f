"""What the commands with gates share: options, output files, history and exit codes."""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit
from affidavit.cli.command import command
from affidavit.cli.commands import Example
from affidavit.cli.program import DocumentedCommand
from affidavit.cli.terminal import Terminal
from affidavit.reports.formats import format_names, formats_of, render

if TYPE_CHECKING:
    from affidavit.app.gate_reports import History
    from affidavit.decision.evaluation import Correction
    from affidavit.decision.report import Report
    from affidavit.reports.gate_history import HistoryRun


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


GATE_EXITS: Final[Mapping[Exit, str]] = MappingProxyType(
    {
        Exit.YES: "ship: every gate holds",
        Exit.NO: "do not ship: a gate fails, or the run is worse than the baseline",
        Exit.UNKNOWN: "could not tell: something was not measured, or there was nothing to measure",
    }
)
_EXAMPLE_GATES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "rag": "precision=0.80 chr>=0.75@95 over_refusal=off",
        "latency": "p95_ms=1500 p95_ms/5rps<=2500 tail_amplification=4",
        "agreement": "percent_agreement>=0.90@95 kappa=0.80 abstain_rate=off",
        "stability": "stable>=0.90@95 acr>=0.9 css=off",
        "research": "golden_recall=0.90 manifest_integrity=off",
    }
)


_FORMAT_OPTIONS: Final = {"json": "report"}
"""Options that are not called like their format: `--json` prints."""


@dataclass(frozen=True, slots=True)
class GateOptions:
    """The values of the shared options of a gate command."""

    gates: tuple[str, ...] = ()
    report_files: Mapping[str, Path] = field(default_factory=dict)
    """The files to write, by format."""
    history: Path | None = None
    skip_bad: bool = False
    allow_missing: bool = False
    baseline: Path | None = None
    correction: "Correction | None" = None

    @property
    def shared(self) -> dict[str, Any]:
        """The settings that the plan of every gate has."""
        baseline = None if self.baseline is None else str(self.baseline)
        return {
            "gates": self.gates,
            "skip_bad": self.skip_bad,
            "fail_on_regression": baseline,
            "correction": self.correction,
        }

    def require_gates(self, kind: str) -> None:
        """Refuse malformed gates before a large gold set is read."""
        from affidavit.decision.gate import override_gates
        from affidavit.gates.metrics import GATE_NAMES_BY_KIND

        override_gates(self.gates, (), GATE_NAMES_BY_KIND[kind], is_open=kind == "rag")

    def refuse_to_replace(self, inputs: Iterable[str | Path], *others: Path) -> None:
        """Refuse, before anything is measured, to overwrite an input or to write where it is
        impossible.

        `others` are further files that the command writes. The baseline counts as an input:
        otherwise a worse run would become the next baseline.
        """
        from affidavit.cli.command import reject_overwrites, require_writable

        files = [*others, *self.report_files.values()]
        history = () if self.history is None else (self.history,)
        kept = () if self.baseline is None else (self.baseline,)
        reject_overwrites((*history, *files), expand_inputs((*inputs, *kept)))
        require_writable(files)
        if self.history is not None:
            from affidavit.app.gate_reports import require_history

            require_history(self.history)


def _path_option(name: str, help: str, variable: str | None = None) -> click.Option:
    names = [f"--{name}"] if variable is None else [f"--{name}", variable]
    return click.Option(names, type=click.Path(path_type=Path), help=help)


def format_options(*, with_json: bool = True) -> list[click.Option]:
    """Return an option for each format of a gate report; that of JSON is `--report`."""
    return [
        _path_option(_FORMAT_OPTIONS.get(each.name, each.name), f"Write it as {each.title}.")
        for each in formats_of("gate")
        if with_json or each.name != "json"
    ]


def take_format_paths(values: dict[str, Any]) -> dict[str, Path]:
    """Take the values of these options out of those of a command, by format."""
    options = {name: _FORMAT_OPTIONS.get(name, name) for name in format_names("gate")}
    paths = {name: values.pop(option, None) for name, option in options.items()}
    return {name: path for name, path in paths.items() if path is not None}


def _shared_options(examples: str) -> list[click.Option]:
    """Return the options that every gate has, new for each command because click keeps them."""
    return [
        click.Option([*GATE_FLAGS, "gates"], **gates_settings(examples)),
        *format_options(),
        _path_option("history", "Append this run to a file, such as eval/history.jsonl."),
        click.Option(
            ["--skip-bad"], is_flag=True, help="Count and list malformed lines, and continue."
        ),
        click.Option(
            ["--allow-missing"], is_flag=True, help="Decide even if items have no run or answer."
        ),
        _path_option(
            "fail-on-regression", "Fail if items became worse than in this report.", "baseline"
        ),
        click.Option(
            ["--correction"],
            type=click.Choice(("holm",)),
            help="Correct gates with a confidence level for their number.",
        ),
    ]


def refusal_options(function: Function) -> Function:
    """Give a command the options about what counts as a refusal."""
    mode = click.option(
        "--refusal-mode",
        type=click.Choice(("words", "exact")),
        default="words",
        show_default=True,
        help="Whether a refusal in other words counts, or only a token.",
    )
    tokens = click.option(
        "--refusal",
        "refusals",
        multiple=True,
        default=("not in context",),
        show_default=True,
        help="A refusal token. Repeatable.",
    )
    return tokens(mode(function))


def require_refusals(refusals: Iterable[str]) -> None:
    """Refuse tokens that no answer can be, or that an empty answer would be."""
    for refusal in refusals:
        if not refusal.strip():
            raise click.UsageError("--refusal is empty, so an answer without words would be one")
        if refusal.encode("utf-8", "replace").decode() != refusal:
            raise click.UsageError("--refusal is not text in UTF-8, so no answer can be it")


class GateCommand(GatedCommand):
    """A command with the shared options; `without` names those it does not have, by variable."""

    def __init__(
        self,
        name: str | None,
        *,
        params: list[click.Parameter] | None = None,
        without: tuple[str, ...] = (),
        **settings: Any,
    ) -> None:
        examples = _EXAMPLE_GATES.get(name or "", _EXAMPLE_GATES["rag"])
        shared = [option for option in _shared_options(examples) if option.name not in without]
        super().__init__(name, params=[*(params or ()), *shared], **settings)


def gate_command(
    *,
    examples: tuple[Example, ...],
    exits: Mapping[Exit, str] = GATE_EXITS,
    without: tuple[str, ...] = (),
) -> Callable[[Callable[..., Exit]], DocumentedCommand]:
    """Make a gate command of a function that takes the terminal, the options and its values."""

    def decorate(function: Callable[..., Exit]) -> DocumentedCommand:
        @functools.wraps(function)
        def run(terminal: Terminal, /, **values: Any) -> Exit:
            names = (each.name for each in fields(GateOptions))
            files = take_format_paths(values)
            shared = {name: values.pop(name) for name in names if name in values}
            return function(terminal, GateOptions(report_files=files, **shared), **values)

        return command(examples=examples, exits=exits, kind=GateCommand, without=without)(run)

    return decorate


def finish_gate(
    terminal: Terminal,
    options: GateOptions,
    report: "Report",
    exit: Exit | None = None,
) -> Exit:
    """Write the files asked for, print the report, and return the exit code.

    `exit` is the code of a report whose decision does not determine it.
    """
    from affidavit.base.files import write_atomically

    with _history_with_run(terminal, options.history, report) as past:
        # All files are rendered before the first is written; JSON comes in pieces.
        files = options.report_files.items()
        made = [(path, render("gate", name, report, past)) for name, path in files]
        for path, data in made:
            write_atomically(path, data)
            terminal.note(f"wrote {path}")
    if terminal.json:
        for piece in render("gate", "json", report):
            click.echo(piece, nl=False)
    else:
        from affidavit.reports.gate_text import gate_text

        terminal.show(gate_text(report, on_screen=terminal.on_screen))
    return report.decision.exit if exit is None else exit


@contextmanager
def _history_with_run(
    terminal: Terminal, path: Path | None, report: "Report"
) -> "Iterator[tuple[HistoryRun, ...]]":
    """Yield the runs of the history and this one, which is appended after the reports."""
    if path is None:
        yield ()
        return
    from affidavit.app import gate_reports
    from affidavit.app.clock import now
    from affidavit.base.files import is_there
    from affidavit.reports.gate_history import history_runs

    at = now()
    before = load_history(terminal, path).runs if is_there(path) else ()
    yield (*before, *history_runs(report, at))
    gate_reports.append_run(path, report, at)
    terminal.note(f"added this run to {path}")


_MAX_LISTED_LINES: Final = 5
"""How many invalid lines are reported one by one; a wrong file has only such lines."""


def load_history(terminal: Terminal, path: Path) -> "History":
    """Return the runs of a history, and report its invalid lines."""
    from affidavit.app.gate_reports import read_history

    known = read_history(path)
    for finding in known.findings[:_MAX_LISTED_LINES]:
        terminal.note(str(finding))
    if len(known.findings) > _MAX_LISTED_LINES:
        terminal.note(f"{len(known.findings) - _MAX_LISTED_LINES} more lines of {path} are no runs")
    return known


def expand_inputs(names: Iterable[str | Path]) -> Iterator[str]:
    """Yield the files that match names and patterns; a name without a match is kept."""
    from affidavit.app.gate_inputs import files_named

    for name in map(str, names):
        try:
            yield from files_named([name])
        except AffidavitError:
            yield name
