"""A small HTTP service that searches a leave policy.

    python samples/agent/policy_service.py [PORT]

It prints its address and answers `GET /search?q=...` with a list of passages, best first.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

PASSAGES = (
    {"id": "policy-12", "text": "Parental leave is twelve days for each child."},
    {"id": "policy-3", "text": "Annual leave is twenty-five days a year."},
    {"id": "policy-7", "text": "Study leave is five days a year."},
)


class Search(BaseHTTPRequestHandler):
    """Answers searches."""

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        """Answer with the passages, those that share a word with the query first."""
        words = set(parse_qs(urlsplit(self.path).query).get("q", [""])[0].lower().split())
        found = sorted(PASSAGES, key=lambda each: -len(words & set(each["text"].lower().split())))
        body = json.dumps({"results": found}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def start(port: int = 0) -> ThreadingHTTPServer:
    """Return the server, which listens but does not answer yet."""
    return ThreadingHTTPServer(("127.0.0.1", port), Search)


def main() -> None:
    """Serve until interrupted."""
    server = start(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    sys.stdout.write(f"http://127.0.0.1:{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
