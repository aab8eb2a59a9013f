"""What a call of an OpenAI-compatible HTTP API says as an event: request and answer in, fields out.

Known are chat completions, completions, responses and embeddings. An answer in pieces (server-sent
events) is put together as the official clients do. Headers are not an argument, so no secret in one
can be recorded.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

Fields = dict[str, Any]

OPERATIONS: Final[Mapping[str, str]] = {
    "chat/completions": "chat",
    "responses": "chat",
    "completions": "text_completion",
    "embeddings": "embeddings",
}
"""The ends of the paths of calls of a model, with the operation of the GenAI conventions."""

_NO_PARAMETERS: Final = frozenset(
    {"messages", "input", "prompt", "model", "tools", "instructions", "stream_options", "metadata"}
)
_PARAMETERS: Final = {
    "stop": "stop_sequences",
    "max_completion_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "n": "choice.count",
    "encoding_format": "encoding_formats",
}
_LISTS: Final = frozenset({"stop_sequences", "encoding_formats"})
_USAGE: Final = {
    "prompt_tokens": "input_tokens",
    "completion_tokens": "output_tokens",
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
}


class ToolCall(Struct, frozen=True):
    """A call of a tool that a model asked for."""

    id: str
    name: str
    arguments: Any


class ModelCall(Struct):
    """A call of a model: the fields of its event, and what it says about tools."""

    fields: Fields
    asked: list[ToolCall] = []
    """The calls of tools that the answer asks for."""
    results: dict[str, Any] = {}
    """What tools returned, by the id of the call, as the request repeats it to the model."""


def operation_of(path: str) -> str | None:
    """Return the operation of a path; None if it calls no model."""
    trimmed = path.partition("?")[0].rstrip("/")
    for ending, operation in OPERATIONS.items():
        if trimmed.endswith(f"/{ending}"):
            return operation
    return None


def model_call(
    path: str, request: bytes, status: int, answer: bytes, *, is_stream: bool
) -> ModelCall | None:
    """Return what a call says; None if the request is no JSON object."""
    asked = _object(request)
    if asked is None:
        return None
    said = _joined(answer) if is_stream else _object(answer)
    fields: Fields = {
        "operation": operation_of(path),
        "model": asked.get("model"),
        "input": asked.get("messages", asked.get("input", asked.get("prompt"))),
        "parameters": _parameters(asked),
    }
    for name in ("instructions", "tools"):
        if name in asked:
            fields[name] = asked[name]
    call = ModelCall(fields, [], _results(asked))
    if status >= 400 or said is None:
        fields["output"] = said if said is not None else answer.decode("utf-8", "replace")
        fields["error"] = str(status) if status >= 400 else "unreadable_answer"
        return call
    fields["output"] = _output(said, str(fields["operation"]))
    fields["response"] = _response(said)
    fields["usage"] = _usage(said)
    call.asked = list(_asked_tools(said))
    return call


def _object(raw: bytes) -> Fields | None:
    try:
        found = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _parameters(asked: Fields) -> Fields:
    found = {}
    for name, value in asked.items():
        if name not in _NO_PARAMETERS and value is not None:
            known = _PARAMETERS.get(name, name)
            found[known] = [value] if known in _LISTS and not isinstance(value, list) else value
    return found


def _items(value: Any) -> list[Fields]:
    """Return the objects of a list; nothing for anything else."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _output(said: Fields, operation: str) -> Any:
    if operation == "embeddings":
        # The vectors are large, and follow from model and input.
        return {"vectors": len(_items(said.get("data")))}
    if "choices" in said:
        return [one.get("message", one.get("text")) for one in _items(said["choices"])]
    return said.get("output")


def _response(said: Fields) -> Fields:
    found = {name: said[name] for name in ("id", "model") if isinstance(said.get(name), str)}
    reasons = [
        one["finish_reason"]
        for one in _items(said.get("choices"))
        if isinstance(one.get("finish_reason"), str)
    ]
    if not reasons and isinstance(said.get("status"), str):
        reasons = [said["status"]]
    return {**found, **({"finish_reasons": reasons} if reasons else {})}


