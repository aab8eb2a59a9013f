"""Finds the question and the answer in recorded conversations and values."""

from collections.abc import Mapping
from typing import Final

from affidavit.base.errors import AffidavitError
from affidavit.base.strict_json import decode

# A message is an object with a role (or type) and a content, which is a text or a list of parts.
# Parts that are not text (images, tool calls) are ignored.

USER_ROLES: Final = ("user", "human", "HUMAN", "USER")
ASSISTANT_ROLES: Final = ("assistant", "ai", "model", "AI", "ASSISTANT")


def last_text(messages: object, roles: tuple[str, ...]) -> str | None:
    """Return the text of the last message by one of the roles; None if there is none."""
    if not isinstance(messages, list | tuple):
        return None
    for message in reversed(messages):
        if isinstance(message, Mapping) and message.get("role", message.get("type")) in roles:
            text = text_of(message.get("content", message.get("parts")))
            if text:
                return text
    return None


def text_of(content: object) -> str | None:
    """Return the text of a message's content."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return text_of(content.get("text", content.get("content")))
    if isinstance(content, list | tuple):
        parts = [text for one in content if (text := text_of(one))]
        return "\n".join(parts) if parts else None
    return None


# A recorded input or output is a text, JSON in a text, an object with a usual key, or a
# conversation. Anything else contains no question or answer.

_QUESTION_KEYS: Final = (
    "question",
    "query",
    "user_input",
    "input",
    "prompt",
    "q",
    "text",
    "content",
)
_ANSWER_KEYS: Final = ("answer", "response", "output", "result", "completion", "text", "content")


def decode_if_json(value: object) -> object:
    """Return the value of a text that is JSON; return anything else unchanged."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "[", '"'):
        try:
            return decode(value.encode())
        except (AffidavitError, UnicodeEncodeError):
            return value
    return value


def find_question(value: object) -> str | None:
    """Return the question in a recorded input."""
    return _find_text(decode_if_json(value), _QUESTION_KEYS, USER_ROLES)


def find_answer(value: object) -> str | None:
    """Return the answer in a recorded output."""
    return _find_text(decode_if_json(value), _ANSWER_KEYS, ASSISTANT_ROLES)


def _find_text(value: object, keys: tuple[str, ...], roles: tuple[str, ...]) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return last_text(value, roles)
    if not isinstance(value, Mapping):
        return None
    if "messages" in value:
        return last_text(value["messages"], roles)
    if value.get("role") in roles:
        return text_of(value.get("content", value.get("parts")))
    for key in keys:
        if key in value:
            return _find_text(value[key], keys, roles)
    return None
