"""A pipeline behind an address: one POST of JSON for each question, and nowhere else.

No redirect is followed, no proxy of the environment is used, no cookie is kept. TLS is checked by
the system's trust store. A connection serves one question, so that a slow answer holds no other.
"""

import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Final
from urllib.parse import SplitResult

import msgspec

from affidavit.base.json_limits import JsonValue
from affidavit.base.places import excerpt
from affidavit.sources.pipelines.pipeline import MAX_ANSWER_BYTES, NoAnswerError, Question, filled

_PIECE_BYTES: Final = 1 << 16
_LEAST_SECRET: Final = 6  # "none" and "EMPTY" are what servers without keys are given.


@dataclass(frozen=True, slots=True)
class HttpPipeline:
    """Posts `body` with its slots filled. `secrets` are those parts of the headers to be hidden."""

    address: SplitResult
    body: JsonValue
    timeout_seconds: float
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def identity(self) -> str:
        """The address and the body, not the headers."""
        return f"POST {self.address.geturl()} {msgspec.json.encode(self.body).decode()}"

    def ask(self, question: Question) -> bytes:
        """Return the body of the answer."""
        request = msgspec.json.encode(filled(self.body, question))
        try:
            with closing(self._connected()) as connection, self._deadline(connection.sock):
                answer = self._exchange(connection, request)
        except (OSError, HTTPException) as error:
            raise NoAnswerError(
                f"the connection broke ({_words(error)})", in_transport=True
            ) from None
        if any(len(said) >= _LEAST_SECRET and said.encode() in answer for said in self.secrets):
            raise NoAnswerError("the answer repeats a secret that was sent with the question")
        return answer

    def close(self) -> None:
        """Nothing outlives its question."""

    def _exchange(self, connection: HTTPConnection, request: bytes) -> bytes:
        target = (self.address.path or "/") + (
            f"?{self.address.query}" if self.address.query else ""
        )
        headers = {"Content-Type": "application/json", "Accept": "application/json", **self.headers}
        connection.request("POST", target, request, headers)
        with connection.getresponse() as response:
            if 300 <= response.status < 400:
                raise NoAnswerError(f"HTTP {response.status}: a redirect, which is not followed")
            if not 200 <= response.status < 300:
                raise NoAnswerError(f"HTTP {response.status}")
            return _whole(response)

    def _connected(self) -> HTTPConnection:
        host, port = self.address.hostname or "", self.address.port
        if self.address.scheme == "https":
            context = ssl.create_default_context()
            made: HTTPConnection = HTTPSConnection(
                host, port, timeout=self.timeout_seconds, context=context
            )
        else:
            made = HTTPConnection(host, port, timeout=self.timeout_seconds)
        try:
            made.connect()
        except OSError as error:
            made.close()
            # What does not hold now will not hold in a second either.
            certificate = isinstance(error, ssl.SSLCertVerificationError)
            raise NoAnswerError(
                f"no connection ({_words(error)})", in_transport=not certificate
            ) from None
        return made

    @contextmanager
    def _deadline(self, plug: socket.socket) -> Iterator[None]:
        """End the exchange when its time is over: a socket's own timeout starts with every byte."""
        over = threading.Event()

        def end() -> None:
            over.set()
            with suppress(OSError):
                # The plain socket's shutdown: the one of TLS may be used by one thread only.
                socket.socket.shutdown(plug, socket.SHUT_RDWR)

        timer = threading.Timer(self.timeout_seconds, end)
        timer.daemon = True
        timer.start()
        late = NoAnswerError(f"no answer within {self.timeout_seconds:g} s")
        try:
            yield
        except (OSError, HTTPException, NoAnswerError) as error:
            if over.is_set() or isinstance(error, TimeoutError):
                raise late from None
            raise
        finally:
            timer.cancel()
        if over.is_set():
            raise late


def _whole(response: HTTPResponse) -> bytes:
    pieces: list[bytes] = []
    left = MAX_ANSWER_BYTES
    while piece := response.read(_PIECE_BYTES):
        left -= len(piece)
        if left < 0:
            raise NoAnswerError(f"the answer is longer than {MAX_ANSWER_BYTES} bytes")
        pieces.append(piece)
    if response.length:
        raise NoAnswerError("the answer broke off", in_transport=True)
    return b"".join(pieces)


def _words(error: Exception) -> str:
    """Return an error of the network in words, without what the server may have put into it."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the server's certificate does not hold: {error.verify_message}"
    if isinstance(error, OSError):
        return excerpt(error.strerror or type(error).__name__, 120)
    return type(error).__name__
