"""Citations that stand in an answer's text, where a tool has no field for them.

Two spellings are read: `[2]`, the second retrieved passage, and `[id]`, a passage by its id; both
may list several (`[1, 3]`). An answer in which no mark leads to a retrieved passage says nothing
about citations: it may cite nothing, or the pipeline may not be asked to. Once one does, a number
that leads nowhere is a citation of something that was not retrieved. Not covered: footnotes, and
marks without square brackets.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

_MARK: Final = re.compile(r"\[(?:cite:)?([^\[\]\n]{1,200})\]")
_BETWEEN: Final = re.compile(r"\s*[,;]\s*")
# A year in brackets is no citation; a list of a hundred passages is none that anybody retrieves.
_NUMBER: Final = re.compile(r"[0-9]{1,2}")


def cited_in(answer: str, retrieved: Sequence[str]) -> tuple[str, ...] | None:
    """Return the ids that an answer cites, each once and in order; None if no mark leads to one."""
    if not retrieved or "[" not in answer:
        return None
    found = dict.fromkeys(name for mark in _MARK.findall(answer) for name in _ids(mark, retrieved))
    return tuple(found) if any(name in retrieved for name in found) else None


def _ids(mark: str, retrieved: Sequence[str]) -> Iterator[str]:
    whole = mark.strip()
    if whole in retrieved:
        yield whole
        return
    for part in _BETWEEN.split(whole):
        if part in retrieved:
            yield part
        elif _NUMBER.fullmatch(part):
            place = int(part)
            yield retrieved[place - 1] if 1 <= place <= len(retrieved) else f"[{part}]"
