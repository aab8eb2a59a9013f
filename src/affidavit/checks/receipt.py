"""The body of an answer/v1 receipt: its shape, how it is built, and how it is replayed offline.

The package `seal` adds `receipt_id`, `signature` and `anchor`. The B and R rules of docs/checks.md.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, Literal, TypeAlias, TypeVar

import msgspec

from affidavit.base.canonical import sorted_compact_decoded, write_sorted
from affidavit.base.errors import AffidavitError
from affidavit.base.json_values import JsonValue
from affidavit.base.timestamps import parse_nanoseconds
from affidavit.base.validation import problem_and_field
from affidavit.checks.check import (
    CONFIDENCE_RULE,
    EVALUATION_RULE,
    MAX_CHECKS,
    AnswerVerdict,
    Check,
    CheckResult,
    CheckVerdict,
    compose,
    evaluate_check,
    is_evidence_for,
    not_checked_result,
    validate_check,
)
from affidavit.checks.facts import (
    FACT_RULE,
    Evidence,
    EvidenceUnavailable,
    Fact,
    Tool,
    UnitInterval,
    fact_digest,
    make_fact,
)
from affidavit.checks.operators import ENGINE_VERSION, ENGINES, Operator
from affidavit.checks.routes import ROUTE_RULE, QuestionRoute, RouteTable, compile_question
from affidavit.checks.values import display_value

_Value = TypeVar("_Value")
ANSWER_SCHEMA: Final = "answer/v1"


class _ReceiptPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a receipt."""


class EvaluatorV1(_ReceiptPart, frozen=True):
    """The rules that gave the verdicts, and their version."""

    engine_version: str
    rules: list[str]


class ToolRequirementsV1(_ReceiptPart, frozen=True):
    """The part of a tool's declaration that a verdict depends on."""

    required_args: list[str]


class ReproduceV1(_ReceiptPart, frozen=True):
    """What a replay needs besides checks and evidence."""

    evaluator: EvaluatorV1
    canonicalization: str
    max_checks: int
    tools: dict[str, ToolRequirementsV1]


class AnswerV1(_ReceiptPart, frozen=True, kw_only=True):
    """The body of a receipt, without receipt_id, signature and anchor."""

    schema: Literal["answer/v1"]
    generated_at: str
    issuer: str
    verdict: AnswerVerdict
    confidence: UnitInterval
    confidence_rule: str
    degraded: bool
    checks: list[CheckResult]
    not_checked: list[str]
    evidence_index: dict[str, Fact]
    reproduce: ReproduceV1
    advisory: bool
    disclaimers: list[str]
    question: str | msgspec.UnsetType = msgspec.UNSET
    route: QuestionRoute | msgspec.UnsetType = msgspec.UNSET
    served_by: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET


class RefusalV1(_ReceiptPart, frozen=True, kw_only=True):
    """The body of a signed refusal, which has no checks and no evidence."""

    schema: Literal["answer/v1"]
    generated_at: str
    issuer: str
    verdict: Literal["outside_evidence_coverage"]
    confidence: UnitInterval
    confidence_rule: str
    unrouted: list[str]
    coverage: dict[str, Any]
    note: str
    advisory: bool
    disclaimers: list[str]
    served_by: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET


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
    served_by: dict[str, JsonValue] | None = None
    disclaimers: tuple[str, ...] = DISCLAIMERS
    engine_version: str = ENGINE_VERSION


def answer_body(
    results: Sequence[CheckResult],
    evidence: Iterable[Evidence | EvidenceUnavailable],
    tools: Mapping[str, Tool],
    context: ReceiptContext,
) -> ReceiptBody:
    """Return the body of the receipt for evaluated checks. It holds the evidence that they cite."""
    composite = compose(results)
    facts = {found.digest: found.fact for found in evidence if isinstance(found, Evidence)}
    rules = [EVALUATION_RULE, CONFIDENCE_RULE, FACT_RULE, *([ROUTE_RULE] if context.route else [])]
    asked = {result.tool for result in results}
    answer = AnswerV1(
        schema=ANSWER_SCHEMA,
        generated_at=context.at,
        issuer=context.issuer,
        verdict=composite.verdict,
        confidence=composite.confidence,
        confidence_rule=CONFIDENCE_RULE,
        degraded=composite.degraded,
        checks=list(results),
        not_checked=[result.id for result in results if result.verdict is CheckVerdict.NOT_CHECKED],
        evidence_index={digest: facts[digest] for result in results for digest in result.evidence},
        reproduce=ReproduceV1(
            EvaluatorV1(context.engine_version, rules),
            CANONICALIZATION,
            MAX_CHECKS,
            {
                name: ToolRequirementsV1(list(tools[name].required_args))
                for name in sorted(asked & tools.keys())
            },
        ),
        advisory=True,
        disclaimers=list(context.disclaimers),
        question=_or_unset(context.question),
        route=_or_unset(context.route),
        served_by=_or_unset(context.served_by),
    )
    body: ReceiptBody = msgspec.to_builtins(answer)
    return body


