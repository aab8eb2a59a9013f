"""The commands `affidavit evidence seal|import|verify|lint|replay|show|diff`."""

from collections.abc import Sequence
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING

import click

from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit, worst_exit
from affidavit.base.faults import bundles as faults
from affidavit.base.text import excerpt
from affidavit.cli.command import command, jobs_option, require_output_paths
from affidavit.cli.commands import Example
from affidavit.cli.gate_options import GatedCommand, gates_option
from affidavit.cli.program import reject_options
from affidavit.cli.terminal import Terminal
from affidavit.reports.formats import format_names
from affidavit.reports.text_tables import single_line

if TYPE_CHECKING:
    from affidavit.app.bundles import WrittenBundle
    from affidavit.packs.model import Pack
    from affidavit.seal.bundle.container import BundleLimits
    from affidavit.seal.bundle.manifest import ManifestContents


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
    help="A pack to run; the manifest names it and what it found. Repeatable.",
)


def applied_packs(pack_names: tuple[str, ...]) -> "tuple[Pack, ...]":
    """Return the packs that the user names; there are none by default."""
    from affidavit.app.lint import packs_from_texts

    return packs_from_texts(pack_names) if pack_names else ()


def limits_from_option(text: str | None) -> "BundleLimits":
    """Return the limits that the user gave, or the defaults."""
    from affidavit.app.bundles import limits_from_text

    return limits_from_text(text)


def require_single_stdin(files: Sequence[Path]) -> None:
    """Refuse to read standard input twice."""
    from affidavit.app.bundles import STANDARD_INPUT

    if files.count(STANDARD_INPUT) > 1:
        raise click.UsageError("standard input can be one bundle only")


def print_sealed(terminal: Terminal, output: Path, written: "WrittenBundle") -> None:
    """Print what was written, and what its packs found."""
    from affidavit.reports.lint_text import findings_text

    contents = written.contents
    named = single_line(excerpt(contents.run_id, 120))
    terminal.print(f"{output}: {contents.count} events of {named}, {contents.run_root}")
    terminal.print(f"Manifest digest: {written.manifest_digest}")
    terminal.show(findings_text(written.packs.findings))
    for result in written.packs.results:
        terminal.print(f"{result.pack}: {len(result.failed)} of {result.rules} rules failed")


def exit_of_packs(written: "WrittenBundle") -> Exit:
    """Return no if a pack that the run must satisfy found an error."""
    return Exit.YES if written.packs.is_satisfied else Exit.NO


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
            "and run the pack that it must satisfy",
        ),
    ),
    exits={
        Exit.YES: "sealed; an unfinished run is marked as such",
        Exit.NO: "sealed, and a pack found an error",
    },
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
    sealed = seal_run(log, output, applied_packs(pack_names))
    if sealed.torn_bytes:
        terminal.note(f"the last line of {log} is torn: its {sealed.torn_bytes} bytes are left out")
    if not sealed.finished:
        terminal.note("the run is unfinished: its last event is not affidavit.run.finished")
    print_limits_hint(terminal, sealed.written.contents)
    if terminal.json:
        terminal.print_json({"bundle": str(output), **sealed.as_wire()})
    else:
        print_sealed(terminal, output, sealed.written)
    return exit_of_packs(sealed.written)


@command(
    examples=(
        Example("affidavit evidence import receipt.json gate.json -o run.tar.gz", "two documents"),
        Example("affidavit evidence import events.jsonl -o run.tar.gz --run-id nightly", "events"),
        Example(
            "affidavit evidence import --from otlp traces.jsonl -o runs",
            "spans: a bundle for each trace, in a folder",
        ),
    ),
    exits={
        Exit.YES: "sealed",
        Exit.NO: "sealed, and a pack found an error",
        Exit.UNKNOWN: "the files have no spans",
    },
)
@click.argument(
    "files",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path),
    help="Receipts, ledgers, gate reports, promptfoo results; JSON lines of events; or spans.",
)
@bundle_output_option
@applied_packs_option
@click.option(
    "--from",
    "dialect",
    type=click.Choice(("otlp", "openinference", "langfuse", "traceloop")),
    help="The files are OTLP spans, of this convention; otlp tells it from each span.",
)
@click.option("--trace", help="With --from: the id of the only trace to import.")
@click.option("--run-id", help="The run's name, without a colon; by default that of the output.")
@click.option(
    "--source", default="urn:affidavit:import", show_default=True, help="The source of the events."
)
@click.option("--at", help="The time of documents without one; by default now.")
@click.option(
    "--salt",
    type=click.Path(path_type=Path),
    help="A file with 32 secret bytes or more, which keep events from being guessed by a proof.",
)
def import_evidence(
    terminal: Terminal,
    files: tuple[Path, ...],
    output: Path,
    pack_names: tuple[str, ...],
    dialect: str | None,
    trace: str | None,
    run_id: str | None,
    source: str,
    at: str | None,
    salt: Path | None,
) -> Exit:
    """Seal stored results or events in a bundle.

    The content of a file determines its kind. A document becomes one event, a promptfoo result one
    event for each test, and a .jsonl file one event for each line with a type and data. Members
    that a bundle has no place for are reported; a misspelt one is an error. With --from the files
    are OTLP, and every trace becomes a bundle; -o names a bundle, or a folder for several.
    """
    from affidavit.app.bundle_sealing import import_files, imported_run
    from affidavit.app.clock import time_of

    if dialect is not None:
        if at is not None or source != "urn:affidavit:import":
            raise click.UsageError("spans have times and a source: leave out --at and --source")
        return _import_spans(terminal, files, output, pack_names, (dialect, trace, run_id, salt))
    if trace is not None:
        raise click.UsageError("--trace needs --from")
    require_output_paths([output], [*files, *([] if salt is None else [salt])])
    run = imported_run(run_id, source, output, salt)
    written, changes = import_files(files, output, run, time_of(at), applied_packs(pack_names))
    print_limits_hint(terminal, written.contents)
    if terminal.json:
        terminal.print_json({"bundle": str(output), **written.as_wire(), **changes.as_wire()})
    else:
        print_sealed(terminal, output, written)
        for line in changes.lines():
            terminal.print(line)
    return exit_of_packs(written)


