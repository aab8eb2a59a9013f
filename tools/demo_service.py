"""A client of the service: uploads documents, checks an answer, and downloads the report.

It starts `affidavit serve` in demo-output/ on a free port, and stops it at the end.
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote
from urllib.request import Request, urlopen

ROOT = Path(__file__).resolve().parent.parent
PROJECT = ROOT / "demo-output"
LEAVE = ROOT / "samples" / "leave"
DOCUMENTS = ("HR_Policy.pdf", "Leave_Guidelines.docx")


class Client:
    """Calls the API. From this machine it needs no key."""

    def __init__(self, url: str) -> None:
        self.url = url

    def call(self, method: str, path: str, body: bytes | None = None, kind: str = "") -> bytes:
        """Send a request and return the body of the response."""
        request = Request(self.url + path, data=body, method=method)  # noqa: S310 - our own service
        if kind:
            request.add_header("content-type", kind)
        with urlopen(request, timeout=60) as response:  # noqa: S310 - our own service
            content: bytes = response.read()
        return content

    def upload(self, path: Path) -> str:
        """Upload a document and wait until it was read."""
        target = f"/api/v1/documents?filename={quote(path.name)}"
        sent = self.call("POST", target, path.read_bytes(), "application/octet-stream")
        document: dict[str, Any] = json.loads(sent)
        while document["status"] == "processing":
            time.sleep(0.2)
            document = json.loads(self.call("GET", f"/api/v1/documents/{document['id']}"))
        return str(document["status"])

    def send(self, path: str, value: object) -> Any:
        """Send JSON."""
        return json.loads(self.call("POST", path, json.dumps(value).encode(), "application/json"))


def demonstrate(client: Client, folder: Path) -> None:
    """Check the sample answer and download its report into a folder."""
    for name in DOCUMENTS:
        print(f"uploaded {name}: {client.upload(LEAVE / 'sources' / name)}")
    answer = (LEAVE / "answer.md").read_text("utf-8")
    session = client.send("/api/v1/sessions", {"answer": answer})["id"]
    # The events end when the check is done.
    events = client.call("GET", f"/api/v1/sessions/{session}/progress").decode()
    last = json.loads(events.rstrip().rpartition("data: ")[2])
    print(f"checked {last['done']} of {last['total']} claims: {last['decision']}")
    ledger = json.loads(client.call("GET", f"/api/v1/sessions/{session}/ledger"))["ledger"]
    for entry in ledger["entries"]:
        print(f"  {entry['verdict']:<11}{entry['claim_text']}")
    export = client.send(f"/api/v1/sessions/{session}/ledger/export", {"format": "pdf"})
    report = folder / "report-service.pdf"
    report.write_bytes(client.call("GET", export["download_url"]))
    print(f"downloaded {report.name}: {'PDF' if report.read_bytes()[:4] == b'%PDF' else 'no PDF'}")


def main() -> None:
    """Serve, and use what is served."""
    command = [str(Path(sys.executable).with_name("affidavit")), "serve", "-q"]
    command += ["--port", "0", "--project", str(PROJECT)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as service:
        try:
            assert service.stdout is not None
            said = service.stdout.readline()  # Serving at http://127.0.0.1:43210 (...)
            demonstrate(Client(said.split()[2]), PROJECT)
        finally:
            service.terminate()


if __name__ == "__main__":
    main()