def refusal_body(
    question: str, coverage: dict[str, JsonValue], context: ReceiptContext
) -> ReceiptBody:
    """Return the body of a refusal: the question is outside the evidence coverage."""
    refusal = RefusalV1(
        schema=ANSWER_SCHEMA,
        generated_at=context.at,
        issuer=context.issuer,
        verdict="outside_evidence_coverage",
        confidence=0.0,
        confidence_rule=CONFIDENCE_RULE,
        unrouted=[question],
        coverage=coverage,
        note=_REFUSAL_NOTE,
        advisory=True,
        disclaimers=list(context.disclaimers),
        served_by=_or_unset(context.served_by),
    )
    body: ReceiptBody = msgspec.to_builtins(refusal)
    return body


def _or_unset(value: _Value | None) -> _Value | msgspec.UnsetType:
    return msgspec.UNSET if value is None else value


_ABSENT_TEXT: Final = "nothing"


class ReplayDifferenceKind(StrEnum):
    """Which step of answer-eval.md, section 5, a difference breaks, and how."""

    SHAPE = "shape"
    CLOSURE = "closure"
    EVIDENCE_DIGEST = "evidence_digest"
    REPLAY = "replay"


class ReplayDifference(msgspec.Struct, frozen=True):
    """A path at which the signed value is not the recomputed one.

    If nothing can be recomputed, `signed` says what is wrong and `recomputed` is None.
    """

    kind: ReplayDifferenceKind
    path: str
    signed: str
    recomputed: str | None

    def __str__(self) -> str:
        if self.recomputed is None:
            return f"{self.path}: {self.signed}"
        return f"{self.path}: the receipt says {self.signed}, and {self.recomputed} follows"


def json_differences(
    signed: JsonValue, recomputed: JsonValue, path: str = ""
) -> Iterator[ReplayDifference]:
    """Yield the differences of two values. 1, 1.0 and true are three different values."""
    if isinstance(signed, dict) and isinstance(recomputed, dict):
        yield from _object_differences(signed, recomputed, path)
    elif isinstance(signed, list) and isinstance(recomputed, list):
        for number, (one, other) in enumerate(zip(signed, recomputed, strict=False)):
            yield from json_differences(one, other, f"{path}[{number}]")
        if len(signed) != len(recomputed):
            yield _difference(path, display_value(signed), display_value(recomputed))
    elif repr(signed) != repr(recomputed):
        yield _difference(path, display_value(signed), display_value(recomputed))


def _object_differences(
    signed: dict[str, JsonValue], recomputed: dict[str, JsonValue], path: str
) -> Iterator[ReplayDifference]:
    for key in sorted(signed.keys() | recomputed.keys()):
        place = f"{path}.{key}" if path else key
        if key not in recomputed:
            yield _difference(place, display_value(signed[key]), _ABSENT_TEXT)
        elif key not in signed:
            yield _difference(place, _ABSENT_TEXT, display_value(recomputed[key]))
        else:
            yield from json_differences(signed[key], recomputed[key], place)


def _difference(path: str, signed: str, recomputed: str) -> ReplayDifference:
    return ReplayDifference(ReplayDifferenceKind.REPLAY, path, signed, recomputed)


# Added by the package `seal` after the body was built.
NON_BODY_FIELDS: Final = ("receipt_id", "signature", "anchor")
_WHOLE_RECEIPT: Final = "the receipt"
_Shape = TypeVar("_Shape", AnswerV1, RefusalV1)


