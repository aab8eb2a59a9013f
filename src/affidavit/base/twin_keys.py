"""Keys that look the same: equal in NFC, and so one key to a reader that normalises."""

from collections.abc import Iterable

from affidavit.base.errors import AffidavitError
from affidavit.base.faults.input import UNICODE_COLLISION
from affidavit.base.places import excerpt
from affidavit.base.unicode_forms import decomposed


def refuse_twin_keys(keys: Iterable[str]) -> None:
    """Raise if two of the keys of one object look the same."""
    first_of: dict[str, str] = {}
    for key in keys:
        first = first_of.setdefault(decomposed(key), key)
        if first != key:
            raise AffidavitError(UNICODE_COLLISION, first=excerpt(first), second=excerpt(key))
