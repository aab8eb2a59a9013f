"""LlamaIndex: an event handler that records models, tools and retrievers in a run.

    import affidavit
    from affidavit.llama_index import AffidavitEventHandler
    from llama_index.core.instrumentation import get_dispatcher

    AffidavitEventHandler().add_to(get_dispatcher())
    with affidavit.record("run.jsonl") as run:
        index.as_query_engine().query(question)

It needs llama-index-core, which the program has. The events do not say what a tool returned; the
next call of the model does, so a tool is recorded with that. They do not say the settings of a
model either; a handler of spans sees the model itself.
"""

from collections.abc import Iterator
from threading import Lock
from typing import Any

from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.span_handlers import BaseSpanHandler

from affidavit.app.framework_calls import FrameworkCalls, parameters_in
from affidavit.app.recording import Recorder
from affidavit.packs import event_types as kinds

__all__ = ["AffidavitEventHandler"]


class _ModelSettings(BaseSpanHandler):
    """Notes the settings of the models that are being called, by the id of the span."""

    _found: dict[str, dict[str, Any]] = PrivateAttr(default_factory=dict)

    @classmethod
    def class_name(cls) -> str:
        return "AffidavitModelSettings"

    def of(self, span_id: str) -> dict[str, Any]:
        """Return the settings of the model that a span calls."""
        return self._found.get(span_id, {})

    def new_span(self, id_: str, bound_args: Any, instance: Any = None, **kwargs: Any) -> None:
        """Look at what is called; no span is kept."""
        if hasattr(instance, "metadata") and hasattr(instance, "model"):
            held = vars(instance)
            self._found[id_] = parameters_in({**held, **(held.get("additional_kwargs") or {})})

    def prepare_to_exit_span(self, id_: str, *args: Any, **kwargs: Any) -> None:
        """Forget a call that ended."""
        self._found.pop(id_, None)

    def prepare_to_drop_span(self, id_: str, *args: Any, **kwargs: Any) -> None:
        """Forget a call that raised."""
        self._found.pop(id_, None)


class AffidavitEventHandler(BaseEventHandler):
    """Records in a run; without one, in the run that is current when a call begins."""

    _calls: FrameworkCalls = PrivateAttr()
    _asked: dict[str, dict[str, Any]] = PrivateAttr(default_factory=dict)
    _lock: Any = PrivateAttr(default_factory=Lock)
    _settings: _ModelSettings = PrivateAttr(default_factory=_ModelSettings)

    def __init__(self, run: Recorder | None = None) -> None:
        super().__init__()
        self._calls = FrameworkCalls(run)

    @classmethod
    def class_name(cls) -> str:
        """Return the name that LlamaIndex shows."""
        return "AffidavitEventHandler"

    def add_to(self, dispatcher: Any) -> None:
        """Listen to a dispatcher, such as `get_dispatcher()`, which hears everything."""
        dispatcher.add_event_handler(self)
        dispatcher.add_span_handler(self._settings)

    def handle(self, event: Any, **kwargs: Any) -> None:
        """Record what an event announces. LlamaIndex ignores what a handler raises."""
        name, key = event.class_name(), str(event.span_id or event.id_)
        if name in ("LLMChatStartEvent", "LLMCompletionStartEvent"):
            self._start_model(f"llm {key}", event)
        elif name == "LLMChatEndEvent":
            self._end_chat(f"llm {key}", event.response)
        elif name == "LLMCompletionEndEvent":
            said = _said(event.response.raw)
            self._calls.end(f"llm {key}", {"output": event.response.text, **said})
        elif name == "RetrievalStartEvent":
            query = event.str_or_query_bundle
            fields = {"query": getattr(query, "query_str", query)}
            self._calls.start(f"retrieval {key}", kinds.RETRIEVAL, fields)
        elif name == "RetrievalEndEvent":
            self._calls.end(f"retrieval {key}", {"results": [_node(one) for one in event.nodes]})
        elif name == "ExceptionEvent":
            for kind in ("llm", "retrieval"):
                self._calls.fail(f"{kind} {key}", event.exception)

    def _start_model(self, key: str, event: Any) -> None:
        if hasattr(event, "messages"):
            self._add_tools(event.messages)
            asked: Any = [_message(one) for one in event.messages]
            operation = "chat"
        else:
            asked, operation = event.prompt, "text_completion"
        fields = {"operation": operation, "input": asked, **_model(event)}
        given = {**event.model_dict, **(event.additional_kwargs or {})}
        fields["parameters"] = {**self._settings.of(str(event.span_id)), **parameters_in(given)}
        self._calls.start(key, kinds.MODEL_CALL, fields)

    def _end_chat(self, key: str, response: Any) -> None:
        if response is None:
            self._calls.end(key, {"output": None})
            return
        message = _message(response.message)
        with self._lock:
            for one in message.get("tool_calls", ()):
                self._asked[one["id"]] = one["function"]
        self._calls.end(key, {"output": [message], **_said(response.raw)})

    def _add_tools(self, messages: list[Any]) -> None:
        """Record the tools whose results the model is told."""
        for one in messages:
            call_id = str(one.additional_kwargs.get("tool_call_id"))
            with self._lock:
                asked = self._asked.pop(call_id, None)
            if asked is not None:
                fields = {"tool": asked["name"], "input": asked["arguments"], "call_id": call_id}
                self._calls.start(f"tool {call_id}", kinds.TOOL_CALL, fields)
                self._calls.end(f"tool {call_id}", {"output": one.content})


