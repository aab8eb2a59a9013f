"""OTLP over gRPC, in a process of its own. A refusal names when to try again (RetryInfo)."""

import os
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from msgspec import Struct

from affidavit.app.ledger_workers import Log, log_to_stderr
from affidavit.app.service import api_key_file
from affidavit.app.trace_receiving import MAX_BODY_BYTES, ReceiverConfig, SpanReceiver
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import service as service_faults
from affidavit.base.faults import telemetry as faults
from affidavit.store.api_keys import ApiKeyScope
from affidavit.telemetry.protobuf import export_response
from affidavit.web.access import AccessControl, Caller, CallerSlots, RateLimiter
from affidavit.web.otlp import require_span_rate
from affidavit.web.problems import public_error

THREADS: Final = 8
MAX_RUNNING: Final = 16
STOP_SECONDS: Final = 10.0
START_SECONDS: Final = 60.0
_CHECK_SECONDS: Final = 0.2
_RESERVE_TRIES: Final = 8
_METHODS: Final = {
    "/opentelemetry.proto.collector.trace.v1.TraceService/Export": False,
    "/opentelemetry.proto.collector.logs.v1.LogsService/Export": True,
}
_BUSY: Final = (
    service_faults.TOO_OFTEN,
    service_faults.SHARE_USED,
    service_faults.BUSY,
    faults.RECEIVER_FULL,
)
_DENIED: Final = {
    service_faults.KEY_NEEDED: "UNAUTHENTICATED",
    service_faults.SCOPE_NEEDED: "PERMISSION_DENIED",
    faults.RECEIVED_BODY: "INVALID_ARGUMENT",
}


