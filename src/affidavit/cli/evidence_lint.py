"""`affidavit evidence lint`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

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
    packs_named,
    piped_bundle_path,
    require_single_stdin,
)
from affidavit.cli.gates_option import GatedCommand, gates_option
from affidavit.cli.parameters import require_output_paths
from affidavit.cli.terminal import Terminal

if TYPE_CHECKING:
    from affidavit.app.lint import LintOutcome
    from affidavit.packs.model import Pack, Severity
    from affidavit.seal.bundle.limits import BundleLimits


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
        Exit.UNKNOWN: "there was no bundle to lint, or a gate was not measured",
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
    help="The least grave finding that makes it a no.",
)
@gates_option("completeness>=0.9 closure=0.8 warnings<=3")
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "json", "sarif")),
    default="text",
    show_default=True,
    help="What to print.",
)
@click.option(
    "--report", type=click.Path(path_type=Path), help="Write the report as JSON there, too."
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
    form: str,
    report: Path | None,
    explained: str | None,
    max_results: int,
    limits: str | None,
    gates: tuple[str, ...],
) -> Exit:
    """Lint bundles with packs of rules.

    Each bundle is verified first; one that was tampered with is not linted. Rules that look for
    secrets and personal data are always on. The report has completeness and closure, too.
    """
    from affidavit.app.bundles import bundles_in
    from affidavit.app.lint import UnverifiedBundle, exit_for, lint_bundles, lint_report_as_wire
    from affidavit.base.files import write_atomically
    from affidavit.cli.lint_text import print_lint
    from affidavit.cli.terminal import json_bytes
    from affidavit.decision.gate import override_gates
    from affidavit.packs.lint_gates import LINT_METRICS

    asked = override_gates(gates, (), LINT_METRICS)
    packs = packs_named(pack_names)
    limits_asked = limits_from_option(limits)
    threshold = _severity_threshold(fail_on)
    files = bundles_in(bundles)
    require_single_stdin(files)
    _reject_unused_options(terminal, form, explained)
    if explained is not None:
        return _print_explanation(terminal, explained, files, packs, limits_asked, max_results)
    require_output_paths([report], files)
    if not files:
        raise AffidavitError(faults.LINT_BUNDLES_NONE)
    found = lint_bundles(files, packs, limits_asked, max_results)
    outcomes = list(terminal.progress(found, "Linting", len(files)))
    if len(outcomes) == 1 and isinstance(outcomes[0], UnverifiedBundle) and form != "sarif":
        raise outcomes[0].error
    wire = lint_report_as_wire(outcomes, packs, threshold, max_results, asked)
    if report is not None:
        write_atomically(report, json_bytes(wire))
        terminal.note(f"wrote {report}")
    if form == "sarif":
        click.echo(_sarif(outcomes, packs, max_results), nl=False)
    elif form == "json" or terminal.json:
        terminal.print_json(wire)
    else:
        print_lint(terminal, outcomes, packs, asked)
    return exit_for(outcomes, threshold, asked)


def _reject_unused_options(terminal: Terminal, form: str, explained: str | None) -> None:
    if explained is not None:
        reject_options("is for a lint, not for --explain", "fail_on", "form", "report", "gates")
    if terminal.json and form != "json":
        reject_options("and --json both say what to print", "form")


def _severity_threshold(text: str) -> "Severity | None":
    from affidavit.packs.model import Severity

    return None if text == "none" else Severity("warning" if text == "warn" else text)


def _sarif(outcomes: "list[LintOutcome]", packs: "tuple[Pack, ...]", max_results: int) -> str:
    from affidavit.app.lint import UnverifiedBundle, disclaimer_of
    from affidavit.reports.lint_sarif import SarifBundle, lint_sarif

    bundles = (
        SarifBundle(each.path, None, None, each.error)
        if isinstance(each, UnverifiedBundle)
        else SarifBundle(each.path, each.manifest.known.run_id, each.result)
        for each in outcomes
    )
    return lint_sarif(bundles, packs, disclaimer_of(packs), max_results)


def _print_explanation(
    terminal: Terminal,
    name: str,
    files: Sequence[Path],
    packs: "tuple[Pack, ...]",
    limits: "BundleLimits",
    max_results: int,
) -> Exit:
    from affidavit.app.lint import lint_bundle
    from affidavit.cli.lint_text import print_explanation
    from affidavit.packs.explanations import explain

    if len(files) > 1:
        raise AffidavitError(faults.EXPLAIN_MANY, count=len(files))
    result = lint_bundle(files[0], packs, limits, max_results).result if files else None
    told = explain(name, packs, result)
    if terminal.json:
        terminal.print_json(told)
    else:
        print_explanation(terminal, told)
    return Exit.YES
