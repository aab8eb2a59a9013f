"""Steps 4 and 5 of answer-eval.md, section 5: from a receipt alone, offline.

Step 4, closure: every cited digest leads to evidence, and all evidence hashes to its digest.
Step 5: what was asked and the evidence are taken from the receipt, the whole body is made a second
time, and the two must be the same, byte for byte. Not covered: id, signature and anchor, which are
steps 1 to 3, and whether the evidence is true. The R rules of docs/checks.md.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import msgspec

from affidavit.base.canonical import sorted_compact_decoded
from affidavit.base.errors import AffidavitError
from affidavit.base.json_writing import write_sorted
from affidavit.checks.body import Body, Occasion, Routed, answer_body, refusal_body
from affidavit.checks.differences import Difference, DifferenceKind, differences
from affidavit.checks.evaluate import CheckResult, is_own, over_the_cap, settle
from affidavit.checks.facts import Fact, Unavailable, fact_digest, fact_object
from affidavit.checks.moments import moment_from
from affidavit.checks.tools import Tolerance, Tool
from affidavit.checks.unit import MAX_CHECKS, require_sense
from affidavit.checks.verdicts import Overall
from affidavit.checks.wire_places import placed_problem
from affidavit.checks.wire_schema import AnswerV1, FactV1, RefusalV1, ToleranceV1

# The seal's, added to the body after it was made.
OUTSIDE_THE_BODY: Final = ("receipt_id", "signature", "anchor")
_WHOLE: Final = "the receipt"
_Shape = TypeVar("_Shape", AnswerV1, RefusalV1)


@dataclass(frozen=True, slots=True)
class Replay:
    """What a replay found. `rebuilt` is the body that follows; None if it could not be made."""

    differences: tuple[Difference, ...]
    rebuilt: Body | None

    @property
    def holds(self) -> bool:
        """Say whether the receipt is exactly what follows from it."""
        return not self.differences


class _Unreadable(Exception):
    """Nothing follows from the receipt, because of this."""

    def __init__(
        self, path: str, problem: str, kind: DifferenceKind = DifferenceKind.SHAPE
    ) -> None:
        self.difference = Difference(kind, path or _WHOLE, problem, None)
        super().__init__(str(self.difference))


def replay(receipt: Mapping[str, Any], content: bytes | None = None) -> Replay:
    """Return every difference between a receipt and what follows from it: steps 4 and 5.

    The receipt is what `strict_json.decode` returned, so it holds no NaN and no large integers.
    `content` is its canonical form without id, signature and anchor, if the caller has it at hand.
    """
    body = dict(receipt)
    for name in OUTSIDE_THE_BODY:
        body.pop(name, None)
    found: tuple[Difference, ...] = ()
    try:
        if body.get("verdict") == Overall.OUTSIDE_EVIDENCE_COVERAGE.value:
            rebuilt = _refused_again(_read(body, RefusalV1))
        else:
            answer = _read(body, AnswerV1)
            found = tuple(_closure(body, answer))
            rebuilt = _answered_again(answer)
    except _Unreadable as problem:
        return Replay((*found, problem.difference), None)
    signed = sorted_compact_decoded(body) if content is None else content
    # One text has one value, so if both have the same one nothing more is asked of it.
    if write_sorted(rebuilt) != signed and sorted_compact_decoded(rebuilt) != signed:
        found = (*found, *differences(body, rebuilt))
    return Replay(found, rebuilt)


def _read(body: Body, shape: type[_Shape]) -> _Shape:
    try:
        return msgspec.convert(body, shape)
    except msgspec.ValidationError as error:
        problem, path = placed_problem(error)
        raise _Unreadable(path, problem) from None


def _refused_again(refusal: RefusalV1) -> Body:
    _moment(refusal.generated_at)
    occasion = Occasion(
        refusal.issuer,
        refusal.generated_at,
        None,
        None if refusal.served_by is msgspec.UNSET else refusal.served_by,
        tuple(refusal.disclaimers),
    )
    question = refusal.unrouted[0] if refusal.unrouted else ""
    return refusal_body(question, refusal.coverage, occasion)


def _closure(body: Body, answer: AnswerV1) -> Iterator[Difference]:
    cited: set[str] = set()
    for number, check in enumerate(answer.checks):
        for place, digest in enumerate(check.evidence):
            cited.add(digest)
            if digest not in answer.evidence_index:
                path = f"checks[{number}].evidence[{place}]"
                yield Difference(
                    DifferenceKind.CLOSURE, path, digest, "nothing: it is not in the bundle"
                )
    for digest, evidence in body["evidence_index"].items():
        path = f"evidence_index.{digest}"
        found = fact_digest(evidence)
        # Receipts of other issuers may write the digest without its algorithm.
        if digest not in (found, found.removeprefix("sha256:")):
            yield Difference(DifferenceKind.EVIDENCE_DIGEST, path, digest, found)
        if digest not in cited:
            yield Difference(DifferenceKind.CLOSURE, path, "evidence", "nothing: no check cites it")


def _answered_again(answer: AnswerV1) -> Body:
    moment = _moment(answer.generated_at)
    _refuse_twins([check.id for check in answer.checks])
    facts = {
        digest: _fact_again(digest, fact, answer.generated_at)
        for digest, fact in answer.evidence_index.items()
    }
    tools = {
        name: Tool(name, tuple(tool.required_args)) for name, tool in answer.reproduce.tools.items()
    }
    results = tuple(
        _settled_again(answer, number, facts, tools, moment) for number in range(len(answer.checks))
    )
    return answer_body(results, tools, _occasion(answer))


def _settled_again(
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
        require_sense(check)
    except AffidavitError as error:
        raise _Unreadable(f"{path}.{error.where.field}", error.message) from None
    if number >= MAX_CHECKS:
        return over_the_cap(check)
    fact = facts.get(entry.evidence[0]) if entry.evidence else None
    if fact is not None and not is_own(check, fact.object):
        problem = "it cites evidence of another tool or other arguments"
        raise _Unreadable(f"{path}.evidence", problem, DifferenceKind.REPLAY)
    lost = None if entry.unavailable is msgspec.UNSET else Unavailable(entry.unavailable)
    tool = tools.get(check.tool)
    required = None if tool is None else tool.required_args
    return settle(check, required, lost or fact, moment)


def _fact_again(digest: str, fact: FactV1, at: str) -> Fact:
    if fact.assessed_at != at:
        path = f"evidence_index.{digest}.assessed_at"
        problem = "the evidence was assessed at another time than the answer's"
        raise _Unreadable(path, problem, DifferenceKind.REPLAY)
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


def _tolerance(wire: ToleranceV1 | None) -> Tolerance | None:
    if wire is None:
        return None
    if wire.pct is not None:
        return Tolerance(wire.pct, is_percentage=True)
    return Tolerance(wire.abs or 0)


def _moment(text: str) -> int:
    try:
        return moment_from(text)
    except AffidavitError as error:
        raise _Unreadable("generated_at", error.message) from None


def _refuse_twins(ids: list[str]) -> None:
    seen: set[str] = set()
    for number, name in enumerate(ids):
        if name in seen:
            raise _Unreadable(f"checks[{number}].id", f"two checks have the id {name!r}")
        seen.add(name)


def _occasion(answer: AnswerV1) -> Occasion:
    routed = None
    if answer.route is not msgspec.UNSET:
        routed = Routed(
            "" if answer.question is msgspec.UNSET else answer.question,
            answer.route.router_sha256,
            answer.route.route_id,
            answer.route.form == "declarative",
        )
    served_by = None if answer.served_by is msgspec.UNSET else answer.served_by
    return Occasion(
        answer.issuer, answer.generated_at, routed, served_by, tuple(answer.disclaimers)
    )
