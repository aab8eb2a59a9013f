"""Answers checks or a question with a signed receipt.

Origin: answer-eval, sections 1 to 6. The route table compiles a question to checks; a question
without a route is refused in a receipt that is signed like any other. A project configures tools,
routes and issuer.
"""

import codecs
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from affidavit import __version__
from affidavit.app.clock import now
from affidavit.app.keys import PROJECT_FOLDER, random_bytes
from affidavit.app.tool_config import find_config, load_tool_config, load_toolbox, toolbox_from
from affidavit.app.tool_queries import (
    DEFAULT_DEADLINE_MS,
    MAX_DEADLINE_MS,
    SOURCE_THREADS,
    CallerThreads,
    DaemonThreadPool,
    ToolSet,
    gather_evidence,
    require_deadline,
)
from affidavit.base.canonical import sorted_compact_decoded
from affidavit.base.config import (
    MAX_CONFIG_BYTES,
    YAML_SUFFIXES,
    ConfigFaults,
    parse_yaml,
)
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.exits import Exit
from affidavit.base.faults import receipts as faults
from affidavit.base.files import open_to_read, read_bounded, write_atomically
from affidavit.base.json_values import DOCUMENT_LIMITS, JsonValue
from affidavit.base.strict_json import decode
from affidavit.base.text import excerpt
from affidavit.checks.check import (
    MAX_CHECKS,
    AnswerVerdict,
    Check,
    CheckResult,
    checks_from_wire,
    compose,
    evaluate,
    require_declared_args,
)
from affidavit.checks.receipt import (
    LinkV1,
    ReceiptBody,
    ReceiptContext,
    answer_body,
    body_digest,
    checks_digest,
    linked_parts,
    refusal_body,
)
from affidavit.checks.routes import (
    CoverageV1,
    QuestionRoute,
    RoutesV1,
    RouteTable,
    compile_question,
    coverage_manifest,
    routes_from_wire,
)
from affidavit.seal.keys import SigningKey
from affidavit.seal.links import LINKED_RECEIPTS
from affidavit.seal.receipts import Receipt, anchor_member, canonical_forms, seal_receipt
from affidavit.seal.rfc3161 import NONCE_BYTES, time_stamp_request, token_from_response
from affidavit.tools.settings import FileSource, ToolSettings

SELF_ANCHOR: Final = "self"
MAX_RECEIPT_BYTES: Final = DOCUMENT_LIMITS.max_bytes
_MEMBERS: Final = ("checks", "question", "deadline_ms", "split")

EXIT_BY_VERDICT: Final[Mapping[str, Exit]] = {
    AnswerVerdict.SUPPORTED.value: Exit.YES,
    AnswerVerdict.EVIDENCED.value: Exit.YES,
    AnswerVerdict.CONTRADICTED.value: Exit.NO,
    AnswerVerdict.INSUFFICIENT_EVIDENCE.value: Exit.UNKNOWN,
    AnswerVerdict.OUTSIDE_EVIDENCE_COVERAGE.value: Exit.UNKNOWN,
}
"""The exit code for each verdict."""


@dataclass(frozen=True, slots=True)
class AnswerRequest:
    """Checks, or a question (then there are no checks), and the deadline.

    With `split`, checks beyond the cap of a receipt are answered in linked receipts.
    """

    checks: tuple[Check, ...] = ()
    question: str | None = None
    deadline_ms: int = DEFAULT_DEADLINE_MS
    split: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerContext:
    """The issuer, tools, routes and clock of an answer.

    `threads` and `started_at` are passed to `gather_evidence`.
    """

    issuer: str
    toolbox: ToolSet
    routes: RouteTable
    now: Callable[[], str]
    served_by: dict[str, JsonValue] | None = None
    threads: DaemonThreadPool | CallerThreads | None = SOURCE_THREADS
    started_at: float | None = None
    signed: bool = True
    """Whether the answer will be signed, which counts for the confidence in its facts."""

    @property
    def coverage(self) -> CoverageV1:
        """The coverage manifest: what can be asked."""
        return coverage_manifest(self.toolbox.tools, self.routes)


def request_from_bytes(raw: bytes, name: str) -> AnswerRequest:
    """Return the request in a JSON text, or in YAML if the name says so, which errors repeat.

    People write these files by hand, and editors begin them with a byte order mark.
    """
    if not name.lower().endswith(YAML_SUFFIXES):
        try:
            return request_from_wire(decode(raw.removeprefix(codecs.BOM_UTF8)), name)
        except AffidavitError as error:
            raise error.at(file=name) from None
    kinds = ConfigFaults(faults.TOOLS_SYNTAX, faults.ANSWER_REQUEST)
    document = parse_yaml(raw, name, kinds, DOCUMENT_LIMITS)
    try:
        return request_from_wire(document.value, name)
    except AffidavitError as error:
        raise document.locate(error) from None


