"""A time stamp authority on loopback, and authorities that fail."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.faulty_server import in_a_thread


@contextmanager
def serving(answer: Callable[[bytes], tuple[int, bytes]]) -> Iterator[str]:
    """Serve `answer(request) -> (status, body)`, and yield the URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.headers["Content-Type"] == "application/timestamp-query"
            status, body = answer(self.rfile.read(int(self.headers["Content-Length"])))
            with suppress(ConnectionError):  # Whoever asked may have gone.
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *said: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server, in_a_thread(server):
        server.daemon_threads = True
        yield f"http://127.0.0.1:{server.server_port}/tsr?policy=1"