def _usage(said: Fields) -> Fields:
    usage = said.get("usage")
    if not isinstance(usage, dict):
        return {}
    found = {
        known: usage[name] for name, known in _USAGE.items() if isinstance(usage.get(name), int)
    }
    details = usage.get("prompt_tokens_details", usage.get("input_tokens_details"))
    if isinstance(details, dict) and isinstance(details.get("cached_tokens"), int):
        found["cache_read.input_tokens"] = details["cached_tokens"]
    return found


def _asked_tools(said: Fields) -> Iterator[ToolCall]:
    for choice in _items(said.get("choices")):
        message = choice.get("message")
        for one in _items(message.get("tool_calls") if isinstance(message, dict) else None):
            function = one.get("function")
            if isinstance(function, dict):
                yield _tool_call(one.get("id"), function)
    for one in _items(said.get("output")):
        if one.get("type") == "function_call":
            yield _tool_call(one.get("call_id"), one)


def _tool_call(call_id: Any, function: Fields) -> ToolCall:
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        parsed = _object(arguments.encode("utf-8", "replace"))
        arguments = arguments if parsed is None else parsed
    return ToolCall(str(call_id), str(function.get("name")), arguments)


def _results(asked: Fields) -> dict[str, Any]:
    found = {}
    for one in _items(asked.get("messages")):
        if one.get("role") == "tool":
            found[str(one.get("tool_call_id"))] = one.get("content")
    for one in _items(asked.get("input")):
        if one.get("type") == "function_call_output":
            found[str(one.get("call_id"))] = one.get("output")
    return found


# Answers in pieces.


def _joined(answer: bytes) -> Fields | None:
    """Return the answer that its pieces make; None if there is no piece."""
    joined: Fields = {}
    choices: dict[int, Fields] = {}
    for piece in _pieces(answer):
        whole = piece.get("response")
        if isinstance(whole, dict):  # Of the API of responses: the last event has everything.
            joined = whole
        else:
            joined.update({name: piece[name] for name in ("id", "model") if name in piece})
            if isinstance(piece.get("usage"), dict):
                joined["usage"] = piece["usage"]
            for one in _items(piece.get("choices")):
                _add_choice(choices.setdefault(_index(one), {}), one)
    if choices:
        joined["choices"] = [choices[number] for number in sorted(choices)]
    return joined or None


def _pieces(answer: bytes) -> Iterator[Fields]:
    for line in answer.splitlines():
        if line.startswith(b"data:"):
            found = _object(line[5:].strip())
            if found is not None:
                yield found


def _index(one: Fields) -> int:
    number = one.get("index")
    return number if isinstance(number, int) else 0


def _add_choice(choice: Fields, piece: Fields) -> None:
    if piece.get("finish_reason") is not None:
        choice["finish_reason"] = piece["finish_reason"]
    if isinstance(piece.get("text"), str):
        choice["text"] = choice.get("text", "") + piece["text"]
    delta = piece.get("delta")
    if not isinstance(delta, dict):
        return
    message = choice.setdefault("message", {"role": "assistant", "content": None})
    for name, value in delta.items():
        if name == "tool_calls":
            _add_tool_calls(message.setdefault("tool_calls", []), _items(value))
        elif isinstance(value, str) and name != "role":
            message[name] = (message.get(name) or "") + value
        elif value is not None:
            message[name] = value


def _add_tool_calls(calls: list[Fields], pieces: list[Fields]) -> None:
    for piece in pieces:
        number = min(_index(piece), len(calls))
        if number == len(calls):
            calls.append({"id": None, "type": "function", "function": {"arguments": ""}})
        call = calls[number]
        if isinstance(piece.get("id"), str):
            call["id"] = piece["id"]
        function = piece.get("function")
        if isinstance(function, dict):
            held = call["function"]
            if isinstance(function.get("name"), str):
                held["name"] = function["name"]
            held["arguments"] += str(function.get("arguments") or "")