def request_from_wire(
    value: JsonValue, file: str | None = None, max_deadline_ms: int = MAX_DEADLINE_MS
) -> AnswerRequest:
    """Return the request in a decoded document.

    It is a bare list of checks, or an object with `checks` or `question` and maybe `deadline_ms`;
    `checks` may have `split`.
    """
    default_ms = min(DEFAULT_DEADLINE_MS, max_deadline_ms)
    if not isinstance(value, dict):
        return AnswerRequest(checks_from_wire(value, file), None, default_ms)
    unknown = [name for name in value if name not in _MEMBERS]
    if unknown:
        problem = f"the member {unknown[0][:60]!r} is not known"
        raise AffidavitError(faults.ANSWER_REQUEST, Where(file), problem=problem)
    if ("checks" in value) == ("question" in value):
        problem = "it has to have either `checks` or `question`"
        raise AffidavitError(faults.ANSWER_REQUEST, Where(file), problem=problem)
    deadline_ms = value.get("deadline_ms", default_ms)
    place = Where(file, None, "deadline_ms")
    if not isinstance(deadline_ms, int) or isinstance(deadline_ms, bool):
        problem = "the deadline is not a whole number of milliseconds"
        raise AffidavitError(faults.ANSWER_REQUEST, place, problem=problem)
    # A refused question queries no tool, so the deadline would not be checked later.
    require_deadline(deadline_ms, place, max_deadline_ms)
    split = value.get("split", False)
    if not isinstance(split, bool) or ("split" in value and "question" in value):
        problem = "`split` is true or false, and is for checks"
        raise AffidavitError(faults.ANSWER_REQUEST, Where(file, None, "split"), problem=problem)
    if "checks" in value:
        return AnswerRequest(checks_from_wire(value["checks"], file), None, deadline_ms, split)
    question = value["question"]
    if not isinstance(question, str):
        problem = "the question is not a text"
        raise AffidavitError(faults.ANSWER_REQUEST, Where(file, None, "question"), problem=problem)
    return AnswerRequest((), question, deadline_ms)


def answer_request(
    request: AnswerRequest, context: AnswerContext, key: SigningKey
) -> dict[str, JsonValue]:
    """Return the signed receipt by the deadline, whatever the tools do."""
    return seal_receipt(receipt_body(request, context), key)


def answer_linked(
    request: AnswerRequest, context: AnswerContext, key: SigningKey
) -> tuple[dict[str, JsonValue], ...]:
    """Return as many signed receipts as the checks need. All evidence is gathered at once."""
    return tuple(seal_receipt(body, key) for body in _bodies_from_checks(request, context))


def receipt_body(request: AnswerRequest, context: AnswerContext) -> ReceiptBody:
    """Return the body of the receipt before it is signed."""
    if request.question is None:
        (body,) = _bodies_from_checks(replace(request, split=False), context)
        return body
    compiled = compile_question(context.routes, request.question)
    if compiled is None:
        about = ReceiptContext(issuer=context.issuer, at=context.now(), served_by=context.served_by)
        return refusal_body(request.question, msgspec.to_builtins(context.coverage), about)
    asked = replace(request, checks=compiled.checks, split=False)
    (body,) = _bodies_from_checks(asked, context, compiled.route)
    return body


def exit_for_receipt(receipt: Mapping[str, JsonValue], min_confidence: float = 0.0) -> Exit:
    """Return the exit code for a receipt. A yes needs the confidence, too."""
    found = EXIT_BY_VERDICT[str(receipt["verdict"])]
    confidence = receipt["confidence"]
    is_sure = isinstance(confidence, int | float) and confidence >= min_confidence
    return Exit.UNKNOWN if found is Exit.YES and not is_sure else found


FILE_TOOL: Final = "file"
_SIGNS: Final = {"<=": "lte", ">=": "gte", "<": "lt", ">": "gt", "==": "eq", "!=": "ne", "=": "eq"}
_ASSERTION: Final = re.compile(
    r"\s*(?P<path>[^\s<>=!]+)\s*(?:(?P<sign><=|>=|==|!=|<|>|=)|\s(?P<name>[a-z_]+)(?:\s|$))\s*(?P<value>.*)",
    re.DOTALL,
)
_NOT_A_BARE_TEXT: Final = re.compile(r'^["\[{!]|[<>=]')


