"""Binary classification: counts, figures and intervals."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affidavit.base.label_statistics import (
    BinaryCounts,
    Estimate,
    agreement,
    agreement_from_counts,
    binary_counts,
    estimated,
    kappa_interval,
)
from affidavit.base.statistics import Interval, Rate, bootstrap, wilson

COUNTS = st.builds(BinaryCounts, *[st.integers(0, 400)] * 4)
NOT_MEASURED = Estimate(None, None)


def test_counts_are_by_actual_and_predicted_label() -> None:
    pairs = [(True, True)] * 4 + [(False, True)] * 3 + [(True, False)] * 2 + [(False, False)]
    counts = binary_counts(pairs)
    assert counts == BinaryCounts(4, 3, 2, 1)
    assert (counts.count, counts.positives, counts.negatives) == (10, 6, 4)
    assert counts.base_rate == Rate(6, 10)


def test_every_figure_of_a_small_table() -> None:
    counts = BinaryCounts(40, 10, 20, 30)
    assert counts.recall == estimated(Rate(40, 60))
    assert counts.specificity == estimated(Rate(30, 40))
    assert counts.precision == estimated(Rate(40, 50))
    assert counts.accuracy == estimated(Rate(70, 100))
    assert counts.balanced_accuracy.value == pytest.approx((2 / 3 + 3 / 4) / 2)
    assert counts.f1.value == pytest.approx(2 * 0.8 * (2 / 3) / (0.8 + 2 / 3))


def test_the_interval_of_the_balanced_accuracy_by_hand() -> None:
    counts = BinaryCounts(40, 10, 20, 30)
    of_recall, of_specificity = wilson(Rate(40, 60)), wilson(Rate(30, 40))
    assert of_recall is not None
    assert of_specificity is not None
    down = ((2 / 3 - of_recall.low) ** 2 + (3 / 4 - of_specificity.low) ** 2) ** 0.5 / 2
    up = ((of_recall.high - 2 / 3) ** 2 + (of_specificity.high - 3 / 4) ** 2) ** 0.5 / 2
    middle = (2 / 3 + 3 / 4) / 2
    found = counts.balanced_accuracy.interval
    assert found is not None
    assert (found.low, found.high) == pytest.approx((middle - down, middle + up))


MISSING = {
    "no items at all": (BinaryCounts(0, 0, 0, 0), NOT_MEASURED, NOT_MEASURED),
    "no positives": (BinaryCounts(0, 0, 0, 9), NOT_MEASURED, NOT_MEASURED),
    "no positives, and some found": (BinaryCounts(0, 3, 0, 9), NOT_MEASURED, NOT_MEASURED),
    "no negatives": (BinaryCounts(9, 0, 0, 0), NOT_MEASURED, Estimate(1.0, None)),
}


@pytest.mark.parametrize(("counts", "balanced", "f1"), MISSING.values(), ids=MISSING.keys())
def test_nothing_to_measure(counts: BinaryCounts, balanced: Estimate, f1: Estimate) -> None:
    assert counts.balanced_accuracy == balanced
    assert counts.f1.value == f1.value


def resampled(counts: BinaryCounts, figure: str) -> Interval:
    """Return the interval that resampling gives to the same items."""
    pairs = (
        [(True, True)] * counts.true_positive
        + [(False, True)] * counts.false_positive
        + [(True, False)] * counts.false_negative
        + [(False, False)] * counts.true_negative
    )

    def statistic(rows: Sequence[tuple[bool, bool]]) -> float | None:
        found: Estimate = getattr(binary_counts(rows), figure)
        return found.value

    interval = bootstrap(pairs, statistic, seed=3, resamples=1000).interval
    assert interval is not None
    return interval


@pytest.mark.parametrize("figure", ["f1", "balanced_accuracy"])
def test_the_closed_form_intervals_are_near_the_bootstrap(figure: str) -> None:
    counts = BinaryCounts(140, 40, 60, 160)
    estimate: Estimate = getattr(counts, figure)
    theirs = resampled(counts, figure)
    assert estimate.interval is not None
    assert (estimate.interval.low, estimate.interval.high) == pytest.approx(
        (theirs.low, theirs.high), abs=0.012
    )


@given(COUNTS)
def test_a_figure_is_in_its_interval_and_both_are_within_0_to_1(counts: BinaryCounts) -> None:
    for figure in ("recall", "specificity", "precision", "accuracy", "balanced_accuracy", "f1"):
        estimate: Estimate = getattr(counts, figure)
        assert (estimate.value is None) == (estimate.interval is None)
        if estimate.value is not None and estimate.interval is not None:
            low, high = estimate.interval.low, estimate.interval.high
            assert -1e-12 <= low <= estimate.value + 1e-12
            assert estimate.value - 1e-12 <= high <= 1 + 1e-12


# The interval of a kappa.

AGREED = {("yes", "yes"): 20, ("yes", "no"): 5, ("no", "yes"): 10, ("no", "no"): 15}


def test_kappa_is_near_what_resampling_gives() -> None:
    pairs = [pair for pair, count in AGREED.items() for _ in range(count * 8)]

    def statistic(rows: Sequence[tuple[str, str]]) -> float | None:
        return agreement(rows).kappa

    theirs = bootstrap(pairs, statistic, seed=3, resamples=1000).interval
    ours = kappa_interval({pair: count * 8 for pair, count in AGREED.items()})
    assert theirs is not None
    assert ours is not None
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.012)


def test_the_published_standard_error() -> None:
    # Fleiss, Levin and Paik (2003), table 18.1, 100 people: kappa .68, standard error .088.
    table = [[75, 1, 4], [5, 4, 1], [0, 0, 10]]
    counts = {
        (str(row), str(column)): count
        for row, line in enumerate(table)
        for column, count in enumerate(line)
    }
    assert agreement_from_counts(counts).kappa == pytest.approx(0.676, abs=0.0005)
    interval = kappa_interval(counts)
    assert interval is not None
    assert (interval.high - 0.6765) / 1.959964 == pytest.approx(0.0877, abs=0.0005)
    # Below, the interval of the observed agreement reaches further.
    assert (0.6765 - interval.low) / 1.959964 == pytest.approx(0.1145, abs=0.0005)


def test_kappa_without_a_second_label_has_no_interval() -> None:
    assert kappa_interval({("a", "a"): 3}) is None
    assert kappa_interval({}) is None


def test_perfect_agreement_on_few_items_is_not_certain_and_stays_in_bounds() -> None:
    few = kappa_interval({("a", "a"): 3, ("b", "b"): 3})
    many = kappa_interval({("a", "a"): 3000, ("b", "b"): 3000})
    assert few is not None
    assert many is not None
    assert (few.high, many.high) == (1.0, 1.0)
    assert few.low < 0.25
    assert many.low > 0.99
    wide = kappa_interval({("a", "b"): 2, ("b", "a"): 2, ("a", "a"): 1})
    assert wide is not None
    assert -1 <= wide.low <= wide.high <= 1
