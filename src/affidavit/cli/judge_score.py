"""`affidavit judge score`."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.exits import Exit
from affidavit.base.faults import judging as faults
from affidavit.cli.command import command
from affidavit.cli.judge_costs import costs_of_rows
from affidavit.cli.judge_options import (
    judge_option,
    reading_jobs_option,
    rules_option,
    scorer_for,
    yes_option,
)
from affidavit.cli.places import require_places
from affidavit.cli.terminal import Terminal
from affidavit.cli.tree import Example

if TYPE_CHECKING:
    from affidavit.app.judging.scoring import Outcome


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
    from affidavit.wiring.judges import file_of
    from affidavit.wiring.judging import judged_file, required

    require_places([output], [rows, rules, file_of(judge_name)])
    scorer = scorer_for(rules, judge_name)
    outcomes = judged_file(rows, scorer, jobs)
    watched = terminal.progress(outcomes if keep_going else required(outcomes), "Scoring rows")
    lines = ScoreLines(watched, rows)
    with costs_of_rows(terminal, scorer, [rows], above_budget=yes):
        _write(terminal, lines, output)
    if lines.failed:
        terminal.note(f"{lines.failed} of {lines.count} rows could not be scored")
    return Exit.UNKNOWN if lines.failed else Exit.YES


def _write(terminal: Terminal, lines: "ScoreLines", output: Path | None) -> None:
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

    def __init__(self, outcomes: "Iterator[Outcome]", rows: Path) -> None:
        self._outcomes = outcomes
        self._rows = rows
        self.count = 0
        self.failed = 0

    def __iter__(self) -> Iterator[bytes]:
        from affidavit.app.judging.scoring import RowFault, score_line

        for outcome in self._outcomes:
            self.count += 1
            self.failed += isinstance(outcome, RowFault)
            yield score_line(outcome) + b"\n"
        if not self.count:
            name = "standard input" if self._rows == Path("-") else str(self._rows)
            raise AffidavitError(faults.ROWS_NONE, Where(file=name))
