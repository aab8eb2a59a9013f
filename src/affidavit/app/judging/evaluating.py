"""How good a judge is on rows with labels: figures with intervals, and what it said of what."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from affidavit.app.judging.labels import LabelMeaning, meaning_of
from affidavit.app.judging.scoring import Judged, Outcome, RowFault
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence as evidence_faults
from affidavit.base.faults import judging as faults
from affidavit.base.statistics import BinaryEvaluation, ScoredLabel, evaluate_labels
from affidavit.ledger.model import Verdict

NOT_MEASURED = frozenset({faults.CLAIM_EMPTY, evidence_faults.CLAIM_TOO_LONG})
"""What makes a row one that no judge could read; anything else is an error of the file."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """A row that was judged, and what its label means."""

    judged: Judged
    meaning: LabelMeaning


@dataclass(frozen=True, slots=True)
class SetReport:
    """The figures of one set.

    `support` measures "supported" against everything else: by the verdict where a yes or no is
    meant, by the support (for a prior of one half) where a probability is. `contradiction` measures
    the same of "contradicted", on the rows whose label says whether the evidence contradicts.
    """

    name: str
    count: int
    not_measured: tuple[AffidavitError, ...]
    support: BinaryEvaluation
    contradiction: BinaryEvaluation
    confusion: Mapping[tuple[str, Verdict], int]


def evaluate_set(name: str, outcomes: Iterable[Outcome]) -> SetReport:
    """Return the figures of a set. A row with a wrong label, or none, is an error."""
    rows, unread = labelled(outcomes)
    return SetReport(
        name=name,
        count=len(rows) + len(unread),
        not_measured=unread,
        support=evaluate_labels([_of_support(row) for row in rows]),
        contradiction=evaluate_labels(
            [
                ScoredLabel(
                    row.meaning.is_contradicted,
                    row.judged.verdict is Verdict.CONTRADICTED,
                    row.judged.contradiction,
                )
                for row in rows
                if row.meaning.is_contradicted is not None
            ]
        ),
        confusion=Counter((row.meaning.name, row.judged.verdict) for row in rows),
    )


def labelled(outcomes: Iterable[Outcome]) -> tuple[list[Labelled], tuple[AffidavitError, ...]]:
    """Return the rows that were judged with their labels, and what could not be read."""
    rows: list[Labelled] = []
    unread: list[AffidavitError] = []
    for outcome in outcomes:
        if isinstance(outcome, RowFault):
            if outcome.error.fault not in NOT_MEASURED:
                raise outcome.error
            unread.append(outcome.error)
        else:
            rows.append(Labelled(outcome, meaning_of(outcome.label, outcome.line)))
    return rows, tuple(unread)


def _of_support(row: Labelled) -> ScoredLabel:
    said = row.judged.verdict is Verdict.SUPPORTED
    return ScoredLabel(row.meaning.is_supported, said, row.judged.support)
