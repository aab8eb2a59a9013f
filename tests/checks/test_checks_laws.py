"""Laws of checks: order does not matter, a fresh body replays, a changed one does not."""

from copy import deepcopy
from types import SimpleNamespace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.checks.builders import AT, PLAIN, TOOLS, fact, only_result, reread
from tests.json_values import SCALARS, VALUES

from affidavit.base.json_values import JsonValue
from affidavit.checks.check import AnswerVerdict, CheckVerdict, checks_from_wire, compose, evaluate
from affidavit.checks.facts import Evidence, EvidenceUnavailable
from affidavit.checks.operators import (
    OPERATORS,
    ExpectationOutcome,
    Operand,
    find_equal,
)
from affidavit.checks.receipt import ReceiptBody, ReceiptContext, answer_body, replay_body
from affidavit.checks.routes import match_pattern, parse_pattern, words_of
from affidavit.checks.values import TYPES

SIZES = st.integers(0, 1000) | st.floats(0, 1000)
NESTED = st.fixed_dictionaries(
    {"op": st.sampled_from(["eq", "ne", "lt", "contains"]), "value": VALUES}
)
OPERANDS: dict[Operand, st.SearchStrategy[dict[str, Any]]] = {
    Operand.NOTHING: st.just({}),
    Operand.VALUE: st.fixed_dictionaries({"value": VALUES}),
    Operand.PAIR: st.fixed_dictionaries({"value": st.lists(SCALARS, min_size=2, max_size=2)}),
    Operand.MEMBERS: st.fixed_dictionaries({"value": st.lists(SCALARS, min_size=1, max_size=5)}),
    Operand.WITHIN: st.fixed_dictionaries({"value": SCALARS, "tol": SIZES}),
    Operand.SECONDS: st.fixed_dictionaries({"value": SIZES}),
    Operand.COUNT: st.fixed_dictionaries({"value": st.integers(0, 5)}),
    Operand.TYPE: st.fixed_dictionaries({"value": st.sampled_from([*TYPES])}),
    Operand.SCHEMA: st.fixed_dictionaries(
        {"value": st.sampled_from([{"type": "string"}, {"items": {"minimum": 0}}, {"not": True}])}
    ),
    Operand.EXPECTATION: st.fixed_dictionaries({"value": NESTED}),
    Operand.EXPECTATIONS: st.fixed_dictionaries(
        {"value": st.lists(NESTED, min_size=1, max_size=3)}
    ),
}
PATHS = st.sampled_from(["a", "a.0", "0", "a.b.c", "1.x"])


@st.composite
def expectations(draw: st.DrawFn) -> dict[str, Any]:
    op = draw(st.sampled_from([*OPERATORS]))
    expect = {"op": op, **draw(OPERANDS[OPERATORS[op].operand])}
    return {**expect, "path": draw(PATHS)} if draw(st.booleans()) else expect


@st.composite
def bodies(draw: st.DrawFn) -> ReceiptBody:
    """Answers of every kind, over results of every kind."""
    count = draw(st.integers(1, 4))
    wire: list[JsonValue] = []
    evidence: dict[str, Evidence | EvidenceUnavailable] = {}
    for number in range(count):
        name = f"c{number}"
        check: dict[str, Any] = {
            "id": name,
            "tool": draw(st.sampled_from(["plain", "plain", "plain", "oracle"])),
            "args": draw(st.dictionaries(st.sampled_from("ab"), SCALARS, max_size=2)),
            "observe": draw(st.booleans()),
            "required": draw(st.booleans()),
        }
        if draw(st.booleans()):
            check["expect"] = draw(
                expectations() | st.lists(expectations(), min_size=1, max_size=3)
            )
        wire.append(check)
        raw = draw(VALUES | st.fixed_dictionaries({"a": VALUES}))
        observed_at = draw(st.sampled_from([None, AT, "2020-01-01T00:00:00Z"]))
        lost = draw(st.integers(0, 4)) == 0
        evidence[name] = (
            EvidenceUnavailable("HTTP 500")
            if lost
            else fact(raw, PLAIN, check["args"], observed_at)
        )
    results = evaluate(checks_from_wire(wire), TOOLS, evidence, AT)
    return reread(
        answer_body(results, evidence.values(), TOOLS, ReceiptContext(issuer="example.com", at=AT))
    )


