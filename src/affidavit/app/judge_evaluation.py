"""Measures a judge on labelled rows, and fits its thresholds to them.

The labels of public data sets and of users mean:

| label | supported | contradicted |
|---|---|---|
| supported, entailment, supports, true, 1 | yes | no |
| partial, weak | no, but in part | unknown |
| refuted, contradicted, contradiction, refutes | no | yes |
| neutral, not_found, not enough info | no | no |
| not_supported, false, 0 | no | unknown |

Case does not matter, and a space or a hyphen is read as an underscore. Partial support counts as
not supported. A row whose label leaves something unknown is not counted in that figure.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Final

from msgspec import Struct, structs

from affidavit.app.judge_scoring import JudgedRow, RowFault, RowOutcome
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import evidence as faults
from affidavit.base.label_statistics import (
    ScoredLabel,
    agreement_from_counts,
    binary_counts,
    evaluate_labels,
    kappa_interval,
    prediction_powered_rate,
)
from affidavit.base.statistics import Rate, rounded
from affidavit.ledger.model import Verdict
from affidavit.ledger.rules import JudgeThresholds
from affidavit.reports.judge_evaluation import (
    FOLDS,
    Calibration,
    CorrectedRate,
    LabelAgreement,
    SetReport,
)


class LabelMeaning(Struct, frozen=True):
    """What a label says about a claim. `name` is its name in reports."""

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
"""In the order of reports."""

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
    """Return the meaning of a row's label; raise if it is missing or unknown."""
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


NOT_MEASURED = frozenset({faults.CLAIM_EMPTY, faults.CLAIM_TOO_LONG})
"""Faults of a row that no judge could read; any other fault is an error of the file."""


class LabelledRow(Struct, frozen=True):
    """A judged row and the meaning of its label."""

    judged: JudgedRow
    meaning: LabelMeaning


def evaluate_set(name: str, outcomes: Iterable[RowOutcome]) -> SetReport:
    """Return the figures of a set. A row with an unknown label, or without one, is an error."""
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
                    row.judged.score.verdict is Verdict.CONTRADICTED,
                    row.judged.score.contradiction,
                )
                for row in rows
                if row.meaning.is_contradicted is not None
            ]
        ),
        confusion=_confusion(rows),
    )


