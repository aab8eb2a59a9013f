"""Fits the combiner: two logistic sums, every set and every class of a set weighing the same.

Weights have the sign that their score has by its meaning, so that more evidence never lowers a
support. The same rows give the same weights: the solver is deterministic, and weights are rounded.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from affidavit.judge.layered.combiner import LayersV1, SumV1, probability, reading_scores
from affidavit.judge.layered.weighing import RULE_SCORE, WORDS_SCORE
from tools.judge_bench.signals import Seen, Signals

Array = NDArray[np.float64]

# Few, and each with a meaning of its own: more of them fit the sets at hand and no other.
SCORES: Final = (
    WORDS_SCORE, "names_met", "recall_triple", "exact", "facts_missing", "facts_conflict",
    "opposite", "denial", "renamed", RULE_SCORE,
)  # fmt: skip
FOR: Final = frozenset({WORDS_SCORE, "names_met", "recall_triple", "exact", "entails"})
READ: Final = ("entails", "contradicts")
# Kinds of edit that are contradictions, and those of which it can be said that they are none.
AGAINST: Final = ("edit_number", "edit_date", "edit_unit", "edit_negation", "edit_opposite")
OPEN: Final = ("edit_removed", "edit_partial", "originals", "restated")
_RIDGE: Final = 1e-3
_TURNS: Final = 3
_DECIMALS: Final = 4


@dataclass(frozen=True, slots=True)
class _Sample:
    """A row as the fit sees it: one sentence stands for the claim."""

    set: str
    is_true: bool
    seen: Seen


def fit_support(signals: Sequence[Signals]) -> LayersV1:
    """Fit the probability of support on labelled sets.

    A claim is as good as its weakest sentence, and which one that is depends on the weights: so
    the fit and the choice take turns, beginning with the sentence of which the least is there.
    """
    chosen = [min(row.sentences, key=lambda seen: seen.scores[WORDS_SCORE]) for row in signals]
    layers = _fit_support(signals, chosen)
    for _ in range(_TURNS):
        chosen = [min(row.sentences, key=partial(_support, layers)) for row in signals]
        layers = _fit_support(signals, chosen)
    return layers


def _fit_support(signals: Sequence[Signals], chosen: Sequence[Seen]) -> LayersV1:
    samples = [
        _Sample(row.group, row.target == 0, seen) for row, seen in zip(signals, chosen, strict=True)
    ]
    return _layers(samples, SCORES, _support_sign)


def _support(layers: LayersV1, seen: Seen) -> float:
    if seen.read is None:
        return probability(layers.words, seen.scores)
    return probability(layers.read, {**seen.scores, **reading_scores(seen.read)})


def fit_contradiction(signals: Sequence[Signals]) -> LayersV1:
    """Fit the probability of contradiction on edits, and on claims known to be supported."""
    samples = [
        _Sample(_set_of(row.group), row.group in AGAINST, max(row.sentences, key=_against))
        for row in signals
        if row.group in AGAINST or row.group in OPEN or row.target == 0
    ]
    return _layers(samples, (RULE_SCORE,), _contradiction_sign)


def _against(seen: Seen) -> tuple[float, float]:
    return seen.scores[RULE_SCORE], seen.read.contradicts if seen.read else 0.0


def _support_sign(name: str) -> int:
    return 1 if name in FOR else -1


def _contradiction_sign(name: str) -> int:
    return -1 if name in FOR else 1


def _layers(
    samples: Sequence[_Sample], names: Sequence[str], sign: Callable[[str], int]
) -> LayersV1:
    truth = np.array([sample.is_true for sample in samples], dtype=float)
    weights = _balanced([sample.set for sample in samples], truth)
    words = np.array([[sample.seen.scores[name] for name in names] for sample in samples])
    was_read = np.array([sample.seen.read is not None for sample in samples])
    seen = [
        [*row, *(reading_scores(sample.seen.read)[name] for name in READ)]
        for row, sample in zip(words.tolist(), samples, strict=True)
        if sample.seen.read is not None
    ]
    return LayersV1(
        _fit(names, words, truth, weights, sign),
        _fit((*names, *READ), np.array(seen), truth[was_read], weights[was_read], sign),
    )


def _set_of(group: str) -> str:
    return "edits" if group.startswith("edit_") or group in OPEN else group


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
    names: Sequence[str], rows: Array, truth: Array, weights: Array, sign: Callable[[str], int]
) -> SumV1:
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
    intercept = float(found[0] - raw @ middle)
    rounded = {name: round(float(value), _DECIMALS) for name, value in zip(names, raw, strict=True)}
    return SumV1(round(intercept, _DECIMALS), _kept(rounded.items()))


def _kept(weights: Iterable[tuple[str, float]]) -> dict[str, float]:
    return {name: value for name, value in sorted(weights) if value}
