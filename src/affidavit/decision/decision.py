"""The status of one gate, and the three-valued decision over all of them.

Origin: docs/adr/0004 (three values, so that nothing unmeasured passes) and 0005 (the exits).
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from affidavit.base.exits import Exit


class GateStatus(StrEnum):
    """The status of a gate. OPEN covers every gate that could not be decided."""

    PASSED = "pass"
    FAILED = "fail"
    OPEN = "not_measured"
    EMPTY = "nothing_to_measure"
    """The gate is on a class of items that an input need not have, and this one has none. It is no
    pass and stops no decision; without another gate that passes, nothing is decided."""


def status_words(status: GateStatus, value: float | None) -> str:
    """Return the status of a gate in words.

    An open gate with a figure was measured: what is left over, or its interval, could turn it.
    """
    is_open = status is GateStatus.OPEN and value is not None
    return "could not tell" if is_open else status.replace("_", " ")


class Decision(StrEnum):
    """The decision over all gates."""

    SHIP = "ship"
    NO_SHIP = "no_ship"
    INCONCLUSIVE = "inconclusive"

    @property
    def exit(self) -> Exit:
        """The exit code of a command that makes this decision."""
        return _EXITS[self]


_EXITS: Final[Mapping[Decision, Exit]] = MappingProxyType(
    {
        Decision.SHIP: Exit.YES,
        Decision.NO_SHIP: Exit.NO,
        Decision.INCONCLUSIVE: Exit.UNKNOWN,
    }
)
