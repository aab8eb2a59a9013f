"""Pairs the starts and the ends of calls that a framework announces, and records each as an event.

Nothing here raises into the program. What is announced without an open run is not recorded.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from affidavit.app.recording import Recorder, current_recorder
from affidavit.app.tracing import current_step, new_span_id
from affidavit.packs import event_types as kinds

PARAMETERS: Final = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "seed": "seed",
    "max_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
    "stop": "stop_sequences",
    "n": "choice.count",
    "stream": "stream",
    "response_format": "response_format",
    "tool_choice": "tool_choice",
}
"""The settings of a model that are recorded. Others may hold a key, so they are not."""
_ALWAYS: Final = ("input", "output", "query", "results")
MAX_OPEN: Final = 10_000


class _OpenCall(Struct, kw_only=True):
    run: Recorder
    kind: str
    fields: dict[str, Any]
    span_id: str
    parent_id: str
    start_ns: int


class FrameworkCalls:
    """The calls that are under way. Several threads use it at the same time."""

    def __init__(self, run: Recorder | None) -> None:
        self._run = run
        self._open: OrderedDict[str, _OpenCall] = OrderedDict()
        self._lock = threading.Lock()

    def start(
        self, key: str, kind: str, fields: Mapping[str, Any], parent: str | None = None
    ) -> None:
        """Note that a call begins; `parent` is the key of the call that it belongs to."""
        run = self._run or current_recorder()
        if run is None or not run.is_open:
            return
        with self._lock:
            above = None if parent is None else self._open.get(parent)
            step = current_step(run)
            place = run.position if step is None else step.position
            parent_id = place.span_id if above is None else above.span_id
            self._open[key] = _OpenCall(
                run=run,
                kind=kind,
                fields=dict(fields),
                span_id=new_span_id(),
                parent_id=parent_id,
                start_ns=time.time_ns(),
            )
            if len(self._open) > MAX_OPEN:
                self._open.popitem(last=False)

    def end(self, key: str, fields: Mapping[str, Any]) -> None:
        """Record a call that began; one that did not is left out."""
        with self._lock:
            call = self._open.pop(key, None)
        if call is None:
            return
        place = {
            "trace_id": call.run.position.trace_id,
            "span_id": call.span_id,
            "parent_id": call.parent_id,
            "start_ns": str(call.start_ns),
            "end_ns": str(time.time_ns()),
        }
        kept = {
            name: value
            for name, value in {**call.fields, **fields}.items()
            if name in _ALWAYS or value not in (None, {}, [])
        }
        call.run.event(call.kind, {**kept, kinds.SPAN: place})

    def fail(self, key: str, error: BaseException) -> None:
        """Record a call that raised."""
        self.end(key, {"output": None, "error": type(error).__name__})


def parameters_in(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a model by their names in the GenAI conventions."""
    found = {
        known: settings[name]
        for name, known in PARAMETERS.items()
        if settings.get(name) is not None
    }
    stop = found.get("stop_sequences")
    if isinstance(stop, str):
        found["stop_sequences"] = [stop]
    return found
