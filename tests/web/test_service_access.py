"""Access: API keys and scopes, anonymous local callers, and rate limits."""

import json
from contextlib import ExitStack
from pathlib import Path

import anyio
import pytest
from anyio import to_thread
from tests.web import slow_tool
from tests.web.service_client import (
    CHECKS,
    JSON,
    Reply,
    Service,
    ask_async,
    make_api_key,
    make_project,
)

from affidavit.app.service import api_key_file, revoke_api_key
from affidavit.base.errors import AffidavitError
from affidavit.store.api_keys import ApiKeyScope
from affidavit.web.access import MAX_CALLERS, CallerSlots, RateLimiter
from affidavit.web.settings import WebSettings

ELSEWHERE = ("192.0.2.7", 4000)
HERE = ("127.0.0.1", 4000)
HERE_TOO = ("::1", 4000)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_project(tmp_path_factory.mktemp("guarded"))


ANONYMOUS = {
    "this machine": (True, HERE, {}, 200, None),
    "this machine, by IPv6": (True, HERE_TOO, {"host": "[::1]:8320"}, 200, None),
    "by its name": (True, HERE, {"host": "localhost"}, 200, None),
    "another machine": (True, ELSEWHERE, {}, 401, "AF500"),
    "this machine, where keys are required": (False, HERE, {}, 401, "AF500"),
    "a proxy on this machine": (True, HERE, {"x-forwarded-for": "192.0.2.7"}, 401, "AF500"),
    "a proxy with another header": (True, HERE, {"forwarded": "for=192.0.2.7"}, 401, "AF500"),
    "a name that points here": (True, HERE, {"host": "evil.example:8320"}, 421, "AF509"),
    "a name that begins like ours": (True, HERE, {"host": "localhost.evil.example"}, 421, "AF509"),
    "a key that is none": (True, HERE, {"authorization": "Bearer guess"}, 401, "AF500"),
    "another scheme": (True, HERE, {"authorization": "Basic YTpi"}, 401, "AF500"),
}


@pytest.mark.parametrize(
    ("anonymous", "client", "headers", "status", "code"), ANONYMOUS.values(), ids=ANONYMOUS.keys()
)
def test_without_a_key(
    project: Path,
    anonymous: bool,
    client: tuple[str, int],
    headers: dict[str, str],
    status: int,
    code: str | None,
) -> None:
    service = Service(project, WebSettings(anonymous=anonymous))
    reply = service.ask("GET", "/v1/answer", headers=headers, client=client)
    assert reply.status == status
    if code is not None:
        assert reply.json["code"] == code
    if status == 401:
        assert reply.headers["www-authenticate"] == 'Bearer realm="affidavit"'
    # Keys for verifiers and probes are public.
    for path in ("/.well-known/keys", "/healthz", "/readyz", "/schema"):
        assert service.ask("GET", path, headers=headers, client=client).status == 200


def test_scopes(tmp_path: Path) -> None:
    service = Service(make_project(tmp_path), WebSettings(anonymous=False))
    key = make_api_key(tmp_path, "auditor", ApiKeyScope.VERIFY)
    credentials = {"authorization": f"bearer {key}"}
    refused = service.ask("GET", "/v1/answer", headers=credentials, client=ELSEWHERE)
    assert (refused.status, refused.json["code"]) == (403, "AF501")
    assert "read" in refused.json["detail"]
    allowed = service.ask("POST", "/v1/verify", b"{}", {**JSON, **credentials}, ELSEWHERE)
    assert allowed.status == 422
    assert key.split("_")[2] not in service.log.getvalue()
    assert service.lines[-1]["key"] == key.split("_")[1]


def test_a_new_key_and_its_revocation_take_effect_at_once(tmp_path: Path) -> None:
    service = Service(make_project(tmp_path), WebSettings(anonymous=False))
    key = make_api_key(tmp_path, "bot", *ApiKeyScope)
    credentials = f"Bearer {key}"
    assert service.post("/v1/answer", CHECKS, authorization=credentials).status == 200
    forged = f"Bearer {key[:-1]}{'0' if key[-1] != '0' else '1'}"
    assert service.post("/v1/answer", CHECKS, authorization=forged).status == 401
    revoke_api_key(api_key_file(tmp_path), "bot", "2026-01-02T00:00:00Z")
    assert service.post("/v1/answer", CHECKS, authorization=credentials).status == 401


