"""The pages without a browser: what they may contain, who reaches them, and what is refused."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from selectolax.lexbor import LexborHTMLParser
from tests.repository import ROOT
from tests.web.ledger_client import SAMPLES, LedgerClient, ledger_client
from tests.web.service_client import LOCAL, Reply

from affidavit.app.review_pages import EXAMPLE_SOURCES
from affidavit.store.api_keys import ApiKeyScope
from affidavit.web.pages import PAGE_POLICY
from affidavit.web.routes import PAGE_ROUTES

HTML = {"accept": "text/html"}
ATTACK = "<img src=x onerror=alert(1)><script>alert(2)</script>"
FILE_NAME = "a'\"><img src=x onerror=alert(3)>.md"
SOURCE = f"# Leave {ATTACK}\n\nStaff get 25 days of leave {ATTACK} in each year.\n"
ANSWER = f"""# Leave {ATTACK}

Staff get 25 days of leave {ATTACK} in each year.
Staff [get](javascript:alert(4)) **30 days** of leave, `{ATTACK}` or [more](https://example.com).

| Group | Days {ATTACK} |
| --- | --- |
| Trainees {ATTACK} | 40 days |

```{ATTACK}
{ATTACK}
```

<div onclick="alert(5)">Interns get 3 days of leave.</div>
"""


@pytest.fixture
def client(tmp_path: Path) -> Iterator[LedgerClient]:
    made = ledger_client(tmp_path, f"sqlite:///{tmp_path}/data/store.db")
    yield made
    made.store.close()


def get(client: LedgerClient, path: str, **headers: str) -> Reply:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return client.service.ask("GET", path, headers={**HTML, **client.headers, **named})


def attacked(client: LedgerClient) -> str:
    """Return a session in which everything that others write tries to become markup."""
    uploaded = client.ask("POST", f"/documents?filename={quote(FILE_NAME)}", SOURCE.encode())
    assert uploaded.status == 200, uploaded.body
    body = {"answer": ANSWER, "query": f"How much? {ATTACK}", "title": ATTACK, "judge": "lexical"}
    session = client.ask("POST", "/sessions", body).json["id"]
    client.work()
    for entry in client.get(f"/sessions/{session}/ledger")["ledger"]["entries"]:
        decision = {"reason": f"Because {ATTACK}", "importance": "critical"}
        path = f"/sessions/{session}/claims/{entry['claim_id']}"
        assert client.ask("PATCH", path, decision).status == 200
    approval = {"decision": "rejected", "reason": ATTACK}
    assert client.ask("POST", f"/sessions/{session}/approval", approval).status == 200
    return str(session)


OWN_SCRIPT = re.compile(r"/assets/[a-z]+\.js\?v=[0-9a-f]{12}")


def problems_of(page: LexborHTMLParser) -> Iterator[str]:
    """Yield what a page of ours never has."""
    for node in page.css("*"):
        for name, value in node.attributes.items():
            if name.startswith("on") or name == "style":
                yield f"{node.tag} has {name}"
            if name in ("href", "src") and not re.match(r"[/#]", value or ""):
                yield f"{node.tag} leads to {value}"
        if node.tag == "script" and not OWN_SCRIPT.fullmatch(node.attributes.get("src") or ""):
            yield f"script: {node.html}"
        if node.tag in ("img", "iframe", "object", "style", "base", "div") and "onclick" in str(
            node.attributes
        ):
            yield str(node.html)


def test_text_of_others_never_becomes_markup(client: LedgerClient) -> None:
    session = attacked(client)
    ledger = client.get(f"/sessions/{session}/ledger")["ledger"]
    claims = [f"/sessions/{session}/claims/{each['claim_key']}" for each in ledger["entries"]]
    assert claims
    for path in ("/", "/new", f"/sessions/{session}", *claims):
        reply = get(client, path)
        assert reply.status == 200, path
        page = LexborHTMLParser(reply.body)
        assert list(problems_of(page)) == [], path
        assert page.css("img") == [], path
    shown = LexborHTMLParser(get(client, f"/sessions/{session}").body)
    text = shown.body.text() if shown.body else ""
    assert ATTACK in text  # It is not dropped, but shown as the text that it is.
    assert FILE_NAME in get(client, claims[0]).body.decode().replace("&#39;", "'").replace(
        "&#34;", '"'
    ).replace("&gt;", ">").replace("&lt;", "<")


def test_no_page_may_run_or_load_anything_else(client: LedgerClient) -> None:
    session = attacked(client)
    for path in ("/", "/new", f"/sessions/{session}", "/sessions/none", "/nothing"):
        policy = get(client, path).headers["content-security-policy"]
        assert policy == f"{PAGE_POLICY}; frame-ancestors 'none'", path
        assert "unsafe" not in policy


def test_another_workspace_sees_nothing(client: LedgerClient) -> None:
    session = attacked(client)
    other = client.of_workspace("other")
    assert get(other, f"/sessions/{session}").status == 404
    assert get(other, f"/sessions/{session}/claims/clm_001").status == 404
    assert get(other, "/labels.jsonl").body == b""
    for path in ("/", "/new"):
        assert session.encode() not in get(other, path).body
        assert b"See what an answer rests on" in get(other, "/").body


def test_a_key_sees_and_does_what_its_scopes_allow(client: LedgerClient) -> None:
    session = attacked(client)
    reader = client.of_workspace("default", ApiKeyScope.LEDGERS)
    page = get(reader, f"/sessions/{session}").body
    assert b"data-export" not in page
    assert b"Approve" not in page
    assert b'class="decide"' not in get(reader, f"/sessions/{session}/claims/clm_001").body
    json_type = {"content-type": "application/json", **reader.headers}
    assert client.service.ask("POST", "/example", b"{}", json_type).status == 403
    scopes = (ApiKeyScope.ANSWER, ApiKeyScope.READ)
    stranger = client.of_workspace("default", *scopes)
    assert get(stranger, "/").status == 403


def test_pages_need_a_key_from_other_machines_and_through_proxies(client: LedgerClient) -> None:
    for route in PAGE_ROUTES:
        if route.scope is None or route.method != "GET":
            continue
        path = route.path.replace("{session_id}", "x").replace("{claim_key}", "y")
        reply = client.service.ask("GET", path, headers=HTML, client=("10.0.0.9", LOCAL[1]))
        for refused in (reply, get(client, path, x_forwarded_for="10.0.0.9")):
            assert refused.status == 303, path
            assert refused.headers["location"].startswith("/sign-in"), path
        assert get(client, path, host="attacker.example").status == 421, path


def test_a_page_of_another_origin_cannot_start_the_example(client: LedgerClient) -> None:
    # What a form can send without asking first.
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        reply = client.service.ask("POST", "/example", b"{}", {"content-type": kind})
        assert reply.status == 415, kind
    assert client.get("/documents")["documents"] == []
    assert client.service.ask("OPTIONS", "/example").status == 405


def test_the_example_is_the_sample(client: LedgerClient) -> None:
    reply = client.service.ask("POST", "/example", b"{}", {"content-type": "application/json"})
    example = reply.json
    assert example["answer"] == (SAMPLES / "answer.md").read_text("utf-8")
    names = {each["filename"] for each in client.get("/documents")["documents"]}
    assert names == set(EXAMPLE_SOURCES)
    folder = ROOT / "src" / "affidavit" / "app" / "example"
    for name in EXAMPLE_SOURCES:
        assert (folder / name).read_bytes() == (SAMPLES / "sources" / name).read_bytes()


PATHS = {
    "no such asset": "/assets/none.css",
    "a path above": "/assets/..%2fpages.py",
    "an encoded path above": "/assets/%2e%2e%2f%2e%2e%2fapp%2fexample%2fquery.txt",
    "a template": "/assets/base.html.j2",
    "a claim that is a path": "/sessions/x/claims/..%2f..%2f",
    "a session that is no id": "/sessions/'%20OR%201=1",
}


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS.keys())
def test_nothing_else_can_be_reached(client: LedgerClient, path: str) -> None:
    assert get(client, path).status == 404


def test_assets_are_kept_and_change_their_address(client: LedgerClient) -> None:
    page = LexborHTMLParser(get(client, "/").body)
    for node in page.css("link[rel=stylesheet], script[src]"):
        address = str(node.attributes.get("href") or node.attributes.get("src"))
        reply = get(client, address.partition("?")[0])
        assert reply.status == 200
        assert "immutable" in reply.headers["cache-control"]
        assert b"http://" not in reply.body.replace(b"http://www.w3.org/2000/svg", b"")
        assert b"https://" not in reply.body


def test_an_unchanged_ledger_is_not_sent_again(client: LedgerClient) -> None:
    session = attacked(client)
    tag = get(client, f"/sessions/{session}").headers["etag"]
    assert get(client, f"/sessions/{session}", if_none_match=tag).status == 304
    approval = {"decision": "approved", "reason": "Looked again."}
    client.ask("POST", f"/sessions/{session}/approval", approval)
    assert get(client, f"/sessions/{session}", if_none_match=tag).status == 200


def test_a_check_that_cannot_run_says_why(client: LedgerClient) -> None:
    session = client.ask("POST", "/sessions", {"answer": "Staff get 25 days."}).json["id"]
    assert "Waiting" in get(client, f"/sessions/{session}").body.decode() or (
        "Reading the answer" in get(client, f"/sessions/{session}").body.decode()
    )
    client.work()
    page = get(client, f"/sessions/{session}").body.decode()
    assert "The check failed" in page
    assert "/problems/AF" in page


def test_problems_are_json_for_programs(client: LedgerClient) -> None:
    reply = client.service.ask("GET", "/sessions/none")
    assert reply.headers["content-type"].startswith("application/problem+json")
    assert json.loads(reply.body)["code"] == "AF855"
