"""Brings the attributes of a span to the conventions, from whatever dialect they are in.

Origin: the table of conventions; openinference-semantic-conventions 0.1.42; the attributes of
langfuse 5.0.4; the attributes of OpenLLMetry (traceloop), which were those of earlier conventions.
Every attribute that is renamed or rebuilt is counted. What has no place stays as it was.
"""

from collections.abc import Mapping
from typing import Any, Final

from affidavit.telemetry.conventions import Dialect, conventions
from affidavit.telemetry.fields import messages_from, value_from_text
from affidavit.telemetry.loss import LossReason, MappingLoss

OTLP: Final = "otlp"
DIALECTS: Final = (OTLP, "openinference", "langfuse", "traceloop")
_OPERATION: Final = "gen_ai.operation.name"
_INPUT: Final = "gen_ai.input.messages"
_OUTPUT: Final = "gen_ai.output.messages"
_REQUEST_TYPES: Final = {
    "chat": "chat",
    "completion": "text_completion",
    "embedding": "embeddings",
}
# Where the input and the output of a span belong, by its operation.
_BODIES: Final[Mapping[str, tuple[str, str]]] = {
    "execute_tool": ("gen_ai.tool.call.arguments", "gen_ai.tool.call.result"),
    "retrieval": ("gen_ai.retrieval.query.text", "gen_ai.retrieval.documents"),
}
_BODY_NAMES: Final = {
    "openinference": ("input.value", "output.value"),
    "langfuse": ("langfuse.observation.input", "langfuse.observation.output"),
    "traceloop": ("traceloop.entity.input", "traceloop.entity.output"),
}


def dialect_of(attributes: Mapping[str, Any]) -> str:
    """Return the dialect of a span by its marker: Langfuse first, then OpenInference, Traceloop."""
    table = conventions().dialects
    for name in ("langfuse", "openinference", "traceloop"):
        marker = table[name].marker
        if marker in attributes:
            return name
    # OpenLLMetry marks its workflows; the spans of its models have the names of earlier versions.
    return "traceloop" if "llm.request.type" in attributes else OTLP


def normalised(attributes: Mapping[str, Any], dialect: str, loss: MappingLoss) -> dict[str, Any]:
    """Return the attributes under the names of the conventions."""
    work = _Normalisation(dict(attributes), dialect, loss)
    work.run()
    return work.left


