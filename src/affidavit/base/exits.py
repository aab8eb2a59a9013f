"""The five ways a command can end."""

from enum import IntEnum


class Exit(IntEnum):
    """An exit code. Nothing measured is never YES; a crash is a defect, so there is no sixth."""

    YES = 0
    NO = 1
    INPUT = 2
    UNKNOWN = 3
    TAMPERED = 4


MEANINGS = {
    Exit.YES: "yes: ship, supported, valid, clean",
    Exit.NO: "no: no-ship, contradicted, findings",
    Exit.INPUT: "the input or the command line is wrong; the message says what and what to do next",
    Exit.UNKNOWN: "could not tell: evidence missing, nothing to measure, too few trials",
    Exit.TAMPERED: "tampered: a digest, signature or replay does not hold",
}
