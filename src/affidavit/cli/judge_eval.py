"""`affidavit judge eval`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

import affidavit
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.exits import Exit
from affidavit.base.faults import judging as faults
from affidavit.cli.command import command
from affidavit.cli.judge_costs import costs_of_rows
from affidavit.cli.judge_options import (
    interval_of,
    judge_option,
    reading_jobs_option,
    rules_option,
    scorer_for,
    shown,
    yes_option,
)
from affidavit.cli.places import require_places
from affidavit.cli.terminal import Terminal
from affidavit.cli.tree import Example

if TYPE_CHECKING:
    from affidavit.app.judging.evaluating import SetReport
    from affidavit.formats.reliability import ReliabilitySet
    from affidavit.wiring.judging import Scorer


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
    from affidavit.wiring.judges import file_of

    require_places([html], [*sets, rules, file_of(judge_name)])
    scorer = scorer_for(rules, judge_name)
    with costs_of_rows(terminal, scorer, sets, above_budget=yes):
        reports = [_measured(terminal, path, scorer, jobs) for path in sets]
    if html is not None:
        from affidavit.base.files import write_atomically
        from affidavit.formats.reliability import reliability_html

        identity = scorer.judge.identity
        page = reliability_html(
            [_page_of(each) for each in reports], identity, affidavit.__version__
        )
        write_atomically(html, page.encode())
        terminal.note(f"wrote {html}")
    nothing = None
    if not any(report.support.count for report in reports):
        nothing = AffidavitError(faults.ROWS_UNMEASURED, Where(file=str(sets[0])))
    if terminal.json:
        from affidavit.app.judging.reporting import report_as_wire

        found = {
            "judge": scorer.judge.identity,
            "rules_digest": scorer.rules_digest,
            "sets": [report_as_wire(each) for each in reports],
        }
        why = {} if nothing is None else {"error": nothing.as_wire()}
        terminal.print_json({**found, **why})
        return Exit.YES if nothing is None else nothing.fault.exit
    for each in reports:
        _show(terminal, each)
    if nothing is not None:
        raise nothing
    return Exit.YES


def _measured(terminal: Terminal, path: Path, scorer: "Scorer", jobs: int) -> "SetReport":
    from affidavit.app.judging.evaluating import evaluate_set
    from affidavit.wiring.judging import judged_file

    outcomes = terminal.progress(judged_file(path, scorer, jobs), f"Reading {path.name}")
    try:
        return evaluate_set(path.name.removesuffix(".gz").removesuffix(".jsonl"), outcomes)
    except AffidavitError as error:
        raise error.at(file=str(path)) from None


def _show(terminal: Terminal, report: "SetReport") -> None:
    from affidavit.app.judging.reporting import confusion_rows, figures_of

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
            (name, shown(first), interval_of(first), shown(second), interval_of(second), method)
            for name, first, second, method in figures_of(report)
        ),
    )
    terminal.table(
        ("Label", "Supported", "Weak", "Contradicted", "Not found"),
        ((name, *map(str, counts)) for name, *counts in confusion_rows(report)),
    )


def _page_of(report: "SetReport") -> "ReliabilitySet":
    from affidavit.app.judging.reporting import confusion_rows, figures_of
    from affidavit.formats.reliability import FigureRow, ReliabilitySet

    return ReliabilitySet(
        name=report.name,
        count=report.count,
        not_measured=len(report.not_measured),
        figures=tuple(
            FigureRow(
                name, shown(first), interval_of(first), shown(second), interval_of(second), method
            )
            for name, first, second, method in figures_of(report)
        ),
        bins=report.support.bins,
        bins_at_base_rate=report.support.bins_at_base_rate,
        confusion=confusion_rows(report),
    )
