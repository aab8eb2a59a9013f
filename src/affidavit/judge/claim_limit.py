"""How long a claim may be. The ledger's have 500 characters; a page is no claim."""

from typing import Final

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence as faults

MAX_CLAIM_CHARACTERS: Final = 10_000


def require_claim(claim: str) -> None:
    """Raise if a text is too long to be one claim."""
    if len(claim) > MAX_CLAIM_CHARACTERS:
        raise AffidavitError(faults.CLAIM_TOO_LONG, length=len(claim), limit=MAX_CLAIM_CHARACTERS)
