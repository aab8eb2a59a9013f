"""Replays a receipt offline: steps 4 and 5 of answer-eval.md, section 5.

Step 4, closure: every cited digest leads to evidence, and all evidence has its digest. Step 5: the
whole body is rebuilt from the recorded checks and evidence, and must be byte-identical.

Not covered: id, signature and anchor (steps 1 to 3), and whether the evidence is true. The R rules
of docs/checks.md.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, TypeVar

import msgspec

from affidavit.base.canonical import sorted_compact_decoded, write_sorted
from affidavit.base.errors import AffidavitError
from affidavit.base.json_values import JsonValue
from affidavit.base.timestamps import parse_nanoseconds
from affidavit.base.validation import problem_and_field
from affidavit.checks.check import MAX_CHECKS, Check, validate_check
from affidavit.checks.evaluation import (
    AnswerVerdict,
    CheckResult,
    evaluate_check,
    is_evidence_for,
    not_checked_result,
)
from affidavit.checks.facts import EvidenceUnavailable, Fact, Tool, fact_digest, fact_object
from affidavit.checks.receipt_body import (
    ReceiptBody,
    ReceiptContext,
    answer_body,
    refusal_body,
)
from affidavit.checks.receipt_schema import AnswerV1, FactV1, RefusalV1
from affidavit.checks.routes import ROUTE_RULE, RouteTable, compile_question
from affidavit.checks.values import display_value

_ABSENT_TEXT: Final = "nothing"


class ReplayDifferenceKind(StrEnum):
    """Which step of answer-eval.md, section 5, a difference breaks, and how."""

    SHAPE = "shape"
    CLOSURE = "closure"
    EVIDENCE_DIGEST = "evidence_digest"
    REPLAY = "replay"

    @property
    def step(self) -> int:
        """4 for the closure of the evidence, 5 for the replay."""
        return (
            4 if self in (ReplayDifferenceKind.CLOSURE, ReplayDifferenceKind.EVIDENCE_DIGEST) else 5
        )


@dataclass(frozen=True, slots=True)
class ReplayDifference:
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


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """The differences of a replay, and the rebuilt body unless it could not be built."""

    differences: tuple[ReplayDifference, ...]
    rebuilt: ReceiptBody | None

    @property
    def holds(self) -> bool:
        """Say whether the receipt equals the rebuilt one."""
        return not self.differences


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
        digest: _rebuild_fact(digest, fact, answer.generated_at)
        for digest, fact in answer.evidence_index.items()
    }
    tools = {
        name: Tool(name=name, required_args=tuple(tool.required_args))
        for name, tool in answer.reproduce.tools.items()
    }
    results = tuple(
        _rebuild_result(answer, number, facts, tools, moment)
        for number in range(len(answer.checks))
    )
    return answer_body(results, tools, _receipt_context(answer))


def _rebuild_result(
    answer: AnswerV1,
    number: int,
    facts: Mapping[str, Fact],
    tools: Mapping[str, Tool],
    moment: int,
) -> CheckResult:
    entry = answer.checks[number]
    check = entry.check()
    path = f"checks[{number}]"
    try:
        validate_check(check)
    except AffidavitError as error:
        raise _UnreadableReceiptError(f"{path}.{error.where.field}", error.message) from None
    if number >= MAX_CHECKS:
        return not_checked_result(check)
    fact = facts.get(entry.evidence[0]) if entry.evidence else None
    if fact is not None and not is_evidence_for(check, fact.object):
        problem = "it cites evidence of another tool or other arguments"
        raise _UnreadableReceiptError(f"{path}.evidence", problem, ReplayDifferenceKind.REPLAY)
    lost = None if entry.unavailable is msgspec.UNSET else EvidenceUnavailable(entry.unavailable)
    tool = tools.get(check.tool)
    required = None if tool is None else tool.required_args
    return evaluate_check(check, required, lost or fact, moment)


def _rebuild_fact(digest: str, fact: FactV1, at: str) -> Fact:
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
    rebuilt = fact_object(
        tool,
        fact.args,
        sources=fact.sources,
        raw=fact.raw,
        at=at,
        signed=fact.verification.signals.signed,
        attestation=fact.attestation,
    )
    return Fact(digest, rebuilt)


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
