"""Sign-in by an identity provider that runs on this machine, and what is refused of it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from tests.web.browser import Browser
from tests.web.ledger_client import LedgerClient, ledger_client
from tests.web.oidc_provider import CLIENT, SECRET, STRANGER, Provider, running_provider, token_of
from tests.web.service_client import Service, make_project

from affidavit.app.accounts import Accounts, Administrator, NewUserV1
from affidavit.app.clock import now_ms
from affidavit.app.keys import random_bytes
from affidavit.app.ledger_service import LedgerService
from affidavit.app.oidc import find_oidc_settings
from affidavit.base.errors import AffidavitError
from affidavit.store.roles import MemberRole
from affidavit.web.sign_in import OIDC_COOKIE, SESSION_COOKIE

CALLBACK = "/sign-in/oidc/callback"
TABLE = """
[oidc]
issuer = "{issuer}"
client_id = "{client}"
client_secret_env = "AFFIDAVIT_TEST_OIDC_SECRET"
public_url = "https://ledgers.example"
label = "Example Ltd"
roles = [
  {{ claim = "groups", value = "staff", role = "viewer" }},
  {{ claim = "groups", value = "affidavit-admins", role = "admin" }},
  {{ claim = "groups", value = "acme", role = "reviewer", workspace = "acme" }},
]
"""


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with running_provider() as made:
        yield made


@pytest.fixture
def client(
    tmp_path: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> Iterator[LedgerClient]:
    monkeypatch.setenv("AFFIDAVIT_TEST_OIDC_SECRET", SECRET)
    fresh = Provider(url=provider.url)
    for name in ("claims", "make_token", "issuer", "status"):
        setattr(provider, name, getattr(fresh, name))
    made = ledger_client(tmp_path, f"sqlite:///{tmp_path}/data/store.db")
    with (made.service.project / "affidavit.toml").open("a", encoding="utf-8") as file:
        file.write(TABLE.format(issuer=provider.url, client=CLIENT))
    service = Service(made.service.project, ledgers=LedgerService(made.store))
    yield LedgerClient(service, made.store, made.worker)
    made.store.close()


def begin(browser: Browser, provider: Provider, target: str = "/users") -> dict[str, str]:
    sent = browser.send("GET", f"/sign-in/oidc?{urlencode({'next': target})}")
    assert sent.status == 303
    address = sent.headers["location"]
    assert address.startswith(f"{provider.url}/authorize?")
    assert SECRET not in address
    return provider.authorize(address)


def come_back(browser: Browser, query: dict[str, str]) -> Any:
    return browser.send("GET", f"{CALLBACK}?{urlencode(query)}")


def test_a_user_of_the_provider_signs_in(client: LedgerClient, provider: Provider) -> None:
    browser = Browser(client.service)
    assert b"Sign in with Example Ltd" in browser.send("GET", "/sign-in").body
    query = begin(browser, provider)
    reply = come_back(browser, query)
    assert (reply.status, reply.headers["location"]) == (303, "/users")
    me = browser.json("GET", "/api/v1/me").json
    assert (me["name"], me["role"], me["workspaces"]) == ("grace", "admin", ["default"])
    # The code and the state are worth nothing any more.
    assert OIDC_COOKIE not in browser.cookies
    assert come_back(browser, query).status == 401

    provider.claims = {**provider.claims, "groups": ["staff", "acme"]}
    come_back(browser, begin(browser, provider))
    me = browser.json("GET", "/api/v1/me").json
    assert me["workspaces"] == ["acme", "default"]
    logged = browser.json("GET", "/api/v1/audit")
    assert logged.status == 403  # No administrator any more: the provider decides.


def test_a_local_user_of_the_same_name_is_somebody_else(
    client: LedgerClient, provider: Provider
) -> None:
    people = Accounts(client.store, random_bytes)
    local = NewUserV1(name="grace", password="a long enough " * 2, role=MemberRole.ADMIN)
    people.add(Administrator("acme", "operator"), local)
    browser = Browser(client.service)
    come_back(browser, begin(browser, provider))
    me = browser.json("GET", "/api/v1/me").json
    assert (me["name"], me["workspace"]) == ("grace (u-1)", "default")
    # And nobody signs in as grace of the provider with a password.
    assert Browser(client.service).sign_in("grace (u-1)", "").status == 401


def with_claims(**values: object) -> Callable[[dict[str, Any]], str]:
    return lambda claims: token_of({**claims, **values})


TOKENS: dict[str, Callable[[dict[str, Any]], str]] = {
    "no signature": lambda claims: token_of(claims, "none"),
    "a shared secret": lambda claims: token_of(claims, "HS256"),
    "another key": lambda claims: token_of(claims, key=STRANGER),
    "another algorithm than the key's": lambda claims: token_of(claims, "ES256"),
    "another issuer": with_claims(iss="https://evil.example"),
    "another client": with_claims(aud="other"),
    "several clients": with_claims(aud=[CLIENT, "other"]),
    "another attempt": with_claims(nonce="x"),
    "expired": with_claims(exp=now_ms() // 1000 - 3600),
    "no expiry": with_claims(exp=None),
    "from the future": with_claims(iat=now_ms() // 1000 + 3600),
    "nobody": with_claims(sub=""),
    "no role": with_claims(groups=["guests"]),
    "no text": lambda _: "a.b",
    "a changed claim": lambda claims: _changed(token_of(claims)),
}


def _changed(token: str) -> str:
    head, body, mark = token.split(".")
    return f"{head}.{body[:-2]}AA.{mark}"


@pytest.mark.parametrize("make_token", TOKENS.values(), ids=TOKENS.keys())
def test_a_token_that_proves_nothing_is_refused(
    client: LedgerClient, provider: Provider, make_token: Callable[[dict[str, Any]], str]
) -> None:
    provider.make_token = make_token
    browser = Browser(client.service)
    reply = come_back(browser, begin(browser, provider))
    assert reply.status == 401
    assert SESSION_COOKIE not in browser.cookies


RETURNS: dict[str, dict[str, str | None]] = {
    "another state": {"state": "x" * 43},
    "no state": {"state": None},
    "no code": {"code": None},
    "a code of another attempt": {"code": "code-0"},
    "another issuer": {"iss": "https://evil.example"},
    "an error of the provider": {"code": None, "error": "access_denied"},
}


@pytest.mark.parametrize("changes", RETURNS.values(), ids=RETURNS.keys())
def test_a_way_back_that_was_not_begun_is_refused(
    client: LedgerClient, provider: Provider, changes: dict[str, str | None]
) -> None:
    browser = Browser(client.service)
    query: dict[str, str | None] = {**begin(browser, provider), **changes}
    reply = come_back(browser, {name: text for name, text in query.items() if text is not None})
    assert (reply.status, SESSION_COOKIE in browser.cookies) == (401, False)


def test_another_browser_cannot_be_signed_in_as_me(
    client: LedgerClient, provider: Provider
) -> None:
    """Login CSRF: the way back works in the browser that began only."""
    query = begin(Browser(client.service), provider)
    victim = Browser(client.service)
    assert come_back(victim, query).status == 401
    begin(victim, provider)
    assert come_back(victim, query).status == 401
    forged = Browser(client.service, {OIDC_COOKIE: "e30." + "0" * 64})
    assert come_back(forged, query).status == 401


def test_the_way_back_leads_to_this_service_only(client: LedgerClient, provider: Provider) -> None:
    browser = Browser(client.service)
    reply = come_back(browser, begin(browser, provider, "//evil.example/"))
    assert (reply.status, reply.headers["location"]) == (303, "/")


def test_a_provider_that_is_away(client: LedgerClient, provider: Provider) -> None:
    browser = Browser(client.service)
    query = begin(browser, provider)
    provider.status = 500
    assert come_back(browser, query).status == 401


SETTINGS = {
    "plain HTTP": ('issuer = "http://id.example"', "not https"),
    "no roles": ("roles = []", "roles"),
    "an unknown key": ('client = "x"', "unknown key"),
    "another role": (
        'roles = [{ claim = "a", value = "b", role = "root" }]',
        "root",
    ),
}


@pytest.mark.parametrize(("line", "problem"), SETTINGS.values(), ids=SETTINGS.keys())
def test_settings_that_are_refused(
    tmp_path: Path, line: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AFFIDAVIT_TEST_OIDC_SECRET", SECRET)
    project = make_project(tmp_path)
    whole = TABLE.format(issuer="https://id.example", client=CLIENT)
    name = line.partition(" =")[0]
    kept = whole
    if name == "roles":
        kept = whole[: whole.index("roles = [")]
    elif name == "issuer":
        kept = whole.replace('issuer = "https://id.example"\n', "")
    with (project / "affidavit.toml").open("a", encoding="utf-8") as file:
        file.write(f"{kept}{line}\n")
    with pytest.raises(AffidavitError, match=problem) as refused:
        find_oidc_settings(project)
    assert refused.value.fault.code == "AF550"
