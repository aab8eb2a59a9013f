"""Rates over clustered trials: the design effect, and the interval that it widens."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affidavit.base.statistics import Rate, design_effect, mcnemar_worse, wilson

EFFECTS: dict[str, tuple[Rate, list[Rate], float]] = {
    "no clusters": (Rate(3, 10), [], 1.0),
    "clusters of one": (Rate(3, 10), [Rate(1, 1), Rate(0, 1)], 1.0),
    "trials of a cluster that are all alike count once": (
        Rate(10, 20),
        [Rate(10, 10), Rate(0, 10)],
        20.0,
    ),
    "clusters as different as chance allows": (Rate(2, 4), [Rate(1, 2), Rate(1, 2)], 1.0),
    "one cluster is one trial": (Rate(3, 7), [Rate(3, 7)], 7.0),
    "all hits: each cluster counts once": (Rate(12, 12), [Rate(5, 5), Rate(5, 5)], 3.0),
    "all misses": (Rate(0, 9), [Rate(0, 3)] * 3, 3.0),
    "a cluster that was not measured": (Rate(3, 10), [Rate(0, 0)], 1.0),
    "nothing": (Rate(0, 0), [], 1.0),
}


@pytest.mark.parametrize(("rate", "clusters", "wanted"), EFFECTS.values(), ids=EFFECTS.keys())
def test_design_effect(rate: Rate, clusters: list[Rate], wanted: float) -> None:
    assert design_effect(rate, clusters) == pytest.approx(wanted)


RATES = st.integers(1, 6).flatmap(lambda n: st.integers(0, n).map(lambda hits: Rate(hits, n)))


@given(st.lists(RATES, min_size=1, max_size=8), RATES)
def test_an_interval_of_clusters_is_never_narrower(clusters: list[Rate], rest: Rate) -> None:
    whole = sum(clusters, rest)
    effect = design_effect(whole, clusters)
    plain, wide = wilson(whole), wilson(whole, design_effect=effect)
    assert plain is not None
    assert wide is not None
    assert effect >= 1
    assert 0 <= wide.low <= plain.low + 1e-12
    assert plain.high - 1e-12 <= wide.high <= 1


@pytest.mark.parametrize(
    ("broken", "mended", "wanted"),
    [(0, 0, 1.0), (5, 0, 1 / 32), (4, 0, 1 / 16), (0, 3, 1.0), (2, 1, 0.5)],
)
def test_the_one_sided_test_for_worse(broken: int, mended: int, wanted: float) -> None:
    assert mcnemar_worse(only_first=broken, only_second=mended) == wanted


def test_negative_counts_of_pairs_are_a_defect() -> None:
    with pytest.raises(ValueError, match="negative"):
        mcnemar_worse(only_first=-1, only_second=0)
