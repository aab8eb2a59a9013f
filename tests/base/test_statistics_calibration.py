"""Scores that are probabilities: calibration and discrimination."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from affidavit.base.label_statistics import (
    Estimate,
    ReliabilityBin,
    ScoredLabel,
    auroc,
    brier_score,
    calibration_error,
    evaluate_labels,
    reliability_bins,
    with_prior,
)
from affidavit.base.statistics import Interval

PROBABILITIES = st.floats(0, 1)
PRIORS = st.floats(0.001, 0.999)
PAIRS = st.lists(st.tuples(PROBABILITIES, st.booleans()), max_size=50)


# Priors


def test_the_prior_shifts_the_odds() -> None:
    assert with_prior(0.5, 0.8) == pytest.approx(0.8)
    assert with_prior(0.8, 0.8) == pytest.approx(16 / 17)
    assert with_prior(0.8, 0.5, before=0.8) == pytest.approx(0.5)
    assert (with_prior(0.0, 0.9), with_prior(1.0, 0.1)) == (0.0, 1.0)


@given(PROBABILITIES)
def test_the_same_prior_changes_no_digit(probability: float) -> None:
    assert with_prior(probability, 0.5) == probability


@given(PROBABILITIES, PROBABILITIES, PRIORS)
def test_the_order_of_scores_stays(one: float, other: float, prior: float) -> None:
    low, high = sorted((one, other))
    assert with_prior(low, prior) <= with_prior(high, prior) + 1e-15


@given(st.floats(0.001, 0.999), PRIORS)
def test_a_shift_of_the_prior_can_be_reversed(probability: float, prior: float) -> None:
    there = with_prior(probability, prior)
    assert with_prior(there, 0.5, before=prior) == pytest.approx(probability, rel=1e-6)


@pytest.mark.parametrize(
    ("probability", "prior"), [(1.1, 0.5), (float("nan"), 0.5), (0.5, 0.0), (0.5, 1.0)]
)
def test_a_value_outside_0_to_1_raises_value_error(probability: float, prior: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        with_prior(probability, prior)


# Bins, calibration error and Brier score


def test_bins_contain_the_scores_of_their_range() -> None:
    bins = reliability_bins([(0.0, False), (0.1, True), (0.95, True), (1.0, False)])
    assert [each.count for each in bins] == [1, 1, 0, 0, 0, 0, 0, 0, 0, 2]
    assert bins[0] == ReliabilityBin(0.0, 0.1, 1, 0.0, 0.0)
    assert bins[2] == ReliabilityBin(0.2, 0.3, 0, None, None)
    assert bins[9] == ReliabilityBin(0.9, 1.0, 2, 0.975, 0.5)
    assert calibration_error(bins) == pytest.approx((0 + 0.9 + 2 * 0.475) / 4)


def test_no_scores_have_no_calibration_error() -> None:
    assert calibration_error(reliability_bins([])) is None
    assert brier_score([]) is None


def test_brier_is_the_mean_of_the_squares() -> None:
    assert brier_score([(0.8, True), (0.4, False)]) == pytest.approx((0.04 + 0.16) / 2)


@given(PAIRS)
def test_no_item_is_lost_and_the_error_is_a_share(pairs: list[tuple[float, bool]]) -> None:
    bins = reliability_bins(pairs)
    assert sum(each.count for each in bins) == len(pairs)
    error = calibration_error(bins)
    assert (error is None) == (not pairs)
    if error is not None:
        assert 0 <= error <= 1
    assert all(
        each.low <= each.mean_score <= each.high for each in bins if each.mean_score is not None
    )


def test_a_score_outside_0_to_1_is_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        reliability_bins([(1.2, True)])


# Area under the curve


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=25),
    st.lists(st.integers(0, 9), min_size=1, max_size=25),
)
def test_auroc_is_the_share_of_pairs_won(positives: list[int], negatives: list[int]) -> None:
    won = [(up > down) + 0.5 * (up == down) for up, down in product(positives, negatives)]
    found = auroc(positives, negatives)
    assert found.value == pytest.approx(sum(won) / len(won))
    if found.interval is not None:
        assert 0 <= found.interval.low <= float(found.value or 0) <= found.interval.high <= 1


def test_auroc_is_the_mann_whitney_u() -> None:
    positives = [0.9, 0.8, 0.8, 0.4, 0.3]
    negatives = [0.8, 0.5, 0.3, 0.2, 0.1, 0.1]
    theirs = stats.mannwhitneyu(positives, negatives).statistic / 30
    assert auroc(positives, negatives).value == pytest.approx(theirs)


def test_delongs_variance_by_its_definition() -> None:
    positives, negatives = [0.9, 0.7, 0.6, 0.4], [0.8, 0.5, 0.3]

    def wins(up: float, down: float) -> float:
        return (up > down) + 0.5 * (up == down)

    by_positive = [sum(wins(up, down) for down in negatives) / 3 for up in positives]
    by_negative = [sum(wins(up, down) for up in positives) / 4 for down in negatives]
    area = sum(by_positive) / 4
    variance = sum((each - area) ** 2 for each in by_positive) / 3 / 4
    variance += sum((each - area) ** 2 for each in by_negative) / 2 / 3
    from math import exp, log, sqrt

    spread = 1.959963984540054 * sqrt(variance) / (area * (1 - area))
    middle = log(area / (1 - area))
    low, high = (1 / (1 + exp(-(middle + sign * spread))) for sign in (-1, 1))
    found = auroc(positives, negatives)
    assert found.value == pytest.approx(area)
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((low, high))


WITHOUT_INTERVAL = {
    "one kind is missing": ([0.5], [], None),
    "the other kind is missing": ([], [0.5], None),
    "separated perfectly": ([0.9, 0.8], [0.2, 0.1], 1.0),
    "the wrong way round": ([0.1, 0.2], [0.8, 0.9], 0.0),
    "one item of each kind": ([0.5], [0.5], 0.5),
    "all the same": ([0.5, 0.5], [0.5, 0.5], 0.5),
}


@pytest.mark.parametrize(
    ("positives", "negatives", "value"), WITHOUT_INTERVAL.values(), ids=WITHOUT_INTERVAL.keys()
)
def test_auroc_can_lack_an_interval(
    positives: list[float], negatives: list[float], value: float | None
) -> None:
    assert auroc(positives, negatives) == Estimate(value, None)


def test_a_score_that_is_not_finite_raises_value_error() -> None:
    with pytest.raises(ValueError, match="finite"):
        auroc([float("nan")], [0.5])


# Everything together

ROWS = [
    ScoredLabel(number % 3 != 0, number % 4 != 0, (number * 37 % 100) / 100) for number in range(60)
]


def test_all_measures_of_an_evaluation() -> None:
    found = evaluate_labels(ROWS, resamples=50)
    assert found.count == 60
    assert found.base_rate.value == pytest.approx(2 / 3)
    assert (
        found.auroc.value
        == auroc(
            [row.score for row in ROWS if row.actual], [row.score for row in ROWS if not row.actual]
        ).value
    )
    pairs = [(row.score, row.actual) for row in ROWS]
    assert found.brier.value == brier_score(pairs)
    assert found.ece.value == calibration_error(found.bins)
    shifted = [(with_prior(score, 2 / 3), actual) for score, actual in pairs]
    assert found.bins_at_base_rate == reliability_bins(shifted)
    assert found.ece_at_base_rate.value == calibration_error(found.bins_at_base_rate)
    assert isinstance(found.ece.interval, Interval)
    assert found == evaluate_labels(ROWS, resamples=50)


UNMEASURED = {
    "no rows": ([], None),
    "positive only": ([ScoredLabel(True, True, 0.9), ScoredLabel(True, False, 0.7)], 0.2),
    "negative only": ([ScoredLabel(False, True, 0.1), ScoredLabel(False, False, 0.3)], 0.2),
}


@pytest.mark.parametrize(("rows", "ece"), UNMEASURED.values(), ids=UNMEASURED.keys())
def test_without_two_kinds_there_is_no_base_rate_to_shift_to(
    rows: list[ScoredLabel], ece: float | None
) -> None:
    found = evaluate_labels(rows, resamples=10)
    assert found.ece.value == (None if ece is None else pytest.approx(ece))
    assert found.ece_at_base_rate == Estimate(None, None)
    assert found.auroc == Estimate(None, None)
    assert sum(each.count for each in found.bins_at_base_rate) == 0
