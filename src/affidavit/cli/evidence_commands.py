"""The commands `affidavit evidence seal|import|verify|lint|replay|show|diff|prove|redact`."""

from collections.abc import Sequence
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING

import click

from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit, worst_exit
from affidavit.base.faults import bundles as faults
from affidavit.base.text import excerpt
from affidavit.cli.command import command, require_output_paths
from affidavit.cli.commands import Example
from affidavit.cli.gate_options import GatedCommand, gates_option
from affidavit.cli.program import reject_options
from affidavit.cli.terminal import Terminal
from affidavit.reports.formats import format_names
from affidavit.reports.json_text import json_bytes
from affidavit.reports.text_tables import single_line

if TYPE_CHECKING:
    from affidavit.seal.bundle.container import BundleLimits
    from affidavit.seal.bundle.manifest import AssayBlockV1, ManifestContents


# Some commands read a bundle twice, so they cannot take it from a pipe.
bundle_path = click.Path(path_type=Path)
piped_bundle_path = click.Path(path_type=Path, allow_dash=True)
limits_option = click.option(
    "--limits",
    help="Other limits: a JSON object, or @FILE that holds one; names as in docs/bundles.md.",
)
bundle_output_option = click.option(
    "--output", "-o", type=click.Path(path_type=Path), required=True, help="The bundle to write."
)

applied_packs_option = click.option(
    "--pack",
    "pack_names",
    multiple=True,
    help="A pack that the run must satisfy, to name in the manifest. Repeatable.",
)


def packs_block_from_option(pack_names: tuple[str, ...]) -> "AssayBlockV1":
    """Return the block of the packs that the user names; there are none by default."""
    from affidavit.app.bundle_sealing import NO_PACKS, packs_block
    from affidavit.app.lint import packs_from_texts

    return packs_block(packs_from_texts(pack_names)) if pack_names else NO_PACKS


def limits_from_option(text: str | None) -> "BundleLimits":
    """Return the limits that the user gave, or the defaults."""
    from affidavit.app.bundles import limits_from_text

    return limits_from_text(text)


def require_single_stdin(files: Sequence[Path]) -> None:
    """Refuse to read standard input twice."""
    from affidavit.app.bundles import STANDARD_INPUT

    if files.count(STANDARD_INPUT) > 1:
        raise click.UsageError("standard input can be one bundle only")


def print_sealed(terminal: Terminal, output: Path, contents: "ManifestContents") -> None:
    """Print what was written, in one line."""
    named = single_line(excerpt(contents.run_id, 120))
    terminal.print(f"{output}: {contents.count} events of {named}, {contents.run_root}")


def print_limits_hint(terminal: Terminal, contents: "ManifestContents") -> None:
    """Tell which limits have to be raised to read a large bundle."""
    from affidavit.app.bundles import limits_hint

    if limits := limits_hint(contents):
        terminal.note(f"it is beyond the default limits: read it with --limits '{dumps(limits)}'")


pack_option = click.option(
    "--pack",
    "pack_names",
    multiple=True,
    help="A pack: a path, a built-in name, or one of your config folder; a,b for several."
    " Repeatable; by default cicd-starter.",
)


