"""Verifying a receipt: steps 1 to 3 of answer-eval, section 5, over its decoded value.

White space, the order of members and escapes of the file are no part of that value; the strict
decoder has refused whatever could be read in two ways. Every step is done, whatever the others say.
"""

from dataclasses import dataclass
from datetime import datetime

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import receipts as faults
from affidavit.base.places import excerpt
from affidavit.seal.ed25519 import is_valid
from affidavit.seal.key_documents import TrustedKeys
from affidavit.seal.key_steps import SigningTime, key_step
from affidavit.seal.moments import CLOCK_DIFFERENCE, moment_text
from affidavit.seal.receipt import Receipt, Signature
from affidavit.seal.steps import (
    ANCHOR,
    KEY,
    RECEIPT_ID,
    SIGNATURE,
    Status,
    Step,
    Verification,
    failed,
    not_checked,
    passed,
    skipped,
)
from affidavit.seal.tokens import Stamp, StampTrust, check_token, require_imprint


@dataclass(frozen=True, slots=True)
class Trust:
    """What a verifier brings along; nothing of it is taken from the receipt."""

    keys: TrustedKeys
    stamps: StampTrust | None = None
    stamp_required: bool = False


def verify_receipt(receipt: Receipt, trust: Trust, at: datetime) -> Verification:
    """Return steps 1 to 3 for a receipt.

    `at` is now. Steps 4 and 5 are added with `and_steps`; without them it is no yes.
    """
    anchor, stamp = _anchor_step(receipt, trust, at)
    signature = signature_step(receipt.signature, receipt.forms.signed, trust.keys)
    if signature.status is Status.PASSED:
        key_id = receipt.signature.key_id
        record = trust.keys.records.get(key_id)
        key = key_step(key_id, record, SigningTime(receipt.generated_at, stamp))
    else:
        key = skipped(KEY, "no signature holds, so there is no key to judge")
    return Verification(
        receipt.id, receipt.signature.key_id, (anchor, _id_step(receipt), signature, key)
    )


def _anchor_step(receipt: Receipt, trust: Trust, at: datetime) -> tuple[Step, Stamp | None]:
    """Step 1: the anchor is of this receipt, its token holds, and the receipt is not younger."""
    try:
        _require_not_after(receipt, at + CLOCK_DIFFERENCE, at, "the time now")
        stamp, step = _stamp(receipt, trust, at)
        if stamp is not None:
            latest = stamp.latest_at + CLOCK_DIFFERENCE
            _require_not_after(receipt, latest, stamp.made_at, "the time of its time stamp")
    except AffidavitError as error:
        return failed(ANCHOR, error), None
    return step, stamp


def _stamp(receipt: Receipt, trust: Trust, at: datetime) -> tuple[Stamp | None, Step]:
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
        made = f"{stamp.signer} stamped it at {moment_text(stamp.made_at)}"
        return stamp, passed(ANCHOR, made)
    require_imprint(anchor.token, found)
    if trust.stamp_required:
        error = AffidavitError(faults.TST_UNTRUSTED, problem="you name no root")
        return None, not_checked(ANCHOR, error)
    return None, skipped(ANCHOR, "its time stamp is of this receipt; by whom was not checked")


def _unstamped_step(trust: Trust, *, is_anchored: bool) -> Step:
    if trust.stamp_required:
        return not_checked(ANCHOR, AffidavitError(faults.TST_MISSING))
    if is_anchored:
        return passed(ANCHOR, "the digest holds; nobody else has stamped it, so no time is proved")
    return skipped(ANCHOR, "there is no anchor, so no time is proved")


def _require_not_after(receipt: Receipt, latest: datetime, limit: datetime, what: str) -> None:
    if receipt.generated_at > latest:
        said = moment_text(receipt.generated_at)
        raise AffidavitError(faults.RECEIPT_TIME, said=said, limit=moment_text(limit), what=what)


def _id_step(receipt: Receipt) -> Step:
    """Step 2: the id is that of the content. It names and does not bind; step 3 binds."""
    found = receipt.forms.receipt_id
    if receipt.id != found:
        said = excerpt(receipt.id)
        return failed(RECEIPT_ID, AffidavitError(faults.RECEIPT_ID, said=said, found=found))
    return passed(RECEIPT_ID, f"the content makes it {found}")


def signature_step(signature: Signature, signed: bytes, keys: TrustedKeys) -> Step:
    """Step 3: the signature holds over these bytes under a key that the verifier brought along."""
    key = keys.keys.get(signature.key_id)
    shown = excerpt(signature.key_id)
    if key is None:
        return not_checked(SIGNATURE, AffidavitError(faults.KEY_UNTRUSTED, key_id=shown))
    if signature.raw is None or not is_valid(key.raw, signature.raw, signed):
        return failed(SIGNATURE, AffidavitError(faults.RECEIPT_SIGNATURE, key_id=shown))
    return passed(SIGNATURE, f"{shown} signed this content")
