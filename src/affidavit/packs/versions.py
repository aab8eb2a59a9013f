"""Which packs this engine can run: the versions that it stands for.

Origin: Assay 5.4.0, pack engine 1.2, whose packs and rules run here with the same meaning.
"""

import re
from typing import Final

ASSAY_VERSION: Final = "5.4.0"
ENGINE_VERSION: Final = "1.2"
EVIDENCE_SCHEMA: Final = "1.0"

_NUMBERS: Final = re.compile(
    r"(?:>=|=)?\s*(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9}))?(?:[-+].*)?", re.ASCII
)


def numbers_of(version: str) -> tuple[int, int, int] | None:
    """Return major, minor and patch of `>=1.2.3`, `1.2.3` or `1.2`; None if there are none."""
    match = _NUMBERS.fullmatch(version.strip())
    return None if match is None else (int(match[1]), int(match[2]), int(match[3] or 0))


def is_met(wanted: str, found: str) -> bool:
    """Say whether a version is at least the wanted one; what cannot be read is not met."""
    least, have = numbers_of(wanted), numbers_of(found)
    return least is not None and have is not None and have >= least
