"""Fits the thresholds of a judge to labelled rows, and writes the rules file with what they are
worth.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import msgspec
from msgspec import structs

from affidavit.app.judge_evaluation import LabelledRow, label_rows
from affidavit.app.judge_scoring import RowOutcome
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence as faults
from affidavit.base.statistics.agreement import Agreement, agreement_from_counts, kappa_interval
from affidavit.base.statistics.arithmetic import rounded
from affidavit.base.statistics.classification import BinaryCounts, binary_counts
from affidavit.base.statistics.rates import Interval
from affidavit.ledger.model import JudgeIdentity, Verdict
from affidavit.ledger.rules import JudgeThresholds, LedgerRules, rules_digest

# Thresholds fitted to a user's own labels, and what they are worth on labels not fitted to.
#
# The rule of the fit, over rows of (support, contradiction, label):
# 1. The prior is the share of supported labels, (supported + 1) / (rows + 2).
# 2. contradicted_from is where "contradicted" has the best balanced accuracy, if there are enough
#    labels that say so and that deny it; else it stays as it is by default.
# 3. supported_from is where "supported" has the best balanced accuracy, contradictions set aside.
# 4. weak_from is where "partial" is told best from what is not supported at all, if there are
# enough
#    labels of both; else it keeps its default share of supported_from, which it is never above.
# Candidates lie halfway between neighbouring scores, with four decimals; of equally good ones the
# nearest to the default wins. The report's figures are cross-validated: each row is decided by
# thresholds that were fitted without its fold, and equal rows share a fold.

LEAST_ROWS: Final = 50
LEAST_OF_A_KIND: Final = 15
FOLDS: Final = 5
DEFAULTS: Final = JudgeThresholds()
_DECIMALS: Final = 4


@dataclass(frozen=True, slots=True)
class LabelAgreement:
    """How far verdicts agree with labels on "supported": the counts, and kappa."""

    counts: BinaryCounts
    agreement: Agreement
    kappa_interval: Interval | None


@dataclass(frozen=True, slots=True)
class Calibration:
    """Fitted thresholds, and their worth: `before` is the judge's own, `after` cross-validated."""

    thresholds: JudgeThresholds
    labels: tuple[tuple[str, int], ...]
    not_measured: tuple[AffidavitError, ...]
    before: LabelAgreement
    after: LabelAgreement

    @property
    def is_better(self) -> bool:
        """Whether the balanced accuracy rose on rows that were not fitted to."""
        before = self.before.counts.balanced_accuracy.value
        after = self.after.counts.balanced_accuracy.value
        return before is not None and after is not None and after > before


def calibrate(outcomes: Iterable[RowOutcome]) -> Calibration:
    """Return thresholds for labelled rows; raise if there are too few labels to fit any."""
    rows, unread = label_rows(outcomes)
    require_labels(rows)
    folds = [int(row.judged.digest[:8], 16) % FOLDS for row in rows]
    decided: dict[int, Verdict] = {}
    for fold in sorted(set(folds)):
        rest = [row for row, of in zip(rows, folds, strict=True) if of != fold]
        thresholds = fit_thresholds(rest)
        decided.update(
            (at, _verdict(thresholds, row))
            for at, (row, of) in enumerate(zip(rows, folds, strict=True))
            if of == fold
        )
    return Calibration(
        thresholds=fit_thresholds(rows),
        labels=tuple(sorted(Counter(row.meaning.name for row in rows).items())),
        not_measured=unread,
        before=_label_agreement(rows, [row.judged.verdict for row in rows]),
        after=_label_agreement(rows, [decided[at] for at in range(len(rows))]),
    )


def require_labels(rows: Sequence[LabelledRow]) -> None:
    """Refuse to fit to chance, and say how many labels of which kind are missing."""
    supported = sum(row.meaning.is_supported for row in rows)
    others = len(rows) - supported
    wanted = {
        "supported": max(0, LEAST_OF_A_KIND - supported),
        "not supported": max(0, LEAST_OF_A_KIND - others),
    }
    of_any_kind = max(0, LEAST_ROWS - len(rows) - sum(wanted.values()))
    if not of_any_kind and not any(wanted.values()):
        return
    needs = [f"{count} more that are {kind}" for kind, count in wanted.items() if count]
    if of_any_kind:
        needs.append(f"{of_any_kind} more of any kind")
    raise AffidavitError(
        faults.LABELS_TOO_FEW,
        found=f"{len(rows)} labelled claims, {supported} of them supported",
        more=f"{' and '.join(needs)} (at least {LEAST_ROWS}, with {LEAST_OF_A_KIND} of each side)",
    )


