"""McNemar's and Fisher's exact tests."""

from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from affidavit.base.statistics import Rate, fisher_exact, mcnemar_exact

COUNTS = st.integers(0, 400)


@st.composite
def rates(draw: st.DrawFn, most: int = 400) -> Rate:
    trials = draw(st.integers(1, most))
    return Rate(draw(st.integers(0, trials)), trials)


FISHER = {
    "Fisher 1935: the lady tasting tea, 3 of 4": (Rate(3, 4), Rate(1, 4), 34 / 70),
    "Fisher 1935: the lady tasting tea, 4 of 4": (Rate(4, 4), Rate(0, 4), 2 / 70),
    "SciPy's manual: whales and sharks": (Rate(8, 10), Rate(1, 6), 0.0349650349),
    "Fisher 1935, by R: the convictions of twins": (Rate(2, 17), Rate(10, 13), 0.0005367241),
    "the same rate in both": (Rate(5, 10), Rate(5, 10), 1.0),
    "nothing passed in either": (Rate(0, 10), Rate(0, 3), 1.0),
    "everything passed in both": (Rate(10, 10), Rate(3, 3), 1.0),
    "one trial each": (Rate(1, 1), Rate(0, 1), 1.0),
    "too small for a double": (Rate(0, 10_000), Rate(10_000, 10_000), 0.0),
    "no trials in the first": (Rate(0, 0), Rate(1, 2), None),
    "no trials in the second": (Rate(1, 2), Rate(0, 0), None),
}


@pytest.mark.parametrize(("first", "second", "wanted"), FISHER.values(), ids=FISHER.keys())
def test_fisher(first: Rate, second: Rate, wanted: float | None) -> None:
    assert fisher_exact(first, second) == (wanted and pytest.approx(wanted, rel=1e-7))


def test_fisher_is_rounded_once_from_the_exact_fraction() -> None:
    assert fisher_exact(Rate(3, 4), Rate(1, 4)) == 34 / 70
    assert fisher_exact(Rate(8, 10), Rate(1, 6)) == 280 / 8008


@given(rates(), rates())
def test_fisher_equals_scipy(first: Rate, second: Rate) -> None:
    table = [
        [first.numerator, first.denominator - first.numerator],
        [second.numerator, second.denominator - second.numerator],
    ]
    assert fisher_exact(first, second) == pytest.approx(stats.fisher_exact(table)[1], rel=1e-9)


@given(rates(most=40), rates(most=40))
def test_fisher_is_the_definition_in_fractions(first: Rate, second: Rate) -> None:
    hits = first.numerator + second.numerator
    ways = [
        comb(first.denominator, seen) * comb(second.denominator, hits - seen)
        for seen in range(hits + 1)
    ]
    exact = Fraction(sum(way for way in ways if way <= ways[first.numerator]), sum(ways))
    assert fisher_exact(first, second) == float(exact)


@given(rates(), rates())
def test_fisher_ignores_the_order_and_what_counts_as_a_hit(first: Rate, second: Rate) -> None:
    p_value = fisher_exact(first, second)
    mirrored = (Rate(r.denominator - r.numerator, r.denominator) for r in (first, second))
    assert fisher_exact(second, first) == pytest.approx(p_value, rel=1e-15)
    assert fisher_exact(*mirrored) == pytest.approx(p_value, rel=1e-15)


def test_a_million_trials_cost_no_more_than_their_square_root() -> None:
    first, second = Rate(500_000, 1_000_000), Rate(501_500, 1_000_000)
    table = [[500_000, 500_000], [501_500, 498_500]]
    assert fisher_exact(first, second) == pytest.approx(stats.fisher_exact(table)[1], rel=1e-9)


MCNEMAR = {
    "the vignette of R's exact2x2: 9 against 2": (9, 2, 33, 0.06543),
    "Agresti 1990, page 350, by R's exact2x2: 150 against 86": (150, 86, 1364, 3.716e-05),
    "one change of ten the other way": (1, 9, 0, 22 / 1024),
    "as many each way": (7, 7, 3, 1.0),
    "nothing changed": (0, 0, 5, 1.0),
    "one change is not evidence": (1, 0, 0, 1.0),
    "six changes one way are": (6, 0, 0, 2 / 64),
    "nothing compared": (0, 0, 0, None),
}


@pytest.mark.parametrize(
    ("first", "second", "agreeing", "wanted"), MCNEMAR.values(), ids=MCNEMAR.keys()
)
def test_mcnemar(first: int, second: int, agreeing: int, wanted: float | None) -> None:
    found = mcnemar_exact(only_first=first, only_second=second, agreeing=agreeing)
    assert found == (wanted and pytest.approx(wanted, rel=5e-5))


@given(COUNTS, COUNTS, COUNTS)
def test_mcnemar_equals_the_binomial_test_of_scipy(first: int, second: int, agreeing: int) -> None:
    found = mcnemar_exact(only_first=first, only_second=second, agreeing=agreeing + 1)
    wanted = stats.binomtest(first, first + second).pvalue if first + second else 1.0
    assert found == pytest.approx(wanted, rel=1e-11)
    assert found == mcnemar_exact(only_first=second, only_second=first, agreeing=1)


@given(COUNTS, COUNTS)
def test_mcnemar_is_twice_the_smaller_tail(first: int, second: int) -> None:
    changed = first + second
    tail = sum(comb(changed, seen) for seen in range(min(first, second) + 1))
    exact = min(Fraction(1), Fraction(2 * tail, 2**changed))
    assert mcnemar_exact(only_first=first, only_second=second, agreeing=1) == float(exact)


@pytest.mark.parametrize("negative", ["only_first", "only_second", "agreeing"])
def test_counts_are_not_negative(negative: str) -> None:
    counts = {"only_first": 1, "only_second": 1, "agreeing": 1} | {negative: -1}
    with pytest.raises(ValueError, match="must not be negative"):
        mcnemar_exact(**counts)
