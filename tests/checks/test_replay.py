"""Steps 4 and 5 of a verification: the results of a receipt must follow from its evidence."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from tests.checks.builders import (
    AT,
    INDEX,
    MIRROR,
    PYTHON,
    RESULT,
    TOOLS,
    VERSION,
    body,
    checks,
    fact,
    reread,
    table,
)
from tests.golden_files import Golden
from tests.repository import ROOT

from affidavit.base.canonical import sorted_compact
from affidavit.checks.check import evaluate
from affidavit.checks.facts import (
    MAX_KEPT_BYTES,
    Evidence,
    SourceAnswer,
    SourceFailure,
    Tolerance,
    Tool,
    fact_digest,
    fact_from_answers,
)
from affidavit.checks.operators import ENGINE_VERSION
from affidavit.checks.receipt import (
    ReceiptBody,
    ReceiptContext,
    ReplayDifference,
    ReplayDifferenceKind,
    RoutingReplay,
    answer_body,
    asked_question,
    json_differences,
    refusal_body,
    replay_body,
    replay_route,
    router_digest,
)
from affidavit.checks.routes import (
    QuestionRoute,
    compile_question,
    coverage_manifest,
)

OBSERVED = {**PYTHON, "id": "seen", "observe": True, "required": False}
MIXED = (
    PYTHON,
    OBSERVED,
    {"id": "lost", "tool": "plain"},
    {"id": "blank", "tool": "software_version"},
    {"id": "oracle", "tool": "oracle", "args": {"n": [1, 1.0, True, None]}},
    {**PYTHON, "id": "all", "expect": [{"op": "eq", "value": 1}, {"op": "exists", "path": "x"}]},
)


def mixed() -> ReceiptBody:
    return body(*MIXED, lost=("lost",))


def refusal() -> ReceiptBody:
    context = ReceiptContext(issuer="example.com", at=AT, served_by={"url": "https://example.com"})
    coverage = msgspec.to_builtins(coverage_manifest(TOOLS, table()))
    return reread(refusal_body("Who?", coverage, context))


def sourced(tolerance: Tolerance | None) -> ReceiptBody:
    """An answer from three sources, one of which does not answer."""
    tool = Tool(name="t", max_age_s=60.5, tolerance=tolerance, unit="degrees")
    answers: list[SourceAnswer | SourceFailure] = [
        SourceAnswer(INDEX, 20, AT),
        SourceAnswer(MIRROR, 21, AT),
        SourceFailure(INDEX, "HTTP 500"),
    ]
    (check,) = checks({"id": "c", "tool": "t", "expect": {"op": "lt", "value": 30}})
    fact = fact_from_answers(tool, {}, answers, AT, signed=True, attestation={"by": "example"})
    results = evaluate([check], {"t": tool}, {"c": fact}, AT)
    context = ReceiptContext(issuer="example.com", at=AT, served_by={"docs": "https://example.com"})
    return reread(answer_body(results, [fact], {"t": tool}, context))


FRESH: dict[str, Callable[[], ReceiptBody]] = {
    "one check": body,
    "every kind of check": mixed,
    "more checks than the cap": lambda: body(*({**PYTHON, "id": f"c{n}"} for n in range(25))),
    "a routed question": lambda: body(
        question="q", route=QuestionRoute("route/1", "0" * 64, "r", "declarative")
    ),
    "a tolerance in units": lambda: sourced(Tolerance(abs=1)),
    "a tolerance in per cent": lambda: sourced(Tolerance(pct=2.5)),
    "no tolerance": lambda: sourced(None),
    "a refusal": refusal,
}


@pytest.mark.parametrize("make", FRESH.values(), ids=FRESH)
def test_a_fresh_body_replays(make: Callable[[], ReceiptBody]) -> None:
    made = make()
    found = replay_body(made)
    assert found.differences == ()
    assert found.rebuilt == made


def test_what_the_engine_writes(golden: Golden) -> None:
    # Old receipts are replayed with these texts. If the file changes, change ENGINE_VERSION too.
    answer = json.dumps(mixed(), indent=1, sort_keys=True, ensure_ascii=False)
    golden.check(f"answer-{ENGINE_VERSION}.json", answer + "\n")
    refused = json.dumps(refusal(), indent=1, sort_keys=True, ensure_ascii=False)
    golden.check(f"refusal-{ENGINE_VERSION}.json", refused + "\n")


OLD = ROOT / "tests" / "golden" / "checks"


@pytest.mark.parametrize(
    "name", ["answer-1.0.0.json", "refusal-1.0.0.json", "answer-1.1.0.json", "refusal-1.1.0.json"]
)
def test_what_an_older_engine_wrote_is_replayed_by_its_rules(name: str) -> None:
    old = json.loads((OLD / name).read_text())
    found = replay_body(old)
    assert (found.differences, found.unreplayable, found.not_interpreted) == ((), None, ())
    if "checks" in old:
        assert replay_body({**old, "confidence": 0.9}).differences


def test_the_facts_of_the_first_engine_are_not_of_this_one() -> None:
    old = json.loads((OLD / "answer-1.0.0.json").read_text())
    old["reproduce"]["evaluator"]["engine_version"] = ENGINE_VERSION
    assert replay_body(old).unreplayable == f"fact-conf/1 of answer-eval/{ENGINE_VERSION}"


def test_an_engine_without_an_operator_does_not_use_it() -> None:
    schema = {"properties": {"released": {"type": "string"}}}
    expect = {"op": "matches_schema", "path": "results.0", "value": schema}
    made = body({**PYTHON, "expect": expect})
    assert replay_body(made).differences == ()
    made["reproduce"]["evaluator"]["engine_version"] = "1.1.0"
    assert "unknown operator 'matches_schema'" in str(replay_body(made).unreplayable)


def old_receipt(op: str, value: int, seen: str) -> ReceiptBody:
    """Return a receipt that names engine 1.0.0 and its rules."""
    expect = {"op": op, "path": "v", "value": value}
    asked = checks({"id": "a", "tool": "t", "expect": expect})
    tool, answers = Tool(name="t"), [SourceAnswer(INDEX, {"v": seen})]
    evidence = fact_from_answers(tool, {}, answers, AT, signed=True)
    found = evaluate(asked, {"t": tool}, {"a": evidence}, AT)
    made = answer_body(found, [evidence], {"t": tool}, ReceiptContext(issuer="i", at=AT))
    old: ReceiptBody = json.loads(json.dumps(made).replace("fact-conf/2", "fact-conf/1"))
    old["reproduce"]["evaluator"]["engine_version"] = "1.0.0"
    (fact,) = old["evidence_index"].values()
    fact["value"] = fact["sources"][0]["value"] = fact["raw"]
    old["evidence_index"] = {fact_digest(fact): fact}
    old["checks"][0]["evidence"] = [fact_digest(fact)]
    return old


def test_an_earlier_engine_keeps_its_rules() -> None:
    # Engine 1.0.0 did not read an offset, so a receipt of it that did is not its own.
    offset = "2026-01-31T14:29:30+00:00"
    assert replay_body(old_receipt("fresh_within_s", 60, "2026-01-31T14:29:30Z")).differences == ()
    found = replay_body(old_receipt("fresh_within_s", 60, offset)).differences
    assert any("not_evaluable" in str(difference) for difference in found)
    unknown = replay_body(old_receipt("length_eq", 3, "tea")).unreplayable
    assert unknown is not None
    assert "unknown operator 'length_eq'" in unknown


def test_the_canonical_form_may_be_given() -> None:
    made = body()
    assert not replay_body(made, sorted_compact(made)).differences
    changed = {**made, "degraded": True}
    assert replay_body(changed, sorted_compact(changed)).differences


def test_members_of_the_seal_are_not_replayed() -> None:
    sealed = {**body(), "receipt_id": "ans_0", "signature": {"sig": "x"}, "anchor": {}}
    assert not replay_body(sealed).differences


def test_a_digest_without_its_algorithm_is_read() -> None:
    made = body()
    (digest,) = made["evidence_index"]
    bare = digest.removeprefix("sha256:")
    made["evidence_index"] = {bare: made["evidence_index"][digest]}
    made["checks"][0]["evidence"] = [bare]
    assert not replay_body(made).differences


def test_a_digest_without_evidence_is_found() -> None:
    made = body()
    made["checks"][0]["evidence"] = ["sha256:" + "0" * 64]
    first, second, *_ = replay_body(made).differences
    assert (first.kind, first.path) == ("closure", "checks[0].evidence[0]")
    assert second.kind is ReplayDifferenceKind.REPLAY


def test_evidence_that_no_check_cites_is_found() -> None:
    made = body(PYTHON, {**PYTHON, "id": "b", "args": {"product": "pypy"}})
    del made["checks"][1]
    (only,) = replay_body(made).differences
    assert only.path.startswith("evidence_index.sha256:")
    assert "nothing follows" in str(only)


def test_evidence_that_was_swapped_is_found() -> None:
    made = body(PYTHON, {**PYTHON, "id": "b", "args": {"product": "pypy"}})
    one, other = made["evidence_index"]
    index = made["evidence_index"]
    index[one], index[other] = index[other], index[one]
    kinds = [difference.kind for difference in replay_body(made).differences]
    assert kinds == [*[ReplayDifferenceKind.EVIDENCE_DIGEST] * 2, ReplayDifferenceKind.REPLAY]
    made = body()
    (digest,) = made["evidence_index"]
    made["evidence_index"][digest]["unit"] = "versions"
    (only,) = replay_body(made).differences
    assert (only.kind, only.path) == ("evidence_digest", f"evidence_index.{digest}")


def redigested(made: ReceiptBody) -> ReceiptBody:
    """Recompute the digests after a change, as a forger would."""
    renamed = {digest: fact_digest(fact) for digest, fact in made["evidence_index"].items()}
    made["evidence_index"] = {
        renamed[digest]: fact for digest, fact in made["evidence_index"].items()
    }
    for check in made["checks"]:
        check["evidence"] = [renamed[digest] for digest in check["evidence"]]
    return made


def change(made: ReceiptBody, path: str, value: Any) -> ReceiptBody:
    """Set the value at a path of an answer; `fact` is its only piece of evidence."""
    place: Any = made
    *steps, last = path.split(".")
    for step in steps:
        if step == "fact":
            (place,) = made["evidence_index"].values()
        else:
            place = place[int(step)] if isinstance(place, list) else place[step]
    if isinstance(place, list):
        place[int(last)] = value
    else:
        place[last] = value
    return redigested(made)


FORGED: dict[str, tuple[str, Any, str]] = {
    "the verdict": ("verdict", "contradicted", "verdict"),
    "the confidence": ("confidence", 0.9, "confidence"),
    "the type of a number": ("confidence", 1, "confidence"),
    "the state": ("degraded", True, "degraded"),
    "the verdict of a check": ("checks.0.verdict", "contradicted", "checks[0].verdict"),
    "the confidence of a check": ("checks.0.confidence", 0.95, "checks[0].confidence"),
    "an explanation": ("checks.0.explain", "fine", "checks[0].explain"),
    "an outcome": ("checks.0.results.0.outcome", "failed", "checks[0].results[0].outcome"),
    "what was observed": ("checks.0.results.0.observed", "4", "checks[0].results[0].observed"),
    "an operand": ("checks.0.expect.value", "3.12", "checks[0].explain"),
    "a value that was not requested": ("checks.0.value", 1, "checks[0].value"),
    "evidence that is said to be lost": ("checks.0.unavailable", "x", "checks[0].confidence"),
    "a list of what was not checked": ("not_checked", ["py"], "not_checked"),
    "a needed argument": ("reproduce.tools.software_version.required_args", ["x"], "checks[0]"),
    "a tool that was taken away": ("reproduce.tools", {}, "checks[0].verdict"),
    "the value of a fact": ("fact.value", "3.14", ".value"),
    "the raw result": ("fact.raw", {"results": [{"latest_version": "3.14"}]}, "explain"),
    "the raw result, beside the value": (
        "fact.raw",
        {"results": [{"latest_version": "3.13.1"}]},
        "raw_sha256",
    ),
    "the confidence of a fact": ("fact.verification.confidence", 0.95, "verification.confidence"),
    "a signal": ("fact.verification.signals.corroborated", True, "signals.corroborated"),
    "verified": ("fact.verification.verified", True, "verification.verified"),
    "the number of sources": ("fact.verification.sources", 2, "verification.sources"),
    "the note": ("fact.verification.note", "", "verification.note"),
    "the age that is allowed": ("fact.max_age_s", 1, "signals.fresh"),
    "the time of observation": ("fact.observed_at", AT, "observed_at"),
    "the source's time": ("fact.sources.0.observed_at", AT, ".id"),
    "the source's value": ("fact.sources.0.value", "3.14", "sources[0].value"),
    "the id of a fact": ("fact.id", "fact_0", ".id"),
    "no sources": ("fact.sources", [], "signals.source_present"),
}


@pytest.mark.parametrize(("path", "value", "found"), FORGED.values(), ids=FORGED)
def test_any_change_is_found(path: str, value: Any, found: str) -> None:
    differences_found = replay_body(change(body(), path, value)).differences
    assert any(found in difference.path for difference in differences_found)
    assert all(difference.kind is ReplayDifferenceKind.REPLAY for difference in differences_found)
    assert all(": the receipt says " in str(difference) for difference in differences_found)


def test_the_results_of_other_sources_are_bound() -> None:
    made = change(sourced(None), "fact.sources.1.raw", 20)
    paths = [each.path for each in replay_body(made).differences]
    assert any(path.endswith("sources[1].raw_sha256") for path in paths)
    assert any(path.endswith("verification.signals.conflict") for path in paths)


def test_the_value_of_a_result_that_is_not_kept_is_bound() -> None:
    large: Any = {"v": 2, "text": "x" * MAX_KEPT_BYTES}
    answers = [SourceAnswer(INDEX, {"v": 1}, AT), SourceAnswer(MIRROR, large, AT)]
    tool = Tool(name="t", value_path="v", max_age_s=60)
    (check,) = checks({"id": "c", "tool": "t", "expect": {"op": "eq", "value": 1}})
    evidence = fact_from_answers(tool, {}, answers, AT, signed=True)
    results = evaluate([check], {"t": tool}, {"c": evidence}, AT)
    context = ReceiptContext(issuer="example.com", at=AT)
    made = reread(answer_body(results, [evidence], {"t": tool}, context))
    assert made["checks"][0]["explain"].endswith("sources conflict: mirror says 2")
    assert replay_body(made).differences == ()
    (fact,) = made["evidence_index"].values()
    del fact["sources"][1]["value"]
    paths = [each.path for each in replay_body(made).differences]
    assert any(path.endswith("sources[1].value") for path in paths)


def test_the_path_of_the_value_is_bound_by_what_is_read_there() -> None:
    made = body({**PYTHON, "expect": {"op": "eq", "value": "3.13.1"}})
    found = replay_body(change(made, "fact.value_path", "results.0.released")).differences
    assert "checks[0].verdict" in [each.path for each in found]


def test_evidence_of_another_question_is_found() -> None:
    other = change(body(), "fact.args", {"product": "pypy"})
    (only,) = replay_body(other).differences
    assert (only.kind, only.path) == ("replay", "checks[0].evidence")
    assert str(only) == "checks[0].evidence: it cites evidence of another tool or other arguments"
    late = change(body(), "fact.assessed_at", "2026-01-31T14:30:01Z")
    (only,) = replay_body(late).differences
    assert (only.kind, only.path.rpartition(".")[2]) == ("replay", "assessed_at")


UNREPLAYABLE: dict[str, tuple[str, Any, str]] = {
    "another engine": ("reproduce.evaluator.engine_version", "1.0.1", "answer-eval/1.0.1;"),
    "another rule": ("reproduce.evaluator.rules", ["answer-eval/9"], "answer-eval/9;"),
    "a rule that is none": ("reproduce.evaluator.rules", [1], "1;"),
    "another rule of the confidence": ("confidence_rule", "answer-conf/9: more", "answer-conf/9;"),
    "no rule of the confidence": ("confidence_rule", None, "confidence_rule: "),
    "an evaluator of another shape": ("reproduce.evaluator", "answer-eval/1", "evaluator: "),
    "another cap": ("reproduce.max_checks", 30, "reproduce.max_checks: "),
    "another canonical form": ("reproduce.canonicalization", "jcs", "canonicalization: "),
    "another rule of a fact": ("fact.verification.rule", "fact-conf/9", "verification.rule: "),
    "another schema": ("schema", "answer/v0", "schema: "),
    "no verdict": ("verdict", None, "verdict: "),
    "a verdict that is none": ("verdict", "certified", "verdict: "),
    "checks that are none": ("checks", {}, "checks: "),
    "a check that is none": ("checks.0", 5, "checks[0]: "),
    "a citation that is none": ("checks.0.evidence", [5], "evidence"),
    "an operator that is none": ("checks.0.expect.op", "regex", "checks[0].expect.op: "),
    "an expectation with one more member": ("checks.0.expect.unit", "m", "checks[0].expect: "),
    "a path that is none": ("checks.0.expect.path", "a.-1", "checks[0].expect.path: "),
    "an operand that is none": (
        "checks.0.expect",
        {"op": "between", "value": 5},
        "checks[0].expect.value: ",
    ),
    "a refusal with checks": ("verdict", "outside_evidence_coverage", "unrouted: "),
    "a time that is none": ("generated_at", "today", "generated_at: "),
    "a negative age": ("fact.max_age_s", -1, "max_age_s: "),
    "an empty tolerance": ("fact.tolerance", {}, "tolerance: "),
    "both tolerances": ("fact.tolerance", {"abs": 1, "pct": 1}, "tolerance: "),
    "evidence that is none": ("evidence_index", {"x": 1}, "evidence_index"),
}


@pytest.mark.parametrize(("path", "value", "said"), UNREPLAYABLE.values(), ids=UNREPLAYABLE)
def test_what_is_not_known_is_no_difference(path: str, value: Any, said: str) -> None:
    made = body()
    # For some of these no matching digest exists.
    with suppress(AttributeError, TypeError, KeyError):
        made = change(made, path, value)
    found = replay_body(made)
    assert found.rebuilt is None
    assert found.unreplayable is not None
    assert said in found.unreplayable
    assert {each.kind for each in found.differences} <= {ReplayDifferenceKind.CLOSURE}


def test_evidence_without_a_digest_cannot_be_compared() -> None:
    made = body()
    (fact,) = made["evidence_index"].values()
    made["evidence_index"] = {"first": fact}
    made["checks"][0]["evidence"] = ["first"]
    (unknown,) = replay_body(made).unknown_evidence
    assert unknown == "evidence_index.first: it is not evidence under its digest"


MORE_MEMBERS: dict[str, str] = {
    "at the top": "principle",
    "in a check": "checks[0].weight",
    "in an outcome": "checks[0].results[0].unit",
    "in the rules": "reproduce.evaluator.commit",
    "in what a tool needs": "reproduce.tools.software_version.more",
}


@pytest.mark.parametrize("place", MORE_MEMBERS.values(), ids=MORE_MEMBERS)
def test_a_member_without_a_rule_is_named_and_no_difference(place: str) -> None:
    path = place.replace("[", ".").replace("]", "")
    found = replay_body(change(body(), path, {"a": 1}))
    assert (found.differences, found.not_interpreted) == ((), (place,))
    assert replay_body(change(body(), path, None)).not_interpreted == ()


def test_members_of_evidence_without_a_rule_are_named() -> None:
    made = change(body(), "fact.category", "software")
    (digest,) = made["evidence_index"]
    found = replay_body(made)
    assert (found.differences, found.not_interpreted) == (
        (),
        (f"evidence_index.{digest}.category",),
    )


WORDS: dict[str, Any] = {
    "confidence_rule": "answer-conf/1: in the words of another issuer",
    "disclaimers": ["In other words."],
    "advisory": False,
    "question": "why",
    "issuer": "somebody",
    "served_by": {"provider": "somebody"},
}


@pytest.mark.parametrize("name", WORDS)
def test_the_words_of_the_issuer_are_not_recomputed(name: str) -> None:
    assert replay_body({**body(), name: WORDS[name]}).differences == ()


def test_two_checks_of_one_id_cannot_be_replayed() -> None:
    made = body(PYTHON, {**PYTHON, "id": "b"})
    made["checks"][1]["id"] = "py"
    found = replay_body(made)
    assert (found.differences, found.rebuilt) == ((), None)
    assert found.unreplayable == "checks[1].id: two checks have the id 'py'"


def test_the_arguments_of_lost_evidence_do_not_matter() -> None:
    made = body(PYTHON, lost=("py",))
    made["checks"][0]["args"] = {"product": "x"}
    assert not replay_body(made).differences


def test_the_confidence_of_a_refusal_is_recomputed() -> None:
    (only,) = replay_body({**refusal(), "confidence": 0.5}).differences
    assert only.path == "confidence"


@pytest.mark.parametrize("name", ["unrouted", "coverage", "generated_at"])
def test_a_refusal_of_another_shape_cannot_be_replayed(name: str) -> None:
    found = replay_body({**refusal(), name: []})
    assert (found.differences, found.rebuilt) == ((), None)
    assert str(found.unreplayable).startswith(name)


def test_a_refusal_in_the_words_of_another_issuer() -> None:
    made = {**refusal(), "note": "Not here.", "principle": "p", "disclaimer": "d"}
    del made["disclaimers"]
    found = replay_body(made)
    assert (found.differences, found.not_interpreted) == ((), ("disclaimer", "principle"))


def test_nothing_is_no_receipt() -> None:
    assert replay_body({}).unreplayable


def routed_body(text: str) -> ReceiptBody:
    compiled = compile_question(table(), text)
    assert compiled
    (check,) = compiled.checks
    fact = fact_from_answers(
        VERSION, check.args, [SourceAnswer(INDEX, RESULT, AT)], AT, signed=True
    )
    results = evaluate([check], TOOLS, {check.id: fact}, AT)
    context = ReceiptContext(issuer="example.com", at=AT, question=text, route=compiled.route)
    return reread(answer_body(results, [fact], TOOLS, context))


def test_a_question_gives_the_same_checks_again() -> None:
    made = routed_body("The latest version of python is 3.13.1")
    assert (made["verdict"], made["route"]["form"]) == ("supported", "declarative")
    assert not replay_body(made).differences
    assert replay_route(made, table()) == RoutingReplay()
    made["checks"][0]["expect"]["value"] = "3.13"
    (only,) = replay_route(made, table()).differences
    assert only.path == "checks[0].expect.value"


def test_a_question_that_no_route_covers_was_not_routed_by_the_table() -> None:
    made = {**routed_body("latest version of python?"), "question": "Why is that?"}
    (only,) = replay_route(made, table()).differences
    assert str(only) == "question: no route of this table matches it"
    assert replay_route({**made, "question": "?"}, table()).unreplayable


def test_a_refusal_is_repeated_or_proves_nothing() -> None:
    assert replay_route(refusal(), table()) == RoutingReplay()
    asked = {**refusal(), "unrouted": ["Latest version of python"]}
    found = replay_route(asked, table())
    assert (found.differences, found.unreplayable) == (
        (),
        "the refusal: software.version covers it",
    )


def test_what_a_receipt_says_of_its_question() -> None:
    assert (asked_question(body()), router_digest(body())) == (None, None)
    routed = routed_body("latest version of python?")
    assert (asked_question(routed), router_digest(routed)) == (
        "latest version of python?",
        table().sha256,
    )
    assert (asked_question(refusal()), router_digest(refusal())) == ("Who?", table().sha256)
    assert router_digest({"route": {"router_sha256": 1}}) is None


DIFFERENCES: dict[str, tuple[Any, Any, list[str]]] = {
    "the same": ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}, []),
    "one and one point nought": ([1], [1.0], ["[0]"]),
    "one and true": ({"a": 1}, {"a": True}, ["a"]),
    "nought and minus nought": (0.0, -0.0, [""]),
    "a list and an object": ({"a": []}, {"a": {}}, ["a"]),
    "more and less": ({"a": [1, 2], "b": 1}, {"a": [3], "c": 1}, ["a[0]", "a", "b", "c"]),
}


@pytest.mark.parametrize(("one", "other", "paths"), DIFFERENCES.values(), ids=DIFFERENCES)
def test_differences(one: Any, other: Any, paths: list[str]) -> None:
    assert [difference.path for difference in json_differences(one, other)] == paths


def test_a_difference_in_words() -> None:
    (only,) = json_differences({"a": 1}, {})
    assert only == ReplayDifference(ReplayDifferenceKind.REPLAY, "a", "1", "nothing")
    assert str(only) == "a: the receipt says 1, and nothing follows"


def test_engine_1_0_0_called_a_key_of_a_list_absent() -> None:
    (check,) = checks(
        {"id": "c", "tool": "plain", "expect": {"op": "not_exists", "path": "results.released"}}
    )
    made = fact(RESULT)
    old = msgspec.structs.replace(
        made.fact,
        verification=msgspec.structs.replace(made.fact.verification, rule="fact-conf/1"),
    )
    verdicts = [
        evaluate([check], TOOLS, {"c": Evidence(made.digest, each)}, AT)[0].verdict
        for each in (made.fact, old)
    ]
    assert verdicts == ["not_evaluable", "supported"]


def test_the_routing_of_an_older_engine_proves_nothing() -> None:
    made = routed_body("The latest version of python is 3.13.1")
    made["reproduce"]["evaluator"]["engine_version"] = "1.0.0"
    made["checks"][0]["expect"]["value"] = "3.13"
    found = replay_route(made, table())
    assert found.differences == ()
    assert str(found.unreplayable).startswith("the routing of answer-eval/1.0.0: checks[0]")


def test_a_statement_that_no_route_covers() -> None:
    assert compile_question(table(), "Nobody knows.") is None
