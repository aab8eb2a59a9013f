"""Rates, means, percentiles, pass^k and the one rule of rounding."""

import math
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from affidavit.base.statistics import (
    Rate,
    mean,
    pass_hat_k,
    percentile,
    percentile_of_sorted,
    rounded,
)

FINITE = st.floats(allow_nan=False, allow_infinity=False)
MODEST = st.floats(-1e9, 1e9)


# Rates and means


@st.composite
def rates(draw: st.DrawFn) -> Rate:
    denominator = draw(st.integers(0, 10**9))
    return Rate(draw(st.integers(0, denominator)), denominator)


def test_a_rate_of_nothing_is_not_measured() -> None:
    assert Rate(0, 0).value is None
    assert Rate.of([]).value is None
    assert Rate(0, 3).value == 0.0
    assert Rate.of([True, False, True, True]) == Rate(3, 4)


@pytest.mark.parametrize(("numerator", "denominator"), [(-1, 2), (3, 2), (0, -1), (-2, -1)])
def test_a_share_above_one_is_refused(numerator: int, denominator: int) -> None:
    with pytest.raises(ValueError, match="not a share"):
        Rate(numerator, denominator)


@given(st.integers(1, 9999))
def test_a_rate_equals_its_decimal_value(hits: int) -> None:
    assert Rate(hits, 10_000).value == float(f"0.{hits:04d}")


@given(rates(), rates(), rates())
def test_rates_merge_in_any_order(first: Rate, second: Rate, third: Rate) -> None:
    assert first + second == second + first
    assert (first + second) + third == first + (second + third)
    assert first + Rate(0, 0) == first


@given(st.lists(FINITE, min_size=1))
def test_a_mean_is_within_the_values_and_ignores_order(values: list[float]) -> None:
    found = mean(values)
    assert found is not None
    assert found == mean(reversed(values))
    exact = float(sum(map(Fraction, values)) / len(values))
    assert found == pytest.approx(exact, rel=1e-15, abs=5e-324)


def test_no_numbers_have_no_mean() -> None:
    assert mean([]) is None


def test_a_sum_beyond_the_doubles_still_has_a_mean() -> None:
    assert mean([1.7e308, 1.7e308, -1.7e308, 1.7e308]) == 0.85e308


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_are_refused(value: float) -> None:
    for function in (mean, lambda values: percentile(values, 50)):
        with pytest.raises(ValueError, match="finite"):
            function([1.0, value])
    with pytest.raises(ValueError, match="finite"):
        rounded(value)


# Percentiles

PERCENTILES = {
    "numpy's manual: the median of six": ([10, 7, 4, 3, 2, 1], 50, 3.5),
    "between two values": ([0, 10], 25, 2.5),
    "not cut to a whole number": ([1, 2, 4], 75, 3.0),
    "ninety-fifth of a hundred": (range(1, 101), 95, 95.05),
    "one value is every percentile": ([7], 99, 7.0),
    "the least": ([3, 1, 2], 0, 1.0),
    "the largest": ([3, 1, 2], 100, 3.0),
    "99.9 is 999 thousandths": (range(1001), 99.9, 999.0),
    "a fraction": ([0, 3], Fraction(100, 3), 1.0),
    "no values": ([], 50, None),
}


@pytest.mark.parametrize(
    ("values", "percent", "wanted"), PERCENTILES.values(), ids=PERCENTILES.keys()
)
def test_percentile(values: list[float], percent: float, wanted: float | None) -> None:
    assert percentile(values, percent) == wanted


@given(st.lists(MODEST, min_size=1), st.floats(0, 100))
def test_percentiles_equal_those_of_numpy(values: list[float], percent: float) -> None:
    assert percentile(values, percent) == pytest.approx(
        float(np.percentile(values, percent)), rel=1e-9, abs=1e-6
    )