@command(
    examples=(
        Example("affidavit evidence seal run.jsonl -o run.tar.gz", "what `affidavit.record` wrote"),
        Example(
            "affidavit evidence seal run.jsonl -o run.tar.gz --pack eu-ai-act-baseline",
            "and the pack that it must satisfy",
        ),
    ),
    exits={Exit.YES: "sealed; an unfinished run is marked as such"},
)
@click.argument("log", type=click.Path(path_type=Path), help="The log of a run.")
@bundle_output_option
@applied_packs_option
def seal(terminal: Terminal, log: Path, output: Path, pack_names: tuple[str, ...]) -> Exit:
    """Seal the log of a run in an evidence bundle.

    A run that was cut off is sealed as unfinished. A torn last line, which a crash may leave, is
    left out and reported. The same log makes the same bytes.
    """
    from affidavit.app.bundle_sealing import seal_run

    require_output_paths([output], [log])
    sealed = seal_run(log, output, packs_block_from_option(pack_names))
    if sealed.torn_bytes:
        terminal.note(f"the last line of {log} is torn: its {sealed.torn_bytes} bytes are left out")
    if not sealed.finished:
        terminal.note("the run is unfinished: its last event is not affidavit.run.finished")
    print_limits_hint(terminal, sealed.contents)
    if terminal.json:
        terminal.print_json({"bundle": str(output), **sealed.as_wire()})
        return Exit.YES
    print_sealed(terminal, output, sealed.contents)
    return Exit.YES


@command(
    examples=(
        Example("affidavit evidence import receipt.json gate.json -o run.tar.gz", "two documents"),
        Example("affidavit evidence import events.jsonl -o run.tar.gz --run-id nightly", "events"),
    ),
    exits={Exit.YES: "sealed"},
)
@click.argument(
    "files",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path),
    help="Receipts, ledgers, gate reports, promptfoo results; or JSON lines of events.",
)
@bundle_output_option
@applied_packs_option
@click.option("--run-id", help="The run's name, without a colon; by default that of the output.")
@click.option(
    "--source", default="urn:affidavit:import", show_default=True, help="The source of the events."
)
@click.option("--at", help="The time of documents without one; by default now.")
def import_evidence(
    terminal: Terminal,
    files: tuple[Path, ...],
    output: Path,
    pack_names: tuple[str, ...],
    run_id: str | None,
    source: str,
    at: str | None,
) -> Exit:
    """Seal stored results or events in a bundle.

    The content of a file determines its kind. A document becomes one event, a promptfoo result one
    event for each test, and a .jsonl file one event for each line with a type and data. Members
    that a bundle has no place for are reported; a misspelt one is an error.
    """
    from affidavit.app.bundle_sealing import import_files, imported_run
    from affidavit.app.clock import time_of

    require_output_paths([output], files)
    run = imported_run(run_id, source, output)
    packs = packs_block_from_option(pack_names)
    contents, changes = import_files(files, output, run, time_of(at), packs)
    print_limits_hint(terminal, contents)
    if terminal.json:
        terminal.print_json(
            {
                "bundle": str(output),
                "bundle_id": contents.run_root,
                "run_id": contents.run_id,
                "event_count": contents.count,
                **changes.as_wire(),
            }
        )
        return Exit.YES
    print_sealed(terminal, output, contents)
    for line in changes.lines():
        terminal.print(line)
    return Exit.YES


