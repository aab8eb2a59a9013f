"""The body of a request, as the chat completions of OpenAI have it."""

from typing import Final

from affidavit.judge.chat.prompt import SCHEMA
from affidavit.judge.chat.settings import ChatV1, Format

_FORMS: Final[dict[Format, dict[str, object] | None]] = {
    "json_schema": {
        "type": "json_schema",
        "json_schema": {"name": "reading", "strict": True, "schema": SCHEMA},
    },
    "json_object_schema": {"type": "json_object", "schema": SCHEMA},
    "json_object": {"type": "json_object"},
    "text": None,
}


def body_of(settings: ChatV1, messages: list[dict[str, str]], form: Format) -> dict[str, object]:
    """Return the request for some messages, with the answer in a form."""
    body: dict[str, object] = {
        "model": settings.model,
        "messages": messages,
        "temperature": settings.temperature,
        "seed": settings.seed,
        settings.max_tokens_field: settings.max_output_tokens,
        "stream": False,
    }
    for name in settings.omit:
        body.pop(name, None)
    if _FORMS[form] is not None:
        body["response_format"] = _FORMS[form]
    return body
