"""Numbers as people write them, and whether a value meets a threshold."""

import re
from typing import Final

# A number as a person or a spreadsheet writes it.
#
# Python reads more than that: `1_000`, digits of other scripts, `nan` and `infinity`. In a file of
# measurements or a gate those are slips, and what is read there must not depend on a language.

# Digits can be taken in one way only: with two, a long row of them would be tried in all.
_NUMBER: Final = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")


def parse_number(text: str) -> float | None:
    """Return the number that a text is, or None; one beyond all bounds is infinite."""
    return float(text) if _NUMBER.fullmatch(text) else None


# What it is to reach a threshold, and how one is written.


def meets_threshold(value: float, operator: str, threshold: float) -> bool:
    """Tell whether `value` is `>=`, `>`, `<=` or `<` a threshold; both are unrounded."""
    if value == threshold:
        return operator.endswith("=")
    return (value > threshold) is operator.startswith(">")


def threshold_text(number: float) -> str:
    """Return a number as short as it can be read back."""
    return str(int(number)) if number == int(number) else repr(number)
