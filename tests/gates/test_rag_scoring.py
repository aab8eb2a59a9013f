"""C, H, K, refusals and retrieval, sentence by sentence."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.gates.making import DROP, REFUSED, gold, profile, trace

from affidavit.base.errors import AffidavitError
from affidavit.gates.constraints import DEFAULT_SCU_RULES, Locks, add_scu_rules
from affidavit.gates.rag_counts import AnswerState, failed_checks, outcome_of
from affidavit.gates.rag_rows import GoldItem, TraceRow
from affidavit.gates.rag_scoring import cites

LONG = gold()
FREE = gold(constraints=DROP)

CONTAINMENT = {
    "any substring is enough": (["no such words", "rejects null"], True),
    "in whatever case": (["REJECTS Null Keys"], True),
    "none stands in the claim": (["accepts null keys"], False),
    "shorter than five characters is ignored": (["null", "accepts null"], False),
    "five characters count": (["nulls", "rejec"], True),
    "white space around it does not make it longer": (["  nul "], None),
    "only short ones: not measured": (["null"], None),
    "none given: not measured, not true": ([], None),
    "no such field: not measured, not false": (DROP, None),
    "null is no list, so not measured": (None, None),
}


@pytest.mark.parametrize(("given", "wanted"), CONTAINMENT.values(), ids=CONTAINMENT.keys())
def test_containment(given: object, wanted: bool | None) -> None:
    assert profile(gold(gold_claim_substr=given), trace()).contains is wanted


HITS = {
    "a gold citation is cited and was retrieved": (["p1#2"], ["p1#2"], ["p1#2"], True),
    "any one of them is a hit": (["p9", "p1#2"], ["p1#2"], ["p1#2"], True),
    "beside another that was retrieved": (["p1#2"], ["p1#1", "p1#2"], ["p1#1", "p1#2"], True),
    "a cited id that was not retrieved is out of scope": (
        ["p1#2"],
        ["p1#2", "x"],
        ["p1#2"],
        False,
    ),
    "another passage was cited": (["p1#2"], ["p1#1"], ["p1#1", "p1#2"], False),
    "nothing was cited": (["p1#2"], [], ["p1#2"], False),
    "no citations in the answer": (["p1#2"], DROP, ["p1#2"], False),
    "no gold citations: not measured, not a hit for citing nothing": ([], [], ["p1#2"], None),
    "no gold citations, but out of scope all the same": ([], ["x"], ["p1#2"], False),
    "retrieved ids unknown: a hit cannot be told": (["p1#2"], ["p1#2"], DROP, None),
    "retrieved ids unknown: a miss can": (["p1#2"], ["p9"], DROP, False),
}


@pytest.mark.parametrize(("right", "cited", "retrieved", "wanted"), HITS.values(), ids=HITS.keys())
def test_citation_hit(right: object, cited: object, retrieved: object, wanted: bool | None) -> None:
    run = trace({"citations": cited}, retrieved_ids=retrieved)
    assert profile(gold(gold_citations=right), run).cites is wanted


def test_nothing_is_a_hit_where_nothing_is_right() -> None:
    item = gold(answerable=False, gold_citations=[], gold_claim_substr=[])
    assert profile(item, trace()).cites is False


CONSTRAINTS = {
    "echoed": (["a is b", "c"], ["a is b", "c"], "fine", True),
    "in another order": (["a is b", "c"], ["c", "a is b"], "fine", True),
    "white space around and repetitions do not count": (
        ["a", "c"],
        [" c ", "a", "a"],
        "fine",
        True,
    ),
    "one is lost": (["a", "c"], ["a"], "fine", False),
    "one is new": (["a"], ["a", "c"], "fine", False),
    "no echo at all": (["a"], DROP, "fine", False),
    "echoed, but contradicted": (
        ["X rejects null keys."],
        ["X rejects null keys."],
        "X accepts null keys",
        False,
    ),
    "no constraints: it does not apply": ([], ["a"], "fine", None),
    "blank constraints are none": ([" "], [], "fine", None),
    "no such field: it does not apply": (DROP, DROP, "fine", None),
}


@pytest.mark.parametrize(
    ("lock", "echo", "claim", "wanted"), CONSTRAINTS.values(), ids=CONSTRAINTS.keys()
)
def test_constraints(lock: object, echo: object, claim: str, wanted: bool | None) -> None:
    run = trace({"constraints_echo": echo, "claim": claim})
    assert profile(gold(constraints=lock), run).keeps is wanted


CONTRADICTIONS = {
    "what is rejected is allowed": ("X rejects null keys.", "It allows null keys", 0),
    "also in another form": ("X rejects null keys.", "null keys: X supported null keys", 0),
    "and whatever it is that is rejected": ("It forbids guest access", "permits guest access", 0),
    "a negated match is none": ("X rejects null keys.", "X does not allow null keys", None),
    "nor a shortened negation": ("X rejects null keys.", "X doesn't accept null keys", None),
    "something else is allowed": ("X rejects null keys.", "X allows null values", None),
    "another domain": ("only domain example.com", "mail bob@gmail.com", 1),
    "any domain": ("only domain example.com", "we allow mail from any domain", 1),
    "an address of the domain": ("only domain example.com", "mail bob@example.com", None),
    "must is not optional": ("You must sign", "Signing is optional", 2),
    "must is not may": ("You must sign", "You may sign", 2),
    "must is not: not required": ("You must sign", "A signature is not required", 2),
    "may not is no may": ("You must sign", "You may not leave it out", None),
    "never is not can": ("Never share keys", "You can share keys", 3),
    "cannot is no can": ("Never share keys", "You cannot share keys", None),
    "a claim that repeats the constraint does not contradict it": (
        "Users can never share keys.",
        "As stated, users can never share keys",
        None,
    ),
    "no rule speaks of it": ("The sky is blue", "It may be green", None),
}


@pytest.mark.parametrize(
    ("lock", "claim", "rule"), CONTRADICTIONS.values(), ids=CONTRADICTIONS.keys()
)
def test_contradiction(lock: str, claim: str, rule: int | None) -> None:
    wanted = None if rule is None else DEFAULT_SCU_RULES[rule].id
    assert Locks().contradiction([lock], claim) == wanted


def test_users_extend_and_replace_the_rules() -> None:
    mine = {"id": "free", "lock": r"\bfree\b{2}", "claim": r"\bcosts\b"}
    assert add_scu_rules([]) == DEFAULT_SCU_RULES
    made = add_scu_rules(
        [{**mine, "lock": "free"}, {**mine, "id": DEFAULT_SCU_RULES[2].id, "lock": "x(?P<y>.)"}]
    )
    assert [rule.id for rule in made] == [*(rule.id for rule in DEFAULT_SCU_RULES), "free"]
    assert Locks(made).contradiction(["It is free"], "It costs 5") == "free"
    assert Locks(made).contradiction(["You must sign"], "You may sign") is None


def test_a_place_that_the_lock_does_not_name_is_left_alone() -> None:
    made = add_scu_rules([{"id": "n", "lock": "(?P<n>one)|two", "claim": "o{n}{2}|{other}"}])
    locks = Locks(made)
    assert locks.contradiction(["two"], "oo") == "n"
    assert locks.contradiction(["one"], "x") is None


BAD_RULES = {
    "not a list": ({"id": "a"}, None),
    "an unknown field": ([{"id": "a", "lock": "a", "claim": "b", "x": 1}], "[0]"),
    "a field is missing": ([{"id": "a", "lock": "a"}], "[0].claim"),
    "a pattern that cannot be read": ([{"id": "a", "lock": "(", "claim": "b"}], "[0]"),
    "a claim's pattern that cannot be read": ([{"id": "a", "lock": "a", "claim": "("}], "[0]"),
}


@pytest.mark.parametrize(("given", "field"), BAD_RULES.values(), ids=BAD_RULES.keys())
def test_a_rule_that_is_none(given: object, field: str | None) -> None:
    with pytest.raises(AffidavitError) as caught:
        add_scu_rules(given, "rules.toml")
    assert caught.value.fault.code == "AF410"
    assert (caught.value.where.file, caught.value.where.field) == ("rules.toml", field)


REFUSALS = {
    "the exact token": ("not in context", AnswerState.REFUSED, False),
    "white space around it is trimmed": ("  not in context\n", AnswerState.REFUSED, False),
    "another case is a refusal in other words": ("Not in context", AnswerState.REFUSED, True),
    "a full stop is one too": ("not in context.", AnswerState.REFUSED, True),
    "two spaces are one too": ("not  in context", AnswerState.REFUSED, True),
    "with a courtesy": ("Sorry, this is not in context", AnswerState.REFUSED, True),
    "other words": ("I do not know", AnswerState.REFUSED, True),
    "with something else": ("It is not in context, so no", AnswerState.SHIPPED, True),
    "the last word alone": ("It depends on the context", AnswerState.SHIPPED, False),
    "an empty claim is an answer, as the formula says": ("", AnswerState.SHIPPED, False),
}


@pytest.mark.parametrize(("claim", "seen", "near"), REFUSALS.values(), ids=REFUSALS.keys())
def test_refusal(claim: str, seen: AnswerState, near: bool) -> None:
    made = profile(FREE, trace({"claim": claim}))
    assert (made.answer_state, made.near_miss) == (seen, near)


@pytest.mark.parametrize("claim", ["Not in context", "not in context.", "I do not know"])
def test_in_the_strict_reading_only_the_token_is_a_refusal(claim: str) -> None:
    made = profile(FREE, trace({"claim": claim}), exact_refusals=True)
    assert made.answer_state is AnswerState.SHIPPED


def test_the_refusal_token_can_be_another() -> None:
    assert (
        profile(FREE, trace({"claim": "pass"}), refusal="pass").answer_state is AnswerState.REFUSED
    )
    other = profile(FREE, trace(REFUSED), refusal="pass", exact_refusals=True)
    assert other.answer_state is AnswerState.SHIPPED


def test_silence_can_be_the_refusal_and_no_answer_comes_near_it() -> None:
    assert profile(FREE, trace({"claim": " "}), refusal="").answer_state is AnswerState.REFUSED
    assert not profile(FREE, trace({"claim": "It depends"}), refusal="").near_miss


RETRIEVAL = {
    "all gold ids are in the first k": (["b", "a"], ["a", "b", "c"], 2, True, True),
    "one is beyond k": (["a", "c"], ["a", "b", "c"], 2, False, True),
    "all are beyond k": (["c"], ["a", "b", "c"], 2, False, False),
    "fewer than k were retrieved": (["a"], ["a"], 5, True, True),
    "nothing was retrieved": (["a"], [], 5, False, False),
    "no gold citations: not measured, not a hit": ([], ["a"], 5, None, None),
    "no such field: not measured": (["a"], DROP, 5, None, None),
    "a gold text among ids: a miss cannot be told": (["text:1"], ["a"], 5, None, None),
    "gold texts among ids: a miss cannot be told": (["text:1", "text:2"], ["a"], 5, None, None),
    "a gold text among other texts": (["text:1"], ["text:2"], 5, False, False),
    "gold texts among other texts": (["text:1", "text:2"], ["text:3"], 5, False, False),
    "several gold ids, none retrieved": (["a", "b"], ["c"], 5, False, False),
}


@pytest.mark.parametrize(
    ("right", "retrieved", "k", "recalls", "reachable"), RETRIEVAL.values(), ids=RETRIEVAL.keys()
)
def test_retrieval(
    right: object, retrieved: object, k: int, recalls: object, reachable: object
) -> None:
    run = trace(REFUSED, retrieved_ids=retrieved)
    made = profile(gold(gold_citations=right), run, k=k)
    assert (made.recalls, made.reachable) == (recalls, reachable)


OUTCOMES = {
    "right": (LONG, trace(), True, ()),
    "right, without constraints": (FREE, trace({"constraints_echo": DROP}), True, ()),
    "a wrong claim": (LONG, trace({"claim": "Maybe."}), False, ("C",)),
    "a wrong citation": (LONG, trace({"citations": ["p1#1"]}), False, ("H",)),
    "a lost constraint": (LONG, trace({"constraints_echo": []}), False, ("K",)),
    "all of it wrong": (
        LONG,
        trace({"claim": "It accepts null keys", "citations": []}),
        False,
        ("C", "H", "K"),
    ),
    "a check that fails decides, whatever is not measured": (
        gold(gold_claim_substr=[]),
        trace({"citations": []}),
        False,
        ("H",),
    ),
    "a check that is not measured leaves it open": (gold(gold_claim_substr=[]), trace(), None, ()),
    "an answer to what has none": (gold(answerable=False), trace(), False, ()),
    "a right refusal": (gold(answerable=False), trace(REFUSED), True, ()),
    "a wrong refusal": (LONG, trace(REFUSED), False, ()),
    "no answer": (LONG, trace(answer_json=None), None, ()),
    "no trace": (LONG, None, None, ()),
}


@pytest.mark.parametrize(
    ("item", "run", "wanted", "failed"), OUTCOMES.values(), ids=OUTCOMES.keys()
)
def test_outcome(item: GoldItem, run: TraceRow | None, wanted: bool | None, failed: object) -> None:
    made = profile(item, run)
    assert outcome_of(made) is wanted
    assert failed_checks(made) == failed


PARTS = (
    *("allows", "ACCEPTED", "supports null keys", "permits", "null keys", "any domain", "may"),
    *("@gmail.com", "yahoo.com", "can", "not required", "optional", "not", "never", "x"),
)
LOCKS = ("X rejects null keys.", "only domain example.com", "Users must sign in", "never share")


@given(st.lists(st.sampled_from(PARTS), max_size=5), st.sampled_from(LOCKS))
def test_a_claim_without_the_words_of_a_rule_never_matches_it(parts: list[str], lock: str) -> None:
    """So leaving such claims out changes nothing but the time."""
    claim = " ".join(parts)
    wordless = Locks(replace(rule, words=()) for rule in DEFAULT_SCU_RULES)
    assert Locks().contradiction([lock], claim) == wordless.contradiction([lock], claim)


FEW_IDS = st.lists(st.sampled_from(["p1", "p2", "p3", "text:x"]), max_size=4)


@given(FEW_IDS, FEW_IDS, FEW_IDS, st.booleans())
def test_the_quick_way_to_a_hit_tells_what_the_rule_tells(
    right: list[str], cited: list[str], retrieved: list[str], answerable: bool
) -> None:
    item = gold(gold_citations=right, answerable=answerable)
    run = trace({"citations": cited}, retrieved_ids=retrieved)
    assert profile(item, run).cites is cites(item, tuple(cited), tuple(retrieved))
