"""One request and its answer, over a connection that stays open or over one of its own."""

from collections.abc import Container, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Final
from urllib.parse import SplitResult

from affidavit.http.address import origin_of, target_of
from affidavit.http.connection import opened
from affidavit.http.lookup import looked_up
from affidavit.http.outcome import Answer, NoAnswer, Stage, Trouble, no_answer_from
from affidavit.http.patience import Patience

EVERY_STATUS: Final = range(100, 1000)
_PIECE_BYTES: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked. Only an answer whose status is among `read` has its body read."""

    method: str
    target: str
    headers: Mapping[str, str] = field(repr=False)
    max_bytes: int
    body: bytes | None = None
    read: Container[int] = EVERY_STATUS


def connected(address: SplitResult, patience: Patience) -> HTTPConnection | NoAnswer:
    """Return an open connection to where an address leads."""
    origin = origin_of(address)
    found = looked_up(origin.host, origin.port, patience)
    return found if isinstance(found, NoAnswer) else opened(origin, found, patience)


def posted(
    address: SplitResult,
    headers: Mapping[str, str],
    body: bytes,
    patience: Patience,
    *,
    max_bytes: int,
    read: Container[int],
) -> Answer | NoAnswer:
    """Send one POST over a connection of its own."""
    connection = connected(address, patience)
    if isinstance(connection, NoAnswer):
        return connection
    request = Request("POST", target_of(address), headers, max_bytes, body, read)
    with closing(connection):
        return exchanged(connection, request, patience)


def exchanged(
    connection: HTTPConnection, request: Request, patience: Patience
) -> Answer | NoAnswer:
    """Send a request over an open connection. What comes after its time does not count."""
    left = patience.seconds_left()
    if not left:
        return no_answer_from(TimeoutError(), Stage.ASKING)
    plug = connection.sock
    plug.settimeout(left)
    with patience.ending(plug):
        outcome = _outcome(connection, request)
    # A socket that is shut looks like an answer that has ended.
    if not patience.seconds_left():
        return no_answer_from(TimeoutError(), Stage.ASKING)
    return outcome


def _outcome(connection: HTTPConnection, request: Request) -> Answer | NoAnswer:
    try:
        connection.request(request.method, request.target, request.body, dict(request.headers))
        # http.client lets go of the connection here if it will be closed; so the answer closes it.
        with connection.getresponse() as response:
            body = _body(response, request.max_bytes) if response.status in request.read else b""
    except (OSError, HTTPException, ValueError) as error:
        return no_answer_from(error, Stage.ASKING)
    if isinstance(body, Trouble):
        return NoAnswer(body, Stage.ASKING, "")
    headers = {name.lower(): value for name, value in response.getheaders()}
    return Answer(response.status, headers, body)


def _body(response: HTTPResponse, max_bytes: int) -> bytes | Trouble:
    if response.length is not None and response.length > max_bytes:
        return Trouble.TOO_LONG
    pieces: list[bytes] = []
    left = max_bytes
    while piece := response.read(_PIECE_BYTES):
        left -= len(piece)
        if left < 0:
            return Trouble.TOO_LONG
        pieces.append(piece)
    return Trouble.CUT if response.length else b"".join(pieces)
