"""On which line of a TOML file a key stands: the standard reader does not say."""

import re
from typing import Final

_TABLE: Final = re.compile(r"\s*\[\[?\s*([^\[\]#]+?)\s*\]\]?\s*(?:#.*)?")
_KEY: Final = re.compile(r"""\s*((?:"[^"]*"|'[^']*'|[A-Za-z0-9_.-]|\s*\.\s*)+?)\s*=""")


def line_of(text: str, path: tuple[str, ...]) -> int | None:
    """Return the line of a key, else that of the nearest table above it that the file names.

    Enough for an error message: what stands inside of a text of several lines may mislead it.
    """
    table: tuple[str, ...] = ()
    best: tuple[int, int | None] = (0, None)
    for number, line in enumerate(text.splitlines(), 1):
        head = _TABLE.fullmatch(line)
        if head is not None:
            table = _parts(head[1])
            found = table
        else:
            key = _KEY.match(line)
            if key is None:
                continue
            found = (*table, *_parts(key[1]))
        if path[: len(found)] == found and len(found) > best[0]:
            best = (len(found), number)
    return best[1]


def _parts(name: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in name.split("."))
