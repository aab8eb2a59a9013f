"""The interval of a percentile, against the binomial written out."""

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affidavit.base.statistics import percentile_interval, percentile_of_sorted


def ranks(count: int, share: float, confidence: float) -> tuple[int, int] | None:
    """Return the ranks by definition: each tail has at most half of the remaining probability."""
    tail = (1 - confidence) / 2
    odds = [comb(count, k) * share**k * (1 - share) ** (count - k) for k in range(count + 1)]
    low = max(k for k in range(count + 1) if sum(odds[:k]) <= tail)
    high = min(k for k in range(1, count + 2) if sum(odds[k:]) <= tail)
    return (low, high) if low >= 1 and high <= count else None


@pytest.mark.parametrize("percent", [50, 90, 95, 99])
def test_against_the_definition(percent: int) -> None:
    for count in (*range(1, 40), 71, 72, 100, 367, 368):
        made = percentile_interval(range(1, count + 1), percent)
        wanted = ranks(count, percent / 100, 0.95)
        assert (None if made is None else (made.low, made.high)) == wanted, count


FEWEST = {"the median": (50, 6), "P90": (90, 36), "P95": (95, 72), "P99": (99, 368)}


@pytest.mark.parametrize(("percent", "count"), FEWEST.values(), ids=FEWEST.keys())
def test_too_few_values_have_no_interval(percent: int, count: int) -> None:
    assert percentile_interval(range(count - 1), percent) is None
    assert percentile_interval(range(count), percent) is not None


def test_nothing_to_measure() -> None:
    assert percentile_interval([], 50) is None


NONSENSE = {"the least": (0, 0.95), "the most": (100, 0.95), "certainty": (50, 1.0)}


@pytest.mark.parametrize(("percent", "confidence"), NONSENSE.values(), ids=NONSENSE.keys())
def test_percents_and_confidences_out_of_range_are_refused(percent: int, confidence: float) -> None:
    with pytest.raises(ValueError, match="within their ranges"):
        percentile_interval([1.0], percent, confidence)


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=200), st.sampled_from([50, 90, 95]))
def test_the_percentile_is_within_and_more_confidence_is_wider(
    values: list[float], percent: int
) -> None:
    ordered = sorted(values)
    made, wider = (percentile_interval(ordered, percent, sure) for sure in (0.9, 0.99))
    at = percentile_of_sorted(ordered, percent)
    assert at is not None
    if made is not None:
        assert made.low <= at <= made.high
    if made is not None and wider is not None:
        assert wider.low <= made.low <= made.high <= wider.high
    if made is None:
        assert wider is None


def test_a_million_values_are_quick_and_narrow() -> None:
    made = percentile_interval(range(1_000_000), 50)
    assert made is not None
    assert (made.low, made.high) == (499_019, 500_980)