@given(st.lists(FINITE, min_size=1), st.floats(0, 100), st.floats(0, 100))
def test_a_higher_percentile_is_never_smaller(
    values: list[float], first: float, second: float
) -> None:
    ordered = sorted(values)
    low = percentile_of_sorted(ordered, min(first, second))
    high = percentile_of_sorted(ordered, max(first, second))
    assert low is not None
    assert high is not None
    assert ordered[0] <= low <= high <= ordered[-1]


@pytest.mark.parametrize("percent", [-0.1, 100.1, math.nan])
def test_a_percent_lies_between_0_and_100(percent: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 100"):
        percentile([1.0], percent)


# pass^k

PASS_HAT_K = {
    "tau-bench's formula: C(3,2) of C(4,2)": (3, 4, 2, 0.5),
    "k = 1 is the pass rate": (7, 10, 1, 0.7),
    "all passed": (8, 8, 8, 1.0),
    "one failed, and all are asked for": (7, 8, 8, 0.0),
    "fewer passes than k": (2, 8, 3, 0.0),
    "fewer trials than k": (2, 2, 3, None),
    "no trials": (0, 0, 1, None),
    "a million trials, a large k": (999_999, 1_000_000, 500_000, 0.5),
    "too small for a double": (5_000, 10_000, 4_000, 0.0),
}


@pytest.mark.parametrize(
    ("passes", "trials", "k", "wanted"), PASS_HAT_K.values(), ids=PASS_HAT_K.keys()
)
def test_pass_hat_k(passes: int, trials: int, k: int, wanted: float | None) -> None:
    assert pass_hat_k(passes, trials, k) == wanted


@pytest.mark.parametrize(("passes", "trials", "k"), [(-1, 2, 1), (3, 2, 1), (1, 2, 0), (1, 2, -1)])
def test_impossible_counts_are_refused(passes: int, trials: int, k: int) -> None:
    with pytest.raises(ValueError, match=r"cannot have passed|at least 1"):
        pass_hat_k(passes, trials, k)


@given(st.integers(0, 200), st.integers(0, 200), st.integers(1, 200))
def test_pass_hat_k_is_its_fraction_and_falls_with_k(passes: int, failures: int, k: int) -> None:
    trials = passes + failures
    assume(k < trials)
    found, further = pass_hat_k(passes, trials, k), pass_hat_k(passes, trials, k + 1)
    assert found is not None
    assert further is not None
    assert found == float(Fraction(comb(passes, k), comb(trials, k)))
    assert further <= found <= passes / trials


# Rounding

ROUNDED = {
    "half goes to the even digit, down": (0.125, 2, 0.12),
    "half goes to the even digit, up": (0.375, 2, 0.38),
    "the text counts, not the binary value": (2.675, 2, 2.68),
    "the text counts, also downward": (1.005, 2, 1.0),
    "more than half": (0.1250001, 2, 0.13),
    "nothing to round": (0.1, 6, 0.1),
    "no decimals": (2.5, 0, 2.0),
    "no negative zero": (-0.0000001, 6, 0.0),
    "negative": (-2.675, 2, -2.68),
    "very large": (1.7976931348623157e308, 6, 1.7976931348623157e308),
    "very small": (5e-324, 6, 0.0),
    "a whole number": (3, 2, 3.0),
    "not measured": (None, 6, None),
}


@pytest.mark.parametrize(("value", "decimals", "wanted"), ROUNDED.values(), ids=ROUNDED.keys())
def test_rounded(value: float | None, decimals: int, wanted: float | None) -> None:
    assert repr(rounded(value, decimals)) == repr(wanted)


@given(FINITE, st.integers(0, 12))
def test_rounding_is_accurate_and_idempotent(value: float, decimals: int) -> None:
    found = rounded(value, decimals)
    assert abs(Fraction(found) - Fraction(repr(value))) <= Fraction(1, 2 * 10**decimals) + Fraction(
        math.ulp(found)
    )
    assert repr(rounded(found, decimals)) == repr(found)


@given(MODEST, MODEST)
def test_rounding_keeps_the_order(first: float, second: float) -> None:
    low, high = sorted((first, second))
    assert rounded(low) <= rounded(high)