@command(
    examples=(
        Example(
            "affidavit evidence redact run.tar.gz --path /data/input -o public.tar.gz"
            " --salts salts.json",
            "replace inputs by commitments",
        ),
        Example(
            "affidavit evidence redact public.tar.gz --reveal revealed.json",
            "is this the value that was redacted?",
        ),
    ),
    exits={
        Exit.YES: "redacted; or the revealed value is the redacted one",
        Exit.TAMPERED: "the revealed value is another one, or the bundle contradicts itself",
    },
)
@click.argument("bundle", type=bundle_path, help="The bundle.")
@click.option("--path", "paths", multiple=True, help="A JSON pointer like /data/input. Repeatable.")
@click.option("--type", "types", multiple=True, help="Only events of this type. Repeatable.")
@click.option("--output", "-o", type=click.Path(path_type=Path), help="The redacted bundle.")
@click.option(
    "--salts",
    type=click.Path(path_type=Path),
    help="The file for the salts. Keep it: without it nothing can be revealed.",
)
@click.option("--reveal", type=click.Path(path_type=Path), help="A revealed value to check.")
@limits_option
def redact(
    terminal: Terminal,
    bundle: Path,
    paths: tuple[str, ...],
    types: tuple[str, ...],
    output: Path | None,
    salts: Path | None,
    reveal: Path | None,
    limits: str | None,
) -> Exit:
    """Replace values of a bundle by commitments.

    Each value becomes a salted digest and its size. The new bundle verifies, and commits to the
    original behind a salt. The salts go to a separate file that only you can read: with its salt a
    value can be revealed and checked later; without it, not even a short value can be guessed.
    """
    if reveal is not None and not (paths or types or output or salts):
        return _check_revealed(terminal, bundle, reveal, limits)
    if reveal is not None or output is None or salts is None or not (paths or types):
        raise click.UsageError("name --path or --type, and --output and --salts; or --reveal alone")
    from affidavit.app.bundle_disclosure import redact_bundle, redaction_request_from
    from affidavit.app.keys import random_bytes

    require_output_paths([output, salts], [bundle])
    wanted = redaction_request_from(paths, types)
    contents, count = redact_bundle(
        bundle,
        output,
        salts=salts,
        wanted=wanted,
        random=random_bytes,
        limits=limits_from_option(limits),
    )
    if terminal.json:
        terminal.print_json(
            {
                "bundle": str(output),
                "bundle_id": contents.run_root,
                "redacted_values": count,
                "salts": str(salts),
            }
        )
    else:
        terminal.print(f"{output}: {count} values redacted, {contents.run_root}")
        terminal.note(f"{salts} reveals them: keep it, and give it to nobody whole")
    return Exit.YES


def _check_revealed(terminal: Terminal, bundle: Path, reveal: Path, limits: str | None) -> Exit:
    from affidavit.app.bundle_disclosure import RevealedV1, check_revealed
    from affidavit.base.strict_json import read_json_file

    revealed = check_revealed(bundle, read_json_file(reveal), limits_from_option(limits))
    if isinstance(revealed, RevealedV1):
        wire = {"event": revealed.event, "path": revealed.path}
        result = f"It is the value of event {revealed.event} at {revealed.path}"
    else:
        wire = {"origin": revealed.origin}
        result = f"It was made from the bundle with the digest {revealed.origin}"
    if terminal.json:
        terminal.print_json({"valid": True, **wire})
    else:
        terminal.print(result)
    return Exit.YES


@command(
    examples=(
        Example("affidavit evidence verify run.tar.gz", "the six steps"),
        Example("affidavit evidence verify bundles --json", "all of a folder, for machines"),
        Example("cat run.tar.gz | affidavit evidence verify -", "from a pipe"),
        Example(
            "affidavit evidence verify big.tar.gz --limits '{\"max_events\": 1000000}'",
            "more events than the default allows",
        ),
    ),
    exits={
        Exit.YES: "every bundle is what was sealed",
        Exit.UNKNOWN: "no bundle was found",
        Exit.TAMPERED: "a bundle contradicts itself: a digest, a count, a sequence, a checksum",
    },
)
@click.argument(
    "bundles",
    nargs=-1,
    required=True,
    type=piped_bundle_path,
    help="Bundles, and folders of them (.tar.gz); - for standard input.",
)
@limits_option
def verify(terminal: Terminal, bundles: tuple[Path, ...], limits: str | None) -> Exit:
    """Verify evidence bundles offline step by step.

    Six steps: container, manifest, events, totals, Merkle root, end. It stops at the first error.
    Nothing is extracted. A bundle that somebody sealed anew verifies, too: compare its id or its
    Merkle root with one that you trust.
    """
    from affidavit.app.bundles import bundles_in, require_readable, verify_files
    from affidavit.base.faults.bundles import BUNDLES_NONE
    from affidavit.reports.verification_text import bundles_as_json, bundles_text

    files = bundles_in(bundles)
    if not files:
        raise AffidavitError(BUNDLES_NONE)
    require_single_stdin(files)
    each = verify_files(files, limits_from_option(limits))
    outcomes = tuple(
        each if len(files) == 1 else terminal.progress(each, "Verifying bundles", len(files))
    )
    require_readable(outcomes)
    if terminal.json:
        terminal.print_json(bundles_as_json(outcomes))
    else:
        terminal.show(bundles_text(outcomes))
    return worst_exit(outcome.exit for outcome in outcomes)


