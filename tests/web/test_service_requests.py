"""Requests and responses: receipts that verify, and a status and code for every mistake."""

import json
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from tests.cli.stamp_server import serving
from tests.seal.authority import found_authority
from tests.web.service_client import (
    CHECKS,
    JSON,
    Reply,
    Service,
    ask,
    ask_async,
    make_project,
)

from affidavit.app.keys import key_folder
from affidavit.app.service import ServiceConfig
from affidavit.base.faults import CATALOG
from affidavit.checks.routes import CoverageV1
from affidavit.seal.receipts import ReceiptVerification
from affidavit.web.schemas import AnswerReceiptV1, RefusalReceiptV1
from affidavit.web.settings import WebSettings

QUICK = WebSettings(key_rate=0, address_rate=0, max_body_bytes=10_000, body_seconds=0.05)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Service:
    return Service(make_project(tmp_path_factory.mktemp("served")), QUICK)


def test_checks_become_a_receipt_that_verifies(service: Service) -> None:
    receipt = service.post("/v1/answer", CHECKS)
    assert receipt.status == 200
    said = msgspec.convert(receipt.json, AnswerReceiptV1)
    assert [check.verdict for check in said.checks] == ["supported", "contradicted", "value"]
    assert said.issuer == "leave-desk.example"
    report = service.ask("POST", "/v1/verify", receipt.body, JSON)
    found = msgspec.convert(report.json, ReceiptVerification)
    assert (found.valid, found.exit, found.receipt_id) == (True, 0, said.receipt_id)
    assert [step.number for step in found.steps] == [1, 2, 3, 3, 4, 5]


def test_a_bare_list_is_checks(service: Service) -> None:
    assert service.post("/v1/answer", CHECKS["checks"]).json["verdict"] == "contradicted"


def test_a_question_becomes_a_receipt_or_a_signed_refusal(service: Service) -> None:
    asked = {"question": "how many days of annual leave are there?"}
    answered = msgspec.convert(service.post("/v1/answer", asked).json, AnswerReceiptV1)
    assert (answered.verdict, answered.question) == ("evidenced", asked["question"])
    refused = service.post("/v1/answer", {"question": "who am I?"})
    assert refused.status == 200
    said = msgspec.convert(refused.json, RefusalReceiptV1)
    assert said.unrouted == ["who am I?"]
    assert service.ask("POST", "/v1/verify", refused.body, JSON).json["valid"] is True


def test_a_changed_receipt_is_a_result_with_its_step(service: Service) -> None:
    receipt = service.post("/v1/answer", CHECKS).json
    receipt["confidence"] = 1.0
    report = service.post("/v1/verify", receipt)
    assert (report.status, report.json["valid"], report.json["exit"]) == (200, False, 4)
    failed = {step["code"] for step in report.json["steps"] if step["status"] == "failed"}
    assert failed == {"AF322", "AF323", "AF328"}


def test_public_documents(service: Service) -> None:
    covered = msgspec.convert(service.ask("GET", "/v1/answer").json, CoverageV1)
    assert "leave_days" in [tool.name for tool in covered.checks_mode.tools]
    keys = service.ask("GET", "/.well-known/keys")
    registry = service.ask("GET", "/.well-known/signing-key-registry.json")
    assert keys.json == registry.json["public_keys"]
    assert registry.json["active_key_id"] in keys.json
    assert keys.headers["cache-control"] == "public, max-age=300"
    assert service.ask("GET", "/healthz").json == {"status": "alive"}
    assert service.ask("GET", "/readyz").json == {"status": "ready"}
    told = service.ask("GET", "/problems/AF024").json
    assert (told["name"], told["status"]) == ("json.duplicate_key", 400)


CHECK: dict[str, Any] = CHECKS["checks"][0]
RECEIPT = {"schema": "answer/v1", "receipt_id": "x", "generated_at": "2026-01-01T00:00:00Z"}


def changed(**members: object) -> bytes:
    return json.dumps([{**CHECK, **members}]).encode()


