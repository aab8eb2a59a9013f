"""The known name that a reader most likely meant."""

from collections.abc import Iterable
from typing import Final

FARTHEST: Final = 3  # Letters; as in Assay's "did you mean".


def nearest_name(given: str, known: Iterable[str]) -> str | None:
    """Return a name that begins with what was given or differs from it by a few letters."""
    names = sorted(known)
    wanted = given.lower()
    for name in names:
        if len(wanted) > 2 and name.lower().startswith(wanted):
            return name
    ranked = [(_distance(wanted, name.lower()), name) for name in names]
    distance, name = min(ranked, default=(FARTHEST + 1, ""))
    return name if distance <= min(FARTHEST, len(wanted) - 1) else None


def advice_for(given: str, known: Iterable[str]) -> str:
    """Return what to try instead, as the next step of an error."""
    names = sorted(known)
    nearest = nearest_name(given, names)
    listed = f"the known ones are {', '.join(names)}"
    return listed if nearest is None else f"did you mean {nearest}? {listed[0].upper()}{listed[1:]}"


def _distance(first: str, second: str) -> int:
    """Return Levenshtein's distance; names that differ much in length are not compared."""
    if abs(len(first) - len(second)) > FARTHEST:
        return FARTHEST + 1
    row = list(range(len(second) + 1))
    for at, letter in enumerate(first, 1):
        above, row[0] = row[0], at
        for to, other in enumerate(second, 1):
            here = above if letter == other else 1 + min(above, row[to], row[to - 1])
            above, row[to] = row[to], here
    return row[-1]
