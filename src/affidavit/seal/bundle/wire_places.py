"""Where msgspec says that a value is wrong, as our errors name places."""

import re
from typing import Final

import msgspec

_PLACE: Final = re.compile(r" - at (?:`key` in )?`\$\.?(.*)`$")


def place_and_problem(error: msgspec.ValidationError) -> tuple[str | None, str]:
    """Return the field that an error speaks of, if it does, and what is wrong with it."""
    text = str(error)
    place = _PLACE.search(text)
    problem = text if place is None else text[: place.start()]
    field = None if place is None else place[1]
    return field or None, problem[:1].lower() + problem[1:]
