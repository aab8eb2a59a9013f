"""The commands that read bundles: `affidavit evidence show|diff|prove`."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from affidavit.base.exits import Exit
from affidavit.cli.command import command
from affidavit.cli.command_classes import reject_options
from affidavit.cli.commands import Example
from affidavit.cli.evidence_options import (
    bundle_path,
    limits_from_option,
    limits_option,
    piped_bundle_path,
    single_line_excerpt,
)
from affidavit.cli.parameters import require_output_paths
from affidavit.cli.terminal import Terminal
from affidavit.reports.json_text import json_bytes

if TYPE_CHECKING:
    from affidavit.app.bundle_contents import BundleComparison, BundleSummary

_RUN_STATES = {
    True: "the run had finished",
    False: "the run is unfinished",
    None: "no event says that a run began",
}


@command(
    examples=(
        Example("affidavit evidence show run.tar.gz", "its contents, counted"),
        Example("affidavit evidence show run.tar.gz --events", "and every event"),
        Example("affidavit evidence show run.tar.gz --type affidavit.tool.call", "of one type"),
    ),
    exits={
        Exit.YES: "shown; the bundle is what was sealed",
        Exit.TAMPERED: "the bundle contradicts itself, so nothing is shown",
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

    The bundle is verified first. If it contradicts itself, nothing is shown.
    """
    from affidavit.app.bundle_contents import show_bundle

    chosen = (lambda kind: not types or kind in types) if events or types else None
    summary, listed = show_bundle(bundle, chosen, limits_from_option(limits))
    if terminal.json:
        wire = summary.as_wire()
        terminal.print_json(wire if chosen is None else {**wire, "events": listed})
        return Exit.YES
    _print_contents(terminal, summary)
    if chosen is not None:
        terminal.table(("Event", "Time", "Type", "Data"), _event_rows(listed))
        for each in types:
            if all(event["type"] != each for event in listed):
                terminal.note(f"no event is of the type {each}")
    return Exit.YES


def _print_contents(terminal: Terminal, summary: "BundleSummary") -> None:
    known = summary.manifest.known
    ours = known.affidavit
    terminal.print(
        f"{known.event_count} events of {single_line_excerpt(known.run_id)}, {known.bundle_id}"
    )
    terminal.print(
        f"by {single_line_excerpt(known.producer.name)}"
        f" {single_line_excerpt(known.producer.version)}"
    )
    terminal.print(f"from {summary.first_at} to {summary.last_at}")
    if ours is not None:
        terminal.print(_RUN_STATES[ours.finished])
        if ours.origin is not None:
            terminal.print(
                f"{ours.redacted_values} values are redacted;"
                f" the commitment to the bundle before is {ours.origin}"
            )
    rows = (
        (section, what, str(count))
        for section, counts in summary.counts.items()
        for what, count in sorted(counts.items())
    )
    terminal.table(("What", "Which", "How often"), rows)


