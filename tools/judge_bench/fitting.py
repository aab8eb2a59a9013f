"""Fits the combiner: logistic sums, every set and every class of a set weighing the same.

Weights have the sign that their score has by its meaning, so that more evidence never lowers a
support. The same rows give the same weights: the solver is deterministic, and weights are rounded.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from affidavit.base.label_statistics import with_prior
from affidavit.judge.standard.combiner import (
    SCHEMA,
    Combiner,
    CombinerTable,
    Limit,
    RiskBound,
    Weighed,
    WeightedSum,
)
from affidavit.judge.standard.language import FOREIGN_SCORE, TOO_MANY
from affidavit.ledger.model import Verdict
from affidavit.ledger.rules import JudgeThresholds
from tools.judge_bench.rows import FITTED
from tools.judge_bench.signals import Scores, Signals

Array = NDArray[np.float64]

# Few, and each with a meaning of its own: more of them fit the sets at hand and no other.
WORDS: Final = ("recall_run", "recall_wide")
SUPPORT: Final = ("words", "entails", "entails_tight", "facts_missing")
CONTRADICTION: Final = ("contradicts", "rule_contradiction")
MOST_PASSAGES: Final = 4
NEAR_RECALL, NEAR_BIGRAMS = 0.9, 0.5
UNREAD: Final = 0.45
# Conflicts of fact, opposites, denials and renamed entities bound any claim. The others err on
# free retellings and bound only a claim that nearly repeats its sentence.
LIMITS: Final = (
    *(Limit(name, 0.6, 0.2) for name in ("facts_conflict", "opposite", "renamed")),
    *(
        Limit(name, 0.6, 0.4, near=True)
        for name in ("denial", "swapped", "mode_stronger", "edited")
    ),
    *(Limit(name, 0.6, 0.4, near=True) for name in ("quantifier", "condition")),
    # In other words, too, unless the encoder is sure that the condition does not matter.
    Limit("condition", 0.6, 0.4, unless_read=0.9),
    *(Limit(name, 0.01, 0.4, near=True) for name in ("facts_missing", "facts_loose")),
    # A figure that is not in the passage: weak at most, also where the rest is in other words,
    # unless the encoder is sure. Of the held-out rows that it stops, 5 in 7 are not true.
    Limit("figure_missing", 1.0, 0.45, unless_read=0.9),
    Limit(FOREIGN_SCORE, TOO_MANY, 0.4),
)
# Kinds of edit that are contradictions, and those of which it can be said that they are none.
AGAINST: Final = ("edit_number", "edit_date", "edit_unit", "edit_negation", "edit_opposite")
OPEN: Final = ("edit_removed", "edit_partial", "originals", "restated")
RISKS: Final = (0.01, 0.02, 0.03, 0.05, 0.1)
DEFAULT_RISK: Final = 0.05
PRIOR: Final = 0.7
"""Confidence and risk are stated for answers of which so many claims are supported. In public sets
of real answers it is six to nine in ten."""
LEAST_SUPPORTED, WEAK_FROM = 0.8, 0.6
"""Section 4.1 of the ledger's seed: the confidence in what is supported, and in what is weak."""
FALSELY_CONTRADICTED: Final = 0.05 / 3
"""The share of true claims that one passage may contradict. About three of those that are read
speak of a claim, so that one true claim in twenty is contradicted."""
_LEAST_ROWS: Final = 40
_RIDGE: Final = 1e-3
_TURNS: Final = 3
_DECIMALS: Final = 4


class Judgement(Struct, frozen=True):
    """The truth of a row beside what the judge makes of it."""

    group: str
    target: int
    weighed: Weighed
    verdict: Verdict


