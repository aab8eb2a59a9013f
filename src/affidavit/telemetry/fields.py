"""Which field of an event is which attribute: one table for both directions.

A field that is an object with open members, such as `parameters`, shares a prefix with its
attributes: `parameters.seed` is `gen_ai.request.seed`.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import msgspec
import orjson
from msgspec import Struct

from affidavit.packs import event_types as kinds
from affidavit.telemetry.conventions import MODEL_OPERATIONS, AttributeType, conventions

NESTED: Final[Mapping[str, str]] = {
    "parameters": "gen_ai.request.",
    "usage": "gen_ai.usage.",
    "response": "gen_ai.response.",
    "agent": "gen_ai.agent.",
    "server": "server.",
    "mcp": "mcp.",
    "network": "network.",
    "rpc": "rpc.",
    "jsonrpc": "jsonrpc.",
}
# Fields that are objects of attributes; the last one holds those of an imported span as they were.
OBJECTS: Final = frozenset((*NESTED, "attributes"))
_ANY: Final = {
    "operation": "gen_ai.operation.name",
    "error": "error.type",
    "conversation": "gen_ai.conversation.id",
}
_MESSAGES: Final = {"input": "gen_ai.input.messages", "output": "gen_ai.output.messages"}
FIELDS: Final[Mapping[str, Mapping[str, str]]] = {
    kinds.MODEL_CALL: {
        **_ANY,
        **_MESSAGES,
        "model": "gen_ai.request.model",
        "provider": "gen_ai.provider.name",
        "instructions": "gen_ai.system_instructions",
        "tools": "gen_ai.tool.definitions",
        "output_type": "gen_ai.output.type",
        "prompt_name": "gen_ai.prompt.name",
        "dimensions": "gen_ai.embeddings.dimension.count",
    },
    kinds.TOOL_CALL: {
        **_ANY,
        "tool": "gen_ai.tool.name",
        "input": "gen_ai.tool.call.arguments",
        "output": "gen_ai.tool.call.result",
        "call_id": "gen_ai.tool.call.id",
        "description": "gen_ai.tool.description",
        "kind": "gen_ai.tool.type",
    },
    kinds.RETRIEVAL: {
        **_ANY,
        "query": "gen_ai.retrieval.query.text",
        "results": "gen_ai.retrieval.documents",
        "index": "gen_ai.data_source.id",
        "provider": "gen_ai.provider.name",
        "model": "gen_ai.request.model",
    },
    kinds.STEP: {
        **_ANY,
        **_MESSAGES,
        "name": "gen_ai.workflow.name",
        "instructions": "gen_ai.system_instructions",
        "tools": "gen_ai.tool.definitions",
        "provider": "gen_ai.provider.name",
        "model": "gen_ai.request.model",
    },
}
NESTED_IN: Final[Mapping[str, tuple[str, ...]]] = {
    kinds.MODEL_CALL: ("parameters", "usage", "response", "agent", "server"),
    kinds.TOOL_CALL: ("mcp", "network", "rpc", "jsonrpc", "server", "agent"),
    kinds.RETRIEVAL: ("parameters", "usage", "server", "agent"),
    kinds.STEP: ("agent", "parameters", "usage", "response", "server"),
}
DEFAULT_OPERATIONS: Final[Mapping[str, str]] = {
    kinds.MODEL_CALL: "chat",
    kinds.TOOL_CALL: "execute_tool",
    kinds.RETRIEVAL: "retrieval",
    kinds.STEP: "invoke_workflow",
}
MESSAGE_FIELDS: Final = frozenset(_MESSAGES)
AGENT_OPERATIONS: Final = ("invoke_agent", "create_agent", "plan")
AGENT_NAME: Final = "gen_ai.agent.name"


def event_type_of_operation(operation: str) -> str:
    """Return the type of event that an operation is; every other one is a step."""
    if operation in MODEL_OPERATIONS:
        return kinds.MODEL_CALL
    return _BY_OPERATION.get(operation, kinds.STEP)


_BY_OPERATION: Final = {"execute_tool": kinds.TOOL_CALL, "retrieval": kinds.RETRIEVAL}


class FieldTarget(Struct, frozen=True):
    """The attribute of a field. `old` is the name of the field if it is not the current one."""

    attribute: str
    type: AttributeType
    is_content: bool
    is_renamed: bool = False
    exact: object = None
    """The type of values that need no conversion."""


@cache
def targets_of(event_type: str) -> Mapping[str, FieldTarget]:
    """Return the attribute of every field of an event type; nested fields have dotted names."""
    fields = dict(FIELDS[event_type])
    known = conventions().attributes
    for outer in NESTED_IN[event_type]:
        prefix = NESTED[outer]
        for name in known:
            if name.startswith(prefix) and name not in fields.values():
                fields[f"{outer}.{name.removeprefix(prefix)}"] = name
    found = {field: _target(name) for field, name in fields.items()}
    for outer, others in (
        ("parameters", conventions().parameters),
        ("usage", conventions().usage),
    ):
        for field, name in others.items():
            is_free = f"{outer}.{field}" not in found and name not in FIELDS[event_type].values()
            if outer in NESTED_IN[event_type] and is_free:
                found[f"{outer}.{field}"] = _target(name, is_renamed=True)
    return found


def _target(name: str, *, is_renamed: bool = False) -> FieldTarget:
    table = conventions()
    wanted = table.attributes[name].type
    return FieldTarget(name, wanted, name in table.content, is_renamed, _EXACT.get(wanted))


_EXACT: Final[Mapping[str, type]] = {"string": str, "int": int, "double": float, "boolean": bool}


@cache
def fields_by_attribute(event_type: str) -> Mapping[str, str]:
    """Return the field of every attribute."""
    return {
        target.attribute: field
        for field, target in targets_of(event_type).items()
        if not target.is_renamed
    }


def value_as_text(value: Any) -> Any:
    """Return a value as one attribute of a span: objects and lists become JSON text.

    A text that reads like JSON is quoted, so that `value_from_text` returns it as it was.
    """
    if value is None:
        return "null"
    if isinstance(value, str):
        return value if value_from_text(value) == value else _as_json(value)
    return value if isinstance(value, bool | int | float) else _as_json(value)


def _as_json(value: Any) -> str:
    return orjson.dumps(value).decode()


def value_from_text(text: str) -> Any:
    """Return the value of an attribute that may be JSON: an object, a list or a quoted text."""
    start = text[:1]
    if start in ("{", "[", '"'):
        try:
            return msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            return text
    return None if text == "null" else text


def typed_value(value: Any, wanted: AttributeType) -> tuple[Any, bool]:
    """Return a value as an attribute of a type, and whether its type had to change.

    None stands for a value that the type cannot hold.
    """
    if wanted == "any":
        return value_as_text(value), False
    if wanted == "string":
        if isinstance(value, str):
            return value, False
        return (None, True) if value is None else (_as_json(value), True)
    if wanted == "string[]":
        if isinstance(value, str):
            return [value], True
        is_list = isinstance(value, list) and all(isinstance(one, str) for one in value)
        return (value if is_list else None), False
    return _number(value, wanted), False


def _number(value: Any, wanted: AttributeType) -> Any:
    kind = type(value)
    if wanted == "boolean":
        return value if kind is bool else None
    if wanted == "int":
        return value if kind is int else None
    return float(value) if kind in (int, float) else None


def is_of_type(value: Any, wanted: AttributeType) -> bool:
    """Return whether an attribute has the type that the conventions give it."""
    if wanted == "any":
        return True
    return typed_value(value, wanted) == (value, False) and value is not None


def is_messages(value: Any) -> bool:
    """Return whether a value has the shape of the conventions' messages."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(
            isinstance(one, dict)
            and isinstance(one.get("role"), str)
            and isinstance(one.get("parts"), list)
            for one in value
        )
    )


