"""Runs the service: a listening socket, one or more processes, and an orderly shutdown."""

import contextlib
import errno
import os
import signal
import socket
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import uvicorn
from msgspec import Struct
from uvicorn.supervisors import Multiprocess

from affidavit.app.clock import now
from affidavit.app.service import ServiceConfig, api_key_file
from affidavit.app.span_journal import JournalWriter
from affidavit.app.trace_receiving import ReceiverConfig
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import service as faults
from affidavit.web.connection_dispatcher import dispatch_connections
from affidavit.web.connections import ACCEPTS_PER_TURN, ListeningSocket, ServiceProtocol
from affidavit.web.request_log import RequestLog, log_libraries
from affidavit.web.settings import WebSettings, is_loopback

WORKER_SECONDS: Final = 30
"""A worker that does not respond for so long is replaced. On a busy machine it takes long to start,
and must not be killed before it has."""


class ListenAddress(Struct, frozen=True):
    """The address to listen on. Port 0 means any free port."""

    host: str
    port: int


class ApplicationFactory(Struct, frozen=True):
    """Builds the application in the process that serves it."""

    config: ServiceConfig
    settings: WebSettings
    log_requests: bool
    otlp: ReceiverConfig | None = None

    def __call__(self) -> Any:
        """Return the application."""
        # Imported here: the parent of several workers does not need it.
        from affidavit.web.application import application_from_config

        return application_from_config(
            self.config, self.settings, log_requests=self.log_requests, otlp=self.otlp
        )


def listen_at(address: ListenAddress) -> socket.socket:
    """Return a listening socket, or raise why there is none."""
    if not address.host:  # The system would listen on every address of this machine.
        raise _address_error(address, "no address is named")
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    # asyncio only sets TCP_NODELAY if the protocol is given; without it, every response would wait
    # 40 ms for the acknowledgement of the client.
    listening = ListeningSocket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # To reuse a recently closed port; on Windows it means more.
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((address.host, address.port))
        listening.listen()
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


def require_keys_for(host: str, config: ServiceConfig) -> None:
    """Raise if others could reach the service, and nobody of them could use it."""
    from affidavit.app.accounts import has_users
    from affidavit.app.oidc import find_oidc_settings

    provider = find_oidc_settings(config.project)  # An error in it is reported now, too.
    if is_loopback(host) or provider is not None:
        return
    keys = api_key_file(config.project).keys()
    has_key = any(key.revoked_at is None for key in keys)
    if not has_key and (config.store is None or not has_users(config.store)):
        raise AffidavitError(faults.SERVE_KEYS_NEEDED, host=host)


@contextlib.contextmanager
def receiver_processes(
    receiver: ReceiverConfig,
    project: Path,
    address: ListenAddress,
    settings: WebSettings,
    *,
    is_quiet: bool,
) -> Iterator[int]:
    """Run the sealer of traces and the receiver of gRPC within the block; yield the port of gRPC.

    The sealer is stopped last, so that it seals what was received until the end.
    """
    from affidavit.app.ledger_workers import log_to_stderr, supervised_processes
    from affidavit.app.trace_receiving import seal_until_stopped
    from affidavit.web.otlp_grpc import (
        GrpcConfig,
        receive_until_stopped,
        reserved_port,
        wait_for_server,
    )

    for needed in ("opentelemetry.proto.collector.trace.v1.trace_service_pb2", "grpc"):
        import_module(needed)  # The extra `otel` is asked for now, not in the processes.
    JournalWriter(receiver.folder)  # A folder that cannot be written is reported now.
    with contextlib.closing(reserved_port(address.host, address.port)) as reserved:
        port = int(reserved.getsockname()[1])
        grpc = GrpcConfig(
            receiver=receiver,
            project=project,
            host=address.host,
            port=port,
            anonymous=settings.anonymous,
            key_rate=settings.key_rate,
            address_rate=settings.address_rate,
        )
        with (
            supervised_processes(seal_until_stopped, (receiver, is_quiet), 1, log_to_stderr),
            supervised_processes(receive_until_stopped, (grpc,), 1, log_to_stderr),
        ):
            wait_for_server(address.host, port)
            yield port


def serve(
    factory: ApplicationFactory,
    listening: socket.socket,
    *,
    workers: int,
    idle_seconds: int,
    shutdown_seconds: int,
) -> None:
    """Serve until a signal arrives; running requests are finished, within a time limit."""
    config = uvicorn.Config(
        factory,
        factory=True,
        workers=workers,
        http=ServiceProtocol,
        loop="asyncio",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=ACCEPTS_PER_TURN,
        timeout_keep_alive=idle_seconds,
        timeout_graceful_shutdown=shutdown_seconds,
        timeout_worker_healthcheck=WORKER_SECONDS,
    )
    with _ignore_stop_signals(), contextlib.closing(listening):
        if workers == 1:
            uvicorn.Server(config).run([listening])
        else:
            serve_in_processes(config, listening)


class LoggedProcesses(Multiprocess):
    """Worker processes whose end is in the log, however they ended. Each is replaced."""

    def __init__(self, config: uvicorn.Config, sockets: list[Any], log: RequestLog) -> None:
        super().__init__(config, sockets=sockets)
        self._log = log

    def keep_subprocess_alive(self) -> None:
        """Replace the workers that have exited or do not respond, and log each."""
        before = [(worker, worker.process.is_alive()) for worker in self.processes]
        super().keep_subprocess_alive()
        for (worker, was_alive), current in zip(before, self.processes, strict=True):
            if worker is not current:
                reason = "it did not respond, and was killed" if was_alive else "it exited"
                self._log.write(
                    "worker_ended",
                    pid=worker.pid,
                    reason=reason,
                    exit_code=worker.exitcode,
                    replaced_by=current.pid,
                )


def serve_in_processes(config: uvicorn.Config, listening: socket.socket) -> None:
    """Serve in several processes. Where the system allows it, they get connections in turn."""
    log = RequestLog(sys.stderr, now)
    log_libraries(log)
    if not hasattr(socket, "send_fds"):
        LoggedProcesses(config, [listening], log).run()
        return
    with dispatch_connections(listening) as registration:
        # The registration is unpickled as a socket in the worker.
        LoggedProcesses(config, [registration], log).run()


@contextlib.contextmanager
def _ignore_stop_signals() -> Iterator[None]:
    """Ignore the signals that uvicorn raises again after its shutdown, so that we exit normally."""
    stops = (signal.SIGINT, signal.SIGTERM)
    before = [(number, signal.signal(number, lambda *_: None)) for number in stops]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)
