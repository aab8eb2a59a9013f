"""Measures a judge on labelled rows: labels, figures with intervals, and their JSON."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import msgspec

from affidavit.app.judge_scoring import JudgedRow, RowFault, RowOutcome
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import evidence as evidence_faults
from affidavit.base.faults import evidence as faults
from affidavit.base.statistics.arithmetic import rounded
from affidavit.base.statistics.classification import (
    BinaryEvaluation,
    Estimate,
    ScoredLabel,
    estimated,
    evaluate_labels,
)
from affidavit.ledger.model import Verdict

# What the labels of public data sets and of users mean for a judge.
#
# | label | supported | contradicted |
# |---|---|---|
# | supported, entailment, supports, true, 1 | yes | no |
# | partial, weak | no, but partly | not said |
# | refuted, contradicted, contradiction, refutes | no | yes |
# | neutral, not_found, not enough info | no | no |
# | not_supported, false, 0 | no | not said |
#
# Case does not matter, and a space or a hyphen is an underscore. Partial support counts as not
# supported. What a label does not say is left out of that figure, and never guessed.


@dataclass(frozen=True, slots=True)
class LabelMeaning:
    """What a label says of a claim. `name` is how a report calls it."""

    name: str
    is_supported: bool
    is_partial: bool
    is_contradicted: bool | None


SUPPORTED: Final = LabelMeaning("supported", True, False, False)
PARTIAL: Final = LabelMeaning("partial", False, True, None)
REFUTED: Final = LabelMeaning("refuted", False, False, True)
NEUTRAL: Final = LabelMeaning("neutral", False, False, False)
NOT_SUPPORTED: Final = LabelMeaning("not_supported", False, False, None)

MEANINGS: Final = (SUPPORTED, PARTIAL, REFUTED, NEUTRAL, NOT_SUPPORTED)
"""In the order in which a report lists them."""

_SPELLINGS: Final[Mapping[str, LabelMeaning]] = MappingProxyType(
    {
        **dict.fromkeys(("supported", "entailment", "supports", "true", "1"), SUPPORTED),
        **dict.fromkeys(("partial", "weak"), PARTIAL),
        **dict.fromkeys(("refuted", "contradicted", "contradiction", "refutes"), REFUTED),
        **dict.fromkeys(("neutral", "not_found", "not_enough_info"), NEUTRAL),
        **dict.fromkeys(("not_supported", "false", "0"), NOT_SUPPORTED),
    }
)


def meaning_of(label: str | None, line: int) -> LabelMeaning:
    """Return what a row's label means; raise if there is none, or nobody knows it."""
    key = (label or "").strip().lower().replace(" ", "_").replace("-", "_")
    found = _SPELLINGS.get(key)
    if found is None:
        problem = "the row has no label" if not key else f"no label is spelled {label!r}"
        raise AffidavitError(
            faults.LABEL_UNKNOWN,
            Where(line=line, field="label"),
            problem=problem,
            known=", ".join(_SPELLINGS),
        )
    return found


# How good a judge is on rows with labels: figures with intervals, and what it said of what.

NOT_MEASURED = frozenset({faults.CLAIM_EMPTY, evidence_faults.CLAIM_TOO_LONG})
"""What makes a row one that no judge could read; anything else is an error of the file."""


@dataclass(frozen=True, slots=True)
class LabelledRow:
    """A row that was judged, and what its label means."""

    judged: JudgedRow
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


