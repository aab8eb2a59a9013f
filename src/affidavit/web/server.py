"""Running the service: a socket, one process or several, and a quiet end."""

import contextlib
import errno
import os
import signal
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import uvicorn
from uvicorn.supervisors import Multiprocess

from affidavit.app.service import ServiceConfig, api_key_file
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import service as faults
from affidavit.web.connection_dispatcher import dispatch_connections
from affidavit.web.settings import WebSettings, is_loopback

BACKLOG: Final = 1024
KEEP_ALIVE_SECONDS: Final = 5


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """Where the service listens; port 0 is one that is free."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class ApplicationFactory:
    """Makes the application, in whichever process it is called."""

    plan: ServiceConfig
    settings: WebSettings
    log_requests: bool

    def __call__(self) -> Any:
        """Set up a process of the service."""
        from affidavit.web.application import application_from_plan

        return application_from_plan(self.plan, self.settings, log_requests=self.log_requests)


def listen_at(address: ListenAddress) -> socket.socket:
    """Return a socket that listens, or say why there is none."""
    if not address.host:  # To the system it means every address of this machine.
        raise _address_error(address, "no address is named")
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    # The protocol is named, or asyncio would not send at once what is small (TCP_NODELAY), and
    # every response would wait 40 ms for the client's acknowledgement.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # A port that was just left can be taken; elsewhere it means more.
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((address.host, address.port))
        listening.listen(BACKLOG)
        return listening
    except (TypeError, UnicodeError):
        listening.close()
        raise _address_error(address, "this is no name of a host") from None
    except OSError as error:
        listening.close()
        known = {errno.EADDRINUSE: "something listens there already"}
        reason = known.get(error.errno or 0, (error.strerror or str(error)).lower())
        raise _address_error(address, reason) from None


def _address_error(address: ListenAddress, reason: str) -> AffidavitError:
    return AffidavitError(
        faults.SERVE_ADDRESS, host=repr(address.host), port=address.port, reason=reason
    )


def require_keys_for(host: str, plan: ServiceConfig) -> None:
    """Refuse to be open to others without a single key to tell them apart by."""
    keys = api_key_file(plan.project).keys()
    if not is_loopback(host) and all(key.revoked_at is not None for key in keys):
        raise AffidavitError(faults.SERVE_KEYS_NEEDED, host=host)


def serve(
    made: ApplicationFactory,
    listening: socket.socket,
    *,
    workers: int,
    shutdown_seconds: int,
) -> None:
    """Serve until a signal ends it; what runs then is finished, within a limit."""
    config = uvicorn.Config(
        made,
        factory=True,
        workers=workers,
        http="h11",  # What is tested is what runs, whatever else is installed.
        loop="asyncio",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=shutdown_seconds,
    )
    with _ignore_stop_signals(), contextlib.closing(listening):
        if workers == 1:
            uvicorn.Server(config).run([listening])
        else:
            serve_in_processes(config, listening)


def serve_in_processes(config: uvicorn.Config, listening: socket.socket) -> None:
    """Serve in several processes, which get the connections in turn where the system can do it."""
    if not hasattr(socket, "send_fds"):
        Multiprocess(config, sockets=[listening]).run()
        return
    with dispatch_connections(listening) as invitation:
        invited: Any = [invitation]  # It is a socket where it arrives.
        Multiprocess(config, sockets=invited).run()


@contextlib.contextmanager
def _ignore_stop_signals() -> Iterator[None]:
    """Let the signals that end a service end it well: uvicorn raises them again when it is done."""
    ends = (signal.SIGINT, signal.SIGTERM)
    before = [(number, signal.signal(number, lambda *_: None)) for number in ends]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)
