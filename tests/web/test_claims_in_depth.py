"""A claim with its readings, decisions since a number, and other gates."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.web.ledger_client import LedgerClient, ledger_client


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LedgerClient, str]]:
    folder = tmp_path_factory.mktemp("evidence")
    made = ledger_client(folder, f"sqlite:///{folder}/data/store.db")
    yield made, made.checked()
    made.close()


def first_claim(client: LedgerClient, session: str) -> Any:
    entry = client.get(f"/sessions/{session}/ledger")["ledger"]["entries"][0]
    return client.get(f"/sessions/{session}/claims/{entry['claim_id']}")


def test_a_claim_has_everything_that_was_read_about_it(
    checked: tuple[LedgerClient, str],
) -> None:
    client, session = checked
    found = first_claim(client, session)
    ids = {each["id"] for each in client.get("/documents")["documents"]}
    assert found["entry"]["claim_key"] == found["judged"]["claim_id"] == "clm_001"
    assert {"readings", "confidence_components", "citations"} <= found["judged"].keys()
    assert set(found["documents"].values()) <= ids
    assert {each["document_id"] for each in found["judged"]["readings"]} <= set(found["documents"])
    missing = client.ask("GET", f"/sessions/{session}/claims/{session}")
    assert (missing.status, missing.json["code"]) == (404, "AF855")


def test_decisions_since_a_number_are_listed(tmp_path: Path) -> None:
    client = ledger_client(tmp_path, f"sqlite:///{tmp_path}/data/store.db")
    session = client.checked()
    entries = client.get(f"/sessions/{session}/ledger")["ledger"]["entries"]
    for entry in entries[:2]:
        body = {"importance": "minor", "reason": "it is an aside"}
        client.ask("PATCH", f"/sessions/{session}/claims/{entry['claim_id']}", body)
    every = client.get(f"/sessions/{session}/decisions")["decisions"]
    assert [each["claim_id"] for each in every] == [each["claim_id"] for each in entries[:2]]
    since = client.get(f"/sessions/{session}/decisions?after={every[0]['number']}")["decisions"]
    assert since == every[1:]
    client.close()


def test_other_gates_decide_without_a_change(tmp_path: Path) -> None:
    client = ledger_client(tmp_path, f"sqlite:///{tmp_path}/data/store.db")
    session = client.checked()
    path = f"/sessions/{session}/gates"
    own = client.get(f"/sessions/{session}/ledger")["ledger"]["gates"]
    assert client.get(path) == own
    strict = client.get(f"{path}?gate=coverage%3E%3D1.0")
    assert strict["decision"] == "no_ship"
    assert strict != own
    wrong = client.ask("GET", f"{path}?gate=coverage")
    assert wrong.status == 422
    assert client.get(f"/sessions/{session}/ledger")["ledger"]["gates"] == own
    client.close()
