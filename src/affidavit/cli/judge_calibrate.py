"""`affidavit judge calibrate`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit
from affidavit.base.faults import judging as faults
from affidavit.cli.command import command
from affidavit.cli.judge_costs import costs_of_rows
from affidavit.cli.judge_options import (
    interval_of,
    judge_option,
    reading_jobs_option,
    scorer_for,
    shown,
    yes_option,
)
from affidavit.cli.places import require_places
from affidavit.cli.terminal import Terminal
from affidavit.cli.tree import Example

if TYPE_CHECKING:
    from affidavit.app.judging.calibrating import Agreed, Calibration
    from affidavit.base.statistics import Estimate


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
    from affidavit.app.judging.calibrating import calibrate as calibrate_rows
    from affidavit.app.judging.rules_file import calibration_as_wire, rules_file
    from affidavit.base.files import digest_file, write_atomically
    from affidavit.wiring.judges import file_of
    from affidavit.wiring.judging import judged_file

    require_places([output], [labels, file_of(judge_name)])
    digest = digest_file(labels)
    scorer = scorer_for(None, judge_name)
    outcomes = terminal.progress(judged_file(labels, scorer, jobs), "Reading labels")
    try:
        with costs_of_rows(terminal, scorer, [labels], above_budget=yes):
            fitted = calibrate_rows(outcomes)
    except AffidavitError as error:
        raise error.at(file=str(labels)) from None
    identity = scorer.judge.identity
    file = rules_file(fitted, identity, digest)
    refused = None if fitted.is_better or force else _refusal(fitted)
    if output is not None and refused is None:
        write_atomically(output, file.text.encode())
        terminal.note(f"wrote {output}")
    if terminal.json:
        why = {} if refused is None else {"error": refused.as_wire()}
        terminal.print_json({**calibration_as_wire(fitted, file, identity, digest), **why})
        return Exit.YES if refused is None else refused.fault.exit
    _show(terminal, fitted)
    terminal.print(file.text)
    terminal.print(f"Digest of the rules: {file.rules_digest}")
    if refused is not None:
        raise refused
    return Exit.YES


def _refusal(fitted: "Calibration") -> AffidavitError:
    before, after = (shown(each.counts.balanced_accuracy) for each in (fitted.before, fitted.after))
    return AffidavitError(faults.NOT_BETTER, before=before, after=after)


def _show(terminal: Terminal, fitted: "Calibration") -> None:
    from affidavit.base.statistics import estimated

    kinds = ", ".join(f"{count} {name}" for name, count in fitted.labels)
    terminal.print(f"{fitted.after.counts.count} labelled claims: {kinds}")
    if fitted.not_measured:
        terminal.print(f"{len(fitted.not_measured)} rows could not be read and were left out")
    columns = (fitted.before, fitted.after)
    rows = {
        "Balanced accuracy": [each.counts.balanced_accuracy for each in columns],
        "Kappa with the labels": [_kappa(each) for each in columns],
        "Agreement with the labels": [estimated(each.agreement.observed) for each in columns],
        "Base rate (always the commoner label)": [
            estimated(each.agreement.base_rate) for each in columns
        ],
    }
    terminal.table(
        ("Figure", "Judge's own", "95%", "Fitted (cross-validated)", "95%"),
        (
            (name, shown(own), interval_of(own), shown(new), interval_of(new))
            for name, (own, new) in rows.items()
        ),
    )


def _kappa(agreed: "Agreed") -> "Estimate":
    from affidavit.base.statistics import Estimate

    return Estimate(agreed.agreement.kappa, agreed.kappa_interval)
