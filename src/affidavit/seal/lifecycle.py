"""The life of a key: active, retired, compromised; and whether a signature falls within it.

That a signature holds and that its key may be believed are two questions. Origin: the signing-key
registry of Dynamic Feed, whose policy is taken over: what a receipt says of its own time is no
evidence, and for a compromised key only an independent time stamp from before it is.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Final

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import receipts as faults
from affidavit.seal.keys import PublicKey
from affidavit.seal.moments import moment_text

RECEIPT_SIGNING: Final = "receipt-signing"


class KeyStatus(StrEnum):
    """Where in its life a key is; the later, the less it may be believed."""

    ACTIVE = "active"
    RETIRED = "retired"
    COMPROMISED = "compromised"


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """A key and its life so far."""

    key: PublicKey
    active_from: datetime
    status: KeyStatus = KeyStatus.ACTIVE
    retired_at: datetime | None = None
    compromised_after: datetime | None = None
    reason: str | None = None
    use: str = RECEIPT_SIGNING


@dataclass(frozen=True, slots=True)
class Registry:
    """All keys of an issuer, the oldest first, and which of them signs now."""

    records: tuple[KeyRecord, ...] = ()
    active_key_id: str | None = None
    revision: int = 0
    updated_at: datetime | None = None

    def record(self, key_id: str) -> KeyRecord:
        """Return the record of a key by its id."""
        found = next((record for record in self.records if record.key.id == key_id), None)
        if found is None:
            raise AffidavitError(faults.KEY_STATE, problem=f"no key here is named {key_id!r}")
        return found

    def with_new(self, key: PublicKey, at: datetime) -> "Registry":
        """Return the registry with one more key, which signs from now on."""
        if any(record.key.id == key.id for record in self.records):
            raise AffidavitError(faults.KEY_STATE, problem=f"there is a key {key.id} already")
        return self._next((*self.records, KeyRecord(key, at)), key.id, at)

    def with_retired(self, key_id: str, when: datetime, at: datetime) -> "Registry":
        """Return the registry with a key that signs no more; what it signed before still counts."""
        record = self.record(key_id)
        if record.status is not KeyStatus.ACTIVE:
            raise AffidavitError(faults.KEY_STATE, problem=f"{key_id} is {record.status} already")
        _require_past(when, at)
        if when < record.active_from:
            since = moment_text(record.active_from)
            problem = f"{key_id} cannot be retired before it was made, at {since}"
            raise AffidavitError(faults.KEY_STATE, problem=problem)
        return self._with(replace(record, status=KeyStatus.RETIRED, retired_at=when), at)

    def with_compromised(
        self, key_id: str, since: datetime, reason: str, at: datetime
    ) -> "Registry":
        """Return the registry with a key that others may hold since some moment.

        The moment can be moved to an earlier one when more is known, never to a later one.
        """
        record = self.record(key_id)
        _require_past(since, at)
        if not reason.strip():
            raise AffidavitError(faults.KEY_STATE, problem="a compromise needs a reason")
        if record.compromised_after is not None and since > record.compromised_after:
            known = moment_text(record.compromised_after)
            problem = f"{key_id} is known to be compromised since {known}; later is not believed"
            raise AffidavitError(faults.KEY_STATE, problem=problem)
        changed = replace(
            record,
            status=KeyStatus.COMPROMISED,
            compromised_after=since,
            retired_at=record.retired_at or at,
            reason=reason.strip(),
        )
        return self._with(changed, at)

    def _with(self, changed: KeyRecord, at: datetime) -> "Registry":
        records = tuple(
            changed if record.key.id == changed.key.id else record for record in self.records
        )
        active = self.active_key_id
        if active == changed.key.id:
            # The newest that is left signs now; if none is, nothing can be signed.
            left = [record.key.id for record in records if record.status is KeyStatus.ACTIVE]
            active = left[-1] if left else None
        return self._next(records, active, at)

    def _next(self, records: tuple[KeyRecord, ...], active: str | None, at: datetime) -> "Registry":
        return Registry(records, active, self.revision + 1, at)


def _require_past(moment: datetime, at: datetime) -> None:
    if moment > at:
        problem = f"{moment_text(moment)} has not come yet"
        raise AffidavitError(faults.KEY_STATE, problem=problem)
