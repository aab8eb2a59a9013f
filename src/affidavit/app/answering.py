"""Answering: checks or a question in, tools asked, verdicts reached, a signed receipt out.

Origin: answer-eval, sections 1 to 6. A question is compiled to checks by the route table, or
refused in a receipt that is signed like any other.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from affidavit.app.asking import CREW, DEFAULT_DEADLINE_MS, Toolbox, gather, require_deadline
from affidavit.app.crew import Crew
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.exits import Exit
from affidavit.base.faults import answers as faults
from affidavit.base.json_limits import JsonValue
from affidavit.checks.body import Body, Occasion, Routed, answer_body, refusal_body
from affidavit.checks.coverage import coverage_of
from affidavit.checks.evaluate import evaluate
from affidavit.checks.routes import RouteTable, find_route
from affidavit.checks.unit import Check, checks_from_wire
from affidavit.checks.verdicts import Overall
from affidavit.seal.keys import SigningKey
from affidavit.seal.receipt import seal_receipt

_MEMBERS: Final = ("checks", "question", "deadline_ms")

EXITS: Final[Mapping[str, Exit]] = {
    Overall.SUPPORTED.value: Exit.YES,
    Overall.EVIDENCED.value: Exit.YES,
    Overall.CONTRADICTED.value: Exit.NO,
    Overall.INSUFFICIENT_EVIDENCE.value: Exit.UNKNOWN,
    Overall.OUTSIDE_EVIDENCE_COVERAGE.value: Exit.UNKNOWN,
}
"""How an answer ends, by its verdict."""


@dataclass(frozen=True, slots=True)
class AnswerRequest:
    """What is asked: checks, or a question (then there are none); and by when it is answered."""

    checks: tuple[Check, ...] = ()
    question: str | None = None
    deadline_ms: int = DEFAULT_DEADLINE_MS


@dataclass(frozen=True, slots=True)
class Desk:
    """Who answers, with which tools and routes, and by which clock; and who goes to the sources.

    `crew` and `since` are those of `gather`.
    """

    issuer: str
    toolbox: Toolbox
    routes: RouteTable
    now: Callable[[], str]
    served_by: Mapping[str, JsonValue] | None = None
    crew: Crew | None = CREW
    since: float | None = None

    @property
    def coverage(self) -> dict[str, Any]:
        """What can be asked here: the coverage manifest."""
        return coverage_of(self.toolbox.tools, self.routes)


def request_from_wire(value: JsonValue, file: str | None = None) -> AnswerRequest:
    """Return the request that a decoded document is.

    A bare list of checks, or an object with `checks` or `question`, and `deadline_ms` if wanted.
    """
    if not isinstance(value, dict):
        return AnswerRequest(checks_from_wire(value, file))
    unknown = [name for name in value if name not in _MEMBERS]
    if unknown:
        problem = f"the member {unknown[0][:60]!r} is not known"
        raise AffidavitError(faults.ANSWER_REQUEST, Where(file), problem=problem)
    if ("checks" in value) == ("question" in value):
        problem = "it has to have either `checks` or `question`"
        raise AffidavitError(faults.ANSWER_REQUEST, Where(file), problem=problem)
    deadline_ms = value.get("deadline_ms", DEFAULT_DEADLINE_MS)
    place = Where(file, None, "deadline_ms")
    if not isinstance(deadline_ms, int) or isinstance(deadline_ms, bool):
        problem = "the deadline is not a whole number of milliseconds"
        raise AffidavitError(faults.ANSWER_REQUEST, place, problem=problem)
    # A question that is refused asks no tool, so nobody would notice later.
    require_deadline(deadline_ms, place)
    if "checks" in value:
        return AnswerRequest(checks_from_wire(value["checks"], file), None, deadline_ms)
    question = value["question"]
    if not isinstance(question, str):
        problem = "the question is not a text"
        raise AffidavitError(faults.ANSWER_REQUEST, Where(file, None, "question"), problem=problem)
    return AnswerRequest((), question, deadline_ms)


def answer(request: AnswerRequest, desk: Desk, key: SigningKey) -> dict[str, JsonValue]:
    """Return the signed receipt. Whatever the tools do, it comes by the deadline."""
    return seal_receipt(answered(request, desk), key)


def answered(request: AnswerRequest, desk: Desk) -> Body:
    """Return the body of the receipt, for a key to sign; its facts count as signed."""
    if request.question is None:
        return _checked(request.checks, None, request, desk)
    compiled = find_route(desk.routes, request.question)
    if compiled is None:
        occasion = Occasion(desk.issuer, desk.now(), None, desk.served_by)
        return refusal_body(request.question, desk.coverage, occasion)
    routed = Routed(
        request.question, desk.routes.sha256, compiled.route_id, compiled.is_declarative
    )
    return _checked(compiled.checks, routed, request, desk)


def exit_of(receipt: Mapping[str, JsonValue]) -> Exit:
    """Return how an answer ends."""
    return EXITS[str(receipt["verdict"])]


def _checked(
    checks: tuple[Check, ...], routed: Routed | None, request: AnswerRequest, desk: Desk
) -> Body:
    evidence = gather(
        checks,
        desk.toolbox,
        now=desk.now,
        signed=True,
        deadline_ms=request.deadline_ms,
        crew=desk.crew,
        since=desk.since,
    )
    tools = desk.toolbox.tools
    results = evaluate(checks, tools, evidence.by_check, evidence.at)
    return answer_body(results, tools, Occasion(desk.issuer, evidence.at, routed, desk.served_by))