@settings(max_examples=50)
@given(bodies())
def test_the_replay_of_a_fresh_body_holds(made: ReceiptBody) -> None:
    assert replay_body(made).differences == ()


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every scalar value in a body."""
    if isinstance(value, dict):
        return [place for key in value for place in places(value[key], (*path, key))]
    if isinstance(value, list):
        return [place for key, one in enumerate(value) for place in places(one, (*path, key))]
    return [path]


# Members that no replay can verify: the issuer, the question, and statements of the sources.
GIVEN = {"issuer", "disclaimers", "attestation", "confidence_rule"}


@settings(max_examples=50)
@given(bodies(), st.data())
def test_a_change_of_any_verdict_value_or_digest_is_found(
    made: ReceiptBody, data: st.DataObject
) -> None:
    open_places = [
        place
        for place in places(made)
        if not GIVEN & set(place) and place[0] != "advisory" and "unavailable" not in place
    ]
    place = data.draw(st.sampled_from(open_places))
    changed = deepcopy(made)
    holder: Any = changed
    for step in place[:-1]:
        holder = holder[step]
    old = holder[place[-1]]
    new = data.draw(SCALARS.filter(lambda value: repr(value) != repr(old)))
    holder[place[-1]] = new
    found = replay_body(changed)
    # A changed question can give the same verdict. That is another receipt, and only its signature
    # distinguishes it from this one.
    if not found.differences and found.unreplayable is None:
        asked = {"args", "expect", "observe", "required", "id", "tools"}
        assert asked & set(place), place


@settings(max_examples=50)
@given(bodies(), st.data())
def test_a_digest_that_is_changed_is_found(made: ReceiptBody, data: st.DataObject) -> None:
    if not made["evidence_index"]:
        return
    digest = data.draw(st.sampled_from(sorted(made["evidence_index"])))
    at = data.draw(st.integers(len("sha256:"), len(digest) - 1))
    other = digest[:at] + ("1" if digest[at] == "0" else "0") + digest[at + 1 :]
    made["evidence_index"][other] = made["evidence_index"].pop(digest)
    kinds = {difference.kind for difference in replay_body(made).differences}
    assert kinds >= {"closure", "evidence_digest"}


@given(VALUES | st.dictionaries(st.text(max_size=5), VALUES))
def test_replay_returns_a_result_for_any_input(value: Any) -> None:
    receipt = value if isinstance(value, dict) else {"checks": value}
    found = replay_body(receipt)
    assert (found.rebuilt, bool(found.unreplayable)) == (None, True)


WEIGHED = st.builds(
    lambda verdict, required, confidence: SimpleNamespace(
        verdict=verdict, required=required, confidence=confidence
    ),
    st.sampled_from(CheckVerdict),
    st.booleans(),
    st.sampled_from([0.2, 0.4, 0.5, 0.8, 0.95]),
)


@given(st.lists(WEIGHED, max_size=8), st.randoms(use_true_random=False))
def test_the_order_of_checks_does_not_matter(results: list[Any], chance: Any) -> None:
    shuffled = list(results)
    chance.shuffle(shuffled)
    assert compose(shuffled) == compose(results)


@given(st.lists(WEIGHED, max_size=8), WEIGHED)
def test_optional_checks_never_move_the_answer(results: list[Any], one: Any) -> None:
    one.required = False
    before, after = compose(results), compose([*results, one])
    assert (before.verdict, before.confidence) == (after.verdict, after.confidence)


@given(st.lists(WEIGHED, max_size=8), WEIGHED)
def test_another_required_check_never_improves_an_answer(results: list[Any], one: Any) -> None:
    one.required = True
    before, after = compose(results), compose([*results, one])
    if before.verdict is AnswerVerdict.CONTRADICTED:
        assert after.verdict is AnswerVerdict.CONTRADICTED
    if after.verdict in (AnswerVerdict.SUPPORTED, AnswerVerdict.EVIDENCED) and any(
        r.required for r in results
    ):
        assert before.verdict in (AnswerVerdict.SUPPORTED, AnswerVerdict.EVIDENCED)
        assert after.confidence <= before.confidence


@given(SCALARS, SCALARS)
def test_equality_has_two_sides(one: Any, other: Any) -> None:
    if one is not None and other is not None:
        assert find_equal(one, other) is find_equal(other, one)
    assert find_equal(one, one) is True


@given(VALUES, st.sampled_from([*OPERATORS]), st.data())
def test_every_operator_returns_a_result_for_any_input(
    raw: Any, op: str, data: st.DataObject
) -> None:
    expect = {"op": op, **data.draw(OPERANDS[OPERATORS[op].operand])}
    (check,) = checks_from_wire([{"id": "c", "tool": "plain", "expect": expect}])
    (result,) = evaluate([check], TOOLS, {"c": fact(raw)}, AT)
    assert only_result(result).outcome in ExpectationOutcome
    assert result.explain


WORDS = st.lists(st.sampled_from("abc"), min_size=1, max_size=5)


@given(WORDS, WORDS, WORDS)
def test_a_pattern_extracts_the_values_that_filled_it(first: Any, taken: Any, last: Any) -> None:
    pattern = parse_pattern(" ".join([*first, "{x}", *last]))
    assert not isinstance(pattern, str)
    found = match_pattern(pattern, words_of(" ".join([*first, *taken, *last]).upper()))
    assert found == {"x": " ".join(taken).upper()}
