"""The body of an answer/v1 receipt: its shape, how it is built, and how it is replayed offline.

The package `seal` adds `receipt_id`, `signature` and `anchor`. The B and R rules of docs/checks.md.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar

import msgspec

from affidavit.base.canonical import sorted_compact_decoded, write_sorted
from affidavit.base.digest import sha256_hex
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import receipts as faults
from affidavit.base.json_values import JsonValue
from affidavit.base.text import excerpt
from affidavit.base.timestamps import parse_nanoseconds
from affidavit.base.validation import join_field, problem_and_field
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
    FIRST_FACT_RULE,
    Evidence,
    EvidenceUnavailable,
    Fact,
    Tool,
    UnitInterval,
    fact_digest,
    make_fact,
)
from affidavit.checks.operators import ENGINE_VERSION, ENGINES, FIRST_ENGINE, Operator
from affidavit.checks.routes import ROUTE_RULE, QuestionRoute, RouteTable, compile_question
from affidavit.checks.values import display_value

_Value = TypeVar("_Value")
ANSWER_SCHEMA: Final = "answer/v1"


class _ReceiptPart(msgspec.Struct, frozen=True):
    """A part of a receipt. Other issuers, and later versions, may add members."""


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
    canonicalization: Literal["json-sorted-compact"]
    max_checks: Literal[20]
    tools: dict[str, ToolRequirementsV1]


MAX_LINKED: Final = 5
"""Receipts of one request. Half of the threads that query sources suffice for 100 checks of two."""
Sha256Hex = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]


class LinkV1(_ReceiptPart, frozen=True):
    """Which of several linked receipts this is, for a request with more checks than one holds.

    `checks_sha256` has the digest of the checks of each of them, so each states what all are about.
    `previous_sha256` is the digest of the content of the one before, which the first does not have.
    """

    number: Annotated[int, msgspec.Meta(ge=1, le=MAX_LINKED)]
    checks_sha256: Annotated[list[Sha256Hex], msgspec.Meta(min_length=2, max_length=MAX_LINKED)]
    previous_sha256: Sha256Hex | msgspec.UnsetType = msgspec.UNSET


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
    advisory: bool | msgspec.UnsetType = msgspec.UNSET
    disclaimers: list[str] | msgspec.UnsetType = msgspec.UNSET
    linked: LinkV1 | msgspec.UnsetType = msgspec.UNSET
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
    unrouted: Annotated[list[str], msgspec.Meta(min_length=1)]
    coverage: dict[str, Any]
    note: str | msgspec.UnsetType = msgspec.UNSET
    advisory: bool | msgspec.UnsetType = msgspec.UNSET
    disclaimers: list[str] | msgspec.UnsetType = msgspec.UNSET
    served_by: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET


# How each engine assesses facts. Its operators are those of `ENGINES`.
_FACT_RULES: Final = {
    engine: FIRST_FACT_RULE if engine == FIRST_ENGINE else FACT_RULE for engine in ENGINES
}
_RULES: Final = frozenset({EVALUATION_RULE, CONFIDENCE_RULE, ROUTE_RULE, *_FACT_RULES.values()})
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
    """Issuer and time of an answer, the question and route that it came from, and its link."""

    issuer: str
    at: str
    question: str | None = None
    route: QuestionRoute | None = None
    link: LinkV1 | None = None
    served_by: dict[str, JsonValue] | None = None
    disclaimers: tuple[str, ...] = DISCLAIMERS


def answer_body(
    results: Sequence[CheckResult],
    evidence: Iterable[Evidence | EvidenceUnavailable],
    tools: Mapping[str, Tool],
    context: ReceiptContext,
) -> ReceiptBody:
    """Return the body of the receipt for evaluated checks. It holds the evidence that they cite."""
    rules = [EVALUATION_RULE, CONFIDENCE_RULE, FACT_RULE, *([ROUTE_RULE] if context.route else [])]
    asked = {result.tool for result in results}
    facts = {found.digest: found.fact for found in evidence if isinstance(found, Evidence)}
    answer = AnswerV1(
        schema=ANSWER_SCHEMA,
        generated_at=context.at,
        issuer=context.issuer,
        confidence_rule=CONFIDENCE_RULE,
        reproduce=ReproduceV1(
            EvaluatorV1(ENGINE_VERSION, rules),
            CANONICALIZATION,
            MAX_CHECKS,
            {
                name: ToolRequirementsV1(list(tools[name].required_args))
                for name in sorted(asked & tools.keys())
            },
        ),
        advisory=True,
        disclaimers=list(context.disclaimers),
        linked=_or_unset(context.link),
        question=_or_unset(context.question),
        route=_or_unset(context.route),
        served_by=_or_unset(context.served_by),
        **_computed_members(results, facts),
    )
    body: ReceiptBody = msgspec.to_builtins(answer)
    return body


def linked_parts(checks: Sequence[Check]) -> tuple[Sequence[Check], ...]:
    """Return the checks of each receipt, or raise if there are more than linked receipts hold."""
    if len(checks) > MAX_LINKED * MAX_CHECKS:
        raise AffidavitError(
            faults.CHECKS_TOO_MANY,
            Where(field="checks"),
            count=len(checks),
            limit=MAX_LINKED * MAX_CHECKS,
        )
    return tuple(checks[start : start + MAX_CHECKS] for start in range(0, len(checks), MAX_CHECKS))


def checks_digest(checks: Iterable[Check]) -> str:
    """Return the digest of checks as they were asked, without their results."""
    asked: list[JsonValue] = [
        {name: each[name] for name in Check.__struct_fields__ if name in each}
        for each in map(msgspec.to_builtins, checks)
    ]
    return sha256_hex(sorted_compact_decoded(asked))


def body_digest(body: ReceiptBody) -> str:
    """Return the digest of the content of a receipt. Its id starts with the same digits."""
    return sha256_hex(sorted_compact_decoded(body))


def _computed_members(results: Sequence[CheckResult], facts: Mapping[str, Fact]) -> dict[str, Any]:
    """Return the members of an answer that the rules compute. A replay computes them again."""
    composite = compose(results)
    return {
        "verdict": composite.verdict,
        "confidence": composite.confidence,
        "degraded": composite.degraded,
        "checks": list(results),
        "not_checked": [each.id for each in results if each.verdict is CheckVerdict.NOT_CHECKED],
        "evidence_index": {
            digest: facts[digest] for result in results for digest in result.evidence
        },
    }


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
_DIGEST: Final = re.compile(r"(?:sha256:)?[0-9a-f]{64}")


class ReplayResult(msgspec.Struct, frozen=True):
    """The differences of a replay, and the rebuilt body unless it could not be built.

    `unreplayable` says why nothing can be recomputed: a rule or a shape that is not known here.
    `unknown_evidence` is not kept under its digest. `not_interpreted` are members without a rule.
    """

    differences: tuple[ReplayDifference, ...]
    rebuilt: ReceiptBody | None
    unreplayable: str | None = None
    unknown_evidence: tuple[str, ...] = ()
    not_interpreted: tuple[str, ...] = ()


class _UnreplayableError(Exception):
    """The receipt has rules or a shape that are not known here, which proves nothing."""


class _ForeignEvidenceError(Exception):
    """A check cites evidence that cannot be its own."""

    def __init__(self, path: str, problem: str) -> None:
        self.difference = ReplayDifference(ReplayDifferenceKind.REPLAY, path, problem, None)
        super().__init__(str(self.difference))


def replay_body(receipt: Mapping[str, Any], content: bytes | None = None) -> ReplayResult:
    """Return every difference between a receipt and the rebuilt one: steps 4 and 5.

    The receipt comes from `strict_json.decode`, so it has no NaN and no large integers. `content`
    is its canonical form without id, signature and anchor, if the caller has it.
    """
    body = dict(receipt)
    for name in NON_BODY_FIELDS:
        body.pop(name, None)
    found, unknown = _check_closure(body)
    try:
        _require_known_rules(body)
        answer = _read_body(body)
        rebuilt = _rebuild(answer)
    except _UnreplayableError as problem:
        return ReplayResult(found, None, str(problem), unknown)
    except _ForeignEvidenceError as problem:
        return ReplayResult((*found, problem.difference), None, None, unknown)
    signed = sorted_compact_decoded(body) if content is None else content
    # The cheap comparison first: equal text means equal values.
    if write_sorted(rebuilt) == signed:
        return ReplayResult(found, rebuilt, None, unknown)
    known = msgspec.to_builtins(answer)
    return ReplayResult(
        (*found, *json_differences(known, rebuilt)),
        rebuilt,
        None,
        unknown,
        tuple(_uninterpreted_members(body, known)),
    )


def _require_known_rules(body: ReceiptBody) -> None:
    """Raise if the receipt names an engine or a rule that this version does not have."""
    stated = body.get("confidence_rule")
    rules = [stated.partition(":")[0]] if isinstance(stated, str) else []
    reproduce = body.get("reproduce")
    evaluator = reproduce.get("evaluator") if isinstance(reproduce, dict) else None
    if isinstance(evaluator, dict):
        engine, named = evaluator.get("engine_version"), evaluator.get("rules")
        if isinstance(engine, str) and engine not in _FACT_RULES:
            known = ", ".join(f"answer-eval/{each}" for each in _FACT_RULES)
            raise _UnreplayableError(f"answer-eval/{excerpt(engine)}; this version has {known}")
        rules += named if isinstance(named, list) else ()
    for rule in rules:
        if rule not in _RULES:
            known = ", ".join(sorted(_RULES))
            raise _UnreplayableError(f"{excerpt(str(rule))}; this version has {known}")


def _read_body(body: ReceiptBody) -> AnswerV1 | RefusalV1:
    try:
        if body.get("verdict") == AnswerVerdict.OUTSIDE_EVIDENCE_COVERAGE.value:
            return msgspec.convert(body, RefusalV1)
        return msgspec.convert(body, AnswerV1)
    except msgspec.ValidationError as error:
        problem, path = problem_and_field(error)
        raise _UnreplayableError(f"{path or _WHOLE_RECEIPT}: {problem}") from None


def _rebuild(answer: AnswerV1 | RefusalV1) -> ReceiptBody:
    """Return the body with its computed members computed again. The others are only stated."""
    moment = _generated_at(answer.generated_at)
    computed = (
        {"confidence": 0.0}
        if isinstance(answer, RefusalV1)
        else _recomputed_members(answer, moment)
    )
    rebuilt: ReceiptBody = msgspec.to_builtins(msgspec.structs.replace(answer, **computed))
    return rebuilt


def _uninterpreted_members(signed: JsonValue, known: JsonValue, path: str = "") -> Iterator[str]:
    """Yield the members of a receipt that its model does not have. A null states nothing."""
    if isinstance(signed, dict) and isinstance(known, dict):
        for key in sorted(signed):
            place = join_field(path, key)
            if key in known:
                yield from _uninterpreted_members(signed[key], known[key], place)
            elif signed[key] is not None:
                yield place
    elif isinstance(signed, list) and isinstance(known, list):
        for number, (one, other) in enumerate(zip(signed, known, strict=False)):
            yield from _uninterpreted_members(one, other, f"{path}[{number}]")


def _check_closure(body: ReceiptBody) -> tuple[tuple[ReplayDifference, ...], tuple[str, ...]]:
    """Return the differences of step 4, and the evidence that has no digest to compare.

    It reads the receipt as it is, so that it holds for the evidence of any issuer.
    """
    checks, index = body.get("checks"), body.get("evidence_index")
    facts = index if isinstance(index, dict) else {}
    found: list[ReplayDifference] = []
    unknown: list[str] = []
    for number, check in enumerate(checks if isinstance(checks, list) else ()):
        cited = check.get("evidence") if isinstance(check, dict) else None
        for place, digest in enumerate(cited if isinstance(cited, list) else ()):
            if not isinstance(digest, str) or digest not in facts:
                path = f"checks[{number}].evidence[{place}]"
                said = digest if isinstance(digest, str) else display_value(digest)
                absent = "nothing: it is not in the bundle"
                found.append(ReplayDifference(ReplayDifferenceKind.CLOSURE, path, said, absent))
    for digest, evidence in facts.items():
        path = f"evidence_index.{digest}"
        if not isinstance(evidence, dict) or not _DIGEST.fullmatch(digest):
            unknown.append(f"{excerpt(path)}: it is not evidence under its digest")
            continue
        expected = fact_digest(evidence)
        # Receipts of other issuers may write the digest without its algorithm.
        if digest not in (expected, expected.removeprefix("sha256:")):
            kind = ReplayDifferenceKind.EVIDENCE_DIGEST
            found.append(ReplayDifference(kind, path, digest, expected))
    return tuple(found), tuple(unknown)


def _recomputed_members(answer: AnswerV1, moment: int) -> dict[str, Any]:
    _require_distinct_ids([check.id for check in answer.checks])
    engine = answer.reproduce.evaluator.engine_version
    for fact in answer.evidence_index.values():
        if fact.verification.rule != _FACT_RULES[engine]:
            raise _UnreplayableError(f"{fact.verification.rule} of answer-eval/{engine}")
    facts = {
        digest: Evidence(digest, _rebuild_fact(digest, fact, answer.generated_at))
        for digest, fact in answer.evidence_index.items()
    }
    tools = {
        name: Tool(name=name, required_args=tuple(tool.required_args))
        for name, tool in answer.reproduce.tools.items()
    }
    operators = ENGINES[engine]
    results = [
        _rebuild_result(number, check, facts, tools, moment=moment, operators=operators)
        for number, check in enumerate(answer.checks)
    ]
    computed = _computed_members(results, {digest: each.fact for digest, each in facts.items()})
    if answer.linked is not msgspec.UNSET:
        computed["linked"] = _rebuild_link(answer.linked, answer.checks)
    return computed


def _rebuild_link(link: LinkV1, checks: Sequence[Check]) -> LinkV1:
    """Return the link with the digest of its own checks computed again."""
    if link.number > len(link.checks_sha256):
        raise _UnreplayableError("linked.number: there are fewer receipts")
    if (link.number == 1) is not (link.previous_sha256 is msgspec.UNSET):
        raise _UnreplayableError("linked.previous_sha256: all but the first have it")
    digests = list(link.checks_sha256)
    digests[link.number - 1] = checks_digest(checks)
    return msgspec.structs.replace(link, checks_sha256=digests)


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
        raise _UnreplayableError(f"{path}.{error.where.field}: {error.message}") from None
    if number >= MAX_CHECKS:
        return not_checked_result(check)
    cited = facts.get(check.evidence[0]) if check.evidence else None
    if cited is not None and not is_evidence_for(check, cited.fact):
        problem = "it cites evidence of another tool or other arguments"
        raise _ForeignEvidenceError(f"{path}.evidence", problem)
    lost = None if check.unavailable is msgspec.UNSET else EvidenceUnavailable(check.unavailable)
    tool = tools.get(check.tool)
    required = tool.required_args if tool else None
    return evaluate_check(check, required, lost or cited, moment, operators)


def _rebuild_fact(digest: str, fact: Fact, at: str) -> Fact:
    if fact.assessed_at != at:
        path = f"evidence_index.{digest}.assessed_at"
        problem = "the evidence was assessed at another time than the answer's"
        raise _ForeignEvidenceError(path, problem)
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
        rule=fact.verification.rule,
    )


def _generated_at(text: str) -> int:
    try:
        return parse_nanoseconds(text)
    except AffidavitError as error:
        raise _UnreplayableError(f"generated_at: {error.message}") from None


def _require_distinct_ids(ids: list[str]) -> None:
    seen: set[str] = set()
    for number, name in enumerate(ids):
        if name in seen:
            raise _UnreplayableError(f"checks[{number}].id: two checks have the id {name!r}")
        seen.add(name)


class RoutingReplay(msgspec.Struct, frozen=True):
    """How the question of a receipt compiles again. `unreplayable` says why that proves nothing."""

    differences: tuple[ReplayDifference, ...] = ()
    unreplayable: str | None = None


def router_digest(receipt: Mapping[str, Any]) -> str | None:
    """Return the digest of the route table that a receipt names, or None."""
    named = receipt.get("route", receipt.get("coverage"))
    digest = named.get("router_sha256") if isinstance(named, dict) else None
    return digest if isinstance(digest, str) else None


def asked_question(receipt: Mapping[str, Any]) -> str | None:
    """Return the question that a receipt answers or refuses, or None if it has only checks."""
    unrouted = receipt.get("unrouted")
    question = receipt.get("question", unrouted[0] if isinstance(unrouted, list) else None)
    return question if isinstance(question, str) else None


def replay_route(receipt: Mapping[str, Any], table: RouteTable) -> RoutingReplay:
    """Compile the question of a receipt again, with the table that the receipt names.

    A receipt only has the digest of its table, so the table is an argument. The receipt has a
    question and has passed `replay_body`. A refusal names no engine, and engine 1.0.0 refused
    questions in the words of a statement, so a refusal that is not repeated proves nothing.
    """
    try:
        compiled = compile_question(table, asked_question(receipt) or "")
    except AffidavitError as error:
        return RoutingReplay(unreplayable=f"question: {error.message}")
    if "unrouted" in receipt:
        if compiled is None:
            return RoutingReplay()
        return RoutingReplay(unreplayable=f"the refusal: {compiled.route.route_id} covers it")
    if compiled is None:
        problem = "no route of this table matches it"
        return RoutingReplay(
            (ReplayDifference(ReplayDifferenceKind.REPLAY, "question", problem, None),)
        )
    signed: ReceiptBody = {
        "route": {key: receipt["route"][key] for key in ("route_id", "form")},
        "checks": [
            {key: check[key] for key in Check.__struct_fields__ if key in check}
            for check in receipt["checks"]
        ],
    }
    recomputed: ReceiptBody = {
        "route": {"route_id": compiled.route.route_id, "form": compiled.route.form},
        "checks": [msgspec.to_builtins(check) for check in compiled.checks],
    }
    found = tuple(json_differences(signed, recomputed))
    engine = receipt["reproduce"]["evaluator"]["engine_version"]
    if found and engine == FIRST_ENGINE:
        return RoutingReplay(unreplayable=f"the routing of answer-eval/{engine}: {found[0]}")
    return RoutingReplay(found)
