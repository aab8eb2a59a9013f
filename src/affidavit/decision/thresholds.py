"""Numbers as people write them, and whether a value meets a threshold."""

import re
from typing import Final

# A number as people and spreadsheets write it. Python also accepts `1_000`, digits of other
# scripts, `nan` and `infinity`; in a measurement or a gate those are mistakes.

# Each digit matches in one way only, so that a long row of digits takes linear time.
_NUMBER: Final = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")


def parse_number(text: str) -> float | None:
    """Return the number of a text, or None; a number out of range is infinite."""
    return float(text) if _NUMBER.fullmatch(text) else None


# Comparing with a threshold, and printing one.


def meets_threshold(value: float, operator: str, threshold: float) -> bool:
    """Tell whether `value` is `>=`, `>`, `<=` or `<` a threshold; both are unrounded."""
    if value == threshold:
        return operator.endswith("=")
    return (value > threshold) is operator.startswith(">")


def threshold_text(number: float) -> str:
    """Return the shortest text that parses to the same number."""
    return str(int(number)) if number == int(number) else repr(number)
