"""The seam between the ledger and whoever reads evidence."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from affidavit.ledger.model import Chunk, Reading


@dataclass(frozen=True, slots=True)
class JudgeIdentity:
    """Which judge spoke. `rederivable` is False where nobody else can reproduce its scores."""

    name: str
    version: str
    digest: str
    rederivable: bool


class Judge(Protocol):
    """Reads chunks for a claim."""

    @property
    def identity(self) -> JudgeIdentity:
        """Which judge this is, down to the digest of its rules or weights."""
        ...

    def read(self, claim: str, chunks: Sequence[Chunk]) -> tuple[Reading, ...]:
        """Return one reading per chunk, in the order of the chunks."""
        ...
