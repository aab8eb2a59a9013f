"""Output of a command: results to standard output, everything else to standard error."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TextIO, TypeVar

import click

from affidavit.cli.program import Flags
from affidavit.reports.json_text import json_bytes
from affidavit.reports.text_tables import (
    Cell,
    TextPanel,
    TextPart,
    TextTable,
    escape_controls,
    plain_table,
    rich_table,
    text_table,
)

Item = TypeVar("Item")


class Terminal:
    """The two output streams and the options for them.

    With `--json`, standard output is one JSON document; text for people goes to standard error.
    """

    def __init__(self, flags: Flags) -> None:
        self.json = flags.json
        self.quiet = flags.quiet
        self.verbose = flags.verbose
        self._color = not flags.no_color and not os.environ.get("NO_COLOR")

    @property
    def _stream(self) -> TextIO:
        return sys.stderr if self.json else sys.stdout

    @property
    def on_screen(self) -> bool:
        """Whether text for people is drawn on a terminal."""
        return is_screen(self._stream)

    def print(self, text: str) -> None:
        """Print a part of the result, for people."""
        click.echo(escape_controls(text), err=self.json)

    def print_json(self, value: object) -> None:
        """Print the result as JSON, in UTF-8 whatever the locale."""
        click.echo(json_bytes(value), nl=False)

    def table(
        self, columns: Iterable[str], rows: Iterable[Iterable[Cell | str]], *, boxed: bool = False
    ) -> None:
        """Print a table: drawn on a terminal, plain and whole in a pipe or a file."""
        self._print_table(text_table(columns, rows, boxed=boxed))

    def show(self, parts: Iterable[TextPart]) -> None:
        """Print a rendering for people: its lines, tables and notes, in order."""
        for part in parts:
            if isinstance(part, str):
                self.print(part)
            elif isinstance(part, TextTable):
                self._print_table(part)
            elif isinstance(part, TextPanel):
                self.panel(part.title, part.body)
            else:
                self.note(part.text)

    def _print_table(self, table: TextTable) -> None:
        if not self.on_screen or not self._draw(table):
            click.echo(plain_table(table), nl=False, err=self.json)

    def panel(self, title: str, body: str) -> None:
        """Print a text under a title: framed on a terminal, plain in a pipe or a file."""
        if not self.on_screen:
            self.print(f"{title}\n{'-' * min(len(title), 79)}\n{body}\n")
            return
        from rich.console import Console
        from rich.panel import Panel
        from rich.text import Text

        console = Console(file=self._stream, no_color=not self._color, highlight=False)
        console.print(
            Panel(
                Text(escape_controls(body)),
                title=Text(escape_controls(title), "bold"),
                title_align="left",
                padding=(1, 2),
                safe_box=not console.encoding.startswith("utf"),
            )
        )

    def note(self, text: str) -> None:
        """Print a note beside the result, unless `-q` is given."""
        if not self.quiet:
            click.echo(escape_controls(text), err=True)

    def detail(self, text: str) -> None:
        """Print a detail if `-v` is given."""
        if self.verbose:
            click.echo(escape_controls(text), err=True)

    def progress(
        self, items: Iterable[Item], label: str, total: int | None = None
    ) -> Iterator[Item]:
        """Yield the items, with a progress bar if standard error is a terminal.

        The bar disappears at the end, so only notes stay on standard error.
        """
        if self.quiet or not is_screen(sys.stderr):
            yield from items
            return
        from rich.console import Console
        from rich.progress import track

        console = Console(stderr=True, no_color=not self._color)
        yield from track(items, escape_controls(label), total, console=console, transient=True)

    @contextmanager
    def watch(self, label: str) -> Iterator[Callable[[int, int, str], None] | None]:
        """Yield a function that updates a progress bar: items done, items in all, current name.

        Yield None if standard error is not a terminal.
        """
        if self.quiet or not is_screen(sys.stderr):
            yield None
            return
        from rich.console import Console
        from rich.progress import Progress

        console = Console(stderr=True, no_color=not self._color)
        with Progress(console=console, transient=True) as bar:
            task = bar.add_task(escape_controls(label), total=None)

            def update(done: int, total: int, name: str) -> None:
                bar.update(
                    task,
                    completed=done,
                    total=total,
                    description=escape_controls(f"{label}: {name}"),
                )

            yield update

    def _draw(self, table: TextTable) -> bool:
        try:
            from rich.console import Console
        except ImportError:
            # `affidavit doctor` has to report that this library is broken.
            return False
        console = Console(file=self._stream, no_color=not self._color, highlight=False)
        ascii_only = not console.encoding.startswith("utf")
        console.print(rich_table(table, ascii_only=ascii_only))
        return True


def is_screen(stream: TextIO | None) -> bool:
    """Say whether a stream is a terminal that can move its cursor."""
    return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"