class _Normalisation:
    """The attributes of one span: `left` is what they have become so far."""

    def __init__(self, left: dict[str, Any], dialect: str, loss: MappingLoss) -> None:
        self.left = left
        self._name = dialect
        self._dialect: Dialect = conventions().dialects[dialect]
        self._loss = loss

    def run(self) -> None:
        """Take every step; each leaves what is there already as it is."""
        self._set_operation()
        for holder, names in (
            (self._dialect.parameters, conventions().parameters),
            (self._dialect.usage, conventions().usage),
        ):
            if holder is not None:
                self._unpack(holder, names)
        # After the settings: OpenInference has the model of the answer under `llm.model_name`.
        for old, new in self._dialect.renamed.items():
            self._move(old, new)
        if self._name == "openinference":
            self._rebuild_openinference()
        elif self._name == "traceloop":
            self._rebuild_traceloop()
        self._set_bodies()
        self._set_provider()

    def _set_operation(self) -> None:
        marker = self._dialect.marker
        kind = self.left.get(marker) if marker is not None else None
        operation = self._dialect.kinds.get(kind) if isinstance(kind, str) else None
        request = self.left.get("llm.request.type")
        if operation is None and isinstance(request, str):
            marker, operation = "llm.request.type", _REQUEST_TYPES.get(request)
        if marker is None or marker not in self.left:
            return
        if operation is None:
            self._loss.add(
                f"{marker}={kind or request}", LossReason.VALUE_UNMAPPED, "affidavit.step"
            )
        elif _OPERATION not in self.left:
            self._set(marker, _OPERATION, operation)

    def _move(self, old: str, new: str) -> None:
        if old in self.left and new not in self.left:
            reason = LossReason.DEPRECATED if self._name == OTLP else LossReason.RENAMED
            self._loss.add(old, reason, new)
            self.left[new] = self._converted(new, self.left.pop(old))

    @staticmethod
    def _converted(name: str, value: Any) -> Any:
        is_number = conventions().attributes[name].type == "double"
        return float(value) if is_number and type(value) is int else value

    def _set(self, old: str, new: str, value: Any) -> None:
        """Replace an attribute by another one with a value that was made from it."""
        self.left.pop(old, None)
        self.left[new] = value
        self._loss.add(old, LossReason.RENAMED, new)

    def _unpack(self, holder: str, names: Mapping[str, str]) -> None:
        """Turn a JSON object of settings into one attribute for each that has a place."""
        text = self.left.get(holder)
        held = value_from_text(text) if isinstance(text, str) else text
        if not isinstance(held, dict):
            return
        others = {}
        for name, value in held.items():
            new = names.get(name)
            if new is None or value is None or new in self.left:
                others[name] = value
            else:
                self.left[new] = self._converted(new, value)
                self._loss.add(f"{holder}.{name}", LossReason.RENAMED, new)
        del self.left[holder]
        if others:
            self.left[holder] = others

    def _take(self, prefix: str) -> list[Any]:
        """Remove a list that was flattened into attributes, `prefix.0.name`, and return it."""
        names = [name for name in self.left if name.startswith(f"{prefix}.")]
        found: dict[int, dict[str, Any]] = {}
        taken = []
        for name in names:
            number, _, rest = name[len(prefix) + 1 :].partition(".")
            if number.isascii() and number.isdigit() and len(number) <= 6:
                found.setdefault(int(number), {})[rest] = self.left[name]
                taken.append(name)
        for name in taken:
            del self.left[name]
        return [found[number] for number in sorted(found)]

    def _rebuild(self, prefix: str, new: str, items: list[Any]) -> None:
        if items and new not in self.left:
            self.left[new] = items
            self._loss.add(f"{prefix}.*", LossReason.RENAMED, new)

    def _rebuild_openinference(self) -> None:
        for prefix, new in (("llm.input_messages", _INPUT), ("llm.output_messages", _OUTPUT)):
            listed = [_openinference_message(one) for one in self._take(prefix)]
            self._rebuild(prefix, new, messages_from(listed, "user") if listed else [])
        documents = [
            {name.removeprefix("document."): value for name, value in one.items()}
            for one in self._take("retrieval.documents")
        ]
        self._rebuild("retrieval.documents", "gen_ai.retrieval.documents", documents)
        tools = [_decoded(one.get("tool.json_schema")) for one in self._take("llm.tools")]
        self._rebuild("llm.tools", "gen_ai.tool.definitions", tools)
        reason = self.left.get("llm.finish_reason")
        if isinstance(reason, str):
            self._set("llm.finish_reason", "gen_ai.response.finish_reasons", [reason])

    def _rebuild_traceloop(self) -> None:
        for prefix, new in (("gen_ai.prompt", _INPUT), ("gen_ai.completion", _OUTPUT)):
            taken = self._take(prefix)
            reasons = [one.get("finish_reason") for one in taken]
            listed = [_traceloop_message(one) for one in taken]
            self._rebuild(prefix, new, messages_from(listed, "user") if listed else [])
            texts = [one for one in reasons if isinstance(one, str)]
            if texts and "gen_ai.response.finish_reasons" not in self.left:
                self.left["gen_ai.response.finish_reasons"] = texts
        tools = self._take("llm.request.functions")
        self._rebuild("llm.request.functions", "gen_ai.tool.definitions", tools)
        name = self.left.get("traceloop.entity.name")
        operation = self.left.get(_OPERATION)
        new_name = {"execute_tool": "gen_ai.tool.name", "invoke_agent": "gen_ai.agent.name"}.get(
            str(operation)
        )
        if isinstance(name, str) and new_name is not None and new_name not in self.left:
            self._set("traceloop.entity.name", new_name, name)

    def _set_bodies(self) -> None:
        names = _BODY_NAMES.get(self._name)
        if names is None:
            return
        targets = _BODIES.get(str(self.left.get(_OPERATION)), (_INPUT, _OUTPUT))
        for old, new, role in zip(names, targets, ("user", "assistant"), strict=True):
            if old in self.left and new not in self.left:
                value = _decoded(self.left[old])
                if new in (_INPUT, _OUTPUT):
                    value = messages_from(value, role)
                self._set(old, new, value)

    def _set_provider(self) -> None:
        provider = self.left.get("gen_ai.provider.name")
        mapped = conventions().providers.get(provider) if isinstance(provider, str) else None
        if mapped is not None:
            self.left["gen_ai.provider.name"] = mapped
            self._loss.add("gen_ai.provider.name", LossReason.TYPE_CHANGED, mapped)


def _decoded(value: Any) -> Any:
    return value_from_text(value) if isinstance(value, str) else value


def _openinference_message(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Return a chat message from `message.role`, `message.tool_calls.0.tool_call.id` and so on."""
    message: dict[str, Any] = {"role": flat.get("message.role", "user")}
    content = flat.get("message.content")
    texts = [value for name, value in flat.items() if name.endswith(".message_content.text")]
    message["content"] = content if content is not None else texts or None
    calls: dict[str, dict[str, Any]] = {}
    for name, value in flat.items():
        head, _, rest = name.partition(".tool_call.")
        if rest and head.startswith("message.tool_calls."):
            calls.setdefault(head, {})[rest.removeprefix("function.")] = value
    if calls:
        message["tool_calls"] = list(calls.values())
    if "message.tool_call_id" in flat:
        message["tool_call_id"] = flat["message.tool_call_id"]
    return message


def _traceloop_message(flat: Mapping[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": flat.get("role", "user"), "content": flat.get("content")}
    calls: dict[str, dict[str, Any]] = {}
    for name, value in flat.items():
        if name.startswith("tool_calls."):
            number, _, rest = name.removeprefix("tool_calls.").partition(".")
            calls.setdefault(number, {})[rest] = value
    if calls:
        message["tool_calls"] = list(calls.values())
    if "tool_call_id" in flat:
        message["tool_call_id"] = flat["tool_call_id"]
    return message