@command(
    examples=(
        Example("affidavit evidence replay run.tar.gz", "recompute its receipts and verdicts"),
        Example(
            "affidavit evidence replay run.tar.gz --report lint.json",
            "and compare a lint report",
        ),
    ),
    exits={
        Exit.YES: "everything that can be recomputed is the same",
        Exit.UNKNOWN: "there was nothing to recompute, or not everything could be",
        Exit.TAMPERED: "something recorded differs, or the bundle does not verify",
    },
)
@click.argument("bundle", type=piped_bundle_path, help="The evidence bundle; - for standard input.")
@click.option(
    "--report", type=click.Path(path_type=Path), help="A lint report to compare with the bundle."
)
@pack_option
@limits_option
def replay(
    terminal: Terminal,
    bundle: Path,
    report: Path | None,
    pack_names: tuple[str, ...],
    limits: str | None,
) -> Exit:
    """Replay what a bundle records and compare the results.

    Receipts follow from their evidence, ledgers from their readings, gate reports from their
    figures, and lint and closure from the events. Calls to the outside are listed, not run.
    """
    from affidavit.app.bundle_replay import packs_of_report, replay_bundle
    from affidavit.app.lint import closure_report, packs_from_texts
    from affidavit.reports.bundle_text import replay_as_json, replay_text

    names = packs_of_report(report) if report is not None and not pack_names else pack_names
    packs = packs_from_texts(names)
    replayed, linted = replay_bundle(bundle, packs, limits_from_option(limits), report)
    if terminal.json:
        terminal.print_json({**replay_as_json(replayed), "closure_report": closure_report(linted)})
    else:
        terminal.show(replay_text(replayed, linted))
    return replayed.exit