class GrpcConfig(Struct, frozen=True, kw_only=True):
    """What the gRPC receiver needs; its port is reserved by the service that starts it."""

    receiver: ReceiverConfig
    project: Path
    host: str
    port: int
    anonymous: bool
    key_rate: float
    address_rate: float

    @property
    def address(self) -> str:
        """The address as gRPC takes it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def reserved_port(host: str, port: int) -> socket.socket:
    """Return a socket that keeps a port for our gRPC process; raise if it is in use.

    It does not listen, so it gets no connections; the process binds the port beside it.
    """
    # The process of a service that was killed ends a moment after it.
    for _ in range(_RESERVE_TRIES - 1):
        with suppress(AffidavitError):
            return _reserved(host, port)
        time.sleep(_CHECK_SECONDS)
    return _reserved(host, port)


def _reserved(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        # Alone first: two services that share a port would get half of the spans each.
        with socket.socket(family, socket.SOCK_STREAM) as alone:
            if os.name == "posix":
                alone.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            alone.bind((host, port))
            found = alone.getsockname()[1]
        kept = socket.socket(family, socket.SOCK_STREAM)
        if hasattr(socket, "SO_REUSEPORT"):
            kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            kept.bind((host, found))
        else:
            kept.close()
    except (OSError, UnicodeError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise AffidavitError(
            faults.RECEIVER_GRPC, host=repr(host), port=port, reason=reason
        ) from None
    return kept


def wait_for_server(host: str, port: int, seconds: float = START_SECONDS) -> None:
    """Return when a server listens at a port; raise if none does in time."""
    until = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection((host, port), timeout=1).close()
        except OSError:
            if time.monotonic() > until:
                reason = f"its process did not start within {seconds:g} s"
                raise AffidavitError(
                    faults.RECEIVER_GRPC, host=repr(host), port=port, reason=reason
                ) from None
            time.sleep(_CHECK_SECONDS / 2)
        else:
            return


class _GrpcHandler:
    """Serves Export of both services. Requests and answers are bytes."""

    def __init__(self, config: GrpcConfig, log: Log) -> None:
        import grpc

        self._grpc = grpc
        self._log = log
        self.receiver = SpanReceiver(config.receiver)
        self._access = AccessControl(
            api_key_file(config.project),
            RateLimiter(config.key_rate, time.monotonic),
            RateLimiter(config.address_rate, time.monotonic),
            anonymous=config.anonymous,
        )
        self._slots = CallerSlots(MAX_RUNNING)
        self._spans = RateLimiter(config.receiver.key_spans, time.monotonic)
        self._lock = threading.Lock()

    def service(self, details: Any) -> Any:
        """Return the handler of a method; None for a method that we do not have."""
        of_logs = _METHODS.get(details.method)
        if of_logs is None:
            return None
        return self._grpc.unary_unary_rpc_method_handler(
            lambda raw, context: self._export(raw, context, of_logs=of_logs)
        )

    def _export(self, raw: bytes, context: Any, *, of_logs: bool) -> bytes:
        try:
            with ExitStack() as stack:
                with self._lock:  # Rates and slots are counted by one thread at a time.
                    caller = self._caller(context)
                    slot = self._slots.take(caller.name)
                    slot.__enter__()
                stack.callback(self._release, slot)
                taken = self.receiver.take(
                    raw,
                    is_json=False,
                    of_logs=of_logs,
                    workspace=caller.workspace,
                    require_rate=lambda records: self._require_rate(caller, records),
                )
            return export_response(taken.rejected, taken.message, of_logs=of_logs)
        except Exception as error:
            return self._refuse(context, error)

    def _release(self, slot: Any) -> None:
        with self._lock:
            slot.__exit__(None, None, None)

    def _require_rate(self, caller: Caller, records: int) -> None:
        with self._lock:
            require_span_rate(self._spans, caller, records)

    def _caller(self, context: Any) -> Caller:
        headers = {
            name: value for name, value in context.invocation_metadata() if isinstance(value, str)
        }
        # No page of a browser can speak gRPC to us, so the name of the host is not asked.
        caller = self._access.identify(_address(context.peer()), {**headers, "host": "localhost"})
        self._access.require_rate(caller)
        caller.require(ApiKeyScope.SPANS)
        return caller

    def _refuse(self, context: Any, error: Exception) -> bytes:
        public = public_error(error)
        if public is not error:
            self._log("failure", error=type(error).__name__, said=str(error))
        code = _DENIED.get(public.fault, "INTERNAL")
        if public.fault in _BUSY:
            code = "UNAVAILABLE"
            seconds = int(str(public.values["seconds"]))
            context.set_trailing_metadata(_retry_metadata(seconds, str(public)))
        context.set_code(getattr(self._grpc.StatusCode, code))
        context.set_details(f"{public} Next: {public.next_step}")
        return b""


def _retry_metadata(seconds: int, message: str) -> tuple[tuple[str, bytes], ...]:
    """Return when to try again, as exporters look for it: RetryInfo, alone and in a Status.

    Origin: google/rpc/error_details.proto and status.proto. A Duration has its seconds in field 1.
    """
    from google.protobuf.any_pb2 import Any as Packed
    from google.protobuf.duration_pb2 import Duration

    delay = Duration(seconds=seconds).SerializeToString()
    info = b"\x0a" + bytes((len(delay),)) + delay
    packed = Packed(type_url="type.googleapis.com/google.rpc.RetryInfo", value=info)
    detail = packed.SerializeToString()
    text = message.encode()[:100]
    # Code 14 is UNAVAILABLE; message is field 2, details are field 3.
    status = b"\x08\x0e\x12" + bytes((len(text),)) + text
    status += b"\x1a" + bytes((len(detail),)) + detail
    return (("google.rpc.retryinfo-bin", info), ("grpc-status-details-bin", status))


def _address(peer: str) -> str:
    """Return the address in `ipv4:127.0.0.1:4711` or `ipv6:[::1]:4711`, which may be quoted."""
    kind, _, rest = unquote(peer).partition(":")
    host = rest.rpartition(":")[0].strip("[]") if kind in ("ipv4", "ipv6") else ""
    return host or "unknown"


def started_server(config: GrpcConfig, log: Log) -> tuple[Any, SpanReceiver]:
    """Return a server that is running, and what it hands its requests to."""
    import grpc

    handler = _GrpcHandler(config, log)
    server = grpc.server(
        ThreadPoolExecutor(THREADS, "affidavit-grpc"),
        handlers=(handler,),
        options=(
            ("grpc.max_receive_message_length", MAX_BODY_BYTES),
            ("grpc.so_reuseport", 1),
        ),
        maximum_concurrent_rpcs=MAX_RUNNING,
    )
    server.add_insecure_port(config.address)
    server.start()
    return server, handler.receiver


def receive_until_stopped(config: GrpcConfig, parent: int) -> None:
    """Receive until SIGTERM arrives or the service has ended; running requests are finished."""
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the service, which stops us.
    server, receiver = started_server(config, log_to_stderr)
    while not stopped.is_set() and os.getppid() == parent:
        stopped.wait(_CHECK_SECONDS)
    server.stop(STOP_SECONDS).wait()
    receiver.close()
