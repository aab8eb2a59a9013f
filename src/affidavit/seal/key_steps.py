"""Whether the key of a signature may be believed, at the time the signature was made.

Independent is only a time stamp that was validated. What the receipt says of its own time can
speak against it, never for it.
"""

from dataclasses import dataclass
from datetime import datetime

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import receipts as faults
from affidavit.base.places import excerpt
from affidavit.seal.lifecycle import RECEIPT_SIGNING, KeyRecord, KeyStatus
from affidavit.seal.moments import moment_text
from affidavit.seal.steps import KEY, Step, failed, not_checked, passed, skipped
from affidavit.seal.tokens import Stamp


@dataclass(frozen=True, slots=True)
class SigningTime:
    """What is known of when a receipt was signed: its own word, and perhaps a time stamp."""

    said_at: datetime
    stamp: Stamp | None = None


def key_step(key_id: str, record: KeyRecord | None, time: SigningTime) -> Step:
    """Return the line on the key of a signature that holds."""
    if record is None:
        return skipped(KEY, f"your keys say nothing of the life of {key_id}: name a registry")
    if record.use != RECEIPT_SIGNING:
        return failed(
            KEY, AffidavitError(faults.KEY_USAGE, key_id=key_id, found=excerpt(record.use))
        )
    if problem := _premature(record, time):
        return failed(KEY, AffidavitError(faults.KEY_VALIDITY, problem=problem))
    if record.status is KeyStatus.COMPROMISED:
        return _compromised_step(record, time.stamp)
    if record.status is KeyStatus.RETIRED:
        return _retired_step(record, time)
    return passed(KEY, f"{key_id} is in use since {moment_text(record.active_from)}")


def _premature(record: KeyRecord, time: SigningTime) -> str | None:
    known = time.said_at if time.stamp is None else min(time.said_at, time.stamp.latest_at)
    if known >= record.active_from:
        return None
    return (
        f"the receipt is of {moment_text(known)}, and {record.key.id} was made later, at"
        f" {moment_text(record.active_from)}"
    )


def _compromised_step(record: KeyRecord, stamp: Stamp | None) -> Step:
    boundary = record.compromised_after or record.active_from
    known = f"others may sign with {record.key.id} since {moment_text(boundary)}"
    if stamp is None:
        problem = f"{known}, and no independent time stamp shows that this was signed before"
    elif stamp.latest_at < boundary and stamp.latest_at <= (record.retired_at or boundary):
        return _signed_before(known, stamp)
    else:
        problem = f"{known}, and this was stamped at {moment_text(stamp.made_at)}"
    return failed(KEY, AffidavitError(faults.KEY_VALIDITY, problem=problem))


def _retired_step(record: KeyRecord, time: SigningTime) -> Step:
    boundary = record.retired_at or record.active_from
    known = f"{record.key.id} was retired at {moment_text(boundary)}"
    if time.stamp is not None:
        if time.stamp.latest_at <= boundary:
            return _signed_before(known, time.stamp)
        problem = f"{known}, and this was stamped at {moment_text(time.stamp.made_at)}"
    elif time.said_at > boundary:
        problem = f"{known}, and this is of {moment_text(time.said_at)} by its own word"
    else:
        problem = f"{known}; that this was signed before is its own word, and not known"
        return not_checked(KEY, AffidavitError(faults.KEY_VALIDITY, problem=problem))
    return failed(KEY, AffidavitError(faults.KEY_VALIDITY, problem=problem))


def _signed_before(known: str, stamp: Stamp) -> Step:
    stamped = moment_text(stamp.made_at)
    return passed(KEY, f"{known}; this was signed before, as the stamp of {stamped} shows")