ANSWER = ("POST", "/v1/answer")
VERIFY = ("POST", "/v1/verify")
REFUSED: dict[str, tuple[tuple[str, str], bytes, dict[str, str], int, str, str | None]] = {
    "no JSON": (ANSWER, b"{", JSON, 400, "AF020", None),
    "nothing at all": (ANSWER, b"", JSON, 400, "AF020", None),
    "a key twice": (ANSWER, b'{"question":"a","question":"b"}', JSON, 400, "AF024", None),
    "NaN": (ANSWER, b'{"question": NaN}', JSON, 400, "AF025", "question"),
    "too large a number": (ANSWER, b"[9007199254740993]", JSON, 400, "AF025", None),
    "UTF-16": (ANSWER, '{"question":"a"}'.encode("utf-16"), JSON, 400, "AF021", None),
    "too deep": (ANSWER, b"[" * 33 + b"]" * 33, JSON, 400, "AF026", None),
    "two values": (VERIFY, b"{} {}", JSON, 400, "AF023", None),
    "too large": (ANSWER, b" " * 10_001, JSON, 413, "AF503", None),
    "no check": (ANSWER, b"[]", JSON, 422, "AF305", "checks"),
    "not a list": (ANSWER, b'{"checks": 1}', JSON, 422, "AF306", "checks"),
    "neither checks nor question": (ANSWER, b"{}", JSON, 422, "AF370", None),
    "an unknown member": (ANSWER, b'{"question":"a","x":1}', JSON, 422, "AF370", None),
    "an empty question": (ANSWER, b'{"question":" ?"}', JSON, 422, "AF314", None),
    "marks alone": (ANSWER, b'{"question":". !"}', JSON, 422, "AF314", None),
    "a line feed of mainframes": (ANSWER, b'{"question":"\\u0085"}', JSON, 422, "AF314", None),
    "too long a deadline": (
        ANSWER,
        b'{"question":"a","deadline_ms":60001}',
        JSON,
        422,
        "AF355",
        "deadline_ms",
    ),
    "an unknown field of a check": (ANSWER, changed(x=1), JSON, 422, "AF300", "checks[0]"),
    "an unknown operator": (
        ANSWER,
        changed(expect={"op": "regex", "value": ".*"}),
        JSON,
        422,
        "AF302",
        "checks[0].expect.op",
    ),
    "two checks of one id": (
        ANSWER,
        json.dumps([CHECK, CHECK]).encode(),
        JSON,
        422,
        "AF301",
        "checks[1].id",
    ),
    "no receipt": (VERIFY, b"[]", JSON, 422, "AF320", None),
    "no schema": (VERIFY, b"{}", JSON, 422, "AF320", "schema"),
    "another schema": (VERIFY, b'{"schema": "answer/v2"}', JSON, 422, "AF321", None),
    "no signature": (VERIFY, json.dumps(RECEIPT).encode(), JSON, 422, "AF320", "signature"),
    "no media type": (ANSWER, b"{}", {}, 415, "AF504", None),
    "a form": (
        ANSWER,
        b"a=b",
        {"content-type": "application/x-www-form-urlencoded"},
        415,
        "AF504",
        None,
    ),
    "plain text, as a page could send it": (
        ANSWER,
        b"{}",
        {"content-type": "text/plain"},
        415,
        "AF504",
        None,
    ),
    "another charset": (
        ANSWER,
        b"{}",
        {"content-type": "application/json; charset=latin-1"},
        415,
        "AF504",
        None,
    ),
    "packed": (ANSWER, b"{}", {**JSON, "content-encoding": "gzip"}, 415, "AF504", None),
    "no such address": (("GET", "/v2/answer"), b"", {}, 404, "AF505", None),
    "no such code": (("GET", "/problems/AF999"), b"", {}, 404, "AF505", None),
    "no such method": (("DELETE", "/v1/answer"), b"", {}, 405, "AF506", None),
    "an unknown method": (("BREW", "/v1/verify"), b"", {}, 405, "AF506", None),
    "what a page would ask first": (("OPTIONS", "/v1/answer"), b"", {}, 405, "AF506", None),
    "the same where there is nothing": (("OPTIONS", "/v2"), b"", {}, 404, "AF505", None),
}


