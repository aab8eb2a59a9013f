"""A service with a store, a client for it, and a worker that does what is queued."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.repository import ROOT
from tests.web.service_client import JSON, Reply, Service, make_project

from affidavit.app.keys import random_bytes
from affidavit.app.ledger_jobs import LedgerWorker
from affidavit.app.ledger_service import LedgerService, UploadLimits
from affidavit.app.ledger_store import LedgerStore, StoreConfig
from affidavit.app.project import Project
from affidavit.app.service import api_key_file, create_api_key
from affidavit.store.api_keys import ApiKeyScope
from affidavit.store.schema import upgrade

SAMPLES = ROOT / "samples" / "leave"
SOURCES = (SAMPLES / "sources" / "HR_Policy.pdf", SAMPLES / "sources" / "Leave_Guidelines.docx")
ANSWER = (SAMPLES / "answer.md").read_text(encoding="utf-8")
OCTETS = {"content-type": "application/octet-stream"}
V1 = "/api/v1"


@dataclass(slots=True)
class LedgerClient:
    """A client of a service in this process."""

    service: Service
    store: LedgerStore
    worker: LedgerWorker
    headers: dict[str, str] = field(default_factory=dict)

    def close(self) -> None:
        """End the reader process, and close the database."""
        self.worker.close()
        self.store.close()

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        """Send JSON, or bytes."""
        given = {**self.headers, **headers}
        if isinstance(body, bytes):
            return self.service.ask(method, V1 + path, body, {**OCTETS, **given})
        if body is None:
            return self.service.ask(method, V1 + path, headers=given)
        return self.service.ask(method, V1 + path, json.dumps(body).encode(), {**JSON, **given})

    def get(self, path: str) -> Any:
        """Return what a path gives, which must be there."""
        reply = self.ask("GET", path)
        assert reply.status == 200, reply.body
        return reply.json

    def work(self) -> None:
        """Do what is queued."""
        while self.worker.run_one():
            pass

    def upload(self, path: Path) -> Any:
        """Upload a file."""
        reply = self.ask("POST", f"/documents?filename={path.name}", path.read_bytes())
        assert reply.status == 200, reply.body
        return reply.json

    def checked(self) -> str:
        """Upload the samples, check the answer, and return the session."""
        for path in SOURCES:
            self.upload(path)
        made = self.ask("POST", "/sessions", {"answer": ANSWER, "query": "What may I take?"})
        assert made.status == 200, made.body
        self.work()
        return str(made.json["id"])

    def of_workspace(self, name: str, *scopes: ApiKeyScope) -> "LedgerClient":
        """Return a client with a key of another workspace."""
        key = create_api_key(
            api_key_file(self.service.project),
            f"{name} {len(scopes)}",
            scopes or tuple(ApiKeyScope),
            random_bytes=random_bytes,
            at="2026-01-01T00:00:00Z",
            workspace=name,
        ).key
        headers = {"authorization": f"Bearer {key}"}
        return LedgerClient(self.service, self.store, self.worker, headers)


def ledger_client(folder: Path, url: str, limits: UploadLimits | None = None) -> LedgerClient:
    """Return a client of a new service with an empty store."""
    project = make_project(folder / "project")
    store = LedgerStore(StoreConfig(url=url, data=folder / "data"))
    upgrade(store.database)
    service = Service(project, ledgers=LedgerService(store, limits))
    worker = LedgerWorker(store, Project(project), log=service.note)
    return LedgerClient(service, store, worker)
