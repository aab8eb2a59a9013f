"""Records the calls that pass a proxy as events of a run: models, tools, everything else."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from affidavit import __version__
from affidavit.app.recording import Recorder, recorder_for
from affidavit.app.tracing import new_span_id, position_from
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import telemetry as faults
from affidavit.base.http_address import UrlProblem, origin_of, parse_url
from affidavit.base.text import excerpt
from affidavit.packs import event_types as kinds
from affidavit.telemetry.openai_calls import ModelCall, ToolCall, model_call, operation_of
from affidavit.tools.recording_proxy import HttpExchange, RecordingProxy

PROVIDERS = {
    "api.openai.com": "openai",
    "openai.azure.com": "azure.ai.openai",
    "api.mistral.ai": "mistral_ai",
    "api.deepseek.com": "deepseek",
    "api.groq.com": "groq",
    "api.x.ai": "x_ai",
    "api.perplexity.ai": "perplexity",
}
"""Hosts with the name of their provider in the GenAI conventions; others have their own name."""


class CallRecorder:
    """Turns exchanges into events. Several threads call it at the same time."""

    def __init__(self, run: Recorder, host: str) -> None:
        self._run = run
        self._provider = next(
            (name for ending, name in PROVIDERS.items() if host.endswith(ending)), host
        )
        self._lock = Lock()
        self._asked: dict[str, tuple[ToolCall, int]] = {}
        self.calls = 0

    def take(self, exchange: HttpExchange) -> None:
        """Record an exchange."""
        call = None
        if operation_of(exchange.path) is not None:
            call = model_call(
                exchange.path,
                exchange.request,
                exchange.status,
                exchange.answer,
                is_stream=exchange.is_stream,
            )
        if call is None:
            self._add_other(exchange)
        else:
            self._add_model_call(call, exchange)

    def _add_model_call(self, call: ModelCall, exchange: HttpExchange) -> None:
        with self._lock:
            self.calls += 1
            returned = [
                (*self._asked.pop(call_id), output)
                for call_id, output in call.results.items()
                if call_id in self._asked
            ]
            self._asked.update({one.id: (one, exchange.end_ns) for one in call.asked})
        for tool, asked_at, output in returned:
            # Seen from here a tool ran between the answer that asked for it and this request.
            place = self._place(exchange, asked_at, exchange.start_ns)
            self._run.event(
                kinds.TOOL_CALL,
                {
                    "tool": tool.name,
                    "input": tool.arguments,
                    "output": output,
                    "call_id": tool.id,
                    kinds.SPAN: place,
                },
            )
        fields = {name: value for name, value in call.fields.items() if value not in (None, {})}
        if exchange.problem:
            fields["error"] = exchange.problem
        place = self._place(exchange, exchange.start_ns, exchange.end_ns)
        fields.setdefault("output", None)
        self._run.event(kinds.MODEL_CALL, {"provider": self._provider, **fields, kinds.SPAN: place})

    def _add_other(self, exchange: HttpExchange) -> None:
        step: dict[str, Any] = {"name": f"{exchange.method} {exchange.path}"}
        if exchange.problem or exchange.status >= 400:
            step["error"] = exchange.problem or str(exchange.status)
        place = self._place(exchange, exchange.start_ns, exchange.end_ns)
        self._run.event(kinds.STEP, {**step, kinds.SPAN: place})

    def _place(self, exchange: HttpExchange, start_ns: int, end_ns: int) -> dict[str, Any]:
        parent = position_from(exchange.traceparent) or self._run.position
        return {
            "trace_id": parent.trace_id,
            "span_id": new_span_id(),
            "parent_id": parent.span_id,
            "start_ns": str(start_ns),
            "end_ns": str(end_ns),
        }


@contextmanager
def recorded_calls(
    to: str, log: Path, *, port: int, run_id: str | None, report: Callable[[str], None]
) -> Iterator[CallRecorder]:
    """Record what passes the proxy within the block; `report` gets its address."""
    address = parse_url(to)
    if isinstance(address, UrlProblem):
        raise AffidavitError(faults.PROXY_ADDRESS, url=excerpt(to), problem=str(address))
    run = recorder_for(
        log,
        run_id=run_id,
        input=None,
        source="urn:affidavit:proxy",
        producer=("affidavit-proxy", __version__),
        git="unknown",
        clock=None,
        salt=None,
    )
    calls = CallRecorder(run, origin_of(address).host)
    try:
        proxy = RecordingProxy(address, calls.take, port)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise AffidavitError(faults.PROXY_PORT, port=port, reason=reason) from None
    with closing(proxy), run:
        proxy.start()
        report(proxy.url)
        try:
            yield calls
        finally:
            proxy.close()
