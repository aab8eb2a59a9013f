"""One exchange over HTTP: bounded in time and size, to the named address and nowhere else.

No redirect is followed, no proxy of the environment is used, no cookie is kept. TLS is checked by
the system's trust store.
"""

import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Final

from affidavit.base.places import excerpt
from affidavit.judge.chat.secret import Secret
from affidavit.judge.chat.settings import ChatV1

MAX_REPLY_BYTES: Final = 4 * 1024 * 1024
_PIECE_BYTES: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class HttpReply:
    """What a server answered. `headers` are by lower-case name."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class NoReplyError(Exception):
    """No whole answer came. `sent` tells whether the server may have worked, and may charge."""

    def __init__(self, problem: str, *, sent: bool, worth_retrying: bool = True) -> None:
        super().__init__(problem)
        self.problem = problem
        self.sent = sent
        self.worth_retrying = worth_retrying


class Endpoint:
    """A chat server. Its connection is kept between requests until `close`."""

    def __init__(self, settings: ChatV1, key: Secret | None) -> None:
        self._settings = settings
        self._key = key
        self._connection: HTTPConnection | None = None

    def post(self, body: bytes) -> HttpReply:
        """Send a request and return the answer, or raise NoReplyError."""
        try:
            if self._connection is not None:
                # A server may drop an idle connection at the moment that we use it again.
                with suppress(ConnectionError):
                    return self._exchange(body)
            return self._exchange(body)
        except (OSError, HTTPException) as error:
            raise NoReplyError(_words(error), sent=True) from None

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def hide(self, text: str) -> str:
        """Return a text of the server without the key."""
        return text if self._key is None else self._key.hide(text)

    def _exchange(self, body: bytes) -> HttpReply:
        connection = self._connected()
        try:
            with self._deadline(connection.sock):
                connection.request(
                    "POST", f"{self._settings.address.path}/chat/completions", body, self._headers()
                )
                response = connection.getresponse()
                content = _whole(response)
        except BaseException:
            self.close()
            raise
        if response.will_close:
            self.close()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return HttpReply(response.status, headers, content)

    def _connected(self) -> HTTPConnection:
        if self._connection is None:
            address, timeout = self._settings.address, self._settings.timeout_s
            host = address.hostname or ""
            if address.scheme == "https":
                context = ssl.create_default_context()
                made: HTTPConnection = HTTPSConnection(
                    host, address.port, timeout=timeout, context=context
                )
            else:
                made = HTTPConnection(host, address.port, timeout=timeout)
            try:
                made.connect()
            except OSError as error:
                made.close()
                certificate = isinstance(error, ssl.SSLCertVerificationError)
                raise NoReplyError(
                    f"no connection ({_words(error)})", sent=False, worth_retrying=not certificate
                ) from None
            self._connection = made
        return self._connection

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key is not None:
            headers["Authorization"] = self._key.header()
        return headers

    @contextmanager
    def _deadline(self, plug: socket.socket) -> Iterator[None]:
        """End the exchange when its time is over.

        A socket's own timeout starts again with every byte, so a server that drips would hold us
        for hours; this one does not.
        """
        seconds = self._settings.timeout_s
        over = threading.Event()

        def end() -> None:
            over.set()
            with suppress(OSError):
                # The plain socket's shutdown: the one of TLS may be used by one thread only.
                socket.socket.shutdown(plug, socket.SHUT_RDWR)

        timer = threading.Timer(seconds, end)
        timer.daemon = True
        timer.start()
        late = NoReplyError(f"no answer within {seconds:g} s", sent=True)
        try:
            yield
        except (OSError, HTTPException, NoReplyError) as error:
            if over.is_set() or isinstance(error, TimeoutError):
                raise late from None
            raise
        finally:
            timer.cancel()
        if over.is_set():
            raise late


def _whole(response: HTTPResponse) -> bytes:
    pieces: list[bytes] = []
    left = MAX_REPLY_BYTES
    while piece := response.read(_PIECE_BYTES):
        left -= len(piece)
        if left < 0:
            problem = f"the answer is longer than {MAX_REPLY_BYTES} bytes"
            raise NoReplyError(problem, sent=True, worth_retrying=False)
        pieces.append(piece)
    if response.length:
        raise NoReplyError("the answer broke off", sent=True)
    return b"".join(pieces)


def _words(error: Exception) -> str:
    """Return an error of the network in words, without what the server may have put into it."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the server's certificate does not hold: {error.verify_message}"
    if isinstance(error, OSError):
        return excerpt(error.strerror or type(error).__name__, 120)
    return type(error).__name__