def _model(event: Any) -> dict[str, Any]:
    held = event.model_dict
    name = str(held.get("class_name", "")).removesuffix("_llm").lower()
    return {
        "model": held.get("model") or held.get("model_name"),
        "provider": name or None,
        "tools": (event.additional_kwargs or {}).get("tools"),
    }


def _message(message: Any) -> dict[str, Any]:
    """Return a message as chat messages are, with the calls of tools that it asks for."""
    role = getattr(message.role, "value", message.role)
    made: dict[str, Any] = {"role": role, "content": message.content}
    calls = [
        {"id": str(call_id), "type": "function", "function": {"name": name, "arguments": given}}
        for call_id, name, given in _tool_calls(message)
    ]
    if calls:
        made["tool_calls"] = calls
    if "tool_call_id" in message.additional_kwargs:
        made["tool_call_id"] = message.additional_kwargs["tool_call_id"]
    return made


def _tool_calls(message: Any) -> Iterator[tuple[Any, str, Any]]:
    blocks = [one for one in message.blocks if getattr(one, "block_type", "") == "tool_call"]
    for one in blocks:
        yield one.tool_call_id, one.tool_name, one.tool_kwargs
    if not blocks:
        for one in message.additional_kwargs.get("tool_calls") or ():
            function = getattr(one, "function", None)
            if function is not None:
                yield one.id, function.name, function.arguments


def _said(raw: Any) -> dict[str, Any]:
    """Return what the answer of a provider of OpenAI's kind says beside the message."""
    held = raw if isinstance(raw, dict) else getattr(raw, "__dict__", {})
    usage = held.get("usage")
    counts = usage if isinstance(usage, dict) else getattr(usage, "__dict__", {})
    choices = held.get("choices") or ()
    reasons = [str(one.finish_reason) for one in choices if getattr(one, "finish_reason", None)]
    response = {"id": held.get("id"), "model": held.get("model"), "finish_reasons": reasons}
    tokens = {
        "input_tokens": counts.get("prompt_tokens"),
        "output_tokens": counts.get("completion_tokens"),
    }
    return {
        "response": {name: value for name, value in response.items() if value},
        "usage": {name: value for name, value in tokens.items() if value is not None},
    }


def _node(found: Any) -> dict[str, Any]:
    node = found.node
    return {
        "id": node.node_id,
        "content": node.get_content(),
        "score": found.score,
        "metadata": node.metadata,
    }
