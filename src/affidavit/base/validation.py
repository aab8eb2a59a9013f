"""What a msgspec validation error is about, and which known name an unknown one resembles."""

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from affidavit.base.text import excerpt

_LOCATION: Final = re.compile(r" - at (?:`key` in )?`\$\.?(.*)`$", re.DOTALL)
_MISSING: Final = re.compile(r"Object missing required field `(.+)`", re.DOTALL)
_LONGEST_PROBLEM: Final = 200
MAX_DISTANCE: Final = 3  # Letters; as in Assay's "did you mean".


def problem_and_field(error: msgspec.ValidationError) -> tuple[str, str | None]:
    """Return what is wrong, and the field if the error names one; a missing field is named too."""
    problem, field = str(error), ""
    if location := _LOCATION.search(problem):
        problem, field = problem[: location.start()], location[1]
    if missing := _MISSING.fullmatch(problem):
        problem, field = "the field is missing", join_field(field, missing[1])
    return excerpt(problem[:1].lower() + problem[1:].rstrip("."), _LONGEST_PROBLEM), field or None


def join_field(*parts: str) -> str:
    """Return the path of a field within a field; empty parts are left out."""
    path = ""
    for part in parts:
        path += f".{part}" if path and part and not part.startswith("[") else part
    return path


def nearest_name(given: str, known: Iterable[str]) -> str | None:
    """Return a known name that starts with `given` or differs from it by few letters."""
    names = sorted(known)
    wanted = given.lower()
    for name in names:
        if len(wanted) > 2 and name.lower().startswith(wanted):
            return name
    ranked = [(_edit_distance(wanted, name.lower()), name) for name in names]
    distance, name = min(ranked, default=(MAX_DISTANCE + 1, ""))
    return name if distance <= min(MAX_DISTANCE, len(wanted) - 1) else None


def suggestion_for(given: str, known: Iterable[str]) -> str:
    """Return the nearest name and the list of known ones, as the next step of an error."""
    names = sorted(known)
    nearest = nearest_name(given, names)
    listed = f"the known ones are {', '.join(names)}"
    return listed if nearest is None else f"did you mean {nearest}? {listed[0].upper()}{listed[1:]}"


def _edit_distance(first: str, second: str) -> int:
    """Return the Levenshtein distance, or one above the limit if the lengths differ too much."""
    if abs(len(first) - len(second)) > MAX_DISTANCE:
        return MAX_DISTANCE + 1
    row = list(range(len(second) + 1))
    for at, letter in enumerate(first, 1):
        above, row[0] = row[0], at
        for to, other in enumerate(second, 1):
            here = above if letter == other else 1 + min(above, row[to], row[to - 1])
            above, row[to] = row[to], here
    return row[-1]