def _event_rows(events: list[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    from affidavit.base.canonical import jcs
    from affidavit.base.text import excerpt

    for event in events:
        data = excerpt(jcs(event["data"]).decode(), 120)
        yield (str(event["assayseq"]), event["time"], event["type"], data)


@command(
    examples=(Example("affidavit evidence diff monday.tar.gz tuesday.tar.gz", "what changed?"),),
    exits={
        Exit.YES: "the same events, apart from their times",
        Exit.NO: "something differs",
        Exit.TAMPERED: "a bundle contradicts itself, so nothing is compared",
    },
)
@click.argument("left", type=bundle_path, help="A bundle.")
@click.argument("right", type=bundle_path, help="Another one.")
@limits_option
def diff(terminal: Terminal, left: Path, right: Path, limits: str | None) -> Exit:
    """Show what differs between two evidence bundles.

    It compares events by content, types, models, tools, verdicts, policies and approvals, how often
    each occurs, and their order. Times and run ids are ignored. Differing events are listed by
    number, with the places where they differ.
    """
    from affidavit.app.bundle_contents import compare_bundles

    comparison = compare_bundles(left, right, limits_from_option(limits))
    if terminal.json:
        terminal.print_json(comparison)
    elif not comparison.differences:
        terminal.print("Nothing differs but times and runs")
    else:
        terminal.table(
            ("What", "Which", "Left", "Right"),
            (
                (each.section, each.what, str(each.left), str(each.right))
                for each in comparison.differences
            ),
        )
        if comparison.changed_events:
            _print_changed_events(terminal, comparison)
    return Exit.NO if comparison.differences else Exit.YES


def _print_changed_events(terminal: Terminal, comparison: "BundleComparison") -> None:
    terminal.table(
        ("Left", "Right", "Type", "Where"),
        (
            (
                "" if each.left is None else str(each.left),
                "" if each.right is None else str(each.right),
                each.type,
                ", ".join(each.paths) or "in one bundle only",
            )
            for each in comparison.changed_events
        ),
    )
    pairs = sum(
        max(each.left, each.right) for each in comparison.differences if each.section == "events"
    )
    if pairs > len(comparison.changed_events):
        terminal.note(f"{len(comparison.changed_events)} of {pairs} events that differ are listed")


_USAGE = "name a bundle and --event to make a proof; or --check, --root and --event-file"


@command(
    examples=(
        Example(
            "affidavit evidence prove run.tar.gz --event 3 -o proof.json --event-out event.json",
            "a proof, and the event",
        ),
        Example(
            "affidavit evidence prove --check proof.json --root sha256:... --event-file event.json",
            "check it without the bundle",
        ),
    ),
    exits={
        Exit.YES: "the proof was made, or holds",
        Exit.TAMPERED: "the proof does not hold, or the bundle contradicts itself",
    },
)
@click.argument(
    "bundle",
    required=False,
    type=piped_bundle_path,
    help="The bundle to prove from; - for standard input.",
)
@click.option("--event", type=click.IntRange(0), help="The event's number, from 0.")
@click.option("--output", "-o", type=click.Path(path_type=Path), help="The file for the proof.")
@click.option("--event-out", type=click.Path(path_type=Path), help="The file for the event.")
@click.option("--check", type=click.Path(path_type=Path), help="A proof to check.")
@click.option("--root", help="The Merkle root that you trust: sha256:<hex>.")
@click.option("--event-file", type=click.Path(path_type=Path), help="The event to check.")
@limits_option
def prove(
    terminal: Terminal,
    bundle: Path | None,
    event: int | None,
    output: Path | None,
    event_out: Path | None,
    check: Path | None,
    root: str | None,
    event_file: Path | None,
    limits: str | None,
) -> Exit:
    """Prove that an event is in a bundle.

    --event makes a proof. --check checks one against the root that you trust and the event alone,
    without the rest of the bundle.
    """
    if check is not None and root is not None and event_file is not None:
        _reject_other_mode(bundle, event, output, event_out)
        reject_options("is for a bundle: a proof is checked without one", "limits")
        return _check_proof(terminal, check, root, event_file)
    _reject_other_mode(check, root, event_file)
    if bundle is None or event is None:
        raise click.UsageError(_USAGE)
    from affidavit.app.bundle_disclosure import prove_event
    from affidavit.base.files import write_atomically

    require_output_paths([output, event_out], [bundle])
    proof, line = prove_event(bundle, event, limits_from_option(limits))
    if event_out is not None:
        write_atomically(event_out, line + b"\n")
        terminal.note(f"wrote {event_out}")
    if output is not None:
        write_atomically(output, json_bytes(proof))
        terminal.note(f"wrote {output}")
    if terminal.json or output is None:
        terminal.print_json(proof)
    else:
        terminal.print(f"event {event} of {proof.tree_size} under {proof.merkle_root}")
    return Exit.YES


def _reject_other_mode(*others: object) -> None:
    """Refuse options of the other mode, which would be ignored in silence."""
    if any(other is not None for other in others):
        raise click.UsageError(_USAGE)


def _check_proof(terminal: Terminal, check: Path, root: str, event_file: Path) -> Exit:
    from affidavit.app.bundle_disclosure import check_proof
    from affidavit.base.strict_json import read_json_file

    proof = check_proof(read_json_file(check), root, read_json_file(event_file))
    if terminal.json:
        terminal.print_json({"valid": True, "event": proof.event, "merkle_root": root})
    else:
        terminal.print(f"The proof holds: event {proof.event} of {proof.tree_size} under {root}")
    return Exit.YES
