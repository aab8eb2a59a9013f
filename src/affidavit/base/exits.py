"""The five exit codes, and the code of several results together."""

from collections.abc import Iterable
from enum import IntEnum
from typing import Final


class Exit(IntEnum):
    """An exit code. Nothing measured is never YES. A crash is a bug and has no code of its own."""

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
    """Return the exit code of several results together; without results it is UNKNOWN."""
    seen = set(exits)
    return next((code for code in _WORST_FIRST if code in seen), Exit.UNKNOWN)
