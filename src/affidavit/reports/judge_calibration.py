"""The calibration of a judge as text, JSON, and a rules file."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec
from msgspec import Struct

from affidavit.base.errors import AffidavitError
from affidavit.base.label_statistics import Agreement, BinaryCounts, Estimate, estimated
from affidavit.base.statistics import Interval, Rate, rounded
from affidavit.ledger.model import JudgeIdentity
from affidavit.ledger.rules import JudgeThresholds, LedgerRules, rules_digest
from affidavit.reports.judge_evaluation import format_estimate, format_interval
from affidavit.reports.text_tables import TextPart, text_table

FOLDS: Final = 5


class LabelAgreement(Struct, frozen=True):
    """How far verdicts agree with labels on "supported": the counts, and kappa."""

    counts: BinaryCounts
    agreement: Agreement
    kappa_interval: Interval | None


PPI_FORMULA: Final = "mean(f) over judged rows + mean(y - f) over labelled rows"


class CorrectedRate(Struct, frozen=True, kw_only=True):
    """The share of supported claims, from the labels of a few rows and the verdicts on many."""

    judged: Rate
    """What the judge says of the rows without a label."""
    labelled: Rate
    """What the labels say of their rows."""
    corrected: Estimate
    """Prediction-powered inference."""


class Calibration(Struct, frozen=True, kw_only=True):
    """Fitted thresholds. `before` measures the judge's own thresholds, `after` the fitted ones.

    `rate` is None if every row has a label.
    """

    thresholds: JudgeThresholds
    labels: tuple[tuple[str, int], ...]
    not_measured: tuple[AffidavitError, ...]
    before: LabelAgreement
    after: LabelAgreement
    rate: CorrectedRate | None = None

    @property
    def is_better(self) -> bool:
        """Whether the balanced accuracy rose on rows that were not fitted to."""
        before = self.before.counts.balanced_accuracy.value
        after = self.after.counts.balanced_accuracy.value
        return before is not None and after is not None and after > before


def calibration_text(fitted: Calibration) -> Iterator[TextPart]:
    """Yield the figures of the judge's own thresholds beside those of the fitted ones."""
    kinds = ", ".join(f"{count} {name}" for name, count in fitted.labels)
    yield f"{fitted.after.counts.count} labelled claims: {kinds}"
    if fitted.not_measured:
        yield f"{len(fitted.not_measured)} rows could not be read and were left out"
    columns = (fitted.before, fitted.after)
    rows = {
        "Balanced accuracy": [each.counts.balanced_accuracy for each in columns],
        "Kappa with the labels": [
            Estimate(each.agreement.kappa, each.kappa_interval) for each in columns
        ],
        "Agreement with the labels": [estimated(each.agreement.observed) for each in columns],
        "Base rate (always the commoner label)": [
            estimated(each.agreement.base_rate) for each in columns
        ],
    }
    yield text_table(
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
    if fitted.rate is not None:
        yield from _rate_text(fitted.rate)


def _rate_text(rate: CorrectedRate) -> Iterator[TextPart]:
    yield (
        f"{rate.judged.denominator} rows have no label. The share of supported claims, by what it"
        " rests on:"
    )
    figures = {
        "The judge alone, uncorrected": estimated(rate.judged),
        "The labels alone": estimated(rate.labelled),
        f"Both, prediction-powered inference: {PPI_FORMULA}": rate.corrected,
    }
    yield text_table(
        ("Figure", "Share", "95%"),
        (
            (name, format_estimate(figure), format_interval(figure))
            for name, figure in figures.items()
        ),
    )


class RulesFile(Struct, frozen=True):
    """A table `[judge]` for `affidavit check --rules`, and the digest that a ledger shows of it."""

    text: str
    rules_digest: str


def rules_file(fitted: Calibration, judge: JudgeIdentity, labels_digest: str) -> RulesFile:
    """Return the rules file of a calibration."""
    digest = rules_digest(LedgerRules(judge=fitted.thresholds))
    lines = (*_comments(fitted, judge, labels_digest, digest), "[judge]", *_table(fitted))
    return RulesFile("\n".join(lines) + "\n", digest)


def _comments(
    fitted: Calibration, judge: JudgeIdentity, labels_digest: str, digest: str
) -> Iterator[str]:
    kinds = ", ".join(f"{count} {name}" for name, count in fitted.labels)
    yield "# Written by `affidavit judge calibrate`; read by `affidavit check --rules`."
    yield f"# judge: {judge.name} {judge.version} {judge.digest}"
    yield f"# labels: {labels_digest}"
    yield f"# labelled claims: {kinds}"
    yield f"# balanced accuracy, own thresholds: {_balanced(fitted.before)}"
    yield f"# balanced accuracy, these, cross-validated in {FOLDS} folds: {_balanced(fitted.after)}"
    yield f"# rules: {digest}"


def _table(fitted: Calibration) -> Iterator[str]:
    for name, value in msgspec.to_builtins(fitted.thresholds).items():
        yield f"{name} = {float(value)!r}"


def _balanced(agreed: LabelAgreement) -> str:
    return format_estimate(agreed.counts.balanced_accuracy)


def calibration_as_json(
    fitted: Calibration, file: RulesFile, judge: JudgeIdentity, labels_digest: str
) -> dict[str, Any]:
    """Return a calibration for machines."""
    return {
        "judge": msgspec.to_builtins(judge),
        "labels_digest": labels_digest,
        "labels": dict(fitted.labels),
        "not_measured": [error.as_wire() for error in fitted.not_measured],
        "thresholds": msgspec.to_builtins(fitted.thresholds),
        "rules_digest": file.rules_digest,
        "folds": FOLDS,
        "before": _agreement_as_json(fitted.before),
        "after": _agreement_as_json(fitted.after),
        "is_better": fitted.is_better,
        "supported_rate": None if fitted.rate is None else _rate_as_json(fitted.rate),
    }


def _rate_as_json(rate: CorrectedRate) -> dict[str, Any]:
    """Return the share of supported claims for machines, with the formula that corrects it."""
    figures = {
        "judge": estimated(rate.judged),
        "labels": estimated(rate.labelled),
        "corrected": rate.corrected,
    }
    return {
        "judged": rate.judged.denominator,
        "labelled": rate.labelled.denominator,
        "method": "prediction-powered inference",
        "formula": PPI_FORMULA,
        **{
            name: {"value": rounded(figure.value), **_interval_as_json(figure.interval)}
            for name, figure in figures.items()
        },
    }


def _agreement_as_json(agreed: LabelAgreement) -> dict[str, Any]:
    balanced = agreed.counts.balanced_accuracy
    return {
        "counts": msgspec.to_builtins(agreed.counts),
        "balanced_accuracy": {
            "value": rounded(balanced.value),
            **_interval_as_json(balanced.interval),
        },
        "kappa": {
            "value": rounded(agreed.agreement.kappa),
            **_interval_as_json(agreed.kappa_interval),
        },
        "agreement": rounded(agreed.agreement.observed.value),
        "base_rate": rounded(agreed.agreement.base_rate.value),
    }


def _interval_as_json(interval: Interval | None) -> dict[str, float | None]:
    if interval is None:
        return {"low": None, "high": None}
    return {"low": rounded(interval.low), "high": rounded(interval.high)}
