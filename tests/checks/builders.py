"""Tools, facts and answers that the tests of checks share."""

from typing import Any

from affidavit.base.canonical import sorted_compact
from affidavit.base.strict_json import decode
from affidavit.checks.check import Check, CheckResult, checks_from_wire, evaluate
from affidavit.checks.facts import (
    Evidence,
    EvidenceSource,
    EvidenceUnavailable,
    SourceAnswer,
    SourceFailure,
    Tool,
    fact_from_answers,
)
from affidavit.checks.operators import ExpectationResult
from affidavit.checks.receipt import LinkV1, ReceiptBody, ReceiptContext, answer_body
from affidavit.checks.routes import QuestionRoute, RouteTable, routes_from_wire

AT = "2026-01-31T14:30:00Z"
EARLIER = "2026-01-31T14:29:50Z"
INDEX = EvidenceSource(
    "index", "example.org", "http", "https://example.org/python.json", "CC0-1.0", "example.org"
)
MIRROR = EvidenceSource("mirror", "example.net", "file", operator="example.net")

VERSION = Tool(
    name="software_version",
    required_args=("product",),
    value_path="results.0.latest_version",
    licence="CC0-1.0",
    max_age_s=60,
    description="The latest release of a product",
)
PLAIN = Tool(name="plain", max_age_s=60)
"""A tool whose whole result is its primary value."""
TOOLS = {tool.name: tool for tool in (VERSION, PLAIN)}

RESULT: dict[str, Any] = {"results": [{"latest_version": "3.13.1", "released": "2026-01-02"}]}

PYTHON: dict[str, Any] = {
    "id": "py",
    "tool": "software_version",
    "args": {"product": "python"},
    "expect": {"path": "results.0.latest_version", "op": "semver_gte", "value": "3.13"},
}

ROUTES: dict[str, Any] = {
    "version": "route/1",
    "routes": [
        {
            "id": "software.version",
            "tool": "software_version",
            "ask": ["what is the latest version of {product}", "latest version of {product}"],
            "say": ["the latest version of {product} is {value}"],
            "args": {"product": "{product}"},
            "path": "results.0.latest_version",
            "op": "semver_eq",
        }
    ],
    "not_covered": ["release dates"],
}


def table() -> RouteTable:
    return routes_from_wire(ROUTES)


def fact(
    raw: Any,
    tool: Tool = PLAIN,
    args: dict[str, Any] | None = None,
    observed_at: str | None = EARLIER,
    at: str = AT,
) -> Evidence:
    made = fact_from_answers(
        tool, args or {}, [SourceAnswer(INDEX, raw, observed_at)], at, signed=True
    )
    assert isinstance(made, Evidence)
    return made


def checks(*wire: Any) -> tuple[Check, ...]:
    return checks_from_wire(list(wire))


def outcome(raw: Any, expect: Any, observed_at: str | None = EARLIER) -> CheckResult:
    """The result of one check of the plain tool, whose result is `raw`."""
    (check,) = checks({"id": "c", "tool": "plain", "expect": expect})
    (result,) = evaluate([check], TOOLS, {"c": fact(raw, observed_at=observed_at)}, AT)
    return result


def only_result(result: CheckResult) -> ExpectationResult:
    """The result of the one expectation of a check."""
    assert isinstance(result.results, list)
    (only,) = result.results
    return only


def evidence_for(
    asked: tuple[Check, ...], raw: Any = None
) -> dict[str, Evidence | EvidenceUnavailable]:
    """The same result for every check of a known tool."""
    return {
        check.id: fact(RESULT if raw is None else raw, TOOLS[check.tool], check.args)
        for check in asked
        if check.tool in TOOLS
    }


def body(
    *wire: Any,
    question: str | None = None,
    route: QuestionRoute | None = None,
    lost: tuple[str, ...] = (),
    link: LinkV1 | None = None,
) -> ReceiptBody:
    """An answer's body after writing and decoding it."""
    asked = checks(*(wire or (PYTHON,)))
    evidence = evidence_for(asked)
    evidence |= {
        name: EvidenceUnavailable("the source did not answer within 6000 ms") for name in lost
    }
    results = evaluate(asked, TOOLS, evidence, AT)
    context = ReceiptContext(issuer="example.com", at=AT, question=question, route=route, link=link)
    return reread(answer_body(results, evidence.values(), TOOLS, context))


def reread(made: ReceiptBody) -> ReceiptBody:
    again = decode(sorted_compact(made))
    assert isinstance(again, dict)
    return again


def silence(source: EvidenceSource = MIRROR) -> SourceFailure:
    return SourceFailure(source, "HTTP 500")
