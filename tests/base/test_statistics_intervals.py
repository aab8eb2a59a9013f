"""Wilson's interval, and the normal quantile that it uses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from affidavit.base.statistics import Interval, Rate, wilson, z_value

CONFIDENCES = st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99, 0.999])


@st.composite
def rates(draw: st.DrawFn, most: int = 5000) -> Rate:
    trials = draw(st.integers(1, most))
    return Rate(draw(st.integers(0, trials)), trials)


def interval_of(rate: Rate, confidence: float = 0.95) -> Interval:
    interval = wilson(rate, confidence)
    assert interval is not None
    return interval


# Newcombe, Statistics in Medicine 17 (1998), table I, method 3.
NEWCOMBE = {
    "Newcombe 1998: 81 of 263": (81, 263, (0.2553, 0.3662)),
    "Newcombe 1998: 15 of 148": (15, 148, (0.0624, 0.1605)),
    "Newcombe 1998: 0 of 20": (0, 20, (0.0000, 0.1611)),
    "Newcombe 1998: 1 of 29": (1, 29, (0.0061, 0.1718)),
}


@pytest.mark.parametrize(("hits", "trials", "wanted"), NEWCOMBE.values(), ids=NEWCOMBE.keys())
def test_published_intervals(hits: int, trials: int, wanted: tuple[float, float]) -> None:
    interval = interval_of(Rate(hits, trials))
    assert (interval.low, interval.high) == pytest.approx(wanted, abs=0.00005)


# All digits: what any machine and any Python must give.
PINNED = {
    "in the middle": (Rate(81, 263), (0.2552885198782742, 0.3662095769828001)),
    "only hits": (Rate(5, 5), (0.5655175352168252, 1.0)),
}


@pytest.mark.parametrize(("rate", "wanted"), PINNED.values(), ids=PINNED.keys())
def test_the_bootstrap_is_reproduced_to_every_digit(
    rate: Rate, wanted: tuple[float, float]
) -> None:
    assert wilson(rate, 0.95) == Interval(*wanted)


def test_no_trials_is_not_measured() -> None:
    assert wilson(Rate(0, 0), 0.95) is None


@given(rate=rates(), confidence=CONFIDENCES)
def test_an_interval_contains_its_estimate(rate: Rate, confidence: float) -> None:
    interval = interval_of(rate, confidence)
    assert 0 <= interval.low <= rate.numerator / rate.denominator <= interval.high <= 1
    assert interval.low < interval.high


@given(rate=rates(), confidence=CONFIDENCES)
def test_failures_mirror_successes(rate: Rate, confidence: float) -> None:
    interval = interval_of(rate, confidence)
    mirrored = interval_of(Rate(rate.denominator - rate.numerator, rate.denominator), confidence)
    assert interval.low == pytest.approx(1 - mirrored.high, abs=2e-16)
    assert interval.high == pytest.approx(1 - mirrored.low, abs=2e-16)


@given(rate=rates(), confidence=CONFIDENCES)
def test_one_more_success_raises_the_interval(rate: Rate, confidence: float) -> None:
    fewer = interval_of(Rate(rate.numerator, rate.denominator + 1), confidence)
    more = interval_of(Rate(rate.numerator + 1, rate.denominator + 1), confidence)
    assert fewer.low < more.low
    assert fewer.high < more.high


@given(rate=rates())
def test_more_confidence_is_wider(rate: Rate) -> None:
    narrow, wide = interval_of(rate, 0.9), interval_of(rate, 0.99)
    assert wide.low <= narrow.low < narrow.high <= wide.high


@pytest.mark.parametrize("confidence", [0, 1, -0.1, 1.5, float("nan")])
def test_a_confidence_is_between_0_and_1(confidence: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        wilson(Rate(1, 2), confidence)


@given(rates(most=10**6), CONFIDENCES)
def test_wilson_equals_scipy(rate: Rate, confidence: float) -> None:
    theirs = stats.binomtest(rate.numerator, rate.denominator).proportion_ci(confidence, "wilson")
    ours = interval_of(rate, confidence)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), rel=1e-11, abs=1e-14)


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
def test_quantiles_equal_those_of_scipy(confidence: float) -> None:
    assert z_value(confidence) == pytest.approx(stats.norm.isf((1 - confidence) / 2), rel=1e-11)
