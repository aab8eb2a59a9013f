"""Sends spans and events to an endpoint that the user named: OTLP/HTTP (protobuf, JSON) or gRPC.

A service that asks to wait (429, 503 with Retry-After, UNAVAILABLE) is asked again a few times,
after the delay that it names. Anything else ends the export with its answer.
"""

import gzip
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from typing import Any, Final, Protocol
from urllib.parse import SplitResult

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import telemetry as faults
from affidavit.base.http_address import UrlProblem, origin_of, parse_url
from affidavit.base.http_client import Deadline, HttpFailure, HttpResponse, post
from affidavit.base.text import excerpt
from affidavit.telemetry.spans import LogEvent, OtlpJson, TraceResource, TraceSpan

TIMEOUT_SECONDS: Final = 30.0
ATTEMPTS: Final = 5
MAX_DELAY_SECONDS: Final = 30.0
_MAX_ANSWER_BYTES: Final = 1024 * 1024
_NO_LOGS: Final = " (it takes no log records; --events-on-spans puts evaluations on a span)"
_WAITING: Final = (429, 502, 503, 504)


class OtlpProtocol(StrEnum):
    """How OTLP is spoken; the names are those of OTEL_EXPORTER_OTLP_PROTOCOL."""

    HTTP_PROTOBUF = "http/protobuf"
    HTTP_JSON = "http/json"
    GRPC = "grpc"


