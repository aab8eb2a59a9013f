"""Prediction-powered inference: a share from few labels and many predictions."""

from random import Random

import pytest

from affidavit.base.label_statistics import BinaryCounts, Estimate, prediction_powered_rate
from affidavit.base.statistics import Rate


def test_the_formula_by_hand() -> None:
    # 100 labels: the judge calls 10 supported that are not, and misses 4.
    found = prediction_powered_rate(BinaryCounts(46, 10, 4, 40), Rate(600, 1000))
    assert found.value == pytest.approx(0.6 + (4 - 10) / 100)
    variance = 0.6 * 0.4 / 999 + (0.14 - 0.06**2) / 99
    assert found.interval is not None
    assert found.interval.high - found.interval.low == pytest.approx(2 * 1.959964 * variance**0.5)


NOTHING = {
    "no judged rows": (BinaryCounts(5, 1, 1, 5), Rate(0, 0)),
    "one judged row": (BinaryCounts(5, 1, 1, 5), Rate(1, 1)),
    "one label": (BinaryCounts(1, 0, 0, 0), Rate(5, 10)),
}


@pytest.mark.parametrize(("labelled", "judged"), NOTHING.values(), ids=NOTHING.keys())
def test_too_little_to_estimate(labelled: BinaryCounts, judged: Rate) -> None:
    assert prediction_powered_rate(labelled, judged) == Estimate(None, None)


def test_full_agreement_of_a_few_labels_is_not_certainty() -> None:
    found = prediction_powered_rate(BinaryCounts(10, 0, 0, 10), Rate(50_000, 100_000))
    assert found.interval is not None
    assert found.interval.high - found.interval.low > 0.15


def test_a_share_stays_between_0_and_1() -> None:
    low = prediction_powered_rate(BinaryCounts(0, 9, 0, 1), Rate(1, 100))
    high = prediction_powered_rate(BinaryCounts(1, 0, 9, 0), Rate(99, 100))
    assert (low.value, high.value) == (0, 1)


def test_the_interval_holds_the_truth_about_19_times_of_20() -> None:
    random = Random(7)
    held = 0
    for _ in range(400):
        # 60% are supported; the judge is right in 80% of those and in 90% of the others.
        truth = [random.random() < 0.6 for _ in range(600)]
        said = [random.random() < (0.8 if each else 0.1) for each in truth]
        pairs = list(zip(truth, said, strict=True))
        counts = BinaryCounts(
            pairs[:100].count((True, True)),
            pairs[:100].count((False, True)),
            pairs[:100].count((True, False)),
            pairs[:100].count((False, False)),
        )
        found = prediction_powered_rate(counts, Rate(sum(said[100:]), 500))
        assert found.interval is not None
        held += found.interval.low <= 0.6 <= found.interval.high
    assert held / 400 == pytest.approx(0.95, abs=0.025)
