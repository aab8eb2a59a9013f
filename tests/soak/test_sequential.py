"""The confidence sequence: its closed form, its guarantee, and that it is worth it."""

from decimal import Decimal
from fractions import Fraction
from math import comb
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affidavit.base.statistics import Rate, wilson
from affidavit.soak.sequential import RateBound, SequentialTest, Side, confidence_sequence

BOUND = RateBound(0.95, 95)


def stopped_at(rate: float, random: Random, most: int) -> tuple[Side, int]:
    """Run until the bound is decided; return the side and the number of runs."""
    test = SequentialTest(BOUND)
    for run in range(1, most + 1):
        if test.feed(random.random() < rate) is not Side.UNDECIDED:
            return test.side, run
    return test.side, most


WRONG = {
    "exactly at the bound, both decisions are wrong": (0.95, {Side.ABOVE, Side.BELOW}),
    "just above, below is wrong": (0.96, {Side.BELOW}),
    "just below, above is wrong": (0.94, {Side.ABOVE}),
}


@pytest.mark.parametrize(("rate", "wrong"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_decision_is_rare_although_it_looks_after_every_run(
    rate: float, wrong: set[Side]
) -> None:
    """At most 5 in 100 soaks of 600 runs end in a wrong decision; 400 soaks are simulated."""
    random = Random(7)
    errors = sum(stopped_at(rate, random, 600)[0] in wrong for _ in range(400))
    assert errors <= 20


def test_peeking_at_an_ordinary_interval_is_wrong_far_more_often() -> None:
    """What the sequence is for: the same look after every run with Wilson's interval."""
    random, errors = Random(7), 0
    for _ in range(100):
        passes = 0
        for run in range(1, 301):
            passes += random.random() < 0.95
            found = wilson(Rate(passes, run))
            assert found is not None
            if not found.low <= 0.95 <= found.high:
                errors += 1
                break
    assert errors > 15


def test_a_bad_target_is_found_out_soon() -> None:
    """A fixed design that can show both sides of 0.95 with 95% power needs 230 runs."""
    random = Random(7)
    runs = [stopped_at(0.8, random, 1000) for _ in range(200)]
    assert {side for side, _ in runs} == {Side.BELOW}
    assert sum(count for _, count in runs) / len(runs) < 230 / 5


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_the_test_is_the_sequence_read_at_the_bound(outcomes: list[bool]) -> None:
    """Exactly: the running product is (n + 1) C(n, s) p^s (1 - p)^f."""
    test = SequentialTest(BOUND)
    for passed in outcomes:
        test.feed(passed)
    passes, runs = sum(outcomes), len(outcomes)
    p = Fraction(Decimal("0.95"))
    exact = (runs + 1) * comb(runs, passes) * p**passes * (1 - p) ** (runs - passes)
    assert test._left == pytest.approx(float(exact), rel=1e-9)


@given(st.integers(0, 80), st.integers(0, 80))
def test_the_interval_is_where_the_criterion_says(passes: int, failures: int) -> None:
    found = confidence_sequence(Rate(passes, passes + failures))
    if not passes + failures:
        assert found is None
        return
    assert found is not None
    runs = passes + failures

    def left(p: float) -> float:
        return (runs + 1) * comb(runs, passes) * p**passes * (1 - p) ** failures

    inside = wilson(Rate(passes, runs))
    assert inside is not None
    assert found.low <= passes / runs <= found.high
    for end, outside in ((found.low, found.low - 1e-6), (found.high, found.high + 1e-6)):
        if 0 < end < 1:
            assert left(end) == pytest.approx(0.05, rel=1e-3)
            assert left(outside) <= 0.05
    # It holds at all times, so it is wider than an interval for one time.
    assert found.high - found.low > (inside.high - inside.low) * 0.9


def test_ends_without_passes_or_failures() -> None:
    none, every = confidence_sequence(Rate(0, 5)), confidence_sequence(Rate(5, 5))
    assert none is not None
    assert every is not None
    # 6 (1 - p)^5 = 0.05
    assert (none.low, every.high) == (0.0, 1.0)
    assert none.high == pytest.approx(1 - (0.05 / 6) ** 0.2)
    assert every.low == pytest.approx((0.05 / 6) ** 0.2)


def test_the_first_decision_stands() -> None:
    test = SequentialTest(RateBound(0.5, 95))
    for _ in range(10):
        test.feed(True)
    assert test.side is Side.ABOVE
    for _ in range(200):
        test.feed(False)
    assert test.side is Side.ABOVE