def assertion_request(text: str, deadline_ms: int | None = None) -> AnswerRequest:
    """Return the request for one line about a file, such as `price <= 10` or `name exists`.

    The value is JSON if it can be read so, otherwise a text. A text with a sign in it is refused:
    `price !== 9` would hold for any price, since none is the text "= 9".
    """
    found = _ASSERTION.fullmatch(text)
    if found is None:
        raise AffidavitError(faults.ASSERTION, text=excerpt(text))
    expect: dict[str, JsonValue] = {
        "path": found["path"],
        "op": _SIGNS.get(found["sign"] or "", found["name"] or ""),
    }
    if value := found["value"].strip():
        try:
            expect["value"] = decode(value.encode())
        except AffidavitError:
            if _NOT_A_BARE_TEXT.search(value):
                raise AffidavitError(faults.ASSERTION, text=excerpt(text)) from None
            expect["value"] = value
    check: JsonValue = {"id": "assertion", "tool": FILE_TOOL, "expect": expect}
    return AnswerRequest(checks_from_wire([check]), None, deadline_ms or DEFAULT_DEADLINE_MS)


UNSIGNED_ISSUER: Final = "unsigned"


def file_setup(path: Path) -> "AnswerSetup":
    """Return a setup whose one tool is a file that can be read, without any configuration."""
    open_to_read(path).close()
    source = FileSource(path=path.name)
    tools = {FILE_TOOL: ToolSettings(description=f"What {path.name} says", sources=(source,))}
    return AnswerSetup(
        toolbox=toolbox_from(tools, path.parent, os.environ),
        routes=NO_ROUTES,
        issuer=None,
        config=None,
        routes_file=None,
    )


def confidence_advice(receipt: Mapping[str, Any], below: float) -> list[str]:
    """Return why each cited fact with less confidence than `below` has it, and how to raise it."""
    advice = []
    for check in receipt.get("checks", ()):
        for digest in check["evidence"]:
            verification = receipt["evidence_index"][digest]["verification"]
            signals = verification["signals"]
            steps = [text for name, text in _ADVICE.items() if not signals[name]]
            if signals["conflict"]:
                steps = ["find out which source is right"]
            if steps and verification["confidence"] < below:
                said = f"{check['id']}: {verification['confidence']:.2f}, as {verification['note']}"
                advice.append(f"{said}. To raise it: {'; '.join(steps)}")
    return advice


_ADVICE: Final = {
    "fresh": "give the tool `max_age_s`, and each source a time that is not older (`observed_at`)",
    "corroborated": "add a second source of another `origin` that agrees",
}


def _bodies_from_checks(
    request: AnswerRequest, context: AnswerContext, route: QuestionRoute | None = None
) -> Iterator[ReceiptBody]:
    """Yield one body, or with `split` as many as the checks need, each linked to the one before."""
    tools = context.toolbox.tools
    parts = linked_parts(request.checks) if request.split else (request.checks,)
    asked = request.checks if request.split else request.checks[:MAX_CHECKS]
    require_declared_args(asked, tools)
    evidence = gather_evidence(
        asked,
        context.toolbox,
        now=context.now,
        signed=context.signed,
        deadline_ms=request.deadline_ms,
        threads=context.threads,
        started_at=context.started_at,
    )
    digests = [checks_digest(part) for part in parts] if len(parts) > 1 else []
    previous: str | UnsetType = UNSET
    for number, part in enumerate(parts, 1):
        about = ReceiptContext(
            issuer=context.issuer,
            at=evidence.at,
            question=request.question,
            route=route,
            link=LinkV1(number, digests, previous) if digests else None,
            served_by=context.served_by,
        )
        results = evaluate(part, tools, evidence.by_check, evidence.at)
        body = answer_body(results, evidence.by_check.values(), tools, about)
        previous = body_digest(body)
        yield body


def anchor_receipt(receipt: dict[str, JsonValue], anchor: str | None) -> dict[str, JsonValue]:
    """Return the receipt with an anchor: its own digest, or a token of an authority by its URL."""
    if anchor is None:
        return receipt
    if anchor == SELF_ANCHOR:
        return with_self_anchor(receipt)
    from affidavit.tools.timestamp_authority import request_token

    return with_time_stamp(receipt, anchor, request_token, random_bytes)


def require_authority_url(url: str) -> None:
    """Raise if a time stamp authority cannot be reached by this URL."""
    from affidavit.tools.timestamp_authority import require_authority_url as require_url

    require_url(url)