def test_a_key_file_that_others_may_change_is_refused(tmp_path: Path) -> None:
    service = Service(make_project(tmp_path), WebSettings(anonymous=False))
    credentials = f"Bearer {make_api_key(tmp_path, 'bot', *ApiKeyScope)}"
    api_key_file(tmp_path).path.chmod(0o666)
    reply = service.post("/v1/answer", CHECKS, authorization=credentials)
    assert (reply.status, reply.json["code"]) == (503, "AF510")
    assert "AF523" in service.lines[-1]["said"]


def test_rates(tmp_path: Path) -> None:
    service = Service(make_project(tmp_path), WebSettings(address_rate=0.5, key_rate=1))
    assert service.ask("GET", "/schema").status == 200
    refused = service.ask("GET", "/schema")
    assert (refused.status, refused.json["code"]) == (429, "AF502")
    assert refused.headers["retry-after"] == "2"
    assert "0.5 per second" in refused.json["detail"]
    assert service.ask("GET", "/healthz").status == 200
    assert service.ask("GET", "/schema", client=HERE_TOO).status == 200
    credentials = {"authorization": f"Bearer {make_api_key(tmp_path, 'bot', *ApiKeyScope)}"}
    found = [service.ask("GET", "/v1/answer", headers=credentials).status for _ in range(3)]
    assert found == [200, 200, 429]
    service.seconds += 2
    assert service.ask("GET", "/schema").status == 200
    # A wrong key counts against the rate of the address.
    guess = {"authorization": "Bearer guess"}
    assert service.ask("GET", "/v1/answer", headers=guess).status == 429


def test_no_limit_and_bounded_memory() -> None:
    clock = [0.0]
    assert {RateLimiter(0, lambda: clock[0]).seconds_to_wait("a") for _ in range(9)} == {0}
    rates = RateLimiter(0.5, lambda: clock[0])
    assert (rates.seconds_to_wait("a"), rates.seconds_to_wait("a")) == (0, 2)
    for number in range(MAX_CALLERS):
        rates.seconds_to_wait(str(number))
    assert rates.seconds_to_wait("a") == 0, "the longest idle caller is dropped"


def test_a_key_leaves_slots_for_others(tmp_path: Path) -> None:
    settings = WebSettings(max_running=4, anonymous=False)
    service = Service(make_project(tmp_path), settings)
    greedy, modest = (
        {**JSON, "authorization": f"Bearer {make_api_key(tmp_path, name, *ApiKeyScope)}"}
        for name in ("greedy", "modest")
    )
    held = json.dumps([{"id": "a", "tool": "held"}]).encode()
    replies: dict[str, Reply] = {}

    async def ask(name: str, headers: dict[str, str], body: bytes) -> None:
        replies[name] = await ask_async(
            service.app, "POST", "/v1/answer", body=body, headers=headers
        )

    async def run() -> None:
        slow_tool.RELEASED.clear()
        async with anyio.create_task_group() as group:
            for number in range(2):
                group.start_soon(ask, f"held {number}", greedy, held)
                await to_thread.run_sync(slow_tool.HELD.acquire)
            await ask("one too many", greedy, held)
            await ask("another key", modest, json.dumps(CHECKS).encode())
            slow_tool.RELEASED.set()
        await ask("afterwards", greedy, json.dumps(CHECKS).encode())

    anyio.run(run)
    refused = replies.pop("one too many")
    assert (refused.status, refused.json["code"]) == (429, "AF528")
    assert refused.headers["retry-after"] == "1"
    assert {name: reply.status for name, reply in replies.items()} == dict.fromkeys(replies, 200)


def test_the_slots_of_a_caller_are_what_is_left_for_others() -> None:
    slots = CallerSlots(8)
    with ExitStack() as running:
        for caller, count in (("a", 4), ("b", 2), ("c", 1), ("d", 1)):
            for _ in range(count):
                running.enter_context(slots.take(caller))
            with pytest.raises(AffidavitError, match="AF507" if caller == "d" else "AF528"):
                running.enter_context(slots.take(caller))
        with pytest.raises(AffidavitError, match="AF507"):
            running.enter_context(slots.take("e"))
    with slots.take("a"):
        pass


def test_the_log_has_the_id_of_every_receipt(tmp_path: Path) -> None:
    service = Service(make_project(tmp_path))
    receipt = service.post("/v1/answer", CHECKS)
    service.ask("POST", "/v1/verify", receipt.body, JSON)
    refusal = service.post("/v1/answer", {"question": "who am I?"})
    issued, refused = receipt.json["receipt_id"], refusal.json["receipt_id"]
    assert [line["receipt_id"] for line in service.lines] == [issued, issued, refused]
