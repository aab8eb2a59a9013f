"""Linked receipts: several receipts for one request with more checks than one receipt holds.

Each states the digest of the checks of all of them and, except for the first, the digest of the one
before, under its signature. So together they show that none is missing, none was exchanged, and
which comes first; one alone shows that there are others. The RL rules of docs/receipts.md.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from affidavit.base.canonical import sorted_compact_decoded
from affidavit.base.digest import sha256_hex
from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit
from affidavit.base.faults import receipts as faults
from affidavit.base.json_values import JsonValue

LINKED: Final = "linked"
LINKED_RECEIPTS: Final = "receipts"
"""The one member of a document that holds the linked receipts of a request."""


class ReceiptLink(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which of `count` linked receipts one is. `set_sha256` is the same for all of them."""

    number: int
    count: int
    set_sha256: str
    content_sha256: str
    previous_sha256: str | None


class LinkedReceipt(msgspec.Struct, frozen=True):
    """A valid receipt and its link."""

    receipt_id: str
    link: ReceiptLink


class LinkedSet(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The linked receipts of one request, by number; a missing one is None."""

    set_sha256: str
    receipts: tuple[str | None, ...]
    exit: Exit
    code: str | None
    detail: str


def find_link(receipt: Mapping[str, JsonValue], key_id: str, content: bytes) -> ReceiptLink | None:
    """Return the link of a receipt, or None if it has none. Its shape was checked by the replay."""
    link = receipt.get(LINKED)
    if not isinstance(link, dict):
        return None
    number, digests = link.get("number"), link.get("checks_sha256")
    previous = link.get("previous_sha256")
    if not isinstance(number, int) or not isinstance(digests, list):
        return None
    # Another request may have the same checks, and another issuer may copy a link.
    common: list[JsonValue] = [digests, receipt["issuer"], receipt["generated_at"], key_id]
    return ReceiptLink(
        number=number,
        count=len(digests),
        set_sha256=sha256_hex(sorted_compact_decoded(common)),
        content_sha256=sha256_hex(content),
        previous_sha256=previous if isinstance(previous, str) else None,
    )


def linked_sets(receipts: Iterable[LinkedReceipt]) -> tuple[LinkedSet, ...]:
    """Return the sets that the receipts belong to, and whether each set is whole."""
    sets: dict[str, dict[int, dict[str, LinkedReceipt]]] = defaultdict(lambda: defaultdict(dict))
    for each in receipts:
        sets[each.link.set_sha256][each.link.number][each.link.content_sha256] = each
    return tuple(_set(name, by_number) for name, by_number in sets.items())


def _set(name: str, by_number: Mapping[int, Mapping[str, LinkedReceipt]]) -> LinkedSet:
    first_of = {number: next(iter(found.values())) for number, found in by_number.items()}
    count = next(iter(first_of.values())).link.count
    numbers = range(1, count + 1)
    missing = [number for number in numbers if number not in first_of]
    problem = _broken_link(by_number)
    error = None
    if problem is not None:
        error = AffidavitError(faults.LINKS_BROKEN, problem=problem)
    elif missing:
        names = ", ".join(f"number {number}" for number in missing)
        error = AffidavitError(faults.LINKS_INCOMPLETE, count=count, missing=names)
    return LinkedSet(
        set_sha256=name,
        receipts=tuple(
            first_of[number].receipt_id if number in first_of else None for number in numbers
        ),
        exit=Exit.YES if error is None else error.fault.exit,
        code=None if error is None else error.fault.code,
        detail=f"all {count} are here, none was exchanged" if error is None else error.message,
    )


def _broken_link(by_number: Mapping[int, Mapping[str, LinkedReceipt]]) -> str | None:
    """Return what proves that the receipts were not issued together, or None."""
    for number, found in sorted(by_number.items()):
        if len(found) > 1:
            names = " and ".join(sorted(each.receipt_id for each in found.values()))
            return f"{names} are both number {number}"
        before = by_number.get(number - 1)
        link = next(iter(found.values())).link
        if before and link.previous_sha256 not in before:
            return f"number {number} was issued after another number {number - 1}"
    return None