@command(
    examples=(
        Example("affidavit evidence lint run.tar.gz", "with the pack cicd-starter"),
        Example(
            "affidavit evidence lint runs --pack eu-ai-act-baseline,owasp-agentic",
            "every bundle of a folder, with two packs",
        ),
        Example(
            "affidavit evidence lint run.tar.gz --explain closure.score",
            "the score as a sum, and what to record to raise it",
        ),
        Example(
            "affidavit evidence lint run.tar.gz --explain cicd-starter:CICD-002",
            "what a rule checks, and why it fired",
        ),
        Example("affidavit evidence lint run.tar.gz --format sarif", "for code scanning"),
        Example(
            "affidavit evidence lint run.tar.gz --gates 'closure>=0.8' warnings=0",
            "decide by gates as well",
        ),
        Example("cat run.tar.gz | affidavit evidence lint -", "from a pipe"),
    ),
    exits={
        Exit.YES: "every bundle verifies, and nothing at or above --fail-on was found",
        Exit.NO: "something at or above --fail-on was found, or a gate fails",
        Exit.UNKNOWN: "there are no bundles to lint, or a gate was not measured",
        Exit.TAMPERED: "a bundle does not verify; it was not linted",
    },
    kind=GatedCommand,
)
@click.argument(
    "bundles",
    nargs=-1,
    type=piped_bundle_path,
    help="Evidence bundles, or folders of them; - for standard input.",
)
@pack_option
@click.option(
    "--fail-on",
    type=click.Choice(("error", "warning", "warn", "info", "none")),
    default="error",
    show_default=True,
    help="The lowest severity that fails the lint (exit code 1).",
)
@gates_option("completeness>=0.9 closure=0.8 warnings<=3")
@click.option(
    "--format",
    "format_name",
    type=click.Choice(("text", *format_names("lint"))),
    default="text",
    show_default=True,
    help="What to print.",
)
@click.option(
    "--report", type=click.Path(path_type=Path), help="Also write the report as JSON to this file."
)
@click.option(
    "--explain",
    "explained",
    help="Explain closure.score, completeness, or a rule such as cicd-starter:CICD-002.",
)
@click.option(
    "--max-results",
    default=500,
    show_default=True,
    type=click.IntRange(1, 100_000),
    help="How many findings to list for a bundle; all are counted.",
)
@limits_option
def lint(
    terminal: Terminal,
    bundles: tuple[Path, ...],
    pack_names: tuple[str, ...],
    fail_on: str,
    format_name: str,
    report: Path | None,
    explained: str | None,
    max_results: int,
    limits: str | None,
    gates: tuple[str, ...],
) -> Exit:
    """Lint bundles with packs of rules.

    Each bundle is verified first; one that was tampered with is not linted. The rules against
    secrets and personal data are always on. The report has completeness and closure, too.
    """
    from affidavit.app.bundles import bundles_in, require_readable
    from affidavit.app.lint import (
        explain_lint,
        lint_bundles,
        lint_gates_from_texts,
        lint_report,
        packs_from_texts,
        severity_from_text,
    )
    from affidavit.base.files import write_atomically
    from affidavit.reports.formats import render
    from affidavit.reports.lint_text import LintOutput, explanation_text, lint_text

    asked = lint_gates_from_texts(gates)
    packs = packs_from_texts(pack_names)
    bundle_limits = limits_from_option(limits)
    files = bundles_in(bundles)
    require_single_stdin(files)
    _reject_unused_options(terminal, format_name, explained)
    if explained is not None:
        explanation = explain_lint(explained, files, packs, bundle_limits, max_results)
        if terminal.json:
            terminal.print_json(explanation)
        else:
            terminal.show(explanation_text(explanation))
        return Exit.YES
    require_output_paths([report], files)
    if not files:
        raise AffidavitError(faults.LINT_BUNDLES_NONE)
    each = lint_bundles(files, packs, bundle_limits, max_results)
    outcomes = list(terminal.progress(each, "Linting", len(files)))
    if format_name != "sarif":
        require_readable(outcomes)
    found = lint_report(outcomes, packs, severity_from_text(fail_on), max_results, asked)
    output = LintOutput(found, outcomes, packs, asked)
    if report is not None:
        write_atomically(report, render("lint", "json", output))
        terminal.note(f"wrote {report}")
    if format_name != "text" or terminal.json:
        for piece in render("lint", "json" if terminal.json else format_name, output):
            click.echo(piece, nl=False)
    else:
        terminal.show(lint_text(output))
    return Exit(found.exit)


def _reject_unused_options(terminal: Terminal, format_name: str, explained: str | None) -> None:
    if explained is not None:
        lint_only = ("fail_on", "format_name", "report", "gates")
        reject_options("is for a lint, not for --explain", *lint_only)
    if terminal.json and format_name != "json":
        reject_options("and --json both say what to print", "format_name")


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
    from affidavit.reports.bundle_text import events_text, summary_text

    chosen = (lambda kind: not types or kind in types) if events or types else None
    summary, listed = show_bundle(bundle, chosen, limits_from_option(limits))
    if terminal.json:
        wire = summary.as_wire()
        terminal.print_json(wire if chosen is None else {**wire, "events": listed})
        return Exit.YES
    terminal.show(summary_text(summary))
    if chosen is not None:
        terminal.show(events_text(listed, types))
    return Exit.YES


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
    from affidavit.reports.bundle_text import bundle_comparison_text

    comparison = compare_bundles(left, right, limits_from_option(limits))
    if terminal.json:
        terminal.print_json(comparison)
    else:
        terminal.show(bundle_comparison_text(comparison))
    return Exit.NO if comparison.differences else Exit.YES


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