@pytest.mark.parametrize(
    ("target", "body", "headers", "status", "code", "field"), REFUSED.values(), ids=REFUSED.keys()
)
def test_refused(
    service: Service,
    target: tuple[str, str],
    body: bytes,
    headers: dict[str, str],
    status: int,
    code: str,
    field: str | None,
) -> None:
    reply = service.ask(*target, body, headers)
    assert (reply.status, reply.json["code"], reply.json["status"]) == (status, code, status)
    assert reply.headers["content-type"] == "application/problem+json"
    assert reply.json["type"] == f"/problems/{code}"
    assert reply.json["title"] == CATALOG[code].name
    assert reply.json["next"]
    assert reply.json["request_id"] == reply.headers["x-request-id"]
    if field is not None:
        assert reply.json["field"] == field
    if status != 405 and target[1] != "/v2/answer" and target[1] != "/v2":
        path = "/problems/{code}" if target[1].startswith("/problems") else target[1]
        paths = service.ask("GET", "/schema").json["paths"]
        assert str(status) in paths[path][target[0].lower()]["responses"]


def test_a_refused_method_lists_the_allowed_ones(service: Service) -> None:
    assert service.ask("PUT", "/v1/answer").headers["allow"] == "GET, HEAD, POST"
    assert service.ask("GET", "/v1/verify").headers["allow"] == "POST"


def test_a_body_that_does_not_arrive(service: Service) -> None:
    headers = {**JSON, "content-length": "10"}
    reply = ask(service.app, "POST", "/v1/answer", headers=headers, body_comes=False)
    assert (reply.status, reply.json["code"]) == (408, "AF508")


def test_head_is_get_without_its_body(service: Service) -> None:
    # The server omits the body, not the application.
    assert service.ask("HEAD", "/healthz").status == 200


def test_every_response_carries_the_headers(service: Service) -> None:
    for reply in (service.ask("GET", "/healthz"), service.ask("GET", "/nothing")):
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["cache-control"] == "no-store"
        assert reply.headers["content-security-policy"].startswith("default-src 'none'")
        assert "server" not in reply.headers
        assert "access-control-allow-origin" not in reply.headers


IDS = {
    "one that is sane is kept": ("order-17.a_B", True),
    "a line break would forge a line": ("a b", False),
    "one that is long": ("a" * 65, False),
    "one that is empty": ("", False),
    "one that is not ASCII": ("\xe9", False),
}


@pytest.mark.parametrize(("given", "kept"), IDS.values(), ids=IDS.keys())
def test_request_ids(service: Service, given: str, kept: bool) -> None:
    reply = service.ask("GET", "/healthz", headers={"x-request-id": given})
    found = reply.headers["x-request-id"]
    assert (found == given) is kept
    assert kept or found.startswith("req_")
    assert service.lines[-1]["request_id"] == found


def test_internal_errors_only_show_their_code(tmp_path: Path) -> None:
    service = Service(make_project(tmp_path))
    key_folder(tmp_path).registry_path.write_text("{", "utf-8")
    replies = [service.post("/v1/answer", CHECKS), service.ask("GET", "/readyz")]
    for reply in replies:
        assert (reply.status, reply.json["code"]) == (503, "AF510")
        assert str(tmp_path) not in reply.body.decode()
    said = [line for line in service.lines if line["event"] == "failure"]
    assert [line["request_id"] for line in said] == [r.json["request_id"] for r in replies]
    assert all("registry.json" in line["said"] for line in said)
    assert service.ask("GET", "/healthz").status == 200


class Broken(Exception):
    """An unexpected error."""


def test_a_defect_is_a_problem_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service(make_project(tmp_path))

    def fail(*_: object, **__: object) -> None:
        raise Broken("secret details")

    monkeypatch.setattr("affidavit.app.service.request_from_wire", fail)
    reply = service.post("/v1/answer", CHECKS)
    assert (reply.status, reply.json["code"]) == (500, "AF004")
    assert b"secret" not in reply.body
    line = service.lines[-1]
    assert (line["event"], line["error"]) == ("failure", "Broken")
    assert "test_service_requests" in line["place"]


def test_concurrent_requests_are_limited(tmp_path: Path) -> None:
    service = Service(make_project(tmp_path), WebSettings(max_running=1))
    body = json.dumps([{"id": "a", "tool": "slow", "args": {"seconds": 0.5}}]).encode()
    replies: list[Reply] = []

    async def one() -> None:
        replies.append(await ask_async(service.app, "POST", "/v1/answer", body=body, headers=JSON))

    async def two() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(one)
            await anyio.sleep(0.1)
            group.start_soon(one)

    anyio.run(two)
    refused, answered = replies
    assert (refused.status, refused.json["code"]) == (503, "AF507")
    assert refused.headers["retry-after"] == "1"
    assert answered.json["verdict"] == "evidenced"


