"""The rules file of a calibration: what was fitted, to what, and what it is worth."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from affidavit.app.judging.calibrating import FOLDS, Agreed, Calibration
from affidavit.base.statistics import Interval, rounded
from affidavit.ledger.model import JudgeIdentity
from affidavit.ledger.rules import LedgerRules, rules_digest


@dataclass(frozen=True, slots=True)
class RulesFile:
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


def _balanced(agreed: Agreed) -> str:
    value = agreed.counts.balanced_accuracy.value
    return "not measured" if value is None else f"{value:.3f}"


def calibration_as_wire(
    fitted: Calibration, file: RulesFile, judge: JudgeIdentity, labels_digest: str
) -> dict[str, Any]:
    """Return a calibration as machines get it."""
    return {
        "judge": msgspec.to_builtins(judge),
        "labels_digest": labels_digest,
        "labels": dict(fitted.labels),
        "not_measured": [error.as_wire() for error in fitted.not_measured],
        "thresholds": msgspec.to_builtins(fitted.thresholds),
        "rules_digest": file.rules_digest,
        "folds": FOLDS,
        "before": _agreed_as_wire(fitted.before),
        "after": _agreed_as_wire(fitted.after),
        "is_better": fitted.is_better,
    }


def _agreed_as_wire(agreed: Agreed) -> dict[str, Any]:
    balanced = agreed.counts.balanced_accuracy
    return {
        "counts": msgspec.to_builtins(agreed.counts),
        "balanced_accuracy": {
            "value": rounded(balanced.value),
            **_interval_as_wire(balanced.interval),
        },
        "kappa": {
            "value": rounded(agreed.agreement.kappa),
            **_interval_as_wire(agreed.kappa_interval),
        },
        "agreement": rounded(agreed.agreement.observed.value),
        "base_rate": rounded(agreed.agreement.base_rate.value),
    }


def _interval_as_wire(interval: Interval | None) -> dict[str, float | None]:
    if interval is None:
        return {"low": None, "high": None}
    return {"low": rounded(interval.low), "high": rounded(interval.high)}
