"""What a msgspec validation error points at, and which known name an unknown one most likely
means.
"""

import re
from collections.abc import Iterable
from typing import Final

import msgspec

# Where msgspec says that a value is wrong, as our errors name places.

_FIELD: Final = re.compile(r" - at (?:`key` in )?`\$\.?(.*)`$")


def field_and_problem(error: msgspec.ValidationError) -> tuple[str | None, str]:
    """Return the field that an error speaks of, if it does, and what is wrong with it."""
    text = str(error)
    place = _FIELD.search(text)
    problem = text if place is None else text[: place.start()]
    field = None if place is None else place[1]
    return field or None, problem[:1].lower() + problem[1:]


# The known name that a reader most likely meant.

MAX_DISTANCE: Final = 3  # Letters; as in Assay's "did you mean".


def nearest_name(given: str, known: Iterable[str]) -> str | None:
    """Return a name that begins with what was given or differs from it by a few letters."""
    names = sorted(known)
    wanted = given.lower()
    for name in names:
        if len(wanted) > 2 and name.lower().startswith(wanted):
            return name
    ranked = [(_edit_distance(wanted, name.lower()), name) for name in names]
    distance, name = min(ranked, default=(MAX_DISTANCE + 1, ""))
    return name if distance <= min(MAX_DISTANCE, len(wanted) - 1) else None


def suggestion_for(given: str, known: Iterable[str]) -> str:
    """Return what to try instead, as the next step of an error."""
    names = sorted(known)
    nearest = nearest_name(given, names)
    listed = f"the known ones are {', '.join(names)}"
    return listed if nearest is None else f"did you mean {nearest}? {listed[0].upper()}{listed[1:]}"


def _edit_distance(first: str, second: str) -> int:
    """Return Levenshtein's distance; names that differ much in length are not compared."""
    if abs(len(first) - len(second)) > MAX_DISTANCE:
        return MAX_DISTANCE + 1
    row = list(range(len(second) + 1))
    for at, letter in enumerate(first, 1):
        above, row[0] = row[0], at
        for to, other in enumerate(second, 1):
            here = above if letter == other else 1 + min(above, row[to], row[to - 1])
            above, row[to] = row[to], here
    return row[-1]
