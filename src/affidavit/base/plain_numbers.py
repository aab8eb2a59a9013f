"""A number as a person or a spreadsheet writes it.

Python reads more than that: `1_000`, digits of other scripts, `nan` and `infinity`. In a file of
measurements or a gate those are slips, and what is read there must not depend on a language.
"""

import re
from typing import Final

# Digits can be taken in one way only: with two, a long row of them would be tried in all.
_NUMBER: Final = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")


def number_in(text: str) -> float | None:
    """Return the number that a text is, or None; one beyond all bounds is infinite."""
    return float(text) if _NUMBER.fullmatch(text) else None
