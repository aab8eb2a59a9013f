"""The commands `affidavit judge score|eval|calibrate|card`."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.exits import Exit
from affidavit.base.faults import evidence as faults
from affidavit.cli.command import command, require_output_paths
from affidavit.cli.commands import Example
from affidavit.cli.judge_options import (
    engine_options,
    judge_option,
    printed_row_costs,
    reading_jobs_option,
    require_engine,
    rules_option,
    scorer_from_options,
    yes_option,
)
from affidavit.cli.program import reject_options
from affidavit.cli.terminal import Terminal

if TYPE_CHECKING:
    from affidavit.app.judge_scoring import RowOutcome, RowScorer
    from affidavit.reports.judge_evaluation import Calibration, SetReport

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
            "continue after rows that cannot be read",
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
    "--keep-going", is_flag=True, help="Write an error for a row that fails, and continue."
)
@rules_option
@judge_option
@yes_option
@reading_jobs_option
@engine_options
def score(
    terminal: Terminal,
    rows: Path,
    output: Path | None,
    keep_going: bool,
    rules: Path | None,
    judge_name: str | None,
    yes: bool,
    jobs: int,
    engine: str,
    master: str,
) -> Exit:
    """Score rows of claims and evidence with the judge.

    A row is {id, claim, evidence}; evidence is a text or a list of texts. For each row, in order,
    one line is written: {id, verdict, support, contradiction, confidence, snippet, notes}. The
    verdict is the one that `affidavit check` would give.
    """
    from affidavit.app.engines import runner_on
    from affidavit.app.judge_scoring import judge_file, raise_on_fault
    from affidavit.app.judges import judge_file_of

    require_engine(engine)
    require_output_paths([output], [rows, rules, judge_file_of(judge_name)])
    scorer = scorer_from_options(rules, judge_name)
    with (
        runner_on(engine, master, jobs) as run,
        printed_row_costs(terminal, scorer, [rows], above_budget=yes),
    ):
        outcomes = judge_file(rows, scorer, run)
        watched = terminal.progress(
            outcomes if keep_going else raise_on_fault(outcomes), "Scoring rows"
        )
        lines = ScoreLines(watched, rows)
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
        # One document, complete or missing: it is printed after the last row.
        click.echo(b'{"scores": [\n' + b",\n".join(map(bytes.rstrip, lines)) + b"\n]}")
    else:
        for line in lines:
            click.echo(line, nl=False)


class ScoreLines:
    """The lines of the scores, with their counts."""

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
@click.option(
    "--html", type=click.Path(path_type=Path), help="Write a page with diagrams to this file."
)
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
    true, false, 1 and 0 are accepted too. The figures are about "supported" against the rest, and
    "contradicted" where the label tells. Every figure has an interval at 95%.
    """
    from affidavit.app.judges import judge_file_of
    from affidavit.reports.judge_evaluation import (
        evaluation_as_json,
        evaluation_html,
        evaluation_text,
    )

    require_output_paths([html], [*sets, rules, judge_file_of(judge_name)])
    scorer = scorer_from_options(rules, judge_name)
    with printed_row_costs(terminal, scorer, sets, above_budget=yes):
        reports = [_evaluate_file(terminal, path, scorer, jobs) for path in sets]
    if html is not None:
        import affidavit
        from affidavit.base.files import write_atomically

        page = evaluation_html(reports, scorer.judge.identity, affidavit.__version__)
        write_atomically(html, page.encode())
        terminal.note(f"wrote {html}")
    error = None
    if not any(report.support.count for report in reports):
        error = AffidavitError(faults.ROWS_UNMEASURED, Where(file=str(sets[0])))
    if terminal.json:
        result = {
            "judge": scorer.judge.identity,
            "rules_digest": scorer.rules_digest,
            "sets": [evaluation_as_json(each) for each in reports],
        }
        terminal.print_json(result if error is None else {**result, "error": error.as_wire()})
        return Exit.YES if error is None else error.fault.exit
    for report in reports:
        terminal.show(evaluation_text(report))
        for unread in report.not_measured:
            terminal.detail(str(unread))
    if error is not None:
        raise error
    return Exit.YES


