"""Cohen's kappa and its parts."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affidavit.base.label_statistics import Agreement, LabelUse, agreement, agreement_from_counts
from affidavit.base.statistics import Rate, rounded

PAIRS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abcd")), max_size=60)

# Rows are the first rater's labels, columns the second's.
PUBLISHED = {
    "Wikipedia, Cohen's kappa: 50 proposals": ([[20, 5], [10, 15]], 0.40),
    "Artstein and Poesio 2008, as in scikit-learn's tests": ([[20, 20], [10, 50]], 0.348),
    "three labels, as in scikit-learn's tests": ([[46, 0, 0], [6, 32, 6], [0, 0, 10]], 0.8013),
}


@pytest.mark.parametrize(("table", "kappa"), PUBLISHED.values(), ids=PUBLISHED.keys())
def test_published(table: list[list[int]], kappa: float) -> None:
    counts = {
        (str(row), str(column)): count
        for row, line in enumerate(table)
        for column, count in enumerate(line)
    }
    assert rounded(agreement_from_counts(counts).kappa, 4) == pytest.approx(kappa, abs=0.0005)


def test_agreement_has_all_its_parts() -> None:
    assert agreement([("yes", "yes"), ("yes", "no"), ("no", "no"), ("yes", "yes")]) == Agreement(
        observed=Rate(3, 4),
        expected=0.5,
        kappa=0.5,
        labels=(
            LabelUse("no", Rate(1, 4), Rate(2, 4)),
            LabelUse("yes", Rate(3, 4), Rate(2, 4)),
        ),
    )


NOT_MEASURED = {
    "no items": ([], Rate(0, 0), None, Rate(0, 0)),
    "one label is the only one used": ([("a", "a")] * 3, Rate(3, 3), 1.0, Rate(3, 3)),
}


@pytest.mark.parametrize(
    ("pairs", "observed", "expected", "base_rate"), NOT_MEASURED.values(), ids=NOT_MEASURED.keys()
)
def test_kappa_is_not_measured(
    pairs: list[tuple[str, str]], observed: Rate, expected: float | None, base_rate: Rate
) -> None:
    found = agreement(pairs)
    assert found.kappa is None
    assert (found.observed, found.expected, found.base_rate) == (observed, expected, base_rate)


def test_two_raters_with_one_label_each_but_not_the_same_agree_as_by_chance() -> None:
    assert agreement([("a", "b")] * 3).kappa == 0


@given(PAIRS.filter(bool))
def test_a_constant_label_reaches_the_base_rate_without_kappa(
    pairs: list[tuple[str, str]],
) -> None:
    commonest = Counter(first for first, _ in pairs).most_common(1)[0][0]
    found = agreement((first, commonest) for first, _ in pairs)
    assert found.observed == found.base_rate
    assert not found.kappa


@given(PAIRS)
def test_kappa_ignores_the_order_of_raters_and_rows(pairs: list[tuple[str, str]]) -> None:
    found = agreement(pairs)
    swapped = agreement((second, first) for first, second in reversed(pairs))
    assert (found.kappa, found.expected, found.observed) == (
        swapped.kappa,
        swapped.expected,
        swapped.observed,
    )
    assert found.kappa is None or -1 <= found.kappa <= 1


@given(PAIRS, PAIRS)
def test_counts_merge(some: list[tuple[str, str]], others: list[tuple[str, str]]) -> None:
    assert agreement_from_counts(Counter(some) + Counter(others)) == agreement(some + others)


@given(PAIRS)
def test_kappa_is_its_formula(pairs: list[tuple[str, str]]) -> None:
    found = agreement(pairs)
    if found.kappa is not None and found.expected is not None and found.observed.value is not None:
        beyond = found.observed.value - found.expected
        assert found.kappa == pytest.approx(beyond / (1 - found.expected), abs=1e-9)