def _confusion(rows: Iterable[LabelledRow]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    counts = Counter((row.meaning.name, row.judged.score.verdict) for row in rows)
    table = (
        (meaning.name, tuple(counts[meaning.name, verdict] for verdict in Verdict))
        for meaning in MEANINGS
    )
    return tuple((name, row) for name, row in table if any(row))


def label_rows(
    outcomes: Iterable[RowOutcome],
) -> tuple[list[LabelledRow], tuple[AffidavitError, ...]]:
    """Return the judged rows with their labels, and the errors of unreadable rows."""
    rows: list[LabelledRow] = []
    unread: list[AffidavitError] = []
    for outcome in outcomes:
        if isinstance(outcome, RowFault):
            if outcome.error.fault not in NOT_MEASURED:
                raise outcome.error
            unread.append(outcome.error)
        else:
            rows.append(LabelledRow(outcome, meaning_of(outcome.score.label, outcome.line)))
    return rows, tuple(unread)


def _support_label(row: LabelledRow) -> ScoredLabel:
    predicted = row.judged.score.verdict is Verdict.SUPPORTED
    return ScoredLabel(row.meaning.is_supported, predicted, row.judged.support)


# Fits the thresholds of a judge to a user's own labelled rows.
#
# The rule of the fit, over rows of (support, contradiction, label): 1. The prior is the share of
# supported labels, (supported + 1) / (rows + 2). 2. `contradicted_from` is where "contradicted"
# has the best balanced accuracy, if enough labels affirm and enough deny it; otherwise it keeps
# its default. 3. `supported_from` is where "supported" has the best balanced accuracy, without
# contradictions. 4. `weak_from` is where "partial" is best separated from what is not supported at
# all, if there are enough labels of both; otherwise it keeps its default share of
# `supported_from`. It is never above `supported_from`. Candidates are halfway between neighbouring
# scores, with four decimals; among equally good ones the nearest to the default wins. The figures
# are cross-validated: each row is decided by thresholds that were fitted without its fold, and
# equal rows share a fold.

MIN_ROWS: Final = 50
MIN_OF_EACH: Final = 15
DEFAULTS: Final = JudgeThresholds()
_DECIMALS: Final = 4


def calibrate(outcomes: Iterable[RowOutcome]) -> Calibration:
    """Return thresholds for labelled rows; raise if there are too few labels.

    Rows without a label are not fitted to. With them, the share of supported claims is estimated
    from the labels and the verdicts together.
    """
    judged = Counter[bool]()
    rows, unread = label_rows(_with_labels(outcomes, judged))
    require_labels(rows)
    folds = [int(row.judged.digest[:8], 16) % FOLDS for row in rows]
    decided: dict[int, Verdict] = {}
    for fold in sorted(set(folds)):
        others = [row for row, of in zip(rows, folds, strict=True) if of != fold]
        thresholds = fit_thresholds(others)
        decided.update(
            (at, _verdict(thresholds, row))
            for at, (row, of) in enumerate(zip(rows, folds, strict=True))
            if of == fold
        )
    before = _label_agreement(rows, [row.judged.score.verdict for row in rows])
    return Calibration(
        thresholds=fit_thresholds(rows),
        labels=tuple(sorted(Counter(row.meaning.name for row in rows).items())),
        not_measured=unread,
        before=before,
        after=_label_agreement(rows, [decided[at] for at in range(len(rows))]),
        rate=_corrected_rate(before, Rate(judged[True], judged.total())) if judged else None,
    )


def _with_labels(outcomes: Iterable[RowOutcome], judged: Counter[bool]) -> Iterator[RowOutcome]:
    """Yield the rows that a reviewer labelled; of the others, count which are supported."""
    for outcome in outcomes:
        if isinstance(outcome, JudgedRow) and not (outcome.score.label or "").strip():
            judged[outcome.score.verdict is Verdict.SUPPORTED] += 1
        else:
            yield outcome


def _corrected_rate(before: LabelAgreement, judged: Rate) -> CorrectedRate:
    return CorrectedRate(
        judged=judged,
        labelled=before.counts.base_rate,
        corrected=prediction_powered_rate(before.counts, judged),
    )


def require_labels(rows: Sequence[LabelledRow]) -> None:
    """Refuse to fit to too few labels; the error tells how many of which kind are missing."""
    supported = sum(row.meaning.is_supported for row in rows)
    others = len(rows) - supported
    wanted = {
        "supported": max(0, MIN_OF_EACH - supported),
        "not supported": max(0, MIN_OF_EACH - others),
    }
    of_any_kind = max(0, MIN_ROWS - len(rows) - sum(wanted.values()))
    if not of_any_kind and not any(wanted.values()):
        return
    needs = [f"{count} more that are {kind}" for kind, count in wanted.items() if count]
    if of_any_kind:
        needs.append(f"{of_any_kind} more of any kind")
    raise AffidavitError(
        faults.LABELS_TOO_FEW,
        found=f"{len(rows)} labelled claims, {supported} of them supported",
        more=f"{' and '.join(needs)} (at least {MIN_ROWS}, with {MIN_OF_EACH} of each side)",
    )


def fit_thresholds(rows: Sequence[LabelledRow]) -> JudgeThresholds:
    """Return the thresholds that fit the rows best."""
    supported = sum(row.meaning.is_supported for row in rows)
    prior = rounded((supported + 1) / (len(rows) + 2), _DECIMALS)
    fitted = structs.replace(DEFAULTS, contradicted_from=_contradicted_from(rows), prior=prior)
    left = [row for row in rows if row.judged.score.contradiction < fitted.contradicted_from]
    supported_from = _best(
        [(fitted.shifted(row.judged.support), row.meaning.is_supported) for row in left],
        DEFAULTS.supported_from,
    )
    fitted = structs.replace(fitted, supported_from=supported_from)
    return structs.replace(fitted, weak_from=_weak_from(left, fitted))


def _contradicted_from(rows: Sequence[LabelledRow]) -> float:
    labelled = [
        (row.judged.score.contradiction, row.meaning.is_contradicted)
        for row in rows
        if row.meaning.is_contradicted is not None
    ]
    if not _has_enough(actual for _, actual in labelled):
        return DEFAULTS.contradicted_from
    return _best(labelled, DEFAULTS.contradicted_from)


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
    return min(counts[True], counts[False]) >= MIN_OF_EACH


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
    """Return the middle with four decimals, which must be above `low`; else `high`."""
    middle = rounded((low + high) / 2, _DECIMALS)
    return middle if middle > low else high


def _verdict(thresholds: JudgeThresholds, row: LabelledRow) -> Verdict:
    return thresholds.verdict(row.judged.support, row.judged.score.contradiction)


def _label_agreement(rows: Sequence[LabelledRow], verdicts: Sequence[Verdict]) -> LabelAgreement:
    pairs = [
        (row.meaning.is_supported, verdict is Verdict.SUPPORTED)
        for row, verdict in zip(rows, verdicts, strict=True)
    ]
    named = Counter((str(actual), str(predicted)) for actual, predicted in pairs)
    return LabelAgreement(binary_counts(pairs), agreement_from_counts(named), kappa_interval(named))
