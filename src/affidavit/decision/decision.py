"""Ship, no-ship or inconclusive: what gates say, each alone and all together.

Origin: docs/adr/0004 (three values, so that nothing unmeasured passes) and 0005 (the exits).
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from affidavit.base.exits import Exit


class GateStatus(StrEnum):
    """How a gate came out; an open one could not be told, which machines read as not measured."""

    PASSED = "pass"
    FAILED = "fail"
    OPEN = "not_measured"


class Decision(StrEnum):
    """What the gates say together."""

    SHIP = "ship"
    NO_SHIP = "no_ship"
    INCONCLUSIVE = "inconclusive"

    @property
    def exit(self) -> Exit:
        """How a command ends that makes this decision."""
        return _EXITS[self]


_EXITS: Final[Mapping[Decision, Exit]] = MappingProxyType(
    {
        Decision.SHIP: Exit.YES,
        Decision.NO_SHIP: Exit.NO,
        Decision.INCONCLUSIVE: Exit.UNKNOWN,
    }
)