class ReplayResult(msgspec.Struct, frozen=True):
    """The differences of a replay, and the rebuilt body unless it could not be built."""

    differences: tuple[ReplayDifference, ...]
    rebuilt: ReceiptBody | None


class _UnreadableReceiptError(Exception):
    """The body cannot be rebuilt from the receipt."""

    def __init__(
        self, path: str, problem: str, kind: ReplayDifferenceKind = ReplayDifferenceKind.SHAPE
    ) -> None:
        self.difference = ReplayDifference(kind, path or _WHOLE_RECEIPT, problem, None)
        super().__init__(str(self.difference))


def replay_body(receipt: Mapping[str, Any], content: bytes | None = None) -> ReplayResult:
    """Return every difference between a receipt and the rebuilt one: steps 4 and 5.

    The receipt comes from `strict_json.decode`, so it has no NaN and no large integers. `content`
    is its canonical form without id, signature and anchor, if the caller has it.
    """
    body = dict(receipt)
    for name in NON_BODY_FIELDS:
        body.pop(name, None)
    found: tuple[ReplayDifference, ...] = ()
    try:
        if body.get("verdict") == AnswerVerdict.OUTSIDE_EVIDENCE_COVERAGE.value:
            rebuilt = _rebuild_refusal(_read_body(body, RefusalV1))
        else:
            answer = _read_body(body, AnswerV1)
            found = tuple(_closure_differences(body, answer))
            rebuilt = _rebuild_answer(answer)
    except _UnreadableReceiptError as problem:
        return ReplayResult((*found, problem.difference), None)
    signed = sorted_compact_decoded(body) if content is None else content
    # The cheap comparison first: equal text means equal values.
    if write_sorted(rebuilt) != signed and sorted_compact_decoded(rebuilt) != signed:
        found = (*found, *json_differences(body, rebuilt))
    return ReplayResult(found, rebuilt)


def _read_body(body: ReceiptBody, shape: type[_Shape]) -> _Shape:
    try:
        return msgspec.convert(body, shape)
    except msgspec.ValidationError as error:
        problem, path = problem_and_field(error)
        raise _UnreadableReceiptError(path or "", problem) from None


def _rebuild_refusal(refusal: RefusalV1) -> ReceiptBody:
    _generated_at(refusal.generated_at)
    question = refusal.unrouted[0] if refusal.unrouted else ""
    return refusal_body(question, refusal.coverage, _receipt_context(refusal))


def _closure_differences(body: ReceiptBody, answer: AnswerV1) -> Iterator[ReplayDifference]:
    cited: set[str] = set()
    for number, check in enumerate(answer.checks):
        for place, digest in enumerate(check.evidence):
            cited.add(digest)
            if digest not in answer.evidence_index:
                path = f"checks[{number}].evidence[{place}]"
                yield ReplayDifference(
                    ReplayDifferenceKind.CLOSURE, path, digest, "nothing: it is not in the bundle"
                )
    for digest, evidence in body["evidence_index"].items():
        path = f"evidence_index.{digest}"
        found = fact_digest(evidence)
        # Receipts of other issuers may write the digest without its algorithm.
        if digest not in (found, found.removeprefix("sha256:")):
            yield ReplayDifference(ReplayDifferenceKind.EVIDENCE_DIGEST, path, digest, found)
        if digest not in cited:
            yield ReplayDifference(
                ReplayDifferenceKind.CLOSURE, path, "evidence", "nothing: no check cites it"
            )


def _rebuild_answer(answer: AnswerV1) -> ReceiptBody:
    moment = _generated_at(answer.generated_at)
    _require_distinct_ids([check.id for check in answer.checks])
    facts = {
        digest: Evidence(digest, _rebuild_fact(digest, fact, answer.generated_at))
        for digest, fact in answer.evidence_index.items()
    }
    tools = {
        name: Tool(name=name, required_args=tuple(tool.required_args))
        for name, tool in answer.reproduce.tools.items()
    }
    context = _receipt_context(answer)
    operators = ENGINES[context.engine_version]
    results = [
        _rebuild_result(number, check, facts, tools, moment=moment, operators=operators)
        for number, check in enumerate(answer.checks)
    ]
    return answer_body(results, facts.values(), tools, context)