def fit_thresholds(rows: Sequence[LabelledRow]) -> JudgeThresholds:
    """Return the thresholds that suit the rows best."""
    supported = sum(row.meaning.is_supported for row in rows)
    prior = rounded((supported + 1) / (len(rows) + 2), _DECIMALS)
    fitted = structs.replace(DEFAULTS, contradicted_from=_contradicted_from(rows), prior=prior)
    left = [row for row in rows if row.judged.contradiction < fitted.contradicted_from]
    supported_from = _best(
        [(fitted.shifted(row.judged.support), row.meaning.is_supported) for row in left],
        DEFAULTS.supported_from,
    )
    fitted = structs.replace(fitted, supported_from=supported_from)
    return structs.replace(fitted, weak_from=_weak_from(left, fitted))


def _contradicted_from(rows: Sequence[LabelledRow]) -> float:
    said = [
        (row.judged.contradiction, row.meaning.is_contradicted)
        for row in rows
        if row.meaning.is_contradicted is not None
    ]
    if not _has_enough(actual for _, actual in said):
        return DEFAULTS.contradicted_from
    return _best(said, DEFAULTS.contradicted_from)


def _weak_from(rows: Sequence[LabelledRow], fitted: JudgeThresholds) -> float:
    share = DEFAULTS.weak_from / DEFAULTS.supported_from
    usual = rounded(fitted.supported_from * share, _DECIMALS)
    others = [row for row in rows if not row.meaning.is_supported]
    if not _has_enough(row.meaning.is_partial for row in others):
        return usual
    partial = [(fitted.shifted(row.judged.support), row.meaning.is_partial) for row in others]
    return min(_best(partial, usual), fitted.supported_from)


def _has_enough(kinds: Iterable[bool]) -> bool:
    counts = Counter(kinds)
    return min(counts[True], counts[False]) >= LEAST_OF_A_KIND


def _best(pairs: Sequence[tuple[float, bool]], default: float) -> float:
    """Return the threshold (a score from it on is a yes) of the best balanced accuracy."""
    yes = sorted(score for score, actual in pairs if actual)
    no = sorted(score for score, actual in pairs if not actual)

    def worth(threshold: float) -> tuple[int, float, float]:
        found = len(yes) - bisect_left(yes, threshold)
        spared = bisect_left(no, threshold)
        # Times both totals, the sum of the two recalls is an integer: ties are exact.
        return found * len(no) + spared * len(yes), -abs(threshold - default), threshold

    scores = sorted({*yes, *no})
    between = (_midpoint(low, high) for low, high in pairwise(scores))
    return max({default, *between}, key=worth)


def _midpoint(low: float, high: float) -> float:
    """Return what lies above `low`, with four decimals; beside it that may be `high` itself."""
    middle = rounded((low + high) / 2, _DECIMALS)
    return middle if middle > low else high


def _verdict(thresholds: JudgeThresholds, row: LabelledRow) -> Verdict:
    return thresholds.verdict(row.judged.support, row.judged.contradiction)


def _label_agreement(rows: Sequence[LabelledRow], verdicts: Sequence[Verdict]) -> LabelAgreement:
    pairs = [
        (row.meaning.is_supported, verdict is Verdict.SUPPORTED)
        for row, verdict in zip(rows, verdicts, strict=True)
    ]
    named = Counter((str(actual), str(said)) for actual, said in pairs)
    return LabelAgreement(binary_counts(pairs), agreement_from_counts(named), kappa_interval(named))


# The rules file of a calibration: what was fitted, to what, and what it is worth.


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


def _balanced(agreed: LabelAgreement) -> str:
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
        "before": _agreement_as_wire(fitted.before),
        "after": _agreement_as_wire(fitted.after),
        "is_better": fitted.is_better,
    }


def _agreement_as_wire(agreed: LabelAgreement) -> dict[str, Any]:
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