class OtlpSender(Protocol):
    """Sends portions; raises AffidavitError if the service does not take one."""

    def send_spans(self, spans: Sequence[TraceSpan]) -> None:
        """Send spans."""
        ...

    def send_events(self, events: Sequence[LogEvent]) -> None:
        """Send events."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


class SenderSettings:
    """What every portion is sent with."""

    def __init__(
        self,
        resource: TraceResource,
        version: str,
        schema_url: str,
        headers: Mapping[str, str],
        sleep: Callable[[float], None],
    ) -> None:
        self.resource = resource
        self.version = version
        self.schema_url = schema_url
        self.headers = headers
        self.sleep = sleep


def sender_to(url: str, protocol: OtlpProtocol, settings: SenderSettings) -> OtlpSender:
    """Return a sender to an address; raise if the address cannot be used."""
    address = parse_url(url)
    if isinstance(address, UrlProblem):
        raise AffidavitError(faults.EXPORT_ENDPOINT, url=excerpt(url), problem=str(address))
    if protocol is OtlpProtocol.GRPC:
        return _GrpcSender(url, address, settings)
    return _HttpSender(url, address, settings, is_json=protocol is OtlpProtocol.HTTP_JSON)


def _refusal(url: str, problem: str) -> AffidavitError:
    return AffidavitError(faults.EXPORT_REFUSED, url=excerpt(url), problem=problem)


class _HttpSender:
    def __init__(
        self, url: str, address: SplitResult, settings: SenderSettings, *, is_json: bool
    ) -> None:
        self._url = url
        self._address = address
        self._settings = settings
        self._json = OtlpJson(settings.resource, settings.version, settings.schema_url)
        self._is_json = is_json

    def send_spans(self, spans: Sequence[TraceSpan]) -> None:
        from affidavit.telemetry.protobuf import trace_request

        settings = self._settings
        if self._is_json:
            body = self._json.traces(spans)
        else:
            request = trace_request(settings.resource, settings.version, settings.schema_url, spans)
            body = request.SerializeToString()
        self._post("/v1/traces", body, of_logs=False)

    def send_events(self, events: Sequence[LogEvent]) -> None:
        from affidavit.telemetry.protobuf import logs_request

        settings = self._settings
        if self._is_json:
            body = self._json.logs(events)
        else:
            request = logs_request(settings.resource, settings.version, settings.schema_url, events)
            body = request.SerializeToString()
        self._post("/v1/logs", body, of_logs=True)

    def close(self) -> None:
        """Every request has a connection of its own."""

    def _post(self, path: str, body: bytes, *, of_logs: bool) -> None:
        base = self._address.path.rstrip("/")
        target = self._address._replace(
            path=base if base.endswith(("/v1/traces", "/v1/logs")) else base + path
        )
        kind = "application/json" if self._is_json else "application/x-protobuf"
        headers = {**self._settings.headers, "Content-Type": kind, "Content-Encoding": "gzip"}
        packed = gzip.compress(body, 6, mtime=0)
        attempt = 0
        answer = self._answer(target, headers, packed)
        while answer.status in _WAITING and attempt < ATTEMPTS - 1:
            self._settings.sleep(_delay(answer, attempt))
            attempt += 1
            answer = self._answer(target, headers, packed)
        if answer.status != 200:
            hint = _NO_LOGS if of_logs and answer.status in (404, 405, 501) else ""
            raise _refusal(self._url, f"it answered {answer.status} to {target.path}{hint}")
        self._require_all(answer, of_logs=of_logs)

    def _answer(self, target: SplitResult, headers: Mapping[str, str], body: bytes) -> HttpResponse:
        answer = post(
            target,
            headers,
            body,
            Deadline(TIMEOUT_SECONDS),
            max_bytes=_MAX_ANSWER_BYTES,
            read=(200,),
        )
        if isinstance(answer, HttpFailure):
            raise _refusal(self._url, answer.message or answer.kind.name.lower())
        return answer

    def _require_all(self, answer: HttpResponse, *, of_logs: bool) -> None:
        from affidavit.telemetry.protobuf import rejected_of

        if self._is_json or "protobuf" not in answer.headers.get("content-type", ""):
            return
        rejected, message = rejected_of(answer.body, of_logs=of_logs)
        if rejected:
            raise _refusal(self._url, f"it refused {rejected} of them: {excerpt(message, 120)}")


def _delay(answer: HttpResponse, attempt: int) -> float:
    named = answer.headers.get("retry-after", "")
    seconds = float(named) if named.isdigit() else 2.0**attempt
    return min(seconds, MAX_DELAY_SECONDS)


class _GrpcSender:
    def __init__(self, url: str, address: SplitResult, settings: SenderSettings) -> None:
        import grpc

        self._url = url
        self._settings = settings
        origin = origin_of(address)
        port = address.port or 4317
        target = f"{f'[{origin.host}]' if ':' in origin.host else origin.host}:{port}"
        is_secure = origin.scheme == "https"
        self._channel: Any = (
            grpc.secure_channel(target, grpc.ssl_channel_credentials())
            if is_secure
            else grpc.insecure_channel(target)
        )
        self._metadata = tuple((name.lower(), value) for name, value in settings.headers.items())

    def send_spans(self, spans: Sequence[TraceSpan]) -> None:
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import TraceServiceStub

        from affidavit.telemetry.protobuf import trace_request

        settings = self._settings
        request = trace_request(settings.resource, settings.version, settings.schema_url, spans)
        stub: Any = TraceServiceStub(self._channel)  # type: ignore[no-untyped-call]  # generated
        answer = self._call(stub.Export, request)
        self._require_all(answer.partial_success.rejected_spans)

    def send_events(self, events: Sequence[LogEvent]) -> None:
        from opentelemetry.proto.collector.logs.v1.logs_service_pb2_grpc import LogsServiceStub

        from affidavit.telemetry.protobuf import logs_request

        settings = self._settings
        request = logs_request(settings.resource, settings.version, settings.schema_url, events)
        stub: Any = LogsServiceStub(self._channel)  # type: ignore[no-untyped-call]  # generated
        answer = self._call(stub.Export, request, of_logs=True)
        self._require_all(answer.partial_success.rejected_log_records)

    def close(self) -> None:
        with suppress(ValueError):
            self._channel.close()

    def _call(self, method: Any, request: Any, *, of_logs: bool = False) -> Any:
        import grpc

        waiting = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED)
        for attempt in range(ATTEMPTS):
            try:
                return method(request, timeout=TIMEOUT_SECONDS, metadata=self._metadata)
            except grpc.RpcError as error:
                code, details = error.code(), error.details()
                if code not in waiting or attempt == ATTEMPTS - 1:
                    problem = f"{code.name}, {excerpt(str(details), 160)}"
                    if of_logs and code is grpc.StatusCode.UNIMPLEMENTED:
                        problem += _NO_LOGS
                    raise _refusal(self._url, problem) from None
            self._settings.sleep(min(2.0**attempt, MAX_DELAY_SECONDS))
        raise AssertionError("the last attempt returns or raises")

    def _require_all(self, rejected: int) -> None:
        if rejected:
            raise _refusal(self._url, f"it refused {rejected} of them")
