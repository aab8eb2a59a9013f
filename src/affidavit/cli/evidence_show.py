"""`affidavit evidence show`."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from affidavit.base.exits import Exit
from affidavit.cli.command import command
from affidavit.cli.evidence_options import in_words, limits_from, limits_option, piped_bundle_path
from affidavit.cli.terminal import Terminal
from affidavit.cli.tree import Example

if TYPE_CHECKING:
    from affidavit.app.evidence.portrait import Portrait

_ENDINGS = {
    True: "the run had finished",
    False: "the run is unfinished",
    None: "no event says that a run began",
}


@command(
    examples=(
        Example("affidavit evidence show run.tar.gz", "what stands in it, counted"),
        Example("affidavit evidence show run.tar.gz --events", "and every event"),
        Example("affidavit evidence show run.tar.gz --type affidavit.tool.call", "of one type"),
    ),
    exits={
        Exit.YES: "shown; the bundle is what was sealed",
        Exit.TAMPERED: "the bundle contradicts itself, so nothing of it is shown",
    },
)
@click.argument("bundle", type=piped_bundle_path, help="The bundle; - for standard input.")
@click.option("--events", is_flag=True, help="List the events too.")
@click.option("--type", "types", multiple=True, help="List the events of this type. Repeatable.")
@limits_option
def show(
    terminal: Terminal, bundle: Path, events: bool, types: tuple[str, ...], limits: str | None
) -> Exit:
    """Show what an evidence bundle holds.

    It is verified first: of a bundle that contradicts itself nothing is shown.
    """
    from affidavit.app.evidence.showing import show_bundle

    chosen = (lambda kind: not types or kind in types) if events or types else None
    portrait, listed = show_bundle(bundle, chosen, limits_from(limits))
    if terminal.json:
        wire = portrait.as_wire()
        terminal.print_json(wire if chosen is None else {**wire, "events": listed})
        return Exit.YES
    _show_portrait(terminal, portrait)
    if chosen is not None:
        terminal.table(("Event", "Time", "Type", "Data"), _rows(listed))
        for each in types:
            if all(event["type"] != each for event in listed):
                terminal.note(f"no event is of the type {each}")
    return Exit.YES


def _show_portrait(terminal: Terminal, portrait: "Portrait") -> None:
    known = portrait.manifest.known
    terminal.print(f"{known.event_count} events of {in_words(known.run_id)}, {known.bundle_id}")
    terminal.print(f"by {in_words(known.producer.name)} {in_words(known.producer.version)}")
    terminal.print(f"from {portrait.first_at} to {portrait.last_at}")
    if known.ours is not None:
        terminal.print(_ENDINGS[known.ours.finished])
        if known.ours.origin is not None:
            terminal.print(
                f"{known.ours.redacted_values} values are redacted;"
                f" the commitment to the bundle before is {known.ours.origin}"
            )
    rows = (
        (section, what, str(count))
        for section, counts in portrait.counts.items()
        for what, count in sorted(counts.items())
    )
    terminal.table(("What", "Which", "How often"), rows)


def _rows(events: list[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    from affidavit.base.canonical import jcs
    from affidavit.base.places import excerpt

    for event in events:
        data = excerpt(jcs(event["data"]).decode(), 120)
        yield (str(event["assayseq"]), event["time"], event["type"], data)
