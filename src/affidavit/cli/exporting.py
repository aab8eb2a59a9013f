"""Writing a ledger in the format that the user asked for."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

import click

import affidavit
from affidavit.base.files import write_atomically
from affidavit.cli.given import refuse_given
from affidavit.cli.ledger_text import require_entries, show_entry, show_ledger
from affidavit.cli.terminal import Terminal
from affidavit.ledger.record import Ledger

FORMATS: Final = ("table", "markdown", "json", "html", "pdf")


def _markdown(ledger: Ledger) -> bytes:
    from affidavit.ledger.markdown import ledger_to_markdown

    return ledger_to_markdown(ledger).encode()


def _json(ledger: Ledger) -> bytes:
    from affidavit.ledger.wire import ledger_to_json

    return ledger_to_json(ledger)


def _html(ledger: Ledger) -> bytes:
    from affidavit.formats.ledger_html import ledger_html

    return ledger_html(ledger, affidavit.__version__).encode()


def _pdf(ledger: Ledger) -> bytes:
    from affidavit.formats.ledger_pdf import ledger_pdf

    return ledger_pdf(ledger, affidavit.__version__)


EXPORTERS: Final[Mapping[str, Callable[[Ledger], bytes]]] = MappingProxyType(
    {"markdown": _markdown, "json": _json, "html": _html, "pdf": _pdf}
)
_ENDINGS: Final = MappingProxyType(
    {".md": "markdown", ".json": "json", ".html": "html", ".htm": "html", ".pdf": "pdf"}
)


format_option = click.option(
    "--format", "chosen", type=click.Choice(FORMATS), help="What to write."
)
output_option = click.option(
    "--output", "-o", type=click.Path(path_type=Path), help="Where to write it; by its ending."
)
expand_option = click.option(
    "--expand", multiple=True, type=int, help="Show claim N with its evidence."
)


def format_for(chosen: str | None, output: Path | None) -> str:
    """Return the format that was asked for, or the one that the output's name implies."""
    if chosen is not None:
        return chosen
    if output is None:
        return "table"
    implied = _ENDINGS.get(output.suffix.lower())
    if implied is None:
        endings = ", ".join(_ENDINGS)
        raise click.UsageError(f"{output} has no ending of {endings}; choose a --format")
    return implied


def refuse_unused(terminal: Terminal, chosen: str | None, output: Path | None) -> None:
    """Refuse what would not be printed: another format beside JSON, claims where no table is."""
    if terminal.json and output is None and chosen != "json":
        refuse_given("and --json both say what to print", "chosen")
    if terminal.json or (output is None and format_for(chosen, output) != "table"):
        refuse_given("is for the table, which is not printed", "expand")


def export_ledger(
    terminal: Terminal,
    ledger: Ledger,
    chosen: str | None,
    output: Path | None,
    expand: tuple[int, ...] = (),
) -> None:
    """Write the ledger to a file or print it; with a file, people still get the table."""
    require_entries(ledger, expand)
    kind = format_for(chosen, output)
    if kind == "table" and output is not None:
        raise click.UsageError("a table goes to the terminal; choose another --format for a file")
    if output is not None:
        write_atomically(output, EXPORTERS[kind](ledger))
        terminal.note(f"wrote {output}")
    if terminal.json:
        click.echo(_json(ledger), nl=not _json(ledger).endswith(b"\n"))
    elif output is None and kind != "table":
        click.echo(EXPORTERS[kind](ledger), nl=False)
    else:
        show_ledger(terminal, ledger)
        for number in expand:
            show_entry(terminal, ledger, number)
