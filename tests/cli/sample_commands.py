"""Commands that fail in every way that the command line must handle."""

import warnings
from collections.abc import Iterator
from time import sleep

import click

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.exits import Exit
from affidavit.base.faults.input import FILE_MISSING
from affidavit.cli.command import command
from affidavit.cli.commands import CommandEntry, Example, GroupEntry, Section
from affidavit.cli.program import make_program
from affidavit.cli.terminal import Terminal
from affidavit.reports.text_tables import Cell, Tone

EXAMPLES = (Example("sample", "an example"),)
LONG_WORD = "a-word-that-is-longer-than-any-narrow-screen-can-show-in-one-line"


@command(examples=EXAMPLES, exits={Exit.YES: "told"})
@click.option("--times", default=1, help="How often.")
@click.argument("text")
def tell(terminal: Terminal, text: str, times: int) -> Exit:
    """Tell."""
    for _ in range(times):
        terminal.print(text)
    terminal.note("a note")
    terminal.detail("a detail")
    return Exit.YES


@command(examples=EXAMPLES, exits={Exit.NO: "refused"})
def refuse(terminal: Terminal) -> Exit:
    """Refuse."""
    if terminal.json:
        terminal.print_json({"said": "no", "name": "é\udc80"})
    return Exit.NO


@command(examples=EXAMPLES, exits={})
def miss(terminal: Terminal) -> Exit:
    """Miss."""
    raise AffidavitError(FILE_MISSING, Where(file="a\nb\x1b[31m.json"))


@command(examples=EXAMPLES, exits={})
def crash(terminal: Terminal) -> Exit:
    """Crash."""
    raise KeyError("the cupboard\nwas bare")


@command(examples=EXAMPLES, exits={})
def forget(terminal: Terminal) -> Exit:
    """Forget."""
    return None  # type: ignore[return-value] # the mistake this is here to make


@command(examples=EXAMPLES, exits={})
def leave(terminal: Terminal) -> Exit:
    """Leave."""
    raise SystemExit(0)


@command(examples=EXAMPLES, exits={})
def lack(terminal: Terminal) -> Exit:
    """Lack."""
    raise ModuleNotFoundError("No module named 'pyspark'", name="pyspark.sql")


@command(examples=EXAMPLES, exits={})
def warn(terminal: Terminal) -> Exit:
    """Warn."""
    warnings.warn("an inner matter", DeprecationWarning, stacklevel=1)
    warnings.warn("another", UserWarning, stacklevel=1)
    return Exit.YES


@command(examples=EXAMPLES, exits={})
def wait(terminal: Terminal) -> Exit:
    """Wait."""
    terminal.print("waiting")
    click.echo("", nl=False)
    sleep(30)
    return Exit.YES


@command(examples=EXAMPLES, exits={})
def draw(terminal: Terminal) -> Exit:
    """Draw."""
    rows = (
        (LONG_WORD, Cell("fine", Tone.GOOD), "[bold]x[/bold]"),
        ("b", Cell("bad", Tone.BAD), "y"),
    )
    terminal.table(("Word", "State", "Note"), rows)
    return Exit.YES


@command(examples=EXAMPLES, exits={})
def work(terminal: Terminal) -> Exit:
    """Work."""

    def steps() -> Iterator[int]:
        yield from range(3)

    terminal.print(str(sum(terminal.progress(steps(), "Counting", 3))))
    return Exit.YES


def leaf(name: str) -> CommandEntry:
    return CommandEntry(name, f"{__name__}:{name}", f"{name.capitalize()}.")


LOOK = GroupEntry(
    "look",
    "Look at things.",
    EXAMPLES,
    (
        Section(
            "Closely",
            (
                leaf("draw"),
                GroupEntry("deep", "Deeper.", EXAMPLES, (Section("In", (leaf("work"),)),)),
            ),
        ),
    ),
)
TREE = GroupEntry(
    "affidavit",
    "Misbehave.",
    EXAMPLES,
    (
        Section("Speak", (leaf("tell"), leaf("refuse"), LOOK)),
        Section(
            "Fail",
            tuple(map(leaf, ("miss", "crash", "forget", "leave", "lack", "warn", "wait"))),
        ),
    ),
)
SAMPLE = make_program(TREE)
