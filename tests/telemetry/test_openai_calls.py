"""Calls of an OpenAI-compatible API as events: what is asked and answered, whole and in pieces."""

import json
from typing import Any

import pytest

from affidavit.telemetry.openai_calls import ModelCall, model_call, operation_of

CHAT = "/v1/chat/completions"
QUESTION = {
    "model": "m-1",
    "messages": [{"role": "user", "content": "How many days?"}],
    "temperature": 0,
    "seed": 7,
    "max_completion_tokens": 50,
    "stop": "END",
    "user": None,
}
TOOL_CALLS = [
    {
        "id": "call_1",
        "type": "function",
        "function": {"name": "leave", "arguments": '{"of": "Ann"}'},
    }
]
ANSWER = {
    "id": "c-1",
    "model": "m-1-2026",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": None, "tool_calls": TOOL_CALLS},
            "finish_reason": "tool_calls",
        }
    ],
    "usage": {
        "prompt_tokens": 12,
        "completion_tokens": 3,
        "total_tokens": 15,
        "prompt_tokens_details": {"cached_tokens": 4},
    },
}


def call_of(asked: Any, said: Any, path: str = CHAT, **more: Any) -> ModelCall:
    answer = said if isinstance(said, bytes) else json.dumps(said).encode()
    status = more.pop("status", 200)
    made = model_call(path, json.dumps(asked).encode(), status, answer, is_stream=bool(more))
    assert made is not None
    return made


def stream(*pieces: Any) -> bytes:
    lines = [b"data: " + json.dumps(piece).encode() for piece in pieces]
    return b": a comment\n\n" + b"\n\n".join([*lines, b"data: [DONE]"]) + b"\n\n"


def test_a_chat_completion() -> None:
    call = call_of(QUESTION, ANSWER)
    assert call.fields == {
        "operation": "chat",
        "model": "m-1",
        "input": QUESTION["messages"],
        "parameters": {
            "temperature": 0,
            "seed": 7,
            "max_tokens": 50,
            "stop_sequences": ["END"],
        },
        "output": [{"role": "assistant", "content": None, "tool_calls": TOOL_CALLS}],
        "response": {"id": "c-1", "model": "m-1-2026", "finish_reasons": ["tool_calls"]},
        "usage": {"input_tokens": 12, "output_tokens": 3, "cache_read.input_tokens": 4},
    }
    (asked,) = call.asked
    assert (asked.id, asked.name, asked.arguments) == ("call_1", "leave", {"of": "Ann"})


def test_a_stream_is_what_the_same_answer_is_as_a_whole() -> None:
    function = TOOL_CALLS[0]["function"]
    assert isinstance(function, dict)
    text = function["arguments"]

    def delta(value: Any, reason: str | None = None) -> Any:
        choice = {"index": 0, "delta": value, "finish_reason": reason}
        return {"id": "c-1", "model": "m-1-2026", "choices": [choice], "usage": None}

    def tool(**function: str) -> dict[str, Any]:
        return {"tool_calls": [{"index": 0, "function": function}]}

    first = {"tool_calls": [{**TOOL_CALLS[0], "index": 0, "function": {"name": "leave"}}]}
    said = stream(
        delta({"role": "assistant", "content": None}),
        delta(first),
        delta(tool(arguments=text[:5])),
        delta(tool(arguments=text[5:])),
        delta({}, "tool_calls"),
        {"id": "c-1", "choices": [], "usage": ANSWER["usage"]},
    )
    streamed = call_of({**QUESTION, "stream": True}, said, is_stream=True)
    whole = call_of({**QUESTION, "stream": True}, ANSWER)
    assert streamed.fields == whole.fields
    assert streamed.asked == whole.asked


def test_results_of_tools_are_found_in_the_next_request() -> None:
    message = {"role": "tool", "tool_call_id": "call_1", "content": "12"}
    call = call_of({**QUESTION, "messages": [message]}, ANSWER)
    assert call.results == {"call_1": "12"}


RESPONSES = {
    "id": "r-1",
    "model": "m-1",
    "status": "completed",
    "output": [
        {"type": "function_call", "call_id": "c", "name": "leave", "arguments": "no JSON"},
        {"type": "message", "content": [{"type": "output_text", "text": "12"}]},
    ],
    "usage": {"input_tokens": 1, "output_tokens": 2},
}