def messages_from(value: Any, role: str) -> list[dict[str, Any]]:
    """Return what a model was given or gave as messages with parts.

    A list of chat messages, each with a role and a content, keeps its roles; any other value is
    one message.
    """
    is_chat = isinstance(value, list) and bool(value)
    if is_chat and all(isinstance(one, dict) and "role" in one for one in value):
        return [_chat_message(one) for one in value]
    if isinstance(value, dict) and isinstance(value.get("role"), str):
        return [_chat_message(value)]
    content = value if isinstance(value, str) else _as_json(value)
    return [{"role": role, "parts": [{"type": "text", "content": content}]}]


def _chat_message(message: Mapping[str, Any]) -> dict[str, Any]:
    role, content = str(message["role"]), message.get("content")
    parts: list[dict[str, Any]] = []
    if role == "tool" and "tool_call_id" in message:
        parts.append(
            {"type": "tool_call_response", "id": message["tool_call_id"], "response": content}
        )
    elif isinstance(content, str):
        parts.append({"type": "text", "content": content})
    elif isinstance(content, list):
        parts += [_part(one) for one in content]
    elif content is not None:
        parts.append({"type": "text", "content": _as_json(content)})
    calls = message.get("tool_calls")
    parts += [_tool_call(one) for one in calls] if isinstance(calls, list) else []
    return {"role": role, "parts": parts}


def _part(part: Any) -> dict[str, Any]:
    if isinstance(part, dict) and isinstance(part.get("text"), str):
        return {"type": "text", "content": part["text"]}
    return {"type": "text", "content": part if isinstance(part, str) else _as_json(part)}


def _tool_call(call: Any) -> dict[str, Any]:
    held = call if isinstance(call, dict) else {}
    function = held.get("function")
    named = function if isinstance(function, dict) else held
    arguments = named.get("arguments")
    if isinstance(arguments, str):
        arguments = value_from_text(arguments)
    return {
        "type": "tool_call",
        "id": held.get("id"),
        "name": named.get("name"),
        "arguments": arguments,
    }
