"""Answers checks or a question with a signed receipt, using the tools and routes that a project
configures.
"""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from affidavit import __version__
from affidavit.app.clock import now
from affidavit.app.keys import PROJECT_FOLDER
from affidavit.app.tool_config import find_config, load_tool_config, load_toolbox
from affidavit.app.tool_queries import (
    DEFAULT_DEADLINE_MS,
    SOURCE_THREADS,
    DaemonThreadPool,
    ToolSet,
    gather_evidence,
    require_deadline,
)
from affidavit.base.canonical import sorted_compact
from affidavit.base.config import MAX_CONFIG_BYTES, ConfigFaults, parse_yaml
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.exits import Exit
from affidavit.base.faults import receipts as faults
from affidavit.base.files import read_bounded, write_atomically
from affidavit.base.json_values import JsonValue
from affidavit.checks.check import Check, checks_from_wire
from affidavit.checks.coverage import coverage_manifest
from affidavit.checks.evaluation import evaluate
from affidavit.checks.receipt_body import (
    QuestionRoute,
    ReceiptBody,
    ReceiptContext,
    answer_body,
    refusal_body,
)
from affidavit.checks.routes import RoutesV1, RouteTable, compile_question, routes_from_wire
from affidavit.checks.verdicts import AnswerVerdict
from affidavit.seal.keys import SigningKey
from affidavit.seal.receipts import anchor_member, canonical_forms, seal_receipt
from affidavit.seal.rfc3161 import NONCE_BYTES, time_stamp_request, token_from_response

# Answering: checks or a question in, tools asked, verdicts reached, a signed receipt out.
#
# Origin: answer-eval, sections 1 to 6. A question is compiled to checks by the route table, or
# refused in a receipt that is signed like any other.

_MEMBERS: Final = ("checks", "question", "deadline_ms")

EXIT_BY_VERDICT: Final[Mapping[str, Exit]] = {
    AnswerVerdict.SUPPORTED.value: Exit.YES,
    AnswerVerdict.EVIDENCED.value: Exit.YES,
    AnswerVerdict.CONTRADICTED.value: Exit.NO,
    AnswerVerdict.INSUFFICIENT_EVIDENCE.value: Exit.UNKNOWN,
    AnswerVerdict.OUTSIDE_EVIDENCE_COVERAGE.value: Exit.UNKNOWN,
}
"""How an answer ends, by its verdict."""


@dataclass(frozen=True, slots=True)
class AnswerRequest:
    """What is asked: checks, or a question (then there are none); and by when it is answered."""

    checks: tuple[Check, ...] = ()
    question: str | None = None
    deadline_ms: int = DEFAULT_DEADLINE_MS


@dataclass(frozen=True, slots=True)
class AnswerContext:
    """Who answers, with which tools and routes, and by which clock; and who goes to the sources.

    `crew` and `since` are those of `gather`.
    """

    issuer: str
    toolbox: ToolSet
    routes: RouteTable
    now: Callable[[], str]
    served_by: Mapping[str, JsonValue] | None = None
    crew: DaemonThreadPool | None = SOURCE_THREADS
    since: float | None = None

    @property
    def coverage(self) -> dict[str, Any]:
        """What can be asked here: the coverage manifest."""
        return coverage_manifest(self.toolbox.tools, self.routes)


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


def answer_request(
    request: AnswerRequest, desk: AnswerContext, key: SigningKey
) -> dict[str, JsonValue]:
    """Return the signed receipt. Whatever the tools do, it comes by the deadline."""
    return seal_receipt(receipt_body(request, desk), key)


def receipt_body(request: AnswerRequest, desk: AnswerContext) -> ReceiptBody:
    """Return the body of the receipt, for a key to sign; its facts count as signed."""
    if request.question is None:
        return _body_from_checks(request.checks, None, request, desk)
    compiled = compile_question(desk.routes, request.question)
    if compiled is None:
        occasion = ReceiptContext(desk.issuer, desk.now(), None, desk.served_by)
        return refusal_body(request.question, desk.coverage, occasion)
    routed = QuestionRoute(
        request.question, desk.routes.sha256, compiled.route_id, compiled.is_declarative
    )
    return _body_from_checks(compiled.checks, routed, request, desk)


def exit_for_receipt(receipt: Mapping[str, JsonValue]) -> Exit:
    """Return how an answer ends."""
    return EXIT_BY_VERDICT[str(receipt["verdict"])]


