"""The sums of the combiner, and the limits that rules set."""

from math import isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tools.judge_bench.writing import combiner_toml

from affidavit.judge.encoder import FAST, STANDARD
from affidavit.judge.standard.combiner import (
    Combiner,
    CombinerTable,
    Limit,
    Weighed,
    WeightedSum,
    combiner_from,
    logit,
    shipped_combiner,
)
from affidavit.ledger.rules import JudgeThresholds

TABLE = CombinerTable(
    schema="affidavit/judge-combiner/2",
    fitted_on={"own": 10},
    most_passages=2,
    near_recall=0.9,
    near_bigrams=0.5,
    thresholds=JudgeThresholds(),
    risks=(),
    limits=(Limit("denial", 0.6, 0.2), Limit("edited", 0.6, 0.4, near=True)),
    words=WeightedSum(-2.0, {"recall_wide": 1.0}),
    support=WeightedSum(-1.0, {"recall_wide": 2.0, "entails": 1.0}),
    contradiction=WeightedSum(-1.0, {"contradicts": 1.0}),
)
COMBINER = Combiner(TABLE, "")
RULES = {"rule_contradiction": 0.0, "facts_conflict": 0.0, "swapped": 0.0}
WORDS = {"recall_wide": 1.0, "recall_sentence": 0.5, "bigrams": 0.2, **RULES}
READ = {**WORDS, "entails": 3.0, "entails_tight": 3.0, "contradicts": -4.0}
NEAR = {"recall_sentence": 0.95, "bigrams": 0.6}
SHARES = st.floats(min_value=0, max_value=1)


def test_a_sum_of_nothing_is_an_even_chance() -> None:
    assert WeightedSum(0.0, {}).probability({}) == 0.5


@pytest.mark.parametrize(("total", "expected"), [(2000.0, 1.0), (-2000.0, 0.0)])
def test_a_sum_beyond_all_floats_is_certain(total: float, expected: float) -> None:
    assert WeightedSum(total, {}).probability({}) == expected


@given(st.permutations(["a", "b", "c"]))
def test_the_order_of_weights_changes_no_bit(names: list[str]) -> None:
    weights = {"a": 0.1, "b": 0.2, "c": 0.3}
    scores = {"a": 0.7, "b": 1e9, "c": -1e9}
    shuffled = WeightedSum(0.1, {name: weights[name] for name in names})
    assert shuffled.probability(scores) == WeightedSum(0.1, weights).probability(scores)


CASES = {
    "words alone are a sum of their own, and contradict nothing": (WORDS, 0.2689, 0.0),
    "all words of a claim are not full support": ({**WORDS, "recall_wide": 9.0}, 0.45, 0.0),
    "a passage without a word of the claim says nothing": ({**READ, "recall_wide": 0.0}, 0.0, 0.0),
    "what the encoder reads decides": (READ, 0.982, 0.0067),
    "a rule bounds the support": ({**READ, "denial": 0.8}, 0.2, 0.0067),
    "a rule that hardly speaks bounds nothing": ({**READ, "denial": 0.5}, 0.982, 0.0067),
    "a free retelling may change words": ({**READ, "edited": 0.9}, 0.982, 0.0067),
    "near the sentence one changed word counts": ({**READ, **NEAR, "edited": 0.9}, 0.4, 0.0067),
    "other facts near the sentence contradict": (
        {**READ, **NEAR, "rule_contradiction": 1.0, "facts_conflict": 0.9},
        0.982,
        0.5,
    ),
    "exchanged roles break up neighbours": (
        {**READ, "recall_sentence": 1.0, "rule_contradiction": 1.0, "swapped": 1.0},
        0.982,
        0.5,
    ),
    "in a free retelling a rule may be wrong": (
        {**READ, "rule_contradiction": 1.0, "facts_conflict": 0.9},
        0.982,
        0.0067,
    ),
    "the lowest bound holds": ({**READ, **NEAR, "edited": 0.9, "denial": 0.9}, 0.2, 0.0067),
}


@pytest.mark.parametrize(("scores", "support", "against"), CASES.values(), ids=CASES.keys())
def test_weighing(scores: dict[str, float], support: float, against: float) -> None:
    assert COMBINER.weigh(scores) == Weighed(support, against)


@given(SHARES)
def test_a_logit_is_cut_where_it_is_sure(share: float) -> None:
    found = logit(share)
    assert logit(0.0) <= found <= logit(1.0)
    assert isclose(logit(0.0), -logit(1.0))
    assert found == -logit(1 - share) or isclose(found, -logit(1 - share), abs_tol=1e-9)


@pytest.mark.parametrize("encoder", [STANDARD, FAST])
def test_shipped_weights_have_the_signs_of_their_scores(encoder: str) -> None:
    table = shipped_combiner(encoder).table
    for weights in (table.words.weights, table.support.weights, table.contradiction.weights):
        for score, weight in weights.items():
            assert weight <= 0 if score == "facts_missing" else weight >= 0, score


@pytest.mark.parametrize("encoder", [STANDARD, FAST])
def test_the_shipped_file_is_as_it_was_written(encoder: str) -> None:
    shipped = shipped_combiner(encoder)
    assert combiner_from(combiner_toml(shipped.table).encode()) == shipped