def _rebuild_result(
    number: int,
    check: CheckResult,
    facts: Mapping[str, Evidence],
    tools: Mapping[str, Tool],
    *,
    moment: int,
    operators: Mapping[str, Operator],
) -> CheckResult:
    path = f"checks[{number}]"
    try:
        validate_check(check, operators)
    except AffidavitError as error:
        raise _UnreadableReceiptError(f"{path}.{error.where.field}", error.message) from None
    if number >= MAX_CHECKS:
        return not_checked_result(check)
    cited = facts.get(check.evidence[0]) if check.evidence else None
    if cited is not None and not is_evidence_for(check, cited.fact):
        problem = "it cites evidence of another tool or other arguments"
        raise _UnreadableReceiptError(f"{path}.evidence", problem, ReplayDifferenceKind.REPLAY)
    lost = None if check.unavailable is msgspec.UNSET else EvidenceUnavailable(check.unavailable)
    tool = tools.get(check.tool)
    required = tool.required_args if tool else None
    return evaluate_check(check, required, lost or cited, moment, operators)


def _rebuild_fact(digest: str, fact: Fact, at: str) -> Fact:
    if fact.assessed_at != at:
        path = f"evidence_index.{digest}.assessed_at"
        problem = "the evidence was assessed at another time than the answer's"
        raise _UnreadableReceiptError(path, problem, ReplayDifferenceKind.REPLAY)
    tool = Tool(
        name=fact.tool,
        value_path=fact.value_path,
        unit=fact.unit,
        licence=fact.licence,
        max_age_s=fact.max_age_s,
        tolerance=fact.tolerance,
    )
    return make_fact(
        tool,
        fact.args,
        sources=fact.sources,
        raw=fact.raw,
        at=at,
        signed=fact.verification.signals.signed,
        attestation=fact.attestation,
    )


def _generated_at(text: str) -> int:
    try:
        return parse_nanoseconds(text)
    except AffidavitError as error:
        raise _UnreadableReceiptError("generated_at", error.message) from None


def _require_distinct_ids(ids: list[str]) -> None:
    seen: set[str] = set()
    for number, name in enumerate(ids):
        if name in seen:
            raise _UnreadableReceiptError(
                f"checks[{number}].id", f"two checks have the id {name!r}"
            )
        seen.add(name)


def _receipt_context(body: AnswerV1 | RefusalV1) -> ReceiptContext:
    context = ReceiptContext(
        issuer=body.issuer,
        at=body.generated_at,
        served_by=None if body.served_by is msgspec.UNSET else body.served_by,
        disclaimers=tuple(body.disclaimers),
    )
    if isinstance(body, AnswerV1) and body.reproduce.evaluator.engine_version in ENGINES:
        # A receipt of an earlier engine is replayed by its own rules.
        engine_version = body.reproduce.evaluator.engine_version
        context = msgspec.structs.replace(context, engine_version=engine_version)
    if isinstance(body, AnswerV1) and body.route is not msgspec.UNSET:
        route = msgspec.structs.replace(body.route, router_version=ROUTE_RULE)
        return msgspec.structs.replace(context, question=body.question or "", route=route)
    return context


def replay_route(receipt: Mapping[str, Any], table: RouteTable) -> tuple[ReplayDifference, ...]:
    """Return where a receipt's route and checks differ from those that the table compiles.

    A receipt only has the digest of its table, so the table is an argument. The receipt has passed
    `replay_body`. One without a question has no route, and so no differences.
    """
    if "route" not in receipt:
        return ()
    signed: ReceiptBody = {
        "route": {key: receipt["route"][key] for key in ("router_sha256", "route_id", "form")},
        "checks": [
            {key: check[key] for key in Check.__struct_fields__ if key in check}
            for check in receipt["checks"]
        ],
    }
    try:
        compiled = compile_question(table, receipt["question"])
    except AffidavitError as error:
        return (ReplayDifference(ReplayDifferenceKind.REPLAY, "question", error.message, None),)
    if compiled is None:
        problem = "no route of this table matches it"
        return (ReplayDifference(ReplayDifferenceKind.REPLAY, "question", problem, None),)
    recomputed: ReceiptBody = {
        "route": {
            "router_sha256": table.sha256,
            "route_id": compiled.route.route_id,
            "form": compiled.route.form,
        },
        "checks": [msgspec.to_builtins(check) for check in compiled.checks],
    }
    return tuple(json_differences(signed, recomputed))
