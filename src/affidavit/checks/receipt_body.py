"""Builds the body of an answer/v1 receipt, and of a refusal.

The package `seal` adds `receipt_id`, `signature` and `anchor`. The B rules of docs/checks.md.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from affidavit.base.json_values import JsonValue
from affidavit.checks.check import MAX_CHECKS
from affidavit.checks.evaluation import (
    CONFIDENCE_RULE,
    EVALUATION_RULE,
    AnswerVerdict,
    CheckResult,
    CheckVerdict,
    compose,
)
from affidavit.checks.facts import FACT_RULE, Tool
from affidavit.checks.receipt_schema import ANSWER_SCHEMA, QuestionRoute
from affidavit.checks.routes import ROUTE_RULE

ENGINE_VERSION: Final = "1.0.0"
CANONICALIZATION: Final = "json-sorted-compact"
DISCLAIMERS: Final = (
    "The signature proves integrity, not truth.",
    "Advisory evidence, tamper evident, never a certification.",
)
_REFUSAL_NOTE: Final = (
    "No route covers this question, so nothing was asked and nothing is claimed. "
    "What is covered stands in `coverage`."
)

ReceiptBody: TypeAlias = dict[str, Any]


class ReceiptContext(msgspec.Struct, frozen=True, kw_only=True):
    """Issuer and time of an answer, and the question and route that it came from, if any."""

    issuer: str
    at: str
    question: str | None = None
    route: QuestionRoute | None = None
    served_by: Mapping[str, JsonValue] | None = None
    disclaimers: tuple[str, ...] = DISCLAIMERS


def answer_body(
    results: Sequence[CheckResult], tools: Mapping[str, Tool], context: ReceiptContext
) -> ReceiptBody:
    """Return the body of the receipt for evaluated checks."""
    composite = compose(results)
    body: ReceiptBody = {
        "schema": ANSWER_SCHEMA,
        "generated_at": context.at,
        "issuer": context.issuer,
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
        "reproduce": _reproduce_section(results, tools, is_routed=context.route is not None),
        "advisory": True,
        "disclaimers": list(context.disclaimers),
    }
    if context.route is not None:
        body["question"] = context.question
        body["route"] = msgspec.to_builtins(context.route)
    if context.served_by is not None:
        body["served_by"] = dict(context.served_by)
    return body


def refusal_body(
    question: str, coverage: Mapping[str, JsonValue], context: ReceiptContext
) -> ReceiptBody:
    """Return the body of a refusal: the question is outside the evidence coverage."""
    body: ReceiptBody = {
        "schema": ANSWER_SCHEMA,
        "generated_at": context.at,
        "issuer": context.issuer,
        "verdict": AnswerVerdict.OUTSIDE_EVIDENCE_COVERAGE.value,
        "confidence": 0.0,
        "confidence_rule": CONFIDENCE_RULE,
        "unrouted": [question],
        "coverage": dict(coverage),
        "note": _REFUSAL_NOTE,
        "advisory": True,
        "disclaimers": list(context.disclaimers),
    }
    if context.served_by is not None:
        body["served_by"] = dict(context.served_by)
    return body


def _check_entry(result: CheckResult) -> ReceiptBody:
    entry: ReceiptBody = msgspec.to_builtins(result.check)
    entry["verdict"] = result.verdict.value
    entry["confidence"] = result.confidence
    entry["explain"] = result.explain
    entry["evidence"] = [result.fact.digest] if result.fact else []
    if result.results:
        entry["results"] = msgspec.to_builtins(list(result.results))
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
