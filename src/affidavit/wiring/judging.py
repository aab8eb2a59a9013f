"""Rows of claims and evidence, scored by the judge of this installation, in one process or many."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedReader, BytesIO, RawIOBase
from pathlib import Path
from typing import Final, cast

from affidavit.app.judging.rows import Line, batches, lines_of
from affidavit.app.judging.scoring import Outcome, RowFault, outcome_of_line
from affidavit.base.errors import AffidavitError
from affidavit.base.files import open_to_read
from affidavit.engine.local import run_in_order
from affidavit.judge.protocol import Judge
from affidavit.judge.thresholded import with_thresholds
from affidavit.ledger.rules import LedgerRules, rules_digest
from affidavit.wiring.judges import DEFAULT_JUDGE, JudgeChoice, asks_a_server, judge_for
from affidavit.wiring.project import Project

STANDARD_INPUT: Final = Path("-")
_HERE: Final = Project(Path())


@dataclass(frozen=True, slots=True)
class Scorer:
    """Scores some lines, in whichever process it is called."""

    rules: LedgerRules
    choice: JudgeChoice = DEFAULT_JUDGE
    project: Project = _HERE

    @property
    def judge(self) -> Judge:
        """The judge with the thresholds of the rules; its tables or weights are read once."""
        return with_thresholds(judge_for(self.choice, self.project), self.rules.judge)

    @property
    def rules_digest(self) -> str:
        """The digest that names the rules."""
        return rules_digest(self.rules)

    def __call__(self, lines: tuple[Line, ...]) -> tuple[Outcome, ...]:
        """Return what became of each line, in their order."""
        reader = self.judge
        return tuple(outcome_of_line(line, reader, self.rules) for line in lines)


def judged_file(path: Path, scorer: Scorer, jobs: int = 1) -> Iterator[Outcome]:
    """Yield what became of each row of a file, in order. `-` is standard input.

    Memory does not grow with the number of rows. A judge that asks a server is asked by one process
    alone, for several would share its budget and its rate.
    """
    jobs = 1 if asks_a_server(scorer.choice) else jobs
    name = _name(path)
    try:
        scored = run_in_order(scorer, batches(row_lines(path)), jobs)
        for outcome in (each for batch in scored for each in batch):
            if isinstance(outcome, RowFault):
                error = outcome.error.at(file=name)
                yield RowFault(outcome.id, outcome.line, error)
            else:
                yield outcome
    except AffidavitError as error:
        raise error.at(file=name) from None


def row_lines(path: Path) -> Iterator[Line]:
    """Yield the lines of a file that hold something. `-` is standard input."""
    try:
        with _opened(path) as stream:
            yield from lines_of(stream)
    except AffidavitError as error:
        raise error.at(file=_name(path)) from None


def required(outcomes: Iterator[Outcome]) -> Iterator[Outcome]:
    """Pass the outcomes on until a row could not be judged, and raise what was wrong with it."""
    for outcome in outcomes:
        if isinstance(outcome, RowFault):
            raise outcome.error
        yield outcome


def _name(path: Path) -> str:
    return "standard input" if path == STANDARD_INPUT else str(path)


def _opened(path: Path) -> BufferedReader:
    if path != STANDARD_INPUT:
        return open_to_read(path)
    # A closed standard input is None: nothing was given.
    raw = BytesIO() if sys.stdin is None else sys.stdin.buffer
    return BufferedReader(cast(RawIOBase, raw))