def fit_combiner(signals: Iterable[Signals], without: str = "") -> Combiner:
    """Fit a combiner on labelled sets, refutations and edits, leaving out one set."""
    kept = [row for row in signals if row.group != without]
    sets = [row for row in kept if row.group in FITTED]
    labelled = [*sets, *(row for row in kept if row.group.startswith("held_"))]
    counts = {name: sum(row.group == name for row in sets) for name in FITTED}
    # Summaries and long answers are labelled by looser rules: they do not tell how often a clear
    # claim about a passage is wrongly supported. They only say what counts, not for how much.
    clear = [row for row in labelled if row.group.startswith("held_")]
    table = CombinerTable(
        schema=SCHEMA,
        fitted_on={
            **{name: count for name, count in counts.items() if count},
            "edits_and_refutations": len(kept) - len(sets),
        },
        most_passages=MOST_PASSAGES,
        near_recall=NEAR_RECALL,
        near_bigrams=NEAR_BIGRAMS,
        limits=LIMITS,
        thresholds=JudgeThresholds(),
        risks=(),
        words=_fit_support(labelled, WORDS),
        support=_rescaled(_fit_support(labelled, SUPPORT), clear),
        contradiction=_fit_contradiction(kept),
    )
    judged = judge_signals(Combiner(table, ""), clear)
    risks = tuple(
        RiskBound(risk, max(LEAST_SUPPORTED, round(with_prior(bound, PRIOR), _DECIMALS)))
        for risk in RISKS
        if (bound := bound_at_risk(judged, risk)) is not None
    )
    # The small encoder keeps no bound so strict: its default is the strictest that it keeps.
    default = next((each.supported_from for each in risks if each.at_most >= DEFAULT_RISK), 1.0)
    thresholds = JudgeThresholds(
        max(default, LEAST_SUPPORTED), WEAK_FROM, contradicted_from(judged), prior=PRIOR
    )
    return Combiner(structs.replace(table, thresholds=thresholds, risks=risks), "")


def bound_at_risk(judged: Sequence[Judgement], risk: float) -> float | None:
    """Return the lowest support from which on the share of untrue rows is at most `risk`.

    Conformal: one more wrong row is counted, and at every higher bound the share must hold too, as
    far as there are enough rows to say. Every class of a set weighs the same, and the share is that
    of answers of which `PRIOR` of the claims are true.
    """
    truth = np.array([each.target == 0 for each in judged])
    support = np.array([each.weighed.support for each in judged])
    weights = _balanced([each.group for each in judged], truth.astype(float))
    one_more = 1 / len(judged)
    found = None
    for bound in np.arange(995, 495, -5) / 1000:
        above = support >= bound
        if above.sum() < _LEAST_ROWS:
            continue
        right = float(weights[above & truth].sum()) * PRIOR
        wrong = (float(weights[above & ~truth].sum()) + one_more) * (1 - PRIOR)
        if wrong > risk * (wrong + right):
            break
        found = float(bound)
    return found


def contradicted_from(judged: Sequence[Judgement]) -> float:
    """Return the contradiction from which on few enough true rows are contradicted.

    As for the support, one more wrong row is counted than there is.
    """
    true = [each.weighed.contradiction for each in judged if each.target == 0]
    for bound in range(80, 100):
        wrong = sum(contradiction >= bound / 100 for contradiction in true)
        if wrong + 1 <= FALSELY_CONTRADICTED * len(true):
            return bound / 100
    return 1.0


