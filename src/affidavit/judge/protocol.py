"""The protocol of a judge that reads chunks for a claim, and the length limit of a claim."""

from collections.abc import Sequence
from typing import Final, Protocol

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence as faults
from affidavit.ledger.model import Chunk, JudgeIdentity, Reading


class Judge(Protocol):
    """Reads chunks for a claim."""

    @property
    def identity(self) -> JudgeIdentity:
        """Which judge this is, down to the digest of its rules or weights."""
        ...

    @property
    def reads_english_only(self) -> bool:
        """Whether likeness of words in another language would be taken for support."""
        ...

    def read(self, claim: str, chunks: Sequence[Chunk]) -> tuple[Reading, ...]:
        """Return one reading per chunk, in the order of the chunks."""
        ...


MAX_CLAIM_CHARACTERS: Final = 10_000
"""Claims of a ledger have at most 500 characters; a page is not a claim."""


def require_claim(claim: str) -> None:
    """Raise if a text is too long to be one claim."""
    if len(claim) > MAX_CLAIM_CHARACTERS:
        raise AffidavitError(faults.CLAIM_TOO_LONG, length=len(claim), limit=MAX_CLAIM_CHARACTERS)
