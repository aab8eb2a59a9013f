"""Verification of a receipt: steps 1 to 3 of answer-eval, section 5, key lifecycle included."""

from dataclasses import dataclass
from datetime import datetime

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import receipts as faults
from affidavit.base.text import excerpt
from affidavit.base.timestamps import MAX_CLOCK_SKEW, timestamp_text
from affidavit.seal.crypto import is_valid_signature
from affidavit.seal.key_registry import RECEIPT_SIGNING, KeyRecord, KeyStatus, TrustedKeys
from affidavit.seal.receipts import Receipt, Signature
from affidavit.seal.rfc3161 import TimeStamp, TimeStampTrust, check_token, require_imprint
from affidavit.seal.steps import (
    ANCHOR,
    KEY,
    RECEIPT_ID,
    SIGNATURE,
    ReceiptVerification,
    StepStatus,
    VerificationStep,
    failed,
    not_checked,
    passed,
    skipped,
)

# Whether the key of a signature may be believed, at the time the signature was made.
#
# Independent is only a time stamp that was validated. What the receipt says of its own time can
# speak against it, never for it.


@dataclass(frozen=True, slots=True)
class SigningTime:
    """What is known of when a receipt was signed: its own word, and perhaps a time stamp."""

    said_at: datetime
    stamp: TimeStamp | None = None


def key_step(key_id: str, record: KeyRecord | None, time: SigningTime) -> VerificationStep:
    """Return the line on the key of a signature that holds."""
    if record is None:
        return skipped(KEY, f"your keys say nothing of the life of {key_id}: name a registry")
    if record.use != RECEIPT_SIGNING:
        return failed(
            KEY, AffidavitError(faults.KEY_USAGE, key_id=key_id, found=excerpt(record.use))
        )
    if problem := _premature_problem(record, time):
        return failed(KEY, AffidavitError(faults.KEY_VALIDITY, problem=problem))
    if record.status is KeyStatus.COMPROMISED:
        return _compromised_step(record, time.stamp)
    if record.status is KeyStatus.RETIRED:
        return _retired_step(record, time)
    return passed(KEY, f"{key_id} is in use since {timestamp_text(record.active_from)}")


def _premature_problem(record: KeyRecord, time: SigningTime) -> str | None:
    known = time.said_at if time.stamp is None else min(time.said_at, time.stamp.latest_at)
    if known >= record.active_from:
        return None
    return (
        f"the receipt is of {timestamp_text(known)}, and {record.key.id} was made later, at"
        f" {timestamp_text(record.active_from)}"
    )


def _compromised_step(record: KeyRecord, stamp: TimeStamp | None) -> VerificationStep:
    boundary = record.compromised_after or record.active_from
    known = f"others may sign with {record.key.id} since {timestamp_text(boundary)}"
    if stamp is None:
        problem = f"{known}, and no independent time stamp shows that this was signed before"
    elif stamp.latest_at < boundary and stamp.latest_at <= (record.retired_at or boundary):
        return _signed_before(known, stamp)
    else:
        problem = f"{known}, and this was stamped at {timestamp_text(stamp.made_at)}"
    return failed(KEY, AffidavitError(faults.KEY_VALIDITY, problem=problem))


def _retired_step(record: KeyRecord, time: SigningTime) -> VerificationStep:
    boundary = record.retired_at or record.active_from
    known = f"{record.key.id} was retired at {timestamp_text(boundary)}"
    if time.stamp is not None:
        if time.stamp.latest_at <= boundary:
            return _signed_before(known, time.stamp)
        problem = f"{known}, and this was stamped at {timestamp_text(time.stamp.made_at)}"
    elif time.said_at > boundary:
        problem = f"{known}, and this is of {timestamp_text(time.said_at)} by its own word"
    else:
        problem = f"{known}; that this was signed before is its own word, and not known"
        return not_checked(KEY, AffidavitError(faults.KEY_VALIDITY, problem=problem))
    return failed(KEY, AffidavitError(faults.KEY_VALIDITY, problem=problem))


def _signed_before(known: str, stamp: TimeStamp) -> VerificationStep:
    stamped = timestamp_text(stamp.made_at)
    return passed(KEY, f"{known}; this was signed before, as the stamp of {stamped} shows")


# Verifying a receipt: steps 1 to 3 of answer-eval, section 5, over its decoded value.
#
# White space, the order of members and escapes of the file are no part of that value; the strict
# decoder has refused whatever could be read in two ways. Every step is done, whatever the others
# say.