LONG = b"[" + b"1," * 20_000
UNLOCATED = {
    "not JSON": (LONG + b"x]", "AF020", 1),
    "a key twice": (LONG + b'{"a":1,"a":2}]', "AF024", None),
    "an integer beyond 53 bits": (LONG + b"9007199254740993]", "AF025", None),
    "an integer beyond 64 bits": (LONG + b"1" * 30 + b"]", "AF025", None),
    "too deep": (LONG + b"[" * 40 + b"]" * 41, "AF026", None),
    "too deep to be written": (LONG + b"[" * 400 + b"]" * 401, "AF026", None),
    "invalid UTF-8": (LONG + b'"\xff"]', "AF022", 1),
}


@pytest.mark.parametrize(("body", "code", "line"), UNLOCATED.values(), ids=UNLOCATED.keys())
def test_long_malformed_bodies_are_refused_without_a_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: bytes, code: str, line: int | None
) -> None:
    def search(_: object) -> None:
        raise Broken("this would take a second per megabyte")

    monkeypatch.setattr("affidavit.base.strict_json._JsonScanner.read_document", search)
    service = Service(make_project(tmp_path))
    for path in ("/v1/answer", "/v1/verify"):
        reply = service.ask("POST", path, body, JSON)
        if path == "/v1/answer" or code not in ("AF026",):
            assert (reply.status, reply.json["code"]) == (400, code)
            assert reply.json.get("line") == line


def test_receipts_of_the_service_are_anchored(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    own = Service(project, QUICK, ServiceConfig(project=project, anchor="self"))
    receipt = own.post("/v1/answer", CHECKS)
    assert msgspec.convert(receipt.json, AnswerReceiptV1).anchor is not msgspec.UNSET
    assert own.ask("POST", "/v1/verify", receipt.body, JSON).json["valid"] is True
    with serving(lambda _: (503, b"")) as url:
        lenient = Service(project, QUICK, ServiceConfig(project=project, anchor=url))
        config = ServiceConfig(project=project, anchor=url, anchor_required=True)
        strict = Service(project, QUICK, config)
        unstamped, refused = (each.post("/v1/answer", CHECKS) for each in (lenient, strict))
    assert (unstamped.status, "anchor" in unstamped.json) == (200, False)
    assert "HTTP 503" in lenient.lines[-1]["anchor_problem"]
    assert (refused.status, refused.json["code"]) == (503, "AF510")
    assert "AF371" in strict.lines[-1]["said"]


def test_a_time_stamp_of_the_service_holds(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    authority = found_authority(tmp_path_factory.mktemp("authority"))
    project = make_project(tmp_path)
    with serving(lambda request: (200, authority.answer_to(request))) as url:
        roots = (authority.folder / "root.pem",)
        config = ServiceConfig(project=project, anchor=url, tsa_roots=roots)
        service = Service(project, QUICK, config)
        receipt = service.post("/v1/answer", CHECKS)
    steps = service.ask("POST", "/v1/verify", receipt.body, JSON).json["steps"]
    assert (steps[0]["name"], steps[0]["status"]) == ("anchor", "passed")


def test_a_receipt_that_verify_could_not_read_is_not_issued(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    for number in range(5):
        (project / f"{number}.json").write_text(json.dumps([f"{number} {'x' * 3_500_000}"]))
    with (project / "affidavit.toml").open("a") as file:
        file.write(
            "[tools.t]\nrequired_args = ['n']\nsources = [{ kind = 'file', path = '{n}.json' }]\n"
        )
    service = Service(project, QUICK)
    checks = [{"id": f"c{n}", "tool": "t", "args": {"n": str(n)}} for n in range(5)]
    assert service.post("/v1/answer", checks[:4]).status == 200
    refused = service.post("/v1/answer", checks)
    assert (refused.status, refused.json["code"]) == (422, "AF390")
    split = service.post("/v1/answer", {"checks": checks, "split": True})
    assert (split.status, split.json["code"]) == (422, "AF390")
