"""Opens a connection to an origin: to the first of its addresses that takes one."""

import socket
import ssl
from collections.abc import Iterable
from functools import cache
from http.client import HTTPConnection

from affidavit.http.address import USUAL_PORTS, Origin
from affidavit.http.outcome import NoAnswer, Stage, Trouble, no_answer_from
from affidavit.http.patience import Patience


def opened(
    origin: Origin, addresses: Iterable[str], patience: Patience
) -> HTTPConnection | NoAnswer:
    """Return an open connection, or why there is none: what the last address said."""
    failure = NoAnswer(Trouble.BROKEN, Stage.CONNECTING, "no address")
    for address in addresses:
        left = patience.seconds_left()
        if not left:
            return no_answer_from(TimeoutError(), Stage.CONNECTING)
        try:
            plug = socket.create_connection((address, origin.port), timeout=left)
        except OSError as error:
            failure = no_answer_from(error, Stage.CONNECTING)
            continue
        plug.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return _joined(origin, plug, patience)
    return failure


def _joined(origin: Origin, plug: socket.socket, patience: Patience) -> HTTPConnection | NoAnswer:
    if origin.scheme == "https":
        secured = _secured(plug, origin.host, patience)
        if isinstance(secured, NoAnswer):
            return secured
        plug = secured
    connection = HTTPConnection(origin.host, origin.port)
    connection.default_port = USUAL_PORTS[origin.scheme]
    connection.auto_open = 0  # All goes over this socket; http.client opens none of its own.
    connection.sock = plug
    return connection


def _secured(plug: socket.socket, host: str, patience: Patience) -> ssl.SSLSocket | NoAnswer:
    try:
        # The handshake waits too, so it is done where its wait can be ended.
        plug = made = trust().wrap_socket(plug, server_hostname=host, do_handshake_on_connect=False)
        with patience.ending(made):
            made.do_handshake()
    except (OSError, ValueError) as error:
        plug.close()
        # A socket that we shut looks like a server that has hung up.
        cause = error if patience.seconds_left() else TimeoutError()
        return no_answer_from(cause, Stage.SECURING)
    return made


@cache
def trust() -> ssl.SSLContext:
    """Return whom the system trusts; read once, for it takes longer than a handshake."""
    return ssl.create_default_context()