@dataclass(frozen=True, slots=True)
class ReceiptTrust:
    """What a verifier brings along; nothing of it is taken from the receipt."""

    keys: TrustedKeys
    stamps: TimeStampTrust | None = None
    stamp_required: bool = False


def verify_receipt(receipt: Receipt, trust: ReceiptTrust, at: datetime) -> ReceiptVerification:
    """Return steps 1 to 3 for a receipt.

    `at` is now. Steps 4 and 5 are added with `and_steps`; without them it is no yes.
    """
    anchor, stamp = _anchor_step(receipt, trust, at)
    signature = signature_step(receipt.signature, receipt.forms.signed, trust.keys)
    if signature.status is StepStatus.PASSED:
        key_id = receipt.signature.key_id
        record = trust.keys.records.get(key_id)
        key = key_step(key_id, record, SigningTime(receipt.generated_at, stamp))
    else:
        key = skipped(KEY, "no signature holds, so there is no key to judge")
    return ReceiptVerification(
        receipt.id, receipt.signature.key_id, (anchor, _id_step(receipt), signature, key)
    )


def _anchor_step(
    receipt: Receipt, trust: ReceiptTrust, at: datetime
) -> tuple[VerificationStep, TimeStamp | None]:
    """Step 1: the anchor is of this receipt, its token holds, and the receipt is not younger."""
    try:
        _require_not_after(receipt, at + MAX_CLOCK_SKEW, at, "the time now")
        stamp, step = _stamp(receipt, trust, at)
        if stamp is not None:
            latest = stamp.latest_at + MAX_CLOCK_SKEW
            _require_not_after(receipt, latest, stamp.made_at, "the time of its time stamp")
    except AffidavitError as error:
        return failed(ANCHOR, error), None
    return step, stamp


def _stamp(
    receipt: Receipt, trust: ReceiptTrust, at: datetime
) -> tuple[TimeStamp | None, VerificationStep]:
    anchor = receipt.anchor
    if anchor is None:
        return None, _unstamped_step(trust, is_anchored=False)
    found = receipt.forms.anchor_digest
    if anchor.digest != found:
        what = "the anchor"
        raise AffidavitError(faults.DIGEST_MISMATCH, what=what, said=anchor.digest, found=found)
    if anchor.token is None:
        return None, _unstamped_step(trust, is_anchored=True)
    if trust.stamps is not None:
        stamp = check_token(anchor.token, found, trust.stamps, at)
        made = f"{stamp.signer} stamped it at {timestamp_text(stamp.made_at)}"
        return stamp, passed(ANCHOR, made)
    require_imprint(anchor.token, found)
    if trust.stamp_required:
        error = AffidavitError(faults.TST_UNTRUSTED, problem="you name no root")
        return None, not_checked(ANCHOR, error)
    return None, skipped(ANCHOR, "its time stamp is of this receipt; by whom was not checked")


def _unstamped_step(trust: ReceiptTrust, *, is_anchored: bool) -> VerificationStep:
    if trust.stamp_required:
        return not_checked(ANCHOR, AffidavitError(faults.TST_MISSING))
    if is_anchored:
        return passed(ANCHOR, "the digest holds; nobody else has stamped it, so no time is proved")
    return skipped(ANCHOR, "there is no anchor, so no time is proved")


def _require_not_after(receipt: Receipt, latest: datetime, limit: datetime, what: str) -> None:
    if receipt.generated_at > latest:
        said = timestamp_text(receipt.generated_at)
        raise AffidavitError(faults.RECEIPT_TIME, said=said, limit=timestamp_text(limit), what=what)


def _id_step(receipt: Receipt) -> VerificationStep:
    """Step 2: the id is that of the content. It names and does not bind; step 3 binds."""
    found = receipt.forms.receipt_id
    if receipt.id != found:
        said = excerpt(receipt.id)
        return failed(RECEIPT_ID, AffidavitError(faults.RECEIPT_ID, said=said, found=found))
    return passed(RECEIPT_ID, f"the content makes it {found}")


def signature_step(signature: Signature, signed: bytes, keys: TrustedKeys) -> VerificationStep:
    """Step 3: the signature holds over these bytes under a key that the verifier brought along."""
    key = keys.keys.get(signature.key_id)
    shown = excerpt(signature.key_id)
    if key is None:
        return not_checked(SIGNATURE, AffidavitError(faults.KEY_UNTRUSTED, key_id=shown))
    if signature.raw is None or not is_valid_signature(key.raw, signature.raw, signed):
        return failed(SIGNATURE, AffidavitError(faults.RECEIPT_SIGNATURE, key_id=shown))
    return passed(SIGNATURE, f"{shown} signed this content")
