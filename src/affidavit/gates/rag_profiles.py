"""How one item came out: everything that any figure, listing or comparison needs of it.

Profiles are few, so a million items are counted by a few sums. Each has a code, a small number,
which is what is kept of an item while rows are read.
"""

from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple


class Seen(StrEnum):
    """What became of a question."""

    # Millions of profiles are looked up; an enumeration's own hash is not written in C.
    __hash__ = str.__hash__

    SHIPPED = "shipped"
    REFUSED = "refused"
    SILENT = "no_answer"
    """There is a trace, and no answer in it."""
    MISSING = "missing"
    """There is no trace."""


class Profile(NamedTuple):
    """How one item came out; None was not measured, or does not apply."""

    seen: Seen
    answerable: bool
    contains: bool | None = None
    """C: a gold substring stands in the claim."""
    cites: bool | None = None
    """H: a gold citation is cited, and nothing that was not retrieved."""
    keeps: bool | None = None
    """K: the constraints are echoed, and the claim contradicts none; None without constraints."""
    constrained: bool = False
    recalls: bool | None = None
    """Every gold citation is among the first k retrieved."""
    reachable: bool | None = None
    """At least one is."""
    near_miss: bool = False
    """A shipped answer that holds the refusal token, but is not exactly it."""


# A code is the sum of what holds. The three checks take two bits each: 0 is not measured, 1 fails,
# 2 holds.
SHIPPED, REFUSED, SILENT, MISSING = range(4)
ANSWERABLE: Final = 1 << 2
CONSTRAINED: Final = 1 << 3
C_FAILS, C_HOLDS = 1 << 4, 2 << 4
H_FAILS, H_HOLDS = 1 << 6, 2 << 6
K_FAILS, K_HOLDS = 1 << 8, 2 << 8
FOUND_NONE, FOUND_SOME, FOUND_ALL = 1 << 10, 2 << 10, 3 << 10
NEAR_MISS: Final = 1 << 12
CODE_BITS: Final = 13

_SEEN: Final = tuple(Seen)
_HELD: Final = (None, False, True)
_RETRIEVED: Final = ((None, None), (False, False), (False, True), (True, True))


@lru_cache(maxsize=1 << CODE_BITS)
def profile_of(code: int) -> Profile:
    """Return the profile that a code stands for; equal profiles are one object."""
    recalls, reachable = _RETRIEVED[code >> 10 & 3]
    return Profile(
        _SEEN[code & 3],
        bool(code & ANSWERABLE),
        _HELD[code >> 4 & 3],
        _HELD[code >> 6 & 3],
        _HELD[code >> 8 & 3],
        bool(code & CONSTRAINED),
        recalls,
        reachable,
        bool(code & NEAR_MISS),
    )
