"""Where a decoding error stands, in the words of our errors."""

import re
from typing import Final

import msgspec

_LOCATION: Final = re.compile(r" - at (?:`key` in )?`\$\.?(.*)`$")


def problem_and_field(error: msgspec.ValidationError) -> tuple[str, str]:
    """Split msgspec's message into what is wrong and the field that it names, "" for the whole."""
    text = str(error)
    place = _LOCATION.search(text)
    if place is None:
        return text, ""
    return text[: place.start()], place[1]


def join_field(*parts: str) -> str:
    """Return a field within a field; what is empty adds nothing."""
    field = ""
    for part in parts:
        field += f".{part}" if field and part and not part.startswith("[") else part
    return field
