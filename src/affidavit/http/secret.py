"""Which of the texts that were sent are worth hiding."""

from typing import Final

_LEAST_LETTERS: Final = 6  # "none" and "EMPTY" are what servers without keys are given.


def is_worth_hiding(secret: str) -> bool:
    """Say whether a secret is one: a text so short stands in many an innocent answer."""
    return len(secret) >= _LEAST_LETTERS