def _import_spans(
    terminal: Terminal,
    files: tuple[Path, ...],
    output: Path,
    pack_names: tuple[str, ...],
    chosen: tuple[str, str | None, str | None, Path | None],
) -> Exit:
    from affidavit.app.bundle_sealing import secret_of
    from affidavit.app.telemetry_import import import_traces

    dialect, trace, run_id, salt = chosen
    if output.name.endswith((".tar.gz", ".tgz")):
        require_output_paths([output], [*files, *([] if salt is None else [salt])])
    written, loss = import_traces(
        files,
        output,
        dialect=dialect,
        trace=trace,
        run_id=run_id,
        salt="" if salt is None else secret_of(salt),
        packs=applied_packs(pack_names),
    )
    report = loss.report()
    if terminal.json:
        bundles = [{"bundle": str(one.bundle), **one.written.as_wire()} for one in written]
        terminal.print_json({"bundles": bundles, "mapping_loss": report})
    else:
        for one in written:
            print_sealed(terminal, one.bundle, one.written)
        terminal.print(
            f"Mapping loss: {report.spans} spans, {report.dropped} values dropped,"
            f" {report.changed} changed or kept as they are"
        )
        for line in report.lines():
            terminal.print(line)
    return worst_exit(exit_of_packs(one.written) for one in written)


@command(
    examples=(
        Example("affidavit evidence verify run.tar.gz", "the eight steps"),
        Example(
            "affidavit evidence verify run.tar.gz --manifest-digest sha256:...",
            "is it the bundle that somebody named by its digest?",
        ),
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
        Exit.TAMPERED: "a bundle contradicts itself: a digest, a count, a statement, a checksum",
    },
)
@click.argument(
    "bundles",
    nargs=-1,
    required=True,
    type=piped_bundle_path,
    help="Bundles, and folders of them (.tar.gz); - for standard input.",
)
@click.option("--manifest-digest", help="The digest of manifest.json that you trust: sha256:<hex>.")
@click.option(
    "--pack",
    "pack_names",
    multiple=True,
    help="A pack of your own that a manifest names, to run it again. Repeatable.",
)
@limits_option
@jobs_option("How many processes share the work on a large bundle.")
def verify(
    terminal: Terminal,
    bundles: tuple[Path, ...],
    manifest_digest: str | None,
    pack_names: tuple[str, ...],
    limits: str | None,
    jobs: int,
) -> Exit:
    """Verify evidence bundles offline step by step.

    Eight steps: container, manifest, events, totals, Merkle root, end, statements, packs. It stops
    at the first error. Nothing is extracted. A bundle that somebody sealed anew verifies, too:
    compare the digest of its manifest with one that you trust.
    """
    from affidavit.app.bundles import bundles_in, require_readable, verify_files
    from affidavit.base.digest import hex_from_digest
    from affidavit.base.faults.bundles import BUNDLES_NONE
    from affidavit.reports.verification_text import bundles_as_json, bundles_text

    files = bundles_in(bundles)
    if not files:
        raise AffidavitError(BUNDLES_NONE)
    require_single_stdin(files)
    if manifest_digest is not None:
        hex_from_digest(manifest_digest)
        if len(files) > 1:
            raise click.UsageError("--manifest-digest names one bundle")
    each = verify_files(
        files,
        limits_from_option(limits),
        manifest_digest=manifest_digest,
        packs=applied_packs(pack_names),
        jobs=jobs,
    )
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
        Example(
            "affidavit evidence lint run.tar.gz --min-closure 0.8 --require-complete",
            "the run can be reconstructed, and the packs have what they need",
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
    "--min-closure",
    type=click.FloatRange(0, 1),
    help="Fail if the closure score is below this: the gate closure>=X.",
)
@click.option(
    "--require-complete",
    is_flag=True,
    help="Fail unless every signal that the packs require is there: the gate completeness>=1.",
)
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
    min_closure: float | None,
    require_complete: bool,
) -> Exit:
    """Lint bundles with packs of rules.

    Each bundle is verified first; one that was tampered with is not linted. The rules against
    secrets and personal data are always on. The report has completeness and closure, too.
    """
    from affidavit.app.bundle_replay import explain_lint
    from affidavit.app.bundles import bundles_in, require_readable
    from affidavit.app.lint import (
        lint_bundles,
        lint_gates_from_texts,
        lint_report,
        packs_from_texts,
        severity_from_text,
    )
    from affidavit.base.files import write_atomically
    from affidavit.reports.formats import formats_of, render
    from affidavit.reports.lint_text import LintOutput, explanation_text, lint_text

    asked = lint_gates_from_texts(gates, min_closure=min_closure, require_complete=require_complete)
    packs = packs_from_texts(pack_names)
    bundle_limits = limits_from_option(limits)
    files = bundles_in(bundles)
    require_single_stdin(files)
    _reject_unused_options(terminal, format_name, explained)
    if explained is not None:
        explanation = explain_lint(explained, files, packs, bundle_limits)
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
    if not any(each.shows_unreadable for each in formats_of("lint") if each.name == format_name):
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
        lint_only = ("fail_on", "format_name", "report", "gates", "min_closure", "require_complete")
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
