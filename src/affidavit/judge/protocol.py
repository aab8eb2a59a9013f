"""The seam between the ledger and whoever reads evidence."""

from collections.abc import Sequence
from typing import Protocol

from affidavit.ledger.model import Chunk, JudgeIdentity, Reading


class Judge(Protocol):
    """Reads chunks for a claim."""

    @property
    def identity(self) -> JudgeIdentity:
        """Which judge this is, down to the digest of its rules or weights."""
        ...

    def read(self, claim: str, chunks: Sequence[Chunk]) -> tuple[Reading, ...]:
        """Return one reading per chunk, in the order of the chunks."""
        ...
