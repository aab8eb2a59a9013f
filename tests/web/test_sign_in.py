"""Signing in, roles, and what a browser must not be made to do."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.web.browser import FORM, OWN, Browser
from tests.web.ledger_client import LedgerClient, ledger_client
from tests.web.service_client import JSON, LOCAL

from affidavit.app import accounts as account_module
from affidavit.app.accounts import SIGN_IN_MS, Accounts, Administrator, NewUserV1, UserChangeV1
from affidavit.app.clock import now_ms
from affidavit.app.keys import random_bytes
from affidavit.store.roles import MemberRole
from affidavit.web.sign_in import SESSION_COOKIE, own_path

PASSWORD, OTHER = "correct horse battery staple", "another long passphrase"
OPERATOR = Administrator("default", "operator")
NOW = 1_800_000_000_000


@pytest.fixture
def client(tmp_path: Path, store_url: str) -> Iterator[LedgerClient]:
    made = ledger_client(tmp_path, store_url)
    people = Accounts(made.store, random_bytes)
    for name, role, workspace in (
        ("vera", MemberRole.VIEWER, "default"),
        ("rene", MemberRole.REVIEWER, "default"),
        ("ada", MemberRole.ADMIN, "default"),
        ("otto", MemberRole.ADMIN, "other"),
    ):
        by = Administrator(workspace, "operator")
        people.add(by, NewUserV1(name=name, password=PASSWORD, role=role))
    yield made
    made.store.close()


@pytest.fixture
def on_sqlite(tmp_path: Path) -> Iterator[LedgerClient]:
    made = ledger_client(tmp_path, f"sqlite:///{tmp_path}/data/store.db")
    people = Accounts(made.store, random_bytes)
    people.add(OPERATOR, NewUserV1(name="ada", password=PASSWORD, role=MemberRole.ADMIN))
    yield made
    made.store.close()


def signed_in(client: LedgerClient, name: str) -> Browser:
    browser = Browser(client.service)
    reply = browser.sign_in(name, PASSWORD)
    assert (reply.status, reply.headers["location"]) == (303, "/")
    return browser


def test_a_user_signs_in_and_out(client: LedgerClient) -> None:
    browser = Browser(client.service)
    assert browser.json("GET", "/api/v1/documents").status == 401
    sent = browser.send("GET", "/api/v1/documents")
    assert (sent.status, sent.headers["location"]) == (303, "/sign-in?next=/api/v1/documents")
    reply = browser.sign_in("ada", PASSWORD, "/api/v1/documents")
    assert (reply.status, reply.headers["location"]) == (303, "/api/v1/documents")
    me = browser.json("GET", "/api/v1/me").json
    assert (me["name"], me["role"], me["workspace"]) == ("ada", "admin", "default")
    assert browser.json("GET", "/api/v1/documents").status == 200
    token = browser.cookies[SESSION_COOKIE]
    out = browser.form("/sign-out", {"csrf": me["csrf"]})
    assert (out.status, SESSION_COOKIE in browser.cookies) == (303, False)
    browser.cookies[SESSION_COOKIE] = token  # A copy of the cookie is worth nothing any more.
    assert browser.json("GET", "/api/v1/documents").status == 401


def change(browser: Browser, method: str, path: str, value: Any = None) -> int:
    return browser.json(method, path, value, x_csrf_token=browser.csrf).status


def test_what_each_role_may_do(client: LedgerClient) -> None:
    session = client.checked()
    claim = client.get(f"/sessions/{session}/ledger")["ledger"]["entries"][0]["claim_id"]
    verdict = {"verdict": "weak", "reason": "see the annex"}
    requests = {
        "read": ("GET", f"/api/v1/sessions/{session}/ledger", None),
        "decide": ("PATCH", f"/api/v1/sessions/{session}/claims/{claim}", verdict),
        "check": ("POST", f"/api/v1/sessions/{session}/runs", {}),
        "users": ("GET", "/api/v1/users", None),
        "keys": ("GET", "/api/v1/apikeys", None),
        "audit": ("GET", "/api/v1/audit", None),
    }
    wanted = {
        "vera": [200, 403, 403, 403, 403, 403],
        "rene": [200, 200, 200, 403, 403, 403],
        "ada": [200, 200, 200, 200, 200, 200],
        "otto": [404, 404, 404, 200, 200, 200],  # Of another workspace.
    }
    found = {}
    for name in wanted:
        browser = signed_in(client, name)
        found[name] = [change(browser, *request) for request in requests.values()]
    assert found == wanted
    decisions = client.get(f"/sessions/{session}/ledger")["ledger"]["decisions"]
    assert [each["decided_by"] for each in decisions] == ["rene", "ada"]


def test_another_workspace_stays_out_of_reach(client: LedgerClient) -> None:
    ada, otto = signed_in(client, "ada"), signed_in(client, "otto")
    people = ada.json("GET", "/api/v1/users").json["users"]
    assert [each["name"] for each in people] == ["ada", "rene", "vera"]
    made = ada.json(
        "POST", "/api/v1/apikeys", {"name": "bot", "scopes": ["read"]}, x_csrf_token=ada.csrf
    ).json
    assert made["workspace"] == "default"
    vera = next(each["id"] for each in people if each["name"] == "vera")
    refused = [
        otto.json("PATCH", f"/api/v1/users/{vera}", {"role": "admin"}, x_csrf_token=otto.csrf),
        otto.json("DELETE", f"/api/v1/apikeys/{made['id']}", x_csrf_token=otto.csrf),
        otto.form("/users", {"csrf": otto.csrf, "action": "disable", "user": vera}),
        otto.form("/users", {"csrf": otto.csrf, "action": "revoke", "key": made["id"]}),
        otto.form("/workspace", {"csrf": otto.csrf, "workspace": "default"}),
    ]
    assert [each.status for each in refused] == [404] * 5
    assert otto.json("GET", "/api/v1/apikeys").json["keys"] == []
    assert b"vera" not in otto.json("GET", "/api/v1/audit").body


def test_somebody_with_two_workspaces_changes_between_them(client: LedgerClient) -> None:
    people = Accounts(client.store, random_bytes)
    people.give_role("operator", "vera", "other", MemberRole.ADMIN)
    browser = signed_in(client, "vera")
    before = browser.cookies[SESSION_COOKIE]
    browser.form("/workspace", {"csrf": browser.csrf, "workspace": "other"})
    me = browser.json("GET", "/api/v1/me").json
    assert (me["workspace"], me["role"]) == ("other", "admin")
    assert me["workspaces"] == ["default", "other"]
    assert browser.cookies[SESSION_COOKIE] != before
    # An administrator of one workspace must not take the account over in the other one.
    ada = signed_in(client, "ada")
    vera = next(u for u in ada.json("GET", "/api/v1/users").json["users"] if u["name"] == "vera")
    refused = ada.json(
        "PATCH", f"/api/v1/users/{vera['id']}", {"password": "x" + PASSWORD}, x_csrf_token=ada.csrf
    )
    assert (refused.status, refused.json["code"]) == (409, "AF549")


def test_a_new_token_is_made_at_sign_in(on_sqlite: LedgerClient) -> None:
    """Session fixation: a token that somebody planted is never the one that is signed in."""
    planted = "f" * 64
    browser = Browser(on_sqlite.service, {SESSION_COOKIE: planted})
    browser.sign_in("ada", PASSWORD)
    first = browser.cookies[SESSION_COOKIE]
    assert first != planted
    assert (
        Browser(on_sqlite.service, {SESSION_COOKIE: planted})
        .send("GET", "/users", headers={"accept": "*/*"})
        .status
        == 401
    )
    browser.sign_in("ada", PASSWORD)
    assert browser.cookies[SESSION_COOKIE] != first
    old = Browser(on_sqlite.service, {SESSION_COOKIE: first})
    assert old.json("GET", "/api/v1/documents").status == 401


CROSS_SITE: dict[str, tuple[dict[str, str], int]] = {
    "no token": ({}, 403),
    "a wrong token": ({"x-csrf-token": "0" * 64}, 403),
    "a token from another site": ({"x-csrf-token": "TOKEN", "sec-fetch-site": "cross-site"}, 403),
    "a token from a sister site": ({"x-csrf-token": "TOKEN", "sec-fetch-site": "same-site"}, 403),
    "another origin": ({"x-csrf-token": "TOKEN", "origin": "https://evil.example"}, 403),
    "an opaque origin": ({"x-csrf-token": "TOKEN", "origin": "null"}, 403),
    "the host as a prefix": (
        {"x-csrf-token": "TOKEN", "origin": "https://ledgers.example:443.evil.example"},
        403,
    ),
    "our own page": ({"x-csrf-token": "TOKEN"}, 200),
}


@pytest.mark.parametrize(("headers", "status"), CROSS_SITE.values(), ids=CROSS_SITE.keys())
def test_a_changing_request_needs_the_token_of_the_sign_in(
    on_sqlite: LedgerClient, headers: dict[str, str], status: int
) -> None:
    browser = signed_in(on_sqlite, "ada")
    named = {name: text.replace("TOKEN", browser.csrf) for name, text in headers.items()}
    key = b'{"name": "bot", "scopes": ["read"]}'
    reply = browser.send("POST", "/api/v1/apikeys", key, {**JSON, **OWN, **named})
    assert reply.status == status
    if status == 403:
        assert reply.json["code"] in ("AF543", "AF544")
        assert browser.json("GET", "/api/v1/apikeys").json["keys"] == []


FORMS: dict[str, tuple[str, str, bytes, dict[str, str], int]] = {
    "sign-in without its token": ("POST", "/sign-in", b"name=ada&password=x", {}, 403),
    "sign-in from another site": (
        *("POST", "/sign-in", b"csrf=TOKEN&name=ada&password=x"),
        *({"sec-fetch-site": "cross-site"}, 403),
    ),
    "sign-out without the token": ("POST", "/sign-out", b"", {}, 403),
    "a form for another path": (
        *("POST", "/api/v1/apikeys", b"csrf=CSRF&name=bot&scope=read"),
        *({}, 403),
    ),
    "a field twice": ("POST", "/users", b"csrf=CSRF&csrf=CSRF&action=add", {}, 400),
    "JSON for a form": ("POST", "/users", b"{}", {"content-type": "application/json"}, 403),
    "text for a form": ("POST", "/users", b"csrf=CSRF", {"content-type": "text/plain"}, 403),
    "letters that are not UTF-8": ("POST", "/users", b"csrf=%ff", {}, 400),
    "a huge form": ("POST", "/users", b"csrf=" + b"a" * 20_000, {}, 413),
    "a deletion without the token": ("DELETE", "/api/v1/apikeys/000000000000", b"", {}, 403),
}


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status"), FORMS.values(), ids=FORMS.keys()
)
def test_a_form_of_another_site_is_refused(
    on_sqlite: LedgerClient,
    method: str,
    path: str,
    body: bytes,
    headers: dict[str, str],
    status: int,
) -> None:
    browser = signed_in(on_sqlite, "ada")
    token = browser.cookies.get("__Host-affidavit-form", "")
    sent = body.replace(b"CSRF", browser.csrf.encode()).replace(b"TOKEN", token.encode())
    assert browser.send(method, path, sent, {**FORM, **OWN, **headers}).status == status
    assert browser.json("GET", "/api/v1/me").status == 200


def test_a_page_of_another_site_reaches_no_local_service(on_sqlite: LedgerClient) -> None:
    """On this machine nobody signs in, so the origin alone tells our pages from others."""
    for headers in ({"sec-fetch-site": "cross-site"}, {"origin": "https://evil.example"}):
        refused = on_sqlite.ask("POST", "/sessions", {"answer": "Leave is 25 days."}, **headers)
        assert (refused.status, refused.json["code"]) == (403, "AF544")
    own = {"origin": "http://127.0.0.1:8320", "sec-fetch-site": "same-origin"}
    assert on_sqlite.ask("POST", "/sessions", {"answer": "Leave is 25 days."}, **own).status == 200
    form = b"action=add&name=eve&password=correct+horse+battery&role=admin&csrf=x"
    sent = on_sqlite.service.ask("POST", "/users", form, {**FORM, **own}, LOCAL)
    assert (sent.status, sent.json["code"]) == (403, "AF543")


TARGETS = {
    "another host": ("https://evil.example/", "/"),
    "a host without a scheme": ("//evil.example/", "/"),
    "three slashes": ("///evil.example", "/"),
    "a backslash": ("/\\evil.example", "/"),
    "a backslash later": ("/a\\..\\evil.example", "/"),
    "a tab within": ("/\t/evil.example", "/"),
    "a new line": ("/a\r\nset-cookie: x=y", "/"),
    "a script": ("javascript:alert(1)", "/"),
    "letters that look alike": ("/\uff0fevil.example", "/"),
    "nothing": ("", "/"),
    "a path of ours": ("/sessions/1?run=2", "/sessions/1?run=2"),
}


@pytest.mark.parametrize(("asked", "wanted"), TARGETS.values(), ids=TARGETS.keys())
def test_open_redirects_are_refused(on_sqlite: LedgerClient, asked: str, wanted: str) -> None:
    assert own_path(asked) == wanted
    reply = Browser(on_sqlite.service).sign_in("ada", PASSWORD, asked)
    assert (reply.status, reply.headers["location"]) == (303, wanted)


def test_the_page_for_signing_in_escapes_what_it_is_given(on_sqlite: LedgerClient) -> None:
    browser = Browser(on_sqlite.service)
    evil = '/"><script>alert(1)</script>'
    page = browser.send("GET", f"/sign-in?next={quote(evil)}")
    assert b"<script" not in page.body
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy
    again = browser.sign_in('"><script>alert(1)</script>', PASSWORD)
    assert (again.status, b"<script" in again.body) == (401, False)


def test_guessing_takes_longer_each_time(
    on_sqlite: LedgerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = [NOW]
    monkeypatch.setattr(account_module, "now_ms", lambda: moment[0])
    browser = Browser(on_sqlite.service)
    for name in ("ada", "nobody"):  # The reply does not tell which names there are.
        moment[0] += 3_600_000
        statuses = [browser.sign_in(name, f"wrong password {at}").status for at in range(6)]
        assert statuses == [401, 401, 401, 401, 401, 429]
    moment[0] += 3_600_000
    found = []
    for _ in range(9):
        waited = browser.sign_in("ada", "wrong password")
        if waited.status == 429:
            seconds = int(waited.headers["retry-after"])
            found.append(seconds)
            # Not even the right password is looked at meanwhile.
            assert browser.sign_in("ada", PASSWORD).status == 429
            moment[0] += 1000 * seconds
    assert found == [2, 4, 8, 16][: len(found)]
    assert len(found) == 4
    moment[0] += 61_000
    assert browser.sign_in("ada", PASSWORD).status == 303
    assert browser.sign_in("ada", "wrong password").status == 401
    logged = browser.json("GET", "/api/v1/audit").body.decode()
    assert "sign_in.delayed" in logged
    assert PASSWORD not in logged


def test_a_sign_in_ends_after_a_working_day(
    on_sqlite: LedgerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = signed_in(on_sqlite, "ada")
    later = now_ms() + SIGN_IN_MS + 1
    monkeypatch.setattr(account_module, "now_ms", lambda: later)
    assert browser.json("GET", "/api/v1/documents").status == 401


def test_a_disabled_user_is_out_at_once(client: LedgerClient) -> None:
    ada, vera = signed_in(client, "ada"), signed_in(client, "vera")
    users = {each["name"]: each["id"] for each in ada.json("GET", "/api/v1/users").json["users"]}
    sent = ada.form("/users", {"csrf": ada.csrf, "action": "disable", "user": users["vera"]})
    assert sent.status == 303
    assert vera.json("GET", "/api/v1/documents").status == 401
    assert Browser(client.service).sign_in("vera", PASSWORD).status == 401
    own = ada.form("/users", {"csrf": ada.csrf, "action": "disable", "user": users["ada"]})
    assert own.status == 409
    assert b"Nobody can take their own role away" in own.body or b"own role" in own.body


USERS = {
    "a short password": ({"name": "eve", "password": "short", "role": "viewer"}, 422, "AF548"),
    "a repeated letter": ({"name": "eve", "password": "a" * 20, "role": "viewer"}, 422, "AF548"),
    "a name with markup": ({"name": "<b>", "password": PASSWORD, "role": "viewer"}, 422, "AF547"),
    "a name that somebody has": (
        {"name": "ada", "password": PASSWORD, "role": "viewer"},
        *(422, "AF547"),
    ),
    "another role": ({"name": "eve", "password": PASSWORD, "role": "root"}, 422, "AF867"),
    "another field": (
        {"name": "eve", "password": PASSWORD, "role": "viewer", "workspace": "other"},
        *(422, "AF867"),
    ),
}


@pytest.mark.parametrize(("user", "status", "code"), USERS.values(), ids=USERS.keys())
def test_users_that_cannot_be_added(
    on_sqlite: LedgerClient, user: dict[str, str], status: int, code: str
) -> None:
    browser = signed_in(on_sqlite, "ada")
    reply = browser.json("POST", "/api/v1/users", user, x_csrf_token=browser.csrf)
    assert (reply.status, reply.json["code"]) == (status, code)
    assert PASSWORD not in on_sqlite.service.log.getvalue()


def test_users_and_keys_are_managed_on_the_page(on_sqlite: LedgerClient) -> None:
    ada = signed_in(on_sqlite, "ada")
    add = {"action": "add", "name": "vera", "password": PASSWORD, "role": "viewer"}
    assert ada.form("/users", {"csrf": ada.csrf, **add}).status == 303
    assert ada.form("/users", {"csrf": ada.csrf, **add}).status == 422
    key = {"action": "key", "name": "bot", "scope_read": "1", "expires": "2099-01-01"}
    made = ada.form("/users", {"csrf": ada.csrf, **key})
    assert made.status == 200
    assert b"afk_" in made.body
    page = ada.send("GET", "/users").body
    assert b"vera" in page
    assert b"bot" in page
    assert b"afk_" not in page
    vera = Browser(on_sqlite.service)
    assert vera.sign_in("vera", PASSWORD).status == 303
    assert vera.send("GET", "/users").status == 403


def test_a_changed_password_ends_every_sign_in(on_sqlite: LedgerClient) -> None:
    people = Accounts(on_sqlite.store, random_bytes)
    browser = signed_in(on_sqlite, "ada")
    (ada,) = people.members("default")
    people.change(OPERATOR, ada.id, UserChangeV1(password=OTHER))
    assert browser.json("GET", "/api/v1/documents").status == 401
    assert browser.sign_in("ada", PASSWORD).status == 401
    assert browser.sign_in("ada", OTHER).status == 303
