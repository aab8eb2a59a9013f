"""What `judge score`, `judge eval` and `judge calibrate` share: options, and figures in words."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from affidavit.cli.shared_options import jobs_option

if TYPE_CHECKING:
    from affidavit.base.statistics import Estimate
    from affidavit.wiring.judging import Scorer

MAX_RULES_BYTES = 1024 * 1024
NOT_MEASURED = "not measured"

rules_option = click.option(
    "--rules", type=click.Path(path_type=Path), help="A TOML file with thresholds, as for check."
)
judge_option = click.option(
    "--judge", "judge_name", help="Which judge reads: a name, or a .toml file with its settings."
)
yes_option = click.option(
    "--yes", is_flag=True, help="Start although the judge's budget may not suffice."
)
reading_jobs_option = jobs_option("How many processes read; the result is the same.")


def scorer_for(rules: Path | None, judge_name: str | None) -> "Scorer":
    """Return the scorer that the options ask for."""
    from affidavit.base.files import read_bounded
    from affidavit.ledger.rules import DEFAULT_RULES, rules_from_toml
    from affidavit.wiring.judges import judge_named
    from affidavit.wiring.judging import Scorer

    set_by = DEFAULT_RULES
    if rules is not None:
        set_by = rules_from_toml(read_bounded(rules, MAX_RULES_BYTES), str(rules))
    return Scorer(set_by, judge_named(judge_name))


def shown(estimate: "Estimate") -> str:
    """Return a figure as a person reads it."""
    return NOT_MEASURED if estimate.value is None else f"{estimate.value:.3f}"


def interval_of(estimate: "Estimate") -> str:
    """Return the interval of a figure as a person reads it."""
    if estimate.interval is None:
        return "–"
    return f"{estimate.interval.low:.3f} to {estimate.interval.high:.3f}"