def _evaluate_file(terminal: Terminal, path: Path, scorer: "RowScorer", jobs: int) -> "SetReport":
    from affidavit.app.judge_evaluation import evaluate_set
    from affidavit.app.judge_scoring import judge_file
    from affidavit.engine.local import LocalRunner

    outcomes = terminal.progress(
        judge_file(path, scorer, LocalRunner(jobs)), f"Reading {path.name}"
    )
    try:
        return evaluate_set(path.name.removesuffix(".gz").removesuffix(".jsonl"), outcomes)
    except AffidavitError as error:
        raise error.at(file=str(path)) from None


# `affidavit judge calibrate`.


@command(
    examples=(
        Example(
            "affidavit judge calibrate --labels mine.jsonl",
            "the thresholds that fit your labels, and how much better they are",
        ),
        Example(
            "affidavit judge calibrate --labels mine.jsonl -o rules.toml",
            "write them as rules for `affidavit check --rules`",
        ),
        Example(
            "affidavit judge calibrate --labels all.jsonl",
            "a few labels among many rows: also the corrected share of supported claims",
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
    help="JSON lines of {claim, evidence, label?}, plain or gzip: 50 labels or more, 15 a side.",
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

    The figures are cross-validated: five folds, each decided by thresholds from the other four.
    Thresholds that are not better than the judge's own are not written. Rows without a label are
    judged too: the share of supported claims among all rows is then given with an interval, from
    the labels and the verdicts together (prediction-powered inference).
    """
    from affidavit.app.judge_evaluation import calibrate as calibrate_rows
    from affidavit.app.judge_scoring import judge_file
    from affidavit.app.judges import judge_file_of
    from affidavit.base.files import digest_file, write_atomically
    from affidavit.engine.local import LocalRunner
    from affidavit.reports.judge_evaluation import (
        calibration_as_json,
        calibration_text,
        rules_file,
    )

    require_output_paths([output], [labels, judge_file_of(judge_name)])
    digest = digest_file(labels)
    scorer = scorer_from_options(None, judge_name)
    outcomes = terminal.progress(judge_file(labels, scorer, LocalRunner(jobs)), "Reading labels")
    try:
        with printed_row_costs(terminal, scorer, [labels], above_budget=yes):
            fitted = calibrate_rows(outcomes)
    except AffidavitError as error:
        raise error.at(file=str(labels)) from None
    identity = scorer.judge.identity
    file = rules_file(fitted, identity, digest)
    problem = None if fitted.is_better or force else _not_better_error(fitted)
    if output is not None and problem is None:
        write_atomically(output, file.text.encode())
        terminal.note(f"wrote {output}")
    if terminal.json:
        result = calibration_as_json(fitted, file, identity, digest)
        terminal.print_json(result if problem is None else {**result, "error": problem.as_wire()})
        return Exit.YES if problem is None else problem.fault.exit
    terminal.show(calibration_text(fitted))
    terminal.print(file.text)
    terminal.print(f"Digest of the rules: {file.rules_digest}")
    if problem is not None:
        raise problem
    return Exit.YES


def _not_better_error(fitted: "Calibration") -> AffidavitError:
    from affidavit.reports.judge_evaluation import format_estimate

    before, after = (
        format_estimate(each.counts.balanced_accuracy) for each in (fitted.before, fitted.after)
    )
    return AffidavitError(faults.NOT_BETTER, before=before, after=after)


# `affidavit judge card`.


@command(
    examples=(
        Example("affidavit judge card", "what the judge is, and its measured figures"),
        Example("affidavit judge card --markdown > card.md", "the whole page, as in the docs"),
    ),
    exits={Exit.YES: "printed"},
)
@click.option("--markdown", is_flag=True, help="Print the whole page in Markdown.")
def card(terminal: Terminal, markdown: bool) -> Exit:
    """Print the model card of the judge.

    Its data and licences, its figures with intervals, its known weaknesses, its speed and size.
    """
    from affidavit.reports import judge_card as cards

    found = cards.load_card()
    if terminal.json:
        reject_options("and --json both say what to print", "markdown")
        terminal.print_json(cards.card_as_wire(found))
        return Exit.YES
    if markdown:
        click.echo(cards.card_markdown(found).encode(), nl=False)
        return Exit.YES
    for name, text in cards.card_pieces(found):
        if name == "figures" and found.measured.figures:
            terminal.table(cards.FIGURE_COLUMNS, map(cards.figure_row, found.measured.figures))
        else:
            terminal.print(text.strip("\n") + "\n")
    return Exit.YES
