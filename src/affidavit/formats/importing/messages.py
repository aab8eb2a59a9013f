"""The last word of each side, out of a conversation as the tools write it.

A message is an object with a role (or type) and a content, which is a text or a list of parts; the
parts that are no text (images, calls of tools) say nothing that a gate reads.
"""

from collections.abc import Mapping
from typing import Final

ASKING: Final = ("user", "human", "HUMAN", "USER")
ANSWERING: Final = ("assistant", "ai", "model", "AI", "ASSISTANT")


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
