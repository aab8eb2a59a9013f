"""Documents, sessions, ledgers, decisions and exports over HTTP, on both databases."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from time import sleep
from typing import Any

import jsonschema
import pytest
from tests.web.ledger_client import ANSWER, SOURCES, LedgerClient, ledger_client

from affidavit.app import ledger_service
from affidavit.app.bundles import open_bundle
from affidavit.app.clock import now_ms
from affidavit.app.ledger_service import UploadLimits
from affidavit.ledger.adjudication import find_ledger_problem
from affidavit.ledger.record import ledger_from_json
from affidavit.store.api_keys import ApiKeyScope
from affidavit.web.problems import STATUSES
from affidavit.web.routes import LEDGER_ROUTES


@pytest.fixture
def client(tmp_path: Path, store_url: str) -> Iterator[LedgerClient]:
    made = ledger_client(tmp_path, store_url)
    yield made
    made.close()


@pytest.fixture
def on_sqlite(tmp_path: Path) -> Iterator[LedgerClient]:
    limits = UploadLimits(max_bytes=100_000, max_documents=2)
    made = ledger_client(tmp_path, f"sqlite:///{tmp_path}/data/store.db", limits)
    yield made
    made.close()


def test_from_upload_to_review(client: LedgerClient, tmp_path: Path) -> None:
    uploaded = client.upload(SOURCES[0])
    assert uploaded["status"] == "processing"
    again = client.upload(SOURCES[0])
    assert again["id"] == uploaded["id"]  # The same bytes are one document.
    session = client.checked()
    states = {each["filename"]: each["status"] for each in client.get("/documents")["documents"]}
    assert states == {"HR_Policy.pdf": "ready", "Leave_Guidelines.docx": "ready"}

    found = client.get(f"/sessions/{session}/ledger")
    ledger = found["ledger"]
    assert found["session"] == {"id": session, "query": "What may I take?", "mode": "answer"}
    verdicts = [each["verdict"] for each in ledger["entries"]]
    assert verdicts == ["supported", "supported", "weak", "not_found"]
    assert ledger["summary"]["evidence_coverage"] == 0.75
    assert ledger["gates"]["decision"] == "no_ship"
    first = ledger["entries"][0]
    assert first["source_document"]["filename"] == "HR_Policy.pdf"
    assert first["source_document"]["page_number"] == 12
    assert ANSWER[first["start_offset"] : first["end_offset"]] == first["claim_text"]
    assert ledger["risk_flags"][0]["affected_claim_ids"] == [ledger["entries"][3]["claim_id"]]

    cited = client.get(f"/citations/{first['evidence_chunk_ids'][0]}")
    assert cited["resolved"] is True
    assert first["evidence_snippet"] in cited["chunk"]["text"]
    assert cited["chunk"]["boxes"][0][0] == 12

    sealed = client.ask("GET", f"/sessions/{session}/ledger/sealed").body
    assert not find_ledger_problem(ledger_from_json(sealed))

    fourth = ledger["entries"][3]
    path = f"/sessions/{session}/claims/{fourth['claim_id']}"
    change = {"verdict": "supported", "reason": "see the annex", "expected": "not_found"}
    seen = client.ask("PATCH", path, change).json["ledger"]
    assert seen["entries"][3]["verdict"] == "supported"
    assert seen["entries"][3]["judged"]["verdict"] == "not_found"
    assert seen["gates"]["decision"] == "ship"
    assert seen["decisions"][0]["decided_by"] == "local user at 127.0.0.1"
    stale = client.ask("PATCH", path, {**change, "verdict": "weak"})
    assert (stale.status, stale.json["code"]) == (409, "AF862")
    approved = client.ask(
        "POST", f"/sessions/{session}/approval", {"decision": "approved", "reason": "complete"}
    )
    assert approved.json["to_value"] == "approved"
    assert client.get(f"/sessions/{session}/ledger")["ledger"]["approval"] == "approved"
    assert client.ask("GET", f"/sessions/{session}/ledger/sealed").body == sealed

    _require_approvals(client, session, tmp_path / "session.tar.gz")


def _require_approvals(client: LedgerClient, session: str, bundle: Path) -> None:
    bundle.write_bytes(client.ask("GET", f"/sessions/{session}/bundle").body)
    with open_bundle(bundle) as reader:
        kinds = [event["type"] for _, event in reader.events()]
    assert kinds.count("affidavit.human.approval") == 2


def test_a_deleted_document_leaves_a_citation_that_does_not_resolve(client: LedgerClient) -> None:
    session = client.checked()
    entry = client.get(f"/sessions/{session}/ledger")["ledger"]["entries"][0]
    cited = entry["evidence_chunk_ids"][0]
    for each in client.get("/documents")["documents"]:
        assert client.ask("DELETE", f"/documents/{each['id']}").status == 200
    assert client.store.blobs.digests() == []
    gone = client.get(f"/citations/{cited}")
    assert gone["resolved"] is False
    assert gone["error"] == "Citation references deleted or unavailable chunk"
    kept = client.get(f"/sessions/{session}/ledger")["ledger"]["entries"][0]
    assert kept["evidence_chunk_ids"] == entry["evidence_chunk_ids"]
    again = client.ask("POST", f"/sessions/{session}/runs", {})
    client.work()
    run = client.get(f"/sessions/{session}")["runs"][0]
    assert (again.status, run["status"], run["error"]["code"]) == (200, "error", "AF215")


def test_a_session_is_checked_again_against_what_is_there_then(client: LedgerClient) -> None:
    client.upload(SOURCES[1])
    made = client.ask("POST", "/sessions", {"answer": ANSWER}).json
    client.work()
    path = f"/sessions/{made['id']}"
    before = client.get(f"{path}/ledger")["ledger"]
    client.upload(SOURCES[0])
    client.ask("POST", f"{path}/runs", {"gates": ["coverage>=0.5"], "judge": "lexical"})
    client.work()
    after = client.get(f"{path}/ledger")["ledger"]
    assert (before["run"], after["run"]) == (1, 2)
    assert before["entries"][0]["verdict"] != "supported"
    assert after["entries"][0]["verdict"] == "supported"
    assert client.get(f"{path}/ledger?run=1")["ledger"]["ledger_id"] == before["ledger_id"]


@pytest.mark.parametrize(
    ("name", "start", "media_type"),
    [
        ("json", b"{", "application/json"),
        ("markdown", b"#", "text/markdown"),
        ("html", b"<!doctype html>", "text/html"),
        ("pdf", b"%PDF", "application/pdf"),
    ],
)
def test_an_export_is_fetched_by_its_signed_address(
    name: str, start: bytes, media_type: str, on_sqlite: LedgerClient
) -> None:
    client = on_sqlite
    session = client.checked()
    fourth = client.get(f"/sessions/{session}/ledger")["ledger"]["entries"][3]
    client.ask(
        "PATCH",
        f"/sessions/{session}/claims/{fourth['claim_id']}",
        {"verdict": "weak", "reason": "the annex hints at it"},
    )
    made = _exported(client, session, name)
    address = made["download_url"].removeprefix("/api/v1")
    other = LedgerClient(client.service, client.store, client.worker)  # It needs no key.
    found = other.ask("GET", address)
    assert found.status == 200
    assert found.body.lstrip().lower().startswith(start.lower())
    assert found.headers["content-type"].partition(";")[0] == media_type
    if name != "pdf":
        assert b"the annex hints at it" in found.body
    if name == "json":
        document = json.loads(found.body)
        assert document["entries"][3]["verdict"] == "not_found"
        assert document["review"]["verdicts"]["clm_004"] == "weak"
    forged = other.ask("GET", address.replace("expires=1", "expires=2"))
    assert (forged.status, forged.json["code"]) == (403, "AF864")


def _exported(client: LedgerClient, session: str, name: str) -> Any:
    def work() -> None:  # What is queued while the request waits.
        for _ in range(20):
            sleep(0.1)
            client.work()

    worker = Thread(target=work)
    worker.start()
    made = client.ask("POST", f"/sessions/{session}/ledger/export", {"format": name})
    worker.join()
    assert made.status == 200, made.body
    assert made.json["status"] == "ready"
    return made.json


def test_an_expired_address_is_gone(
    on_sqlite: LedgerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = on_sqlite
    session = client.checked()
    monkeypatch.setattr(ledger_service, "now_ms", lambda: now_ms() - 3_700_000)
    monkeypatch.setattr("affidavit.web.ledger_handlers.EXPORT_WAIT_SECONDS", 0.0)
    made = client.ask("POST", f"/sessions/{session}/ledger/export", {"format": "json"}).json
    address = made["download_url"].removeprefix("/api/v1")
    waiting = client.ask("GET", address)
    assert (waiting.status, waiting.json["code"]) == (503, "AF865")
    assert waiting.headers["retry-after"] == "1"
    monkeypatch.undo()
    gone = client.ask("GET", address)
    assert (gone.status, gone.json["code"]) == (410, "AF863")


def test_progress_is_streamed(on_sqlite: LedgerClient) -> None:
    session = on_sqlite.checked()
    found = on_sqlite.ask("GET", f"/sessions/{session}/progress")
    assert found.headers["content-type"].startswith("text/event-stream")
    assert found.body.startswith(b"event: progress\ndata: {")
    assert json.loads(found.body.partition(b"data: ")[2])["status"] == "done"


def test_what_is_held_is_not_deleted(on_sqlite: LedgerClient) -> None:
    client = on_sqlite
    session = client.checked()
    document = client.get("/documents")["documents"][0]["id"]
    for path in (f"/documents/{document}", f"/sessions/{session}"):
        assert client.ask("PUT", f"{path}/hold", {"legal_hold": True}).json["legal_hold"] is True
        refused = client.ask("DELETE", path)
        assert (refused.status, refused.json["code"]) == (409, "AF856")
        client.ask("PUT", f"{path}/hold", {"legal_hold": False})
        assert client.ask("DELETE", path).json == {"deleted": path.rpartition("/")[2]}
        assert client.ask("GET", path).status == 404


def test_the_original_is_returned_and_never_shown_by_a_browser(on_sqlite: LedgerClient) -> None:
    document = on_sqlite.upload(SOURCES[1])["id"]
    found = on_sqlite.ask("GET", f"/documents/{document}/content")
    assert found.body == SOURCES[1].read_bytes()
    assert found.headers["content-type"] == "application/octet-stream"
    assert found.headers["content-disposition"].startswith("attachment")


def test_a_document_that_cannot_be_read_says_why(on_sqlite: LedgerClient) -> None:
    made = on_sqlite.ask("POST", "/documents?filename=a.pdf", b"%PDF-1.4 broken").json
    on_sqlite.work()
    found = on_sqlite.get(f"/documents/{made['id']}")
    assert found["status"] == "error"
    assert found["error"]["code"].startswith("AF2")


UPLOADS = {
    "a path as its name": ("?filename=..%2Fa.txt", b"x", 422, "AF858"),
    "no name": ("?filename=", b"x", 422, "AF858"),
    "nothing in it": ("?filename=a.txt", b"", 413, "AF859"),
    "too much": ("?filename=a.txt", b"x" * 100_001, 413, "AF859"),
    "no name at all": ("", b"x", 400, "AF511"),
}


@pytest.mark.parametrize(("query", "body", "status", "code"), UPLOADS.values(), ids=UPLOADS.keys())
def test_an_upload_that_cannot_be_kept_is_refused(
    query: str, body: bytes, status: int, code: str, on_sqlite: LedgerClient
) -> None:
    reply = on_sqlite.ask("POST", f"/documents{query}", body)
    assert (reply.status, reply.json["code"]) == (status, code), reply.body
    assert on_sqlite.get("/documents")["documents"] == []
    assert list(on_sqlite.store.blobs.incoming.iterdir()) == []


def test_a_workspace_has_a_limit_of_documents(on_sqlite: LedgerClient) -> None:
    for path in SOURCES:
        on_sqlite.upload(path)
    reply = on_sqlite.ask("POST", "/documents?filename=c.txt", b"three")
    assert (reply.status, reply.json["code"]) == (413, "AF859")


def test_an_upload_that_a_page_of_another_origin_could_send_is_refused(
    on_sqlite: LedgerClient,
) -> None:
    for given in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        reply = on_sqlite.ask("POST", "/documents?filename=a.txt", b"x", **{"content-type": given})
        assert (reply.status, reply.json["code"]) == (415, "AF872")


REQUESTS = {
    "an unknown member": ({"answer": "x", "mood": 1}, 422, "AF867"),
    "no answer": ({"query": "x"}, 422, "AF867"),
    "an empty answer": ({"answer": " "}, 422, "AF276"),
    "a judge by its file": ({"answer": "x", "judge": "/etc/passwd"}, 422, "AF867"),
    "no gate": ({"answer": "x", "gates": ["coverage"]}, 422, None),
    "no day": ({"answer": "x", "answer_date": "soon"}, 422, None),
}


@pytest.mark.parametrize(("body", "status", "code"), REQUESTS.values(), ids=REQUESTS.keys())
def test_a_session_that_cannot_be_checked_is_refused(
    body: object, status: int, code: str | None, on_sqlite: LedgerClient
) -> None:
    reply = on_sqlite.ask("POST", "/sessions", body)
    assert reply.status == status, reply.body
    assert code is None or reply.json["code"] == code, reply.body
    assert on_sqlite.get("/sessions")["sessions"] == []


def test_readiness_and_metrics_look_at_the_store(on_sqlite: LedgerClient) -> None:
    on_sqlite.upload(SOURCES[0])
    assert on_sqlite.service.ask("GET", "/readyz").status == 200
    found = on_sqlite.service.ask("GET", "/metrics")
    assert found.headers["content-type"].startswith("application/openmetrics-text")
    lines = found.body.decode().splitlines()
    assert "affidavit_jobs_queued 1" in lines
    assert 'affidavit_requests_total{status="200"} 2' in lines
    assert lines[-1] == "# EOF"
    on_sqlite.store.close()
    (on_sqlite.store.database.file or Path()).write_bytes(b"not a database " * 100)
    broken = on_sqlite.service.ask("GET", "/readyz")
    assert (broken.status, broken.json["code"]) == (503, "AF510")
    assert "not a database" not in broken.body.decode()
    assert "is not an SQLite database" in on_sqlite.service.log.getvalue()


# Every route with the key of another tenant.


def _routes() -> list[tuple[str, str]]:
    return [(route.method, route.path.removeprefix("/api/v1")) for route in LEDGER_ROUTES]


BODIES = {
    "PUT": {"legal_hold": True},
    "PATCH": {"verdict": "weak", "reason": "x"},
    "runs": {},
    "approval": {"decision": "approved", "reason": "x"},
    "export": {"format": "json"},
}
QUERIES = {"quote": "?start=0&end=9"}
OWN = frozenset({"/documents", "/sessions"})


def test_no_route_reaches_what_another_workspace_has(client: LedgerClient) -> None:
    session = client.checked()
    mine = client.get(f"/sessions/{session}/ledger")["ledger"]
    values = {
        "document_id": client.get("/documents")["documents"][0]["id"],
        "session_id": session,
        "claim_id": mine["entries"][3]["claim_id"],
        "chunk_hash": mine["entries"][0]["evidence_chunk_ids"][0],
        "export_id": "00000000-0000-0000-0000-000000000000",
        "page": "1.png",
    }
    other = client.of_workspace("other")
    tried = 0
    for method, pattern in _routes():
        if pattern in OWN and method == "POST":
            continue
        path = pattern.format(**values) + QUERIES.get(pattern.rpartition("/")[2], "")
        body = BODIES.get(method) or BODIES.get(path.rpartition("/")[2])
        reply = other.ask(method, path, body)
        tried += 1
        if pattern in OWN:
            assert list(reply.json.values()) == [[], None]
        elif pattern.startswith("/citations"):
            assert reply.json["resolved"] is False
        else:
            expected = 400 if pattern.startswith("/exports") else 404
            assert reply.status == expected, (method, path, reply.body)
            assert mine["entries"][0]["claim_text"].encode() not in reply.body
    assert tried == len(_routes()) - 2
    after = client.get(f"/sessions/{session}/ledger")["ledger"]
    assert after == mine
    assert client.get(f"/sessions/{session}")["legal_hold"] is False


def test_every_route_needs_its_scope(on_sqlite: LedgerClient) -> None:
    weak = on_sqlite.of_workspace("default", ApiKeyScope.ANSWER)
    for method, pattern in _routes():
        if pattern.startswith("/exports"):
            continue
        path = pattern.replace("{", "").replace("}", "")
        reply = weak.ask(method, path, {} if method in ("POST", "PUT", "PATCH") else None)
        assert (reply.status, reply.json["code"]) == (403, "AF501"), (method, path)


def test_a_key_decides_under_its_name(on_sqlite: LedgerClient) -> None:
    session = on_sqlite.checked()
    reviewer = on_sqlite.of_workspace("default", ApiKeyScope.REVIEW, ApiKeyScope.LEDGERS)
    made = reviewer.ask(
        "POST", f"/sessions/{session}/approval", {"decision": "rejected", "reason": "no"}
    )
    assert made.json["decided_by"] == "default 2"
    refused = reviewer.ask("DELETE", f"/sessions/{session}")
    assert refused.json["code"] == "AF501"


def test_the_openapi_document_describes_every_route_and_both_shapes(
    on_sqlite: LedgerClient,
) -> None:
    document = on_sqlite.service.ask("GET", "/schema").json
    for route in LEDGER_ROUTES:
        operation = document["paths"][route.path][route.method.lower()]
        assert operation["operationId"] == route.handler
        assert operation["summary"]
        assert ("requestBody" in operation) is (route.has_json_body or route.has_upload)
        statuses = {str(STATUSES[fault].value) for fault in route.possible_faults(anonymous=True)}
        assert operation["responses"].keys() == {"200", *statuses}
    schemas = document["components"]["schemas"]
    seed = {"id", "session_id", "created_at", "updated_at", "entries", "summary", "risk_flags"}
    assert seed <= schemas["EvidenceLedgerV1"]["properties"].keys()
    assert "follow_up_questions" in schemas["EvidenceLedgerV1"]["properties"]
    assert {"ledger_id", "generated_at", "entries"} <= schemas["Ledger"]["properties"].keys()
    found = re.findall(r"#/components/schemas/(\w+)", json.dumps(document))
    assert set(found) <= schemas.keys()


def test_what_is_answered_is_what_the_document_says(on_sqlite: LedgerClient) -> None:
    client = on_sqlite
    session = client.checked()
    document = client.service.ask("GET", "/schema").json
    answers = {
        "DocumentListV1": client.get("/documents"),
        "SessionV1": client.get(f"/sessions/{session}"),
        "LedgerResponseV1": client.get(f"/sessions/{session}/ledger"),
        "Ledger": client.get(f"/sessions/{session}/ledger/sealed"),
    }
    for name, answer in answers.items():
        schema = {"$ref": f"#/components/schemas/{name}", "components": document["components"]}
        jsonschema.validate(answer, schema)