def _body_from_checks(
    checks: tuple[Check, ...],
    routed: QuestionRoute | None,
    request: AnswerRequest,
    desk: AnswerContext,
) -> ReceiptBody:
    evidence = gather_evidence(
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
    return answer_body(
        results, tools, ReceiptContext(desk.issuer, evidence.at, routed, desk.served_by)
    )


# Anchoring a signed receipt: to its own digest, or by the word of a time stamp authority.
#
# The authority is sent the digest and nothing else. Its token is taken only if it is of this digest
# and repeats the nonce; who may stamp is for the verifier to say.


def with_self_anchor(receipt: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the receipt with its own digest, which anybody can have stamped later."""
    return {**receipt, "anchor": anchor_member(canonical_forms(receipt).anchor_digest)}


def with_time_stamp(
    receipt: Mapping[str, JsonValue],
    authority: str,
    send: Callable[[str, bytes], bytes],
    chance: Callable[[int], bytes],
) -> dict[str, JsonValue]:
    """Return the receipt with a token of the authority, or raise why there is none."""
    digest = canonical_forms(receipt).anchor_digest
    nonce = int.from_bytes(chance(NONCE_BYTES))
    response = send(authority, time_stamp_request(digest, nonce))
    try:
        token = token_from_response(response, digest, nonce)
    except AffidavitError as error:
        raise AffidavitError(
            faults.STAMP_UNAVAILABLE, url=authority, problem=error.message
        ) from None
    return {**receipt, "anchor": anchor_member(digest, token)}


NO_ROUTES: Final = routes_from_wire({"version": "route/1", "routes": []})


def load_routes(path: Path) -> RouteTable:
    """Return the route table of a YAML (or JSON) file."""
    raw = read_bounded(path, MAX_CONFIG_BYTES)
    document = parse_yaml(raw, str(path), ConfigFaults(faults.TOOLS_SYNTAX, faults.ROUTES_FIELD))
    document.decode(RoutesV1, document.value)
    try:
        return routes_from_wire(document.value)
    except AffidavitError as error:
        raise document.locate(error) from None


# Puts together what answering needs: tools, routes, an issuer, a key, a clock.
#
# The table `[answer]` of the config file that declares the tools may say who answers and where the
# route table lies; what the user names on the command line counts more.

ANSWER_TABLE: Final = "answer"


class AnswerConfigV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[answer]`. A path is relative to the file's folder."""

    issuer: str | None = None
    routes: str | None = None


@dataclass(frozen=True, slots=True)
class AnswerSetup:
    """The tools and routes of a project, and its issuer if it names one."""

    toolbox: ToolSet
    routes: RouteTable
    issuer: str | None
    config: str | None
    routes_file: str | None

    def desk(self, issuer: str) -> AnswerContext:
        """Return the desk that answers in the name of an issuer."""
        served_by: dict[str, JsonValue] = {"provider": "affidavit", "version": __version__}
        return AnswerContext(issuer, self.toolbox, self.routes, now, served_by)


def load_answer_setup(tools: Path | None, routes: Path | None, project: Path) -> AnswerSetup:
    """Return the setup that files declare: the tools file named, or the project's own."""
    config = find_config(project) if tools is None else load_tool_config(tools)
    toolbox = load_toolbox(config, os.environ)
    said = AnswerConfigV1()
    if config is not None and ANSWER_TABLE in config.value:
        said = config.decode(AnswerConfigV1, config.value[ANSWER_TABLE], ANSWER_TABLE)
    file = None if config is None else config.file
    if routes is None and said.routes is not None:
        routes = Path(file or "").parent / said.routes
    table = NO_ROUTES if routes is None else load_routes(routes)
    return AnswerSetup(toolbox, table, said.issuer, file, None if routes is None else str(routes))


def receipt_path(project: Path, receipt_id: str) -> Path:
    """Return where a project keeps a receipt unless told otherwise."""
    return project / PROJECT_FOLDER / "receipts" / f"{receipt_id}.json"


def write_receipt(path: Path, receipt: dict[str, JsonValue]) -> None:
    """Keep a receipt: indented, with its members sorted."""
    text = msgspec.json.format(sorted_compact(receipt), indent=2)
    with suppress(OSError):  # The writing says why it is not possible, if it is not.
        path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text + b"\n")
