"""The bootstrap gives the same result from the same seed on every machine."""

from collections.abc import Sequence
from hashlib import shake_256

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from affidavit.base.statistics import Bootstrap, Interval, Rate, bootstrap, drawn_positions, mean

VALUES = [float(value * value % 97) for value in range(50)]


def precision(rows: Sequence[tuple[bool, bool]]) -> float | None:
    """Return the share of right ones among the shipped; the kind of statistic that gates have."""
    return Rate.of(right for shipped, right in rows if shipped).value


def test_the_generator_is_as_documented() -> None:
    stream = shake_256(b"affidavit-bootstrap-1/42/7").digest(80)
    words = [int.from_bytes(stream[at : at + 8], "little") for at in range(0, 80, 8)]
    assert drawn_positions(42, 7, 10) == [word * 10 // 2**64 for word in words]


def test_the_bootstrap_is_reproduced_to_every_digit() -> None:
    assert drawn_positions(1, 0, 12) == [10, 0, 10, 4, 11, 10, 6, 8, 7, 6, 9, 9]
    assert bootstrap(VALUES, mean, seed=1, resamples=500) == Bootstrap(
        estimate=48.02, interval=Interval(low=40.079, high=57.0955), resamples=500, unmeasured=0
    )


@given(st.integers(0, 2**70), st.integers(0, 2**40), st.integers(0, 300))
def test_drawn_positions_are_in_range(seed: int, resample: int, count: int) -> None:
    drawn = drawn_positions(seed, resample, count)
    assert len(drawn) == count
    assert all(0 <= position < count for position in drawn)


def test_another_seed_draws_something_else() -> None:
    assert len({tuple(drawn_positions(seed, 0, 40)) for seed in range(50)}) == 50


def test_every_position_is_as_likely_as_the_others() -> None:
    drawn = [position for resample in range(2000) for position in drawn_positions(3, resample, 10)]
    counts = [drawn.count(position) for position in range(10)]
    assert stats.chisquare(counts).pvalue > 0.001


def test_the_interval_is_near_that_of_scipy() -> None:
    theirs = stats.bootstrap(
        (VALUES,), lambda rows, axis: rows.mean(axis), method="percentile", rng=1
    ).confidence_interval
    ours = bootstrap(VALUES, mean, seed=1, resamples=5000).interval
    assert ours is not None
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.5)


def test_more_confidence_is_wider() -> None:
    narrow = bootstrap(VALUES, mean, seed=1, resamples=300, confidence=0.5).interval
    wide = bootstrap(VALUES, mean, seed=1, resamples=300, confidence=0.99).interval
    assert narrow is not None
    assert wide is not None
    assert wide.low < narrow.low < narrow.high < wide.high


NOT_MEASURED = {
    "no items": (),
    "nothing to measure in them": ((False, True), (False, False)),
}


@pytest.mark.parametrize("rows", NOT_MEASURED.values(), ids=NOT_MEASURED.keys())
def test_bootstrap_over_nothing_is_not_measured(rows: tuple[tuple[bool, bool], ...]) -> None:
    assert bootstrap(rows, precision, seed=1, resamples=9) == Bootstrap(None, None, 9, 9)


def test_resamples_with_nothing_to_measure_are_counted() -> None:
    rows = [(True, True), (False, False), (False, False)]
    found = bootstrap(rows, precision, seed=1, resamples=1000)
    assert (found.estimate, found.interval) == (1.0, Interval(1.0, 1.0))
    # All three draws miss the first row with probability 8/27.
    assert 250 < found.unmeasured < 350


def test_without_resamples_there_is_no_interval() -> None:
    assert bootstrap([1.0], mean, seed=1, resamples=0) == Bootstrap(1.0, None, 0, 0)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.integers(0, 9))
def test_the_interval_lies_within_the_values(values: list[float], seed: int) -> None:
    interval = bootstrap(values, max, seed=seed, resamples=20).interval
    assert interval is not None
    assert min(values) <= interval.low <= interval.high <= max(values)
