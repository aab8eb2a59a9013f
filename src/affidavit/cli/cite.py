"""`affidavit cite`."""

from pathlib import Path

import click

from affidavit.app.project import CitationResolution
from affidavit.base.exits import Exit
from affidavit.cli.command import command
from affidavit.cli.commands import Example
from affidavit.cli.parameters import existing_project_option
from affidavit.cli.terminal import Terminal


@command(
    examples=(
        Example("affidavit cite 00f66349", "the passage that [cite:00f66349] names"),
        Example("affidavit cite 00f66349 --sources docs", "in these documents, read if need be"),
    ),
    exits={
        Exit.YES: "resolved",
        Exit.NO: "no passage of the sources has this hash",
        Exit.UNKNOWN: "several passages with different text have it",
    },
)
@click.argument("hash", metavar="HASH", help="Eight hexadecimal digits, or more of the digest.")
@click.option(
    "--sources",
    "-s",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Documents or folders; by default everything that this project has indexed.",
)
@existing_project_option
def cite(terminal: Terminal, hash: str, sources: tuple[Path, ...], project: Path) -> Exit:
    """Show the passage that a citation names."""
    from affidavit.app.project import Project, resolve_citation
    from affidavit.documents.ingest import index_sources
    from affidavit.documents.model import DocumentSettings

    home = Project(project)
    if sources:
        with terminal.watch("Reading sources") as progress:
            indexed = index_sources(sources, home.sources, DocumentSettings(), progress=progress)
        resolution = resolve_citation(hash, (indexed.index,))
    else:
        resolution = resolve_citation(hash, home.open_indexes())
    if terminal.json:
        terminal.print_json(resolution)
    else:
        print_resolution(terminal, resolution)
    if resolution.resolved:
        return Exit.YES
    return Exit.UNKNOWN if resolution.ambiguous else Exit.NO


def print_resolution(terminal: Terminal, resolution: CitationResolution) -> None:
    """Print the passages, or why there is none."""
    for passage in resolution.passages:
        chunk, document = passage.chunk, passage.document
        page = "" if chunk.page_number is None else f", Page {chunk.page_number}"
        path = " > ".join(chunk.heading_path)
        terminal.panel(f"{document.filename}{page}" + (f", {path}" if path else ""), chunk.text)
    if resolution.error is not None:
        terminal.print(f"[cite:{resolution.chunk_hash}]: {resolution.error}")
