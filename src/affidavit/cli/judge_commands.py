"""The commands `affidavit judge score|eval|calibrate`."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.exits import Exit
from affidavit.base.faults import evidence as faults
from affidavit.cli.command import command
from affidavit.cli.commands import Example
from affidavit.cli.judge_options import (
    judge_option,
    printed_row_costs,
    reading_jobs_option,
    rules_option,
    scorer_from_options,
    yes_option,
)
from affidavit.cli.parameters import require_output_paths
from affidavit.cli.terminal import Terminal

if TYPE_CHECKING:
    from affidavit.app.judge_scoring import RowOutcome
import affidavit
from affidavit.cli.judge_options import format_estimate, format_interval

if TYPE_CHECKING:
    from affidavit.app.judge_evaluation import SetReport
    from affidavit.app.judge_scoring import RowScorer
    from affidavit.reports.judge_reliability import ReliabilitySet
if TYPE_CHECKING:
    from affidavit.app.judge_calibration import Calibration, LabelAgreement
    from affidavit.base.statistics.classification import Estimate

# `affidavit judge score`.


@command(
    examples=(
        Example("affidavit judge score rows.jsonl", "one verdict per row, as JSON lines"),
        Example(
            "affidavit judge score rows.jsonl.gz -o scores.jsonl -j 2",
            "a compressed file, into another file, with two processes",
        ),
        Example(
            "affidavit judge score rows.jsonl --keep-going",
            "rows that cannot be read do not stop it",
        ),
        Example("affidavit judge score - --rules rules.toml", "from a pipe, with your thresholds"),
    ),
    exits={
        Exit.YES: "every row was scored, whatever its verdict",
        Exit.UNKNOWN: "there are no rows, or with --keep-going some could not be scored",
    },
)
@click.argument(
    "rows",
    type=click.Path(path_type=Path, allow_dash=True),
    help="JSON lines of {id, claim, evidence}, plain or gzip; - for standard input.",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    help="Where to write; by default to standard output.",
)
@click.option(
    "--keep-going", is_flag=True, help="Write an error in the place of a row that fails, and go on."
)
@rules_option
@judge_option
@yes_option
@reading_jobs_option
def score(
    terminal: Terminal,
    rows: Path,
    output: Path | None,
    keep_going: bool,
    rules: Path | None,
    judge_name: str | None,
    yes: bool,
    jobs: int,
) -> Exit:
    """Score rows of claims and evidence with the judge.

    A row is {id, claim, evidence}; evidence is a text or a list of texts. For each row, in order,
    one line is written: {id, verdict, support, contradiction, confidence, snippet, notes}. The
    verdict is the one that `affidavit check` would give.
    """
    from affidavit.app.judge_scoring import judge_file, raise_on_fault
    from affidavit.app.judges import judge_file_of

    require_output_paths([output], [rows, rules, judge_file_of(judge_name)])
    scorer = scorer_from_options(rules, judge_name)
    outcomes = judge_file(rows, scorer, jobs)
    watched = terminal.progress(
        outcomes if keep_going else raise_on_fault(outcomes), "Scoring rows"
    )
    lines = ScoreLines(watched, rows)
    with printed_row_costs(terminal, scorer, [rows], above_budget=yes):
        _write_scores(terminal, lines, output)
    if lines.failed:
        terminal.note(f"{lines.failed} of {lines.count} rows could not be scored")
    return Exit.UNKNOWN if lines.failed else Exit.YES


def _write_scores(terminal: Terminal, lines: "ScoreLines", output: Path | None) -> None:
    from affidavit.base.files import write_atomically

    if output is not None:
        write_atomically(output, lines)
        terminal.note(f"wrote {output}")
        if terminal.json:
            terminal.print_json(
                {"rows": lines.count, "failed": lines.failed, "output": str(output)}
            )
    elif terminal.json:
        # One document, which has to be whole or not there: it is kept until the last row.
        click.echo(b'{"scores": [\n' + b",\n".join(map(bytes.rstrip, lines)) + b"\n]}")
    else:
        for line in lines:
            click.echo(line, nl=False)


class ScoreLines:
    """The lines of the scores, counted as they are made."""

    def __init__(self, outcomes: "Iterator[RowOutcome]", rows: Path) -> None:
        self._outcomes = outcomes
        self._rows = rows
        self.count = 0
        self.failed = 0

    def __iter__(self) -> Iterator[bytes]:
        from affidavit.app.judge_scoring import RowFault, score_line

        for outcome in self._outcomes:
            self.count += 1
            self.failed += isinstance(outcome, RowFault)
            yield score_line(outcome) + b"\n"
        if not self.count:
            name = "standard input" if self._rows == Path("-") else str(self._rows)
            raise AffidavitError(faults.ROWS_NONE, Where(file=name))


# `affidavit judge eval`.


@command(
    examples=(
        Example("affidavit judge eval dev.jsonl.gz", "how good the judge is on labelled claims"),
        Example(
            "affidavit judge eval a.jsonl b.jsonl --html report.html",
            "two sets, with reliability diagrams for a browser",
        ),
        Example("affidavit judge eval dev.jsonl --rules rules.toml", "with thresholds of your own"),
    ),
    exits={
        Exit.YES: "measured, whatever the figures",
        Exit.UNKNOWN: "there was nothing to measure",
    },
)
@click.argument(
    "sets",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path, allow_dash=True),
    help="JSON lines of {claim, evidence, label}, plain or gzip. Repeatable.",
)
@click.option("--html", type=click.Path(path_type=Path), help="Write a page with diagrams there.")
@rules_option
@judge_option
@yes_option
@reading_jobs_option
def evaluate(
    terminal: Terminal,
    sets: tuple[Path, ...],
    html: Path | None,
    rules: Path | None,
    judge_name: str | None,
    yes: bool,
    jobs: int,
) -> Exit:
    """Measure the judge on rows with labels.

    Labels: supported, partial, refuted, neutral, not_supported; weak, contradicted, not_found,
    true, false, 1 and 0 are read too. Measured is "supported" against the rest, and "contradicted"
    where the label says so. Every figure has an interval at 95%.
    """
    from affidavit.app.judges import judge_file_of

    require_output_paths([html], [*sets, rules, judge_file_of(judge_name)])
    scorer = scorer_from_options(rules, judge_name)
    with printed_row_costs(terminal, scorer, sets, above_budget=yes):
        reports = [_evaluate_file(terminal, path, scorer, jobs) for path in sets]
    if html is not None:
        from affidavit.base.files import write_atomically
        from affidavit.reports.judge_reliability import reliability_html

        identity = scorer.judge.identity
        page = reliability_html(
            [_reliability_set(each) for each in reports], identity, affidavit.__version__
        )
        write_atomically(html, page.encode())
        terminal.note(f"wrote {html}")
    nothing = None
    if not any(report.support.count for report in reports):
        nothing = AffidavitError(faults.ROWS_UNMEASURED, Where(file=str(sets[0])))
    if terminal.json:
        from affidavit.app.judge_evaluation import evaluation_as_wire

        found = {
            "judge": scorer.judge.identity,
            "rules_digest": scorer.rules_digest,
            "sets": [evaluation_as_wire(each) for each in reports],
        }
        why = {} if nothing is None else {"error": nothing.as_wire()}
        terminal.print_json({**found, **why})
        return Exit.YES if nothing is None else nothing.fault.exit
    for each in reports:
        _print_evaluation(terminal, each)
    if nothing is not None:
        raise nothing
    return Exit.YES


def _evaluate_file(terminal: Terminal, path: Path, scorer: "RowScorer", jobs: int) -> "SetReport":
    from affidavit.app.judge_evaluation import evaluate_set
    from affidavit.app.judge_scoring import judge_file

    outcomes = terminal.progress(judge_file(path, scorer, jobs), f"Reading {path.name}")
    try:
        return evaluate_set(path.name.removesuffix(".gz").removesuffix(".jsonl"), outcomes)
    except AffidavitError as error:
        raise error.at(file=str(path)) from None


def _print_evaluation(terminal: Terminal, report: "SetReport") -> None:
    from affidavit.app.judge_evaluation import confusion_rows, figures_of

    unread = len(report.not_measured)
    terminal.print(
        f"{report.name}: {report.count} rows"
        + (f", {unread} of them could not be read" if unread else "")
    )
    for error in report.not_measured:
        terminal.detail(str(error))
    terminal.table(
        ("Figure", "Supported", "95%", "Contradicted", "95%", "How the interval is made"),
        (
            (
                name,
                format_estimate(first),
                format_interval(first),
                format_estimate(second),
                format_interval(second),
                method,
            )
            for name, first, second, method in figures_of(report)
        ),
    )
    terminal.table(
        ("Label", "Supported", "Weak", "Contradicted", "Not found"),
        ((name, *map(str, counts)) for name, *counts in confusion_rows(report)),
    )


def _reliability_set(report: "SetReport") -> "ReliabilitySet":
    from affidavit.app.judge_evaluation import confusion_rows, figures_of
    from affidavit.reports.judge_reliability import FigureRow, ReliabilitySet

    return ReliabilitySet(
        name=report.name,
        count=report.count,
        not_measured=len(report.not_measured),
        figures=tuple(
            FigureRow(
                name,
                format_estimate(first),
                format_interval(first),
                format_estimate(second),
                format_interval(second),
                method,
            )
            for name, first, second, method in figures_of(report)
        ),
        bins=report.support.bins,
        bins_at_base_rate=report.support.bins_at_base_rate,
        confusion=confusion_rows(report),
    )


# `affidavit judge calibrate`.


@command(
    examples=(
        Example(
            "affidavit judge calibrate --labels mine.jsonl",
            "what would fit your own labels, and how much better it is",
        ),
        Example(
            "affidavit judge calibrate --labels mine.jsonl -o rules.toml",
            "write it as rules for `affidavit check --rules`",
        ),
    ),
    exits={
        Exit.YES: "fitted, and better than the judge's own thresholds",
        Exit.UNKNOWN: "too few labels, or not better: then no rules are written",
    },
)
@click.option(
    "--labels",
    required=True,
    type=click.Path(path_type=Path),
    help="JSON lines of {claim, evidence, label}, plain or gzip: at least 50, 15 of each side.",
)
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), help="Where to write the rules (TOML)."
)
@click.option("--force", is_flag=True, help="Write the rules even if they are not better.")
@judge_option
@yes_option
@reading_jobs_option
def calibrate(
    terminal: Terminal,
    labels: Path,
    output: Path | None,
    force: bool,
    judge_name: str | None,
    yes: bool,
    jobs: int,
) -> Exit:
    """Fit the judge's thresholds to your own labels.

    What is reported was not fitted on the same rows: five folds, each decided by thresholds from
    the other four. Thresholds that are no better than the judge's own are not written.
    """
    from affidavit.app.judge_calibration import calibrate as calibrate_rows
    from affidavit.app.judge_calibration import calibration_as_wire, rules_file
    from affidavit.app.judge_scoring import judge_file
    from affidavit.app.judges import judge_file_of
    from affidavit.base.files import digest_file, write_atomically

    require_output_paths([output], [labels, judge_file_of(judge_name)])
    digest = digest_file(labels)
    scorer = scorer_from_options(None, judge_name)
    outcomes = terminal.progress(judge_file(labels, scorer, jobs), "Reading labels")
    try:
        with printed_row_costs(terminal, scorer, [labels], above_budget=yes):
            fitted = calibrate_rows(outcomes)
    except AffidavitError as error:
        raise error.at(file=str(labels)) from None
    identity = scorer.judge.identity
    file = rules_file(fitted, identity, digest)
    refused = None if fitted.is_better or force else _not_better_error(fitted)
    if output is not None and refused is None:
        write_atomically(output, file.text.encode())
        terminal.note(f"wrote {output}")
    if terminal.json:
        why = {} if refused is None else {"error": refused.as_wire()}
        terminal.print_json({**calibration_as_wire(fitted, file, identity, digest), **why})
        return Exit.YES if refused is None else refused.fault.exit
    _print_calibration(terminal, fitted)
    terminal.print(file.text)
    terminal.print(f"Digest of the rules: {file.rules_digest}")
    if refused is not None:
        raise refused
    return Exit.YES


def _not_better_error(fitted: "Calibration") -> AffidavitError:
    before, after = (
        format_estimate(each.counts.balanced_accuracy) for each in (fitted.before, fitted.after)
    )
    return AffidavitError(faults.NOT_BETTER, before=before, after=after)


def _print_calibration(terminal: Terminal, fitted: "Calibration") -> None:
    from affidavit.base.statistics.classification import estimated

    kinds = ", ".join(f"{count} {name}" for name, count in fitted.labels)
    terminal.print(f"{fitted.after.counts.count} labelled claims: {kinds}")
    if fitted.not_measured:
        terminal.print(f"{len(fitted.not_measured)} rows could not be read and were left out")
    columns = (fitted.before, fitted.after)
    rows = {
        "Balanced accuracy": [each.counts.balanced_accuracy for each in columns],
        "Kappa with the labels": [_kappa_estimate(each) for each in columns],
        "Agreement with the labels": [estimated(each.agreement.observed) for each in columns],
        "Base rate (always the commoner label)": [
            estimated(each.agreement.base_rate) for each in columns
        ],
    }
    terminal.table(
        ("Figure", "Judge's own", "95%", "Fitted (cross-validated)", "95%"),
        (
            (
                name,
                format_estimate(own),
                format_interval(own),
                format_estimate(new),
                format_interval(new),
            )
            for name, (own, new) in rows.items()
        ),
    )


def _kappa_estimate(agreed: "LabelAgreement") -> "Estimate":
    from affidavit.base.statistics.classification import Estimate

    return Estimate(agreed.agreement.kappa, agreed.kappa_interval)