def dividing_support(judged: Sequence[Judgement]) -> float:
    """Return the support that divides supported rows from others best, each set weighing the same.

    Of bounds that divide equally well the middle one is taken.
    """
    truth = np.array([each.target == 0 for each in judged])
    support = np.array([each.weighed.support for each in judged])
    weights = _balanced([each.group for each in judged], truth.astype(float))
    bounds = np.arange(1, 100) / 100
    right = [float(weights[(support >= bound) == truth].sum()) for bound in bounds]
    best = np.flatnonzero(np.array(right) >= max(right) - 1e-9)
    return float(bounds[best[len(best) // 2]])


def _is_known(row: Judgement | Signals) -> bool:
    return row.target != 3 or row.group in AGAINST or row.group in OPEN


def _is_refuted(row: Judgement | Signals) -> bool:
    return row.target == 2 or row.group in AGAINST


def _set_of(group: str) -> str:
    return "edits" if group.startswith("edit_") or group in OPEN else group


def judge_signals(combiner: Combiner, signals: Iterable[Signals]) -> list[Judgement]:
    """Decide rows as the judge does: a claim is as good as its weakest sentence."""
    decided = []
    for row in signals:
        found = [combiner.weigh(scores) for scores in row.sentences]
        weighed = Weighed(min(w.support for w in found), max(w.contradiction for w in found))
        verdict = combiner.table.thresholds.verdict(*weighed)
        decided.append(Judgement(row.group, row.target, weighed, verdict))
    return decided


def _fit_support(signals: Sequence[Signals], names: Sequence[str]) -> WeightedSum:
    """Fit the probability of support.

    A claim is as good as its weakest sentence, and which one that is depends on the weights: so
    the fit and the choice take turns, beginning with the sentence of which the least is there.
    """
    rows = [row for row in signals if all(name in s for s in row.sentences for name in names)]
    sets = [row.group for row in rows]
    truth = np.array([row.target == 0 for row in rows], dtype=float)
    chosen = [min(row.sentences, key=lambda scores: scores["recall_wide"]) for row in rows]
    for _ in range(_TURNS):
        fitted = _fit(names, chosen, truth, sets, _support_sign)
        chosen = [min(row.sentences, key=fitted.probability) for row in rows]
    return fitted


def _rescaled(fitted: WeightedSum, rows: Sequence[Signals]) -> WeightedSum:
    """Return the sum with the slope and the intercept that fit these rows: its calibration."""
    read = [row for row in rows if all("entails" in scores for scores in row.sentences)]
    chosen = [min(row.sentences, key=fitted.probability) for row in read]
    totals = [{"sum": fitted.total(scores)} for scores in chosen]
    truth = np.array([row.target == 0 for row in read], dtype=float)
    line = _fit(("sum",), totals, truth, [row.group for row in read], lambda _: 1)
    slope = line.weights["sum"]
    return WeightedSum(
        round(line.intercept + slope * fitted.intercept, _DECIMALS),
        {name: round(slope * weight, _DECIMALS) for name, weight in fitted.weights.items()},
    )


def _support_sign(name: str) -> int:
    return -1 if name == "facts_missing" else 1


def _fit_contradiction(signals: Sequence[Signals]) -> WeightedSum:
    rows = [
        row
        for row in signals
        if _is_known(row)
        if all("contradicts" in scores for scores in row.sentences)
    ]
    sets = [_set_of(row.group) for row in rows]
    truth = np.array([_is_refuted(row) for row in rows], dtype=float)
    chosen = [max(row.sentences, key=lambda scores: scores["contradicts"]) for row in rows]
    return _fit(CONTRADICTION, chosen, truth, sets, lambda _: 1)


def _balanced(sets: Sequence[str], truth: Array) -> Array:
    """Return row weights under which each class of each set has the same total."""
    names = np.array(sets)
    weights = np.zeros(len(truth))
    for name in sorted(set(sets)):
        for label in (0.0, 1.0):
            rows = (names == name) & (truth == label)
            if rows.any():
                weights[rows] = 1.0 / rows.sum()
    for label in (0.0, 1.0):
        weights[truth == label] /= 2 * weights[truth == label].sum()
    return weights


def _fit(
    names: Sequence[str],
    chosen: Sequence[Scores],
    truth: Array,
    sets: Sequence[str],
    sign: Callable[[str], int],
) -> WeightedSum:
    rows = np.array([[scores[name] for name in names] for scores in chosen])
    weights = _balanced(sets, truth)
    middle, spread = rows.mean(axis=0), rows.std(axis=0)
    spread[spread < 1e-9] = 1.0
    scaled = (rows - middle) / spread

    def loss(values: Array) -> tuple[float, Array]:
        chance = expit(scaled @ values[1:] + values[0])
        safe = np.clip(chance, 1e-12, 1 - 1e-12)
        cost = -(weights * (truth * np.log(safe) + (1 - truth) * np.log1p(-safe))).sum()
        missed = weights * (chance - truth)
        slope = np.concatenate([[missed.sum()], scaled.T @ missed + 2 * _RIDGE * values[1:]])
        return float(cost + _RIDGE * (values[1:] ** 2).sum()), slope

    bounds = [(None, None), *((0, None) if sign(name) > 0 else (None, 0) for name in names)]
    start = np.zeros(len(names) + 1)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    raw = found[1:] / spread
    intercept = round(float(found[0] - raw @ middle), _DECIMALS)
    return WeightedSum(
        intercept,
        {name: round(float(value), _DECIMALS) for name, value in zip(names, raw, strict=True)},
    )
