"""A server's answer: strict JSON in the shape of a chat completion, of which we need little."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec

from affidavit.base.errors import AffidavitError
from affidavit.base.places import excerpt
from affidavit.base.strict_json import decode
from affidavit.http.outcome import Answer
from affidavit.judge.chat.spending import Usage
from affidavit.ledger.rules import placed_problem

_LONGEST_ERROR: Final = 300


class MalformedError(Exception):
    """The answer is no chat completion."""


class MessageV1(msgspec.Struct, frozen=True):
    """What the model said; a refusal has no content."""

    content: str | None = None
    refusal: str | None = None


class ChoiceV1(msgspec.Struct, frozen=True):
    """One of the answers; we ask for one."""

    message: MessageV1
    finish_reason: str | None = None


class UsageV1(msgspec.Struct, frozen=True):
    """What the server counted."""

    prompt_tokens: int
    completion_tokens: int


class CompletionV1(msgspec.Struct, frozen=True):
    """The part of a chat completion that we read; what else stands in it is left alone."""

    choices: tuple[ChoiceV1, ...]
    usage: UsageV1 | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model wrote, and how it came to its end. `usage` is None if the server is silent."""

    content: str
    ending: str
    usage: Usage | None


def completion_from(reply: Answer, hide: Callable[[str], str]) -> Completion:
    """Return the completion of an answer with status 200, or raise MalformedError."""
    kind = reply.headers.get("content-type", "none").partition(";")[0].strip().lower()
    if kind != "application/json" and not kind.endswith("+json"):
        raise MalformedError(f"the answer has the content type {excerpt(kind)!r}, not JSON")
    try:
        wire = msgspec.convert(decode(reply.body), CompletionV1)
    except AffidavitError as error:
        raise MalformedError(f"the answer is not strict JSON: {error.message}") from None
    except msgspec.ValidationError as error:
        raise MalformedError(
            f"the answer is no chat completion: {': '.join(filter(None, placed_problem(error)))}"
        ) from None
    if not wire.choices:
        raise MalformedError("the answer is no chat completion: it has no choices")
    choice = wire.choices[0]
    content = choice.message.content
    if content is None:
        content = choice.message.refusal or ""
    usage = None
    if wire.usage is not None and min(wire.usage.prompt_tokens, wire.usage.completion_tokens) >= 0:
        usage = Usage(wire.usage.prompt_tokens, wire.usage.completion_tokens)
    return Completion(hide(content), choice.finish_reason or "unknown", usage)


def error_text(reply: Answer) -> str:
    """Return what a server says of its refusal: its own message, or the start of its text."""
    try:
        value = decode(reply.body)
    except AffidavitError:
        text = reply.body[: 4 * _LONGEST_ERROR].decode("utf-8", "replace")
        return _short(text)
    if isinstance(value, dict):
        inner = value.get("error", value.get("detail", value.get("message")))
        if isinstance(inner, dict):
            inner = inner.get("message")
        if isinstance(inner, str):
            return _short(inner)
    return _short(str(value))


def _short(text: str) -> str:
    return excerpt(" ".join(text.split()), _LONGEST_ERROR).rstrip(".")