@pytest.mark.parametrize("is_stream", [False, True], ids=["as a whole", "in pieces"])
def test_the_api_of_responses(is_stream: bool) -> None:
    asked = {
        "model": "m-1",
        "input": [{"type": "function_call_output", "call_id": "b", "output": "9"}],
        "instructions": "Be short.",
    }
    pieces = (
        {"type": "response.created", "response": {"id": "r-1", "output": []}},
        {"type": "response.output_text.delta", "delta": "12"},
        {"type": "response.completed", "response": RESPONSES},
    )
    said = stream(*pieces) if is_stream else RESPONSES
    more = {"is_stream": True} if is_stream else {}
    call = call_of(asked, said, "/v1/responses", **more)
    assert call.fields["output"] == RESPONSES["output"]
    assert call.fields["instructions"] == "Be short."
    assert call.fields["response"] == {
        "id": "r-1",
        "model": "m-1",
        "finish_reasons": ["completed"],
    }
    assert call.fields["usage"] == {"input_tokens": 1, "output_tokens": 2}
    assert [(one.id, one.arguments) for one in call.asked] == [("c", "no JSON")]
    assert call.results == {"b": "9"}


def test_embeddings_are_counted_and_not_kept() -> None:
    said = {"model": "e", "data": [{"embedding": [0.1]}], "usage": {"prompt_tokens": 1}}
    call = call_of({"model": "e", "input": "x"}, said, "/v1/embeddings")
    assert call.fields["output"] == {"vectors": 1}


def test_completions_in_pieces() -> None:
    said = stream({"choices": [{"text": "one "}]}, {"choices": [{"text": "two"}]})
    call = call_of({"model": "m", "prompt": "p"}, said, "/v1/completions", is_stream=True)
    assert (call.fields["input"], call.fields["output"]) == ("p", ["one two"])


FAILED: dict[str, tuple[int, Any, Any, str]] = {
    "a refusal": (429, {"error": {"message": "slow"}}, {"error": {"message": "slow"}}, "429"),
    "a page": (502, b"<html>", "<html>", "502"),
    "an answer that is no JSON": (200, b"hello", "hello", "unreadable_answer"),
}


@pytest.mark.parametrize(("status", "said", "output", "error"), FAILED.values(), ids=FAILED.keys())
def test_a_call_that_failed_is_a_call(status: int, said: Any, output: Any, error: str) -> None:
    call = call_of(QUESTION, said, status=status)
    assert (call.fields["output"], call.fields["error"]) == (output, error)


ODD: dict[str, Any] = {
    "choices that are no list": {"choices": 1, "usage": 2},
    "choices that are no objects": {"choices": [1, None]},
    "messages that are no objects": {"choices": [{"message": 3}]},
    "calls that are no calls": {"choices": [{"message": {"tool_calls": [{"function": 4}, 5]}}]},
    "usage of other types": {"choices": [], "usage": {"prompt_tokens": "many"}},
}


@pytest.mark.parametrize("said", ODD.values(), ids=ODD.keys())
def test_an_odd_answer_is_recorded_as_far_as_it_goes(said: Any) -> None:
    call = call_of(QUESTION, said)
    assert call.asked == []
    odd = {"choices": [{"delta": said, "index": "x"}, 7], "usage": 1}
    call_of(QUESTION, stream(said, odd, 5), is_stream=True)


def test_a_request_that_is_no_object_is_no_call() -> None:
    assert model_call(CHAT, b"[1]", 200, b"{}", is_stream=False) is None
    assert model_call(CHAT, b"", 200, b"{}", is_stream=False) is None


PATHS = {
    "chat": ("/v1/chat/completions", "chat"),
    "of another base": ("/openai/deployments/x/chat/completions?api-version=1", "chat"),
    "completions": ("/v1/completions/", "text_completion"),
    "models": ("/v1/models", None),
}


@pytest.mark.parametrize(("path", "operation"), PATHS.values(), ids=PATHS.keys())
def test_which_paths_call_a_model(path: str, operation: str | None) -> None:
    assert operation_of(path) == operation
