"""Wilson's and Clopper and Pearson's intervals, and the normal quantile below them."""

from collections.abc import Callable
from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from affidavit.base.statistics.rates import Interval, Rate, clopper_pearson, wilson, z_value

Method = Callable[[Rate, float], Interval | None]
METHODS: dict[str, Method] = {"wilson": wilson, "clopper_pearson": clopper_pearson}
CONFIDENCES = st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99, 0.999])


@st.composite
def rates(draw: st.DrawFn, most: int = 5000) -> Rate:
    trials = draw(st.integers(1, most))
    return Rate(draw(st.integers(0, trials)), trials)


def found(interval: Interval | None) -> Interval:
    assert interval is not None
    return interval


# Newcombe, Statistics in Medicine 17 (1998), table I: hits, trials, method 3, method 5.
NEWCOMBE = {
    "Newcombe 1998: 81 of 263": (81, 263, (0.2553, 0.3662), (0.2527, 0.3676)),
    "Newcombe 1998: 15 of 148": (15, 148, (0.0624, 0.1605), (0.0578, 0.1617)),
    "Newcombe 1998: 0 of 20": (0, 20, (0.0000, 0.1611), (0.0000, 0.1684)),
    "Newcombe 1998: 1 of 29": (1, 29, (0.0061, 0.1718), (0.0009, 0.1776)),
}


@pytest.mark.parametrize(
    ("hits", "trials", "score", "exact"), NEWCOMBE.values(), ids=NEWCOMBE.keys()
)
def test_published_intervals(
    hits: int, trials: int, score: tuple[float, float], exact: tuple[float, float]
) -> None:
    by_score = found(wilson(Rate(hits, trials)))
    by_tails = found(clopper_pearson(Rate(hits, trials)))
    assert (by_score.low, by_score.high) == pytest.approx(score, abs=0.00005)
    assert (by_tails.low, by_tails.high) == pytest.approx(exact, abs=0.00005)


# All digits: what any machine and any Python must give.
PINNED = {
    "score, in the middle": (wilson, Rate(81, 263), 0.95, (0.2552885198782742, 0.3662095769828001)),
    "exact, in the middle": (
        clopper_pearson,
        Rate(81, 263),
        0.95,
        (0.25273674558527115, 0.36762192260135135),
    ),
    "exact, many trials": (
        clopper_pearson,
        Rate(123_456, 1_000_000),
        0.99,
        (0.12260994854073146, 0.12430563653385554),
    ),
    "exact, one hit of a million": (
        clopper_pearson,
        Rate(1, 1_000_000),
        0.95,
        (2.531780766379417e-08, 5.571630655172244e-06),
    ),
    "no hit: the rule of three is near": (
        clopper_pearson,
        Rate(0, 1000),
        0.95,
        (0.0, 0.003682083896865672),
    ),
    "only hits": (wilson, Rate(5, 5), 0.95, (0.5655175352168252, 1.0)),
}


@pytest.mark.parametrize(("method", "rate", "level", "wanted"), PINNED.values(), ids=PINNED.keys())
def test_every_digit(method: Method, rate: Rate, level: float, wanted: tuple[float, float]) -> None:
    assert method(rate, level) == Interval(*wanted)


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS.keys())
class TestEveryInterval:
    def test_no_trials_is_not_measured(self, method: Method) -> None:
        assert method(Rate(0, 0), 0.95) is None

    @given(rate=rates(), confidence=CONFIDENCES)
    def test_holds_the_estimate(self, method: Method, rate: Rate, confidence: float) -> None:
        interval = found(method(rate, confidence))
        assert 0 <= interval.low <= rate.numerator / rate.denominator <= interval.high <= 1
        assert interval.low < interval.high

    @given(rate=rates(), confidence=CONFIDENCES)
    def test_failures_mirror_successes(self, method: Method, rate: Rate, confidence: float) -> None:
        interval = found(method(rate, confidence))
        failures = Rate(rate.denominator - rate.numerator, rate.denominator)
        mirrored = found(method(failures, confidence))
        assert interval.low == pytest.approx(1 - mirrored.high, abs=2e-16)
        assert interval.high == pytest.approx(1 - mirrored.low, abs=2e-16)

    @given(rate=rates(), confidence=CONFIDENCES)
    def test_one_success_more_moves_it_up(
        self, method: Method, rate: Rate, confidence: float
    ) -> None:
        fewer = found(method(Rate(rate.numerator, rate.denominator + 1), confidence))
        more = found(method(Rate(rate.numerator + 1, rate.denominator + 1), confidence))
        assert fewer.low < more.low
        assert fewer.high < more.high

    @given(rate=rates())
    def test_more_confidence_is_wider(self, method: Method, rate: Rate) -> None:
        narrow, wide = found(method(rate, 0.9)), found(method(rate, 0.99))
        assert wide.low <= narrow.low < narrow.high <= wide.high

    @pytest.mark.parametrize("confidence", [0, 1, -0.1, 1.5, float("nan")])
    def test_a_confidence_lies_between_0_and_1(self, method: Method, confidence: float) -> None:
        with pytest.raises(ValueError, match="between 0 and 1"):
            method(Rate(1, 2), confidence)


@given(rates(most=10**6), CONFIDENCES)
def test_wilson_is_scipys(rate: Rate, confidence: float) -> None:
    theirs = stats.binomtest(rate.numerator, rate.denominator).proportion_ci(confidence, "wilson")
    ours = found(wilson(rate, confidence))
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), rel=1e-11, abs=1e-14)


@given(rates(most=10**6), CONFIDENCES)
def test_clopper_pearson_is_scipys_inverse_of_the_beta_function(
    rate: Rate, confidence: float
) -> None:
    tail = (1 - confidence) / 2
    hits, misses = rate.numerator, rate.denominator - rate.numerator
    low = special.betaincinv(hits, misses + 1, tail) if hits else 0
    high = special.betaincinv(hits + 1, misses, 1 - tail) if misses else 1
    ours = found(clopper_pearson(rate, confidence))
    assert (ours.low, ours.high) == pytest.approx((low, high), rel=1e-10, abs=1e-15)


@given(rates(most=300))
def test_at_the_exact_limit_the_tail_is_what_is_left_out(rate: Rate) -> None:
    hits, trials = rate.numerator, rate.denominator
    limit = Fraction(found(clopper_pearson(rate)).low)
    tail = sum(
        comb(trials, seen) * limit**seen * (1 - limit) ** (trials - seen)
        for seen in range(hits, trials + 1)
    )
    # A double next to the limit changes the tail by at most its relative spacing, hits times.
    assert float(tail) == pytest.approx(0.025 if hits else 1, rel=1e-15 * (trials + 10))


# More digits than a double holds: reading them rounds once, and ours must be rounded once too.
QUANTILES = {
    "OEIS A220510: 95 of 100": (0.95, 1.959963984540054235524594430520551),
    "A&S table 26.5: 90 of 100": (0.90, 1.644853626951472714863848907991632),
    "A&S table 26.5: 99 of 100": (0.99, 2.575829303548900760966),
    "half: the probable error": (0.5, 0.674489750196081743202227014541307),
}


@pytest.mark.parametrize(("confidence", "z"), QUANTILES.values(), ids=QUANTILES.keys())
def test_published_quantiles(confidence: float, z: float) -> None:
    assert z_value(confidence) == z


@given(st.floats(0.001, 0.9999))
def test_quantiles_are_scipys(confidence: float) -> None:
    assert z_value(confidence) == pytest.approx(stats.norm.isf((1 - confidence) / 2), rel=1e-11)
