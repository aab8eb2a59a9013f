"""The sums of the combiner, the limits that rules set, and where the encoder is asked."""

from dataclasses import replace
from math import isclose

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tools.judge_bench.writing import combiner_toml

from affidavit.judge.encoder.entailment import Entailment
from affidavit.judge.layered.combiner import (
    CascadeV1,
    Combiner,
    CombinerV1,
    LayersV1,
    LimitV1,
    SumV1,
    combiner_from,
    probability,
    reading_scores,
    shipped_combiner,
)

WORDS = SumV1(-2.0, {"words": 4.0})
READ = SumV1(-2.0, {"words": 4.0, "entails": 0.5})
AGAINST = SumV1(-3.0, {"denial": 6.0})
TABLE = CombinerV1(
    "affidavit/judge-combiner/1",
    {"own": 10},
    CascadeV1(unsure_from=0.2, unsure_to=0.7, near=0.95, most_passages=2),
    (
        LimitV1("denial", 0.6, 0.2),
        LimitV1("gap", 0.5, 0.4, near=0.8, unless=0.7),
        LimitV1("not_said", 0.7, 0.3, near=0.95),
    ),
    LayersV1(WORDS, READ),
    LayersV1(AGAINST, AGAINST),
)
COMBINER = Combiner(TABLE, "")
OPEN = {
    "words": 0.5,
    "denial": 0.0,
    "gap": 0.0,
    "exchanged": 0.0,
    "recall_sentence": 0.5,
    "bigrams": 0.2,
    "exact": 0.5,
}
VERBATIM = {"words": 1.0, "recall_sentence": 1.0, "bigrams": 1.0, "exact": 1.0}
SHARES = st.floats(min_value=0, max_value=1)


def test_a_sum_of_nothing_is_an_even_chance() -> None:
    assert probability(SumV1(0.0, {}), {}) == 0.5


@pytest.mark.parametrize(("total", "expected"), [(2000.0, 1.0), (-2000.0, 0.0)])
def test_a_sum_beyond_all_floats_is_certain(total: float, expected: float) -> None:
    assert probability(SumV1(total, {}), {}) == expected


def test_the_encoder_counts_only_where_it_was_asked() -> None:
    asked = COMBINER.weigh(OPEN, Entailment(0.9, 0.08, 0.02))
    assert COMBINER.weigh(OPEN).support == 0.5
    assert asked.support > 0.5


@pytest.mark.parametrize(
    ("scores", "read", "support"),
    [
        pytest.param({"words": 1.0, "denial": 0.7}, None, 0.2, id="a rule that spoke bounds it"),
        pytest.param({"words": 1.0, "denial": 0.5}, None, 0.8808, id="a rule in a far sentence"),
        pytest.param({"gap": 1.0, "recall_sentence": 0.9}, None, 0.4, id="a gap in a close one"),
        pytest.param({"gap": 1.0, "recall_sentence": 0.7}, None, 0.5, id="a gap in a far one"),
        pytest.param(
            {"gap": 1.0, "recall_sentence": 0.9},
            Entailment(0.1, 0.8, 0.1),
            0.25,
            id="the encoder finds a gap too",
        ),
        pytest.param(
            {"gap": 1.0, "recall_sentence": 0.9},
            Entailment(0.9, 0.1, 0.0),
            0.75,
            id="the encoder overrules a gap",
        ),
        pytest.param(
            {"words": 1.0, "recall_sentence": 1.0, "exact": 1.0},
            Entailment(0.2, 0.7, 0.1),
            0.3,
            id="of the same words in another order the encoder is the better reader",
        ),
        pytest.param(
            {"words": 1.0, "recall_sentence": 1.0, "exact": 0.8},
            Entailment(0.2, 0.7, 0.1),
            0.787,
            id="of other words it is not",
        ),
        pytest.param(VERBATIM, None, 0.999, id="a claim that repeats its source"),
        pytest.param({**VERBATIM, "denial": 0.9}, None, 0.2, id="but for a negation"),
        pytest.param({**VERBATIM, "exchanged": 0.9}, None, 0.8808, id="but for a small word"),
    ],
)
def test_limits(scores: dict[str, float], read: Entailment | None, support: float) -> None:
    assert COMBINER.weigh({**OPEN, **scores}, read).support == support


@pytest.mark.parametrize(
    ("scores", "unsure"),
    [
        pytest.param({}, True, id="half of the claim is there"),
        pytest.param({"words": 0.0}, False, id="nothing of the claim is there"),
        pytest.param({"denial": 0.9}, False, id="a rule has settled it"),
        pytest.param(VERBATIM, False, id="word for word"),
        pytest.param({**VERBATIM, "gap": 1.0}, False, id="word for word with a gap that is seen"),
        pytest.param({"gap": 1.0, "recall_sentence": 0.9}, True, id="a gap that can be overruled"),
        pytest.param(
            {"words": 0.9, "recall_sentence": 1.0, "bigrams": 0.8},
            True,
            id="nearly all, in another order",
        ),
    ],
)
def test_the_encoder_is_asked_where_words_are_unsure(
    scores: dict[str, float], unsure: bool
) -> None:
    seen = {**OPEN, **scores}
    assert COMBINER.is_unsure(seen) is unsure


@given(words=SHARES, entails=SHARES)
def test_a_probability_is_one_with_four_decimals(words: float, entails: float) -> None:
    read = Entailment(round(entails, 4), round(1 - entails, 4), 0.0)
    found = COMBINER.weigh({**OPEN, "words": words}, read).support
    assert 0 <= found <= 1
    assert found == round(found, 4)


@given(low=SHARES, high=SHARES)
def test_more_of_the_claim_never_lowers_its_support(low: float, high: float) -> None:
    few, many = sorted((low, high))
    assert (
        COMBINER.weigh({**OPEN, "words": few}).support
        <= COMBINER.weigh({**OPEN, "words": many}).support
    )


def test_certainty_of_the_encoder_is_cut() -> None:
    sure, surer = (
        reading_scores(Entailment(1 - tail, tail, 0.0))["entails"] for tail in (0.004, 0.0)
    )
    assert isclose(sure, surer)


def test_the_file_that_is_written_is_the_file_that_is_read() -> None:
    assert combiner_from(combiner_toml(TABLE).encode()).table == TABLE


def test_the_shipped_file_is_as_it_was_written() -> None:
    shipped = shipped_combiner()
    assert msgspec.structs.replace(shipped.table) == shipped.table
    assert combiner_from(combiner_toml(shipped.table).encode()) == replace(shipped)