def evaluate_set(name: str, outcomes: Iterable[RowOutcome]) -> SetReport:
    """Return the figures of a set. A row with a wrong label, or none, is an error."""
    rows, unread = label_rows(outcomes)
    return SetReport(
        name=name,
        count=len(rows) + len(unread),
        not_measured=unread,
        support=evaluate_labels([_support_label(row) for row in rows]),
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


def label_rows(
    outcomes: Iterable[RowOutcome],
) -> tuple[list[LabelledRow], tuple[AffidavitError, ...]]:
    """Return the rows that were judged with their labels, and what could not be read."""
    rows: list[LabelledRow] = []
    unread: list[AffidavitError] = []
    for outcome in outcomes:
        if isinstance(outcome, RowFault):
            if outcome.error.fault not in NOT_MEASURED:
                raise outcome.error
            unread.append(outcome.error)
        else:
            rows.append(LabelledRow(outcome, meaning_of(outcome.label, outcome.line)))
    return rows, tuple(unread)


def _support_label(row: LabelledRow) -> ScoredLabel:
    said = row.judged.verdict is Verdict.SUPPORTED
    return ScoredLabel(row.meaning.is_supported, said, row.judged.support)


# The figures of a set in the order in which every report lists them.

FIGURES: Final = (
    ("balanced_accuracy", "Balanced accuracy", "Wilson of both recalls, joined by MOVER"),
    ("precision", "Precision", "Wilson"),
    ("recall", "Recall", "Wilson"),
    ("specificity", "Specificity", "Wilson"),
    ("f1", "F1", "Wilson of tp / (tp + fp + fn)"),
    ("auroc", "AUROC", "DeLong, on the logit scale"),
    ("ece", "ECE", "bootstrap, 500 resamples"),
    ("ece_at_base_rate", "ECE, prior = base rate", "bootstrap, 500 resamples"),
    ("brier", "Brier score", "bootstrap, 500 resamples"),
    ("base_rate", "Base rate", "Wilson"),
)
"""Name for machines, name for people, and how the interval is made."""


def figure(evaluation: BinaryEvaluation, name: str) -> Estimate:
    """Return one figure of an evaluation by its name."""
    match name:
        case "base_rate":
            return estimated(evaluation.base_rate)
        case "auroc" | "ece" | "ece_at_base_rate" | "brier":
            found: Estimate = getattr(evaluation, name)
        case _:
            found = getattr(evaluation.counts, name)
    return found


def figures_of(report: SetReport) -> tuple[tuple[str, Estimate, Estimate, str], ...]:
    """Return each figure of support and of contradiction, by its name for people."""
    return tuple(
        (said, figure(report.support, name), figure(report.contradiction, name), method)
        for name, said, method in FIGURES
    )


def confusion_rows(report: SetReport) -> tuple[tuple[Any, ...], ...]:
    """Return a row per label that occurs: its name, and how often it got each verdict."""
    return tuple(
        (meaning.name, *counts)
        for meaning in MEANINGS
        if any(counts := [report.confusion.get((meaning.name, each), 0) for each in Verdict])
    )


def evaluation_as_wire(report: SetReport) -> dict[str, Any]:
    """Return a report as machines get it."""
    return {
        "name": report.name,
        "rows": report.count,
        "not_measured": [error.as_wire() for error in report.not_measured],
        "supported": _binary_evaluation_as_wire(report.support),
        "contradicted": _binary_evaluation_as_wire(report.contradiction),
        "confusion": {
            name: dict(zip((each.value for each in Verdict), counts, strict=True))
            for name, *counts in confusion_rows(report)
        },
    }


def _binary_evaluation_as_wire(evaluation: BinaryEvaluation) -> dict[str, Any]:
    figures = {
        name: {**_estimate_as_wire(figure(evaluation, name)), "interval_by": method}
        for name, _, method in FIGURES
    }
    return {
        "n": evaluation.count,
        "counts": msgspec.to_builtins(evaluation.counts),
        "figures": figures,
        "bins": msgspec.to_builtins(evaluation.bins),
        "bins_at_base_rate": msgspec.to_builtins(evaluation.bins_at_base_rate),
    }


def _estimate_as_wire(estimate: Estimate) -> dict[str, float | None]:
    interval = estimate.interval
    return {
        "value": rounded(estimate.value),
        "low": None if interval is None else rounded(interval.low),
        "high": None if interval is None else rounded(interval.high),
    }
