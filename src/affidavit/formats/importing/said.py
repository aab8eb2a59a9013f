"""What was asked and answered, out of values that a program recorded as it pleased.

A recorded input or output is a text, JSON in a text, an object with some usual key, or a
conversation. What is none of these is no text of a question or an answer.
"""

from collections.abc import Mapping
from typing import Final

from affidavit.base.errors import AffidavitError
from affidavit.base.strict_json import decode
from affidavit.formats.importing.messages import ANSWERING, ASKING, last_text, text_of

_ASKED: Final = ("question", "query", "user_input", "input", "prompt", "q", "text", "content")
_ANSWERED: Final = ("answer", "response", "output", "result", "completion", "text", "content")


def opened(value: object) -> object:
    """Return what a text means that is JSON; anything else as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "[", '"'):
        try:
            return decode(value.encode())
        except (AffidavitError, UnicodeEncodeError):
            return value
    return value


def asked_in(value: object) -> str | None:
    """Return the question in a recorded input."""
    return _said(opened(value), _ASKED, ASKING)


def answered_in(value: object) -> str | None:
    """Return the answer in a recorded output."""
    return _said(opened(value), _ANSWERED, ANSWERING)


def _said(value: object, keys: tuple[str, ...], roles: tuple[str, ...]) -> str | None:
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
            return _said(value[key], keys, roles)
    return None
