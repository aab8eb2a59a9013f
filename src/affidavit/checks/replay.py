"""Replays a receipt offline: rebuilds its body from the recorded evidence and lists every
difference.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, TypeVar

import msgspec

from affidavit.base.canonical import sorted_compact_decoded, write_sorted
from affidavit.base.errors import AffidavitError
from affidavit.base.json_values import JsonValue
from affidavit.base.validation import problem_and_field
from affidavit.checks.check import MAX_CHECKS, Check, validate_check
from affidavit.checks.evaluation import (
    CheckResult,
    evaluate_check,
    is_evidence_for,
    not_checked_result,
)
from affidavit.checks.facts import EvidenceUnavailable, Fact, fact_digest, fact_object
from affidavit.checks.receipt_body import (
    QuestionRoute,
    ReceiptBody,
    ReceiptContext,
    answer_body,
    refusal_body,
)
from affidavit.checks.receipt_schema import AnswerV1, FactV1, RefusalV1, ToleranceRecordV1
from affidavit.checks.routes import RouteTable, compile_question
from affidavit.checks.timestamps import parse_timestamp
from affidavit.checks.tool import Tolerance, Tool
from affidavit.checks.values import display_value
from affidavit.checks.verdicts import AnswerVerdict

# What two JSON values differ in, each difference named by its path.

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
    """A place where a receipt is not what follows from it: what it says, and what follows.

    Where nothing can follow, `signed` says what is wrong and `recomputed` is None.
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
    """Yield where two values differ. 1, 1.0 and true are three different values here."""
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


# Steps 4 and 5 of answer-eval.md, section 5: from a receipt alone, offline.
#
# Step 4, closure: every cited digest leads to evidence, and all evidence hashes to its digest.
# Step 5: what was asked and the evidence are taken from the receipt, the whole body is made a
# second time, and the two must be the same, byte for byte. Not covered: id, signature and anchor,
# which are steps 1 to 3, and whether the evidence is true. The R rules of docs/checks.md.

# The seal's, added to the body after it was made.
NON_BODY_FIELDS: Final = ("receipt_id", "signature", "anchor")
_WHOLE_RECEIPT: Final = "the receipt"
_Shape = TypeVar("_Shape", AnswerV1, RefusalV1)


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """What a replay found. `rebuilt` is the body that follows; None if it could not be made."""

    differences: tuple[ReplayDifference, ...]
    rebuilt: ReceiptBody | None

    @property
    def holds(self) -> bool:
        """Say whether the receipt is exactly what follows from it."""
        return not self.differences


class _UnreadableReceiptError(Exception):
    """Nothing follows from the receipt, because of this."""

    def __init__(
        self, path: str, problem: str, kind: ReplayDifferenceKind = ReplayDifferenceKind.SHAPE
    ) -> None:
        self.difference = ReplayDifference(kind, path or _WHOLE_RECEIPT, problem, None)
        super().__init__(str(self.difference))


def replay_body(receipt: Mapping[str, Any], content: bytes | None = None) -> ReplayResult:
    """Return every difference between a receipt and what follows from it: steps 4 and 5.

    The receipt is what `strict_json.decode` returned, so it holds no NaN and no large integers.
    `content` is its canonical form without id, signature and anchor, if the caller has it at hand.
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
    # One text has one value, so if both have the same one nothing more is asked of it.
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
    occasion = ReceiptContext(
        refusal.issuer,
        refusal.generated_at,
        None,
        None if refusal.served_by is msgspec.UNSET else refusal.served_by,
        tuple(refusal.disclaimers),
    )
    question = refusal.unrouted[0] if refusal.unrouted else ""
    return refusal_body(question, refusal.coverage, occasion)


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
        name: Tool(name, tuple(tool.required_args)) for name, tool in answer.reproduce.tools.items()
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
    check = entry.asked()
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
        fact.tool,
        (),
        fact.value_path,
        fact.unit,
        fact.licence,
        fact.max_age_s,
        _tolerance(fact.tolerance),
    )
    made = fact_object(
        tool,
        fact.args,
        fact.sources,
        fact.raw,
        at,
        signed=fact.verification.signals.signed,
        attestation=fact.attestation,
    )
    return Fact(digest, made)


def _tolerance(wire: ToleranceRecordV1 | None) -> Tolerance | None:
    if wire is None:
        return None
    if wire.pct is not None:
        return Tolerance(wire.pct, is_percentage=True)
    return Tolerance(wire.abs or 0)


def _generated_at(text: str) -> int:
    try:
        return parse_timestamp(text)
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


def _receipt_context(answer: AnswerV1) -> ReceiptContext:
    routed = None
    if answer.route is not msgspec.UNSET:
        routed = QuestionRoute(
            "" if answer.question is msgspec.UNSET else answer.question,
            answer.route.router_sha256,
            answer.route.route_id,
            answer.route.form == "declarative",
        )
    served_by = None if answer.served_by is msgspec.UNSET else answer.served_by
    return ReceiptContext(
        answer.issuer, answer.generated_at, routed, served_by, tuple(answer.disclaimers)
    )


# Question mode replayed: with the route table at hand, the question must give the same checks.
#
# A receipt holds the digest of its table, not the table, so this needs one more input than
# `replay`.


def replay_route(receipt: Mapping[str, Any], table: RouteTable) -> tuple[ReplayDifference, ...]:
    """Return where a receipt's route and checks are not what its question gives by this table.

    The receipt has passed `replay`; one without a question has no route, and so no differences.
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
            "route_id": compiled.route_id,
            "form": "declarative" if compiled.is_declarative else "interrogative",
        },
        "checks": [msgspec.to_builtins(check) for check in compiled.checks],
    }
    return tuple(json_differences(signed, recomputed))
