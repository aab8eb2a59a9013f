"""`affidavit evidence lint`."""

from pathlib import Path

import click

from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit
from affidavit.base.faults import bundles as faults
from affidavit.cli.command import command
from affidavit.cli.command_classes import reject_options
from affidavit.cli.commands import Example
from affidavit.cli.evidence_options import (
    limits_from_option,
    limits_option,
    pack_option,
    piped_bundle_path,
    require_single_stdin,
)
from affidavit.cli.gates_option import GatedCommand, gates_option
from affidavit.cli.parameters import require_output_paths
from affidavit.cli.terminal import Terminal
from affidavit.reports.formats import format_names


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
