"""The body of an answer/v1 receipt, from results; and of a refusal, from the coverage.

Without `receipt_id`, `signature` and `anchor`: those are the seal's. The B rules of
docs/checks.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import msgspec

from affidavit.base.json_values import JsonValue
from affidavit.checks.check import MAX_CHECKS
from affidavit.checks.evaluation import EVALUATION_RULE, CheckResult
from affidavit.checks.fact_confidence import FACT_RULE
from affidavit.checks.receipt_schema import ANSWER_SCHEMA
from affidavit.checks.tool import Tool
from affidavit.checks.verdicts import CONFIDENCE_RULE, AnswerVerdict, CheckVerdict, compose

ENGINE_VERSION: Final = "1.0.0"
CANONICALIZATION: Final = "json-sorted-compact"
ROUTE_RULE: Final = "route/1"
DISCLAIMERS: Final = (
    "The signature proves integrity, not truth.",
    "Advisory evidence, tamper evident, never a certification.",
)
_REFUSAL_NOTE: Final = (
    "No route covers this question, so nothing was asked and nothing is claimed. "
    "What is covered stands in `coverage`."
)

ReceiptBody: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class QuestionRoute:
    """How a question became checks: which table, which route, and whether it asserted a value."""

    question: str
    router_sha256: str
    route_id: str
    is_declarative: bool


class ReceiptContext(msgspec.Struct, frozen=True):
    """What is said around the verdicts: who answers, when, on what question."""

    issuer: str
    at: str
    routed: QuestionRoute | None = None
    served_by: Mapping[str, JsonValue] | None = None
    disclaimers: tuple[str, ...] = DISCLAIMERS


def answer_body(
    results: Sequence[CheckResult], tools: Mapping[str, Tool], occasion: ReceiptContext
) -> ReceiptBody:
    """Return the body of the receipt for evaluated checks."""
    composite = compose(results)
    routed = occasion.routed
    body: ReceiptBody = {
        "schema": ANSWER_SCHEMA,
        "generated_at": occasion.at,
        "issuer": occasion.issuer,
        "verdict": composite.verdict.value,
        "confidence": composite.confidence,
        "confidence_rule": CONFIDENCE_RULE,
        "degraded": composite.degraded,
        "checks": [_check_entry(result) for result in results],
        "not_checked": [
            result.check.id for result in results if result.verdict is CheckVerdict.NOT_CHECKED
        ],
        "evidence_index": {
            result.fact.digest: result.fact.object for result in results if result.fact
        },
        "reproduce": _reproduce_section(results, tools, is_routed=routed is not None),
        "advisory": True,
        "disclaimers": list(occasion.disclaimers),
    }
    if routed is not None:
        body["question"] = routed.question
        body["route"] = {
            "router_version": ROUTE_RULE,
            "router_sha256": routed.router_sha256,
            "route_id": routed.route_id,
            "form": "declarative" if routed.is_declarative else "interrogative",
        }
    if occasion.served_by is not None:
        body["served_by"] = dict(occasion.served_by)
    return body


def refusal_body(
    question: str, coverage: Mapping[str, JsonValue], occasion: ReceiptContext
) -> ReceiptBody:
    """Return the body of a signed refusal: the question is outside the evidence coverage."""
    body: ReceiptBody = {
        "schema": ANSWER_SCHEMA,
        "generated_at": occasion.at,
        "issuer": occasion.issuer,
        "verdict": AnswerVerdict.OUTSIDE_EVIDENCE_COVERAGE.value,
        "confidence": 0.0,
        "confidence_rule": CONFIDENCE_RULE,
        "unrouted": [question],
        "coverage": dict(coverage),
        "note": _REFUSAL_NOTE,
        "advisory": True,
        "disclaimers": list(occasion.disclaimers),
    }
    if occasion.served_by is not None:
        body["served_by"] = dict(occasion.served_by)
    return body


def _check_entry(result: CheckResult) -> ReceiptBody:
    entry: ReceiptBody = msgspec.to_builtins(result.check)
    entry["verdict"] = result.verdict.value
    entry["confidence"] = result.confidence
    entry["explain"] = result.explain
    entry["evidence"] = [result.fact.digest] if result.fact else []
    if result.seen:
        entry["results"] = [
            {"outcome": seen.held.value}
            if seen.observed is msgspec.UNSET
            else {"outcome": seen.held.value, "observed": seen.observed}
            for seen in result.seen
        ]
    if result.value is not msgspec.UNSET:
        entry["value"] = result.value
    if result.unavailable is not None:
        entry["unavailable"] = result.unavailable
    return entry


def _reproduce_section(
    results: Sequence[CheckResult], tools: Mapping[str, Tool], *, is_routed: bool
) -> ReceiptBody:
    asked = {result.check.tool for result in results}
    rules = [EVALUATION_RULE, CONFIDENCE_RULE, FACT_RULE, *([ROUTE_RULE] if is_routed else [])]
    return {
        "evaluator": {"engine_version": ENGINE_VERSION, "rules": rules},
        "canonicalization": CANONICALIZATION,
        "max_checks": MAX_CHECKS,
        "tools": {
            name: {"required_args": list(tools[name].required_args)}
            for name in sorted(asked & tools.keys())
        },
    }
