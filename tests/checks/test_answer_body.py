"""The body of a receipt: its members, and what is left out."""

import msgspec
from tests.checks.builders import AT, PYTHON, TOOLS, body, checks, reread, table

from affidavit.checks.facts import fact_digest
from affidavit.checks.operators import ENGINE_VERSION, OPERATORS
from affidavit.checks.receipt import (
    LinkV1,
    ReceiptContext,
    checks_digest,
    linked_parts,
    refusal_body,
    replay_body,
)
from affidavit.checks.routes import QuestionRoute, coverage_manifest

OPTIONAL = {**PYTHON, "id": "b", "required": False, "observe": True}


def test_every_check_is_echoed_with_its_verdict() -> None:
    made = body(PYTHON, OPTIONAL, {"id": "gone", "tool": "plain"}, lost=("gone",))
    first, second, third = made["checks"]
    assert first == {
        **PYTHON,
        "observe": False,
        "required": True,
        "verdict": "supported",
        "confidence": 0.8,
        "explain": 'results.0.latest_version: saw "3.13.1"; semver_gte "3.13" holds',
        "evidence": list(made["evidence_index"]),
        "results": [{"outcome": "held", "observed": "3.13.1"}],
    }
    assert (second["verdict"], second["value"], second["required"]) == ("value", "3.13.1", False)
    assert "results" not in second
    assert (third["confidence"], third["evidence"]) == (None, [])
    assert third["unavailable"] == "the source did not answer within 6000 ms"
    assert (made["verdict"], made["confidence"]) == ("insufficient_evidence", 0.0)
    assert made["degraded"]
    assert made["generated_at"] == AT
    assert made["confidence_rule"] == "answer-conf/1"
    assert made["advisory"]
    assert "integrity, not truth" in made["disclaimers"][0]


def test_twenty_checks_stand_in_each_receipt() -> None:
    asked = checks(*({**PYTHON, "id": f"c{number}"} for number in range(41)))
    parts = linked_parts(asked)
    assert [len(part) for part in parts] == [20, 20, 1]
    assert len({checks_digest(part) for part in parts}) == 3


def test_the_digest_of_checks_is_that_of_their_results() -> None:
    made = body(PYTHON, OPTIONAL, link=LinkV1(1, ["0" * 64, "1" * 64]))
    made["linked"]["checks_sha256"][0] = checks_digest(checks(PYTHON, OPTIONAL))
    assert replay_body(made).differences == ()
    made["linked"]["checks_sha256"].reverse()
    (found,) = replay_body(made).differences
    assert found.path == "linked.checks_sha256[0]"


def test_an_observed_list_is_not_echoed() -> None:
    made = body({**PYTHON, "expect": {"path": "results", "op": "contains", "value": 1}})
    assert made["checks"][0]["results"] == [{"outcome": "failed"}]


def test_the_bundle_holds_what_is_cited() -> None:
    made = body(PYTHON, OPTIONAL, {**PYTHON, "id": "c", "args": {"product": "pypy"}})
    assert len(made["evidence_index"]) == 2
    cited = {digest for check in made["checks"] for digest in check["evidence"]}
    assert cited == set(made["evidence_index"])
    assert all(fact_digest(fact) == digest for digest, fact in made["evidence_index"].items())


def test_the_rules_are_pinned() -> None:
    made = body(PYTHON, {"id": "b", "tool": "plain"}, {"id": "c", "tool": "oracle"})
    assert made["reproduce"] == {
        "evaluator": {
            "engine_version": ENGINE_VERSION,
            "rules": ["answer-eval/1", "answer-conf/1", "fact-conf/2"],
        },
        "canonicalization": "json-sorted-compact",
        "max_checks": 20,
        "tools": {
            "plain": {"required_args": []},
            "software_version": {"required_args": ["product"]},
        },
    }


def test_checks_over_the_cap_are_listed() -> None:
    made = body(*({**PYTHON, "id": f"c{number}"} for number in range(1, 23)))
    assert made["not_checked"] == ["c21", "c22"]
    assert len(made["checks"]) == 22


def test_a_routed_answer_names_its_route() -> None:
    route = QuestionRoute("route/1", table().sha256, "software.version", "interrogative")
    made = body(PYTHON, question="Latest version of python?", route=route)
    assert made["question"] == "Latest version of python?"
    assert made["route"] == {
        "router_version": "route/1",
        "router_sha256": table().sha256,
        "route_id": "software.version",
        "form": "interrogative",
    }
    assert made["reproduce"]["evaluator"]["rules"][-1] == "route/1"


def test_a_refusal_has_no_checks() -> None:
    coverage = msgspec.to_builtins(coverage_manifest(TOOLS, table()))
    context = ReceiptContext(issuer="example.com", at=AT, served_by={"url": "https://example.com"})
    made = reread(refusal_body("Who invented Python?", coverage, context))
    assert made["verdict"] == "outside_evidence_coverage"
    assert made["confidence"] == 0.0
    assert made["unrouted"] == ["Who invented Python?"]
    assert made["coverage"] == coverage
    assert made["served_by"] == {"url": "https://example.com"}
    plain = refusal_body("Who?", coverage, ReceiptContext(issuer="example.com", at=AT))
    assert made.keys() - plain.keys() == {"served_by"}
    assert not made.keys() & {"checks", "evidence_index", "reproduce", "degraded", "evidence"}


def test_the_coverage_follows_from_the_tools_and_routes() -> None:
    made = msgspec.to_builtins(coverage_manifest(TOOLS, table()))
    assert (made["schema"], made["router_sha256"]) == ("answer-coverage/v1", table().sha256)
    (family,) = made["families"]
    assert (family["route_id"], family["tool"]) == ("software.version", "software_version")
    assert made["not_covered"] == ["release dates"]
    assert made["checks_mode"]["operators"] == [*OPERATORS]
    assert [tool["name"] for tool in made["checks_mode"]["tools"]] == ["plain", "software_version"]
    assert made["checks_mode"]["tools"][1]["required_args"] == ["product"]


def test_a_route_without_its_tool_covers_nothing() -> None:
    made = msgspec.to_builtins(coverage_manifest({}, table()))
    assert made["families"] == []
    assert made["not_covered"][-1] == (
        "route software.version: its tool software_version is not declared"
    )
