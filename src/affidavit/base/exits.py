"""The five ways a command can end, and how several ends make one."""

from collections.abc import Iterable
from enum import IntEnum
from typing import Final


class Exit(IntEnum):
    """An exit code. Nothing measured is never YES; a crash is a defect, so there is no sixth."""

    YES = 0
    NO = 1
    INPUT = 2
    UNKNOWN = 3
    TAMPERED = 4


EXIT_MEANINGS = {
    Exit.YES: "yes: ship, supported, valid, clean",
    Exit.NO: "no: no-ship, contradicted, findings",
    Exit.INPUT: "the input or the command line is wrong; the message says what and what to do next",
    Exit.UNKNOWN: "could not tell: evidence missing, nothing to measure, too few trials",
    Exit.TAMPERED: "tampered: a digest, signature or replay does not hold",
}
_WORST_FIRST: Final = (Exit.TAMPERED, Exit.NO, Exit.INPUT, Exit.UNKNOWN, Exit.YES)


def worst_exit(exits: Iterable[Exit]) -> Exit:
    """Return how several things end together; where there is none, nothing is told."""
    ends = set(exits)
    return next((end for end in _WORST_FIRST if end in ends), Exit.UNKNOWN)