def with_self_anchor(receipt: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the receipt with its own digest, which can be time-stamped later."""
    return {**receipt, "anchor": anchor_member(canonical_forms(receipt).anchor_digest)}


def with_time_stamp(
    receipt: Mapping[str, JsonValue],
    authority: str,
    send: Callable[[str, bytes], bytes],
    new_bytes: Callable[[int], bytes],
) -> dict[str, JsonValue]:
    """Return the receipt with a token of the authority, or raise why there is none.

    Only the digest is sent. The token must be for this digest and repeat the nonce. Whether the
    authority is trusted is decided by the verifier.
    """
    digest = canonical_forms(receipt).anchor_digest
    token = time_stamp(digest, authority, send, new_bytes)
    return {**receipt, "anchor": anchor_member(digest, token)}


def time_stamp(
    digest: str,
    authority: str,
    send: Callable[[str, bytes], bytes],
    new_bytes: Callable[[int], bytes],
) -> bytes:
    """Return the token of an authority for a digest, or raise why there is none."""
    nonce = int.from_bytes(new_bytes(NONCE_BYTES))
    response = send(authority, time_stamp_request(digest, nonce))
    try:
        return token_from_response(response, digest, nonce)
    except AffidavitError as error:
        raise AffidavitError(
            faults.STAMP_UNAVAILABLE, url=authority, problem=error.message
        ) from None


def stamp_receipt(receipt: Receipt, authority: str) -> bytes:
    """Return a detached token for a receipt that was issued before."""
    from affidavit.tools.timestamp_authority import request_token

    return time_stamp(receipt.forms.anchor_digest, authority, request_token, random_bytes)


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


ANSWER_TABLE: Final = "answer"


class AnswerConfigV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[answer]` of the config file. Options of the command line take precedence.

    A path is relative to the folder of the file.
    """

    issuer: str | None = None
    routes: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSetup:
    """The tools and routes of a project, and its issuer if it configures one."""

    toolbox: ToolSet
    routes: RouteTable
    issuer: str | None
    config: str | None
    routes_file: str | None

    @property
    def coverage(self) -> CoverageV1:
        """The coverage manifest: what can be asked."""
        return coverage_manifest(self.toolbox.tools, self.routes)

    def context(self, issuer: str) -> AnswerContext:
        """Return the context in which an issuer answers."""
        served_by: dict[str, JsonValue] = {"provider": "affidavit", "version": __version__}
        return AnswerContext(
            issuer=issuer,
            toolbox=self.toolbox,
            routes=self.routes,
            now=now,
            served_by=served_by,
        )


def load_answer_setup(tools: Path | None, routes: Path | None, project: Path) -> AnswerSetup:
    """Return the setup from `tools`, or else from the config file of the project."""
    config = find_config(project) if tools is None else load_tool_config(tools)
    toolbox = load_toolbox(config, os.environ)
    own = AnswerConfigV1()
    if config is not None and ANSWER_TABLE in config.value:
        own = config.decode(AnswerConfigV1, config.value[ANSWER_TABLE], ANSWER_TABLE)
    file = None if config is None else config.file
    if routes is None and own.routes is not None:
        routes = Path(file or "").parent / own.routes
    table = NO_ROUTES if routes is None else load_routes(routes)
    for route in table.routes:
        try:
            require_declared_args([route.example], toolbox.tools)
        except AffidavitError as error:
            where = Where(str(routes), None, f"routes.{route.row.id}.args")
            raise AffidavitError(error.fault, where, **error.values) from None
    return AnswerSetup(
        toolbox=toolbox,
        routes=table,
        issuer=own.issuer,
        config=file,
        routes_file=None if routes is None else str(routes),
    )


def receipt_path(project: Path, receipt_id: str) -> Path:
    """Return the default path of a receipt."""
    return project / PROJECT_FOLDER / "receipts" / f"{receipt_id}.json"


def receipt_text(document: Mapping[str, JsonValue]) -> bytes:
    """Return the compact text of a receipt, or of linked ones, unless `verify` cannot read it."""
    # Signing has encoded the receipt once, so every value in it is known to be JSON.
    compact = sorted_compact_decoded(dict(document))
    if len(compact) >= MAX_RECEIPT_BYTES:
        raise AffidavitError(faults.RECEIPT_SIZE, size=len(compact), limit=MAX_RECEIPT_BYTES)
    return compact


def linked_document(receipts: Sequence[dict[str, JsonValue]]) -> dict[str, JsonValue]:
    """Return one document with all receipts of a request, which `verify` reads."""
    return {LINKED_RECEIPTS: list(receipts)}


def composed_answer(receipts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return verdict, confidence and checks of linked receipts together, by answer-conf/1."""
    checks = [check for receipt in receipts for check in receipt["checks"]]
    composite = compose([msgspec.convert(check, CheckResult) for check in checks])
    return {
        **msgspec.to_builtins(composite),
        "checks": checks,
        "evidence_index": {
            digest: fact for each in receipts for digest, fact in each["evidence_index"].items()
        },
    }


def write_receipt(path: Path, receipt: Mapping[str, JsonValue]) -> None:
    """Write a receipt with sorted members, indented unless `verify` could not read it then."""
    compact = receipt_text(receipt)
    indented = msgspec.json.format(compact, indent=2)
    text = indented if len(indented) < MAX_RECEIPT_BYTES else compact
    with suppress(OSError):  # `write_atomically` reports the error.
        path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text + b"\n")
