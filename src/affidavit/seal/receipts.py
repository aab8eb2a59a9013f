"""Receipts: canonical forms, id, signature and anchor (answer-eval, section 5).

In the form `json-sorted-compact`:

- the id is made of the receipt without `receipt_id`, `signature` and `anchor`;
- the signature covers the receipt without `signature` and `anchor`, so it covers the id;
- the anchor covers the receipt without `anchor`, so it covers the signature.

An anchor has the shape of Dynamic Feed's. A self anchor is `{status: "self_anchor",
digest_sha256}`: anybody can have the digest stamped. A time stamp is `{status: "rfc3161",
digest_sha256, token}` with a token (RFC 3161) in base64. Nothing signs an anchor, so it may hold
only what is checked, except `how` and `note`, which other issuers write and which have no effect.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from affidavit.base.canonical import decode_sorted_compact, sorted_compact, sorted_compact_decoded
from affidavit.base.digest import content_id, sha256_hex
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.exits import Exit, worst_exit
from affidavit.base.faults import receipts as faults
from affidavit.base.json_values import DOCUMENT_LIMITS, JsonLimits, JsonValue
from affidavit.base.text import excerpt
from affidavit.base.timestamps import MAX_CLOCK_SKEW, find_timestamp, timestamp_text
from affidavit.seal.crypto import (
    find_base64,
    find_base64url,
    is_valid_signature,
    sign,
    to_base64,
    to_base64url,
)
from affidavit.seal.keys import RECEIPT_SIGNING, KeyRecord, KeyStatus, SigningKey, TrustedKeys
from affidavit.seal.links import (
    LinkedReceipt,
    LinkedSet,
    ReceiptLink,
    find_link,
    linked_sets,
)
from affidavit.seal.rfc3161 import TimeStamp, TimeStampTrust, check_token, require_imprint
from affidavit.seal.verification import StepStatus, VerificationStep

SELF_ANCHOR: Final = "self_anchor"
RFC3161_ANCHOR: Final = "rfc3161"

_HEX_DIGEST: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)
_UNPROTECTED: Final = frozenset({"how", "note"})
_ANCHOR_MEMBERS: Final = {
    SELF_ANCHOR: frozenset({"status", "digest_sha256"}),
    RFC3161_ANCHOR: frozenset({"status", "digest_sha256", "token"}),
}


class ReceiptAnchor(msgspec.Struct, frozen=True):
    """The digest that an anchor covers, and the token over it, if there is one.

    `unknown` is the status of an anchor of another kind, of which nothing can be checked.
    """

    digest: str
    token: bytes | None
    unknown: str | None = None


def anchor_member(digest: str, token: bytes | None = None) -> dict[str, JsonValue]:
    """Return the member `anchor`: a time stamp if there is a token, otherwise a self anchor."""
    if token is None:
        return {"status": SELF_ANCHOR, "digest_sha256": digest}
    return {"status": RFC3161_ANCHOR, "digest_sha256": digest, "token": to_base64(token)}


def anchor_from(value: JsonValue) -> ReceiptAnchor:
    """Read the anchor of a receipt."""
    status = value.get("status") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(status, str):
        raise _malformed_anchor("it has no status")
    if status not in _ANCHOR_MEMBERS:
        return ReceiptAnchor("", None, excerpt(status))
    if value.keys() - _UNPROTECTED != _ANCHOR_MEMBERS[status]:
        raise _malformed_anchor(f"it is not {{{', '.join(sorted(_ANCHOR_MEMBERS[status]))}}}")
    digest = value["digest_sha256"]
    if not isinstance(digest, str) or _HEX_DIGEST.fullmatch(digest) is None:
        raise _malformed_anchor("digest_sha256 is not 64 hexadecimal digits in lower case")
    if status == SELF_ANCHOR:
        return ReceiptAnchor(digest, None)
    text = value["token"]
    token = find_base64(text) if isinstance(text, str) else None
    if token is None:
        raise AffidavitError(
            faults.TST_ENCODING, Where(field="anchor.token"), problem="it is not base64"
        )
    return ReceiptAnchor(digest, token)


def _malformed_anchor(problem: str) -> AffidavitError:
    return AffidavitError(faults.RECEIPT_FORMAT, Where(field="anchor"), problem=problem)


SCHEMA: Final = "answer/v1"
ALGORITHM: Final = "Ed25519"
CANONICALIZATION: Final = "json-sorted-compact"
ID_PREFIX: Final = "ans"

# From the outermost to the innermost.
_SEAL_MEMBERS: Final = ("anchor", "signature", "receipt_id")
_SIGNATURE_MEMBERS: Final = frozenset({"alg", "key_id", "canonicalization", "sig"})
# A remark of the public issuer without effect: which keys are trusted is up to the verifier.
_SIGNATURE_REMARK: Final = "ephemeral_key"
_SUITE: Final = f"{ALGORITHM} over {CANONICALIZATION}"


class CanonicalForms(msgspec.Struct, frozen=True):
    """The bytes that the id, the signature and the anchor cover."""

    content: bytes
    signed: bytes
    anchored: bytes

    @property
    def receipt_id(self) -> str:
        """The id of the content, whatever the receipt states."""
        return content_id(ID_PREFIX, self.content)

    @property
    def anchor_digest(self) -> str:
        """The digest that an anchor covers, as 64 hexadecimal digits."""
        return sha256_hex(self.anchored)


class Signature(msgspec.Struct, frozen=True):
    """A signature block; `raw` is None if its text is not base64url.

    `suite` is the algorithm and the canonical form that it names.
    """

    key_id: str
    raw: bytes | None
    suite: str = _SUITE


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """A well-formed receipt. Nothing in it is verified yet."""

    value: Mapping[str, JsonValue]
    id: str
    generated_at: datetime
    signature: Signature
    anchor: ReceiptAnchor | None
    forms: CanonicalForms


def canonical_forms(document: Mapping[str, JsonValue]) -> CanonicalForms:
    """Return the three forms of a receipt."""
    return _forms(document, sorted_compact(document))


def _forms(document: Mapping[str, JsonValue], whole: bytes) -> CanonicalForms:
    """Cut the forms out of the canonical text, which is cheaper than encoding three times."""
    anchored = _without("anchor", document, whole)
    signed = _without("signature", document, anchored)
    return CanonicalForms(_without("receipt_id", document, signed), signed, anchored)


def _without(key: str, document: Mapping[str, JsonValue], text: bytes) -> bytes:
    """Return a canonical text of the document without one more of its members.

    The document was encoded before, so encoding a part of it cannot fail.
    """
    if key not in document:
        return text
    member = sorted_compact_decoded({key: document[key]})[1:-1]
    before, _, after = text.partition(member)
    if member in after:
        # The document contains an equal text further down, so encode again without the member.
        cut = _SEAL_MEMBERS[: _SEAL_MEMBERS.index(key) + 1]
        kept = {name: value for name, value in document.items() if name not in cut}
        return sorted_compact_decoded(kept)
    return before + after[1:] if after.startswith(b",") else before.removesuffix(b",") + after


def seal_receipt(body: Mapping[str, JsonValue], key: SigningKey) -> dict[str, JsonValue]:
    """Return a copy of the body with its id and its signature."""
    taken = sorted(set(_SEAL_MEMBERS) & body.keys())
    if taken:
        problem = f"the body has a member {taken[0]} already"
        raise AffidavitError(faults.RECEIPT_FORMAT, problem=problem)
    named = {**body, "receipt_id": content_id(ID_PREFIX, sorted_compact(body))}
    # The body was encoded above, so the unchecked encoder is safe.
    signature: dict[str, JsonValue] = {
        "alg": ALGORITHM,
        "key_id": key.public.id,
        "canonicalization": CANONICALIZATION,
        "sig": to_base64url(sign(key.seed, sorted_compact_decoded(named))),
    }
    return {**named, "signature": signature}


def receipt_from_bytes(raw: bytes, limits: JsonLimits = DOCUMENT_LIMITS) -> Receipt:
    """Read a receipt from strict JSON."""
    return _receipt(*decode_sorted_compact(raw, limits))


def receipt_from(value: JsonValue) -> Receipt:
    """Read a receipt from a decoded value."""
    return _receipt(value, sorted_compact(value))


def _receipt(value: JsonValue, whole: bytes) -> Receipt:
    if not isinstance(value, dict):
        raise AffidavitError(faults.RECEIPT_FORMAT, problem="it is not a JSON object")
    schema = value.get("schema")
    if not isinstance(schema, str):
        raise _malformed("schema", "it is not a text")
    if schema != SCHEMA:
        raise AffidavitError(faults.RECEIPT_VERSION, found=excerpt(schema), known=SCHEMA)
    receipt_id = value.get("receipt_id")
    generated_at = find_timestamp(value.get("generated_at"))
    if not isinstance(receipt_id, str):
        raise _malformed("receipt_id", "it is not a text")
    if generated_at is None:
        raise _malformed("generated_at", "it is not a time like 2026-01-31T14:30:00Z")
    anchor = anchor_from(value["anchor"]) if "anchor" in value else None
    signature = signature_from(value.get("signature"))
    return Receipt(
        value=value,
        id=receipt_id,
        generated_at=generated_at,
        signature=signature,
        anchor=anchor,
        forms=_forms(value, whole),
    )


def signature_from(block: JsonValue) -> Signature:
    """Read a signature block. Nothing protects it, so it may hold only what is checked."""
    if not isinstance(block, dict) or block.keys() - {_SIGNATURE_REMARK} != _SIGNATURE_MEMBERS:
        raise _malformed("signature", "it is not {alg, key_id, canonicalization, sig}")
    key_id, text = block["key_id"], block["sig"]
    if not isinstance(key_id, str) or not isinstance(text, str):
        raise _malformed("signature", "key_id and sig are texts")
    suite = f"{block['alg']} over {block['canonicalization']}"
    return Signature(key_id, find_base64url(text), suite)


def _malformed(field: str, problem: str) -> AffidavitError:
    return AffidavitError(faults.RECEIPT_FORMAT, Where(field=field), problem=problem)


ANCHOR, RECEIPT_ID, SIGNATURE, KEY, EVIDENCE, REPLAY, ROUTING = (
    "anchor",
    "receipt_id",
    "signature",
    "key_lifecycle",
    "evidence",
    "replay",
    "routing",
)
STEP_NUMBERS: Final = {
    **{ANCHOR: 1, RECEIPT_ID: 2, SIGNATURE: 3, KEY: 3},
    **{EVIDENCE: 4, REPLAY: 5, ROUTING: 5},
}
# These may be skipped if the verifier was given nothing to check them with.
_OPTIONAL: Final = frozenset({ANCHOR, KEY, ROUTING})
_MAX_LISTED: Final = 5  # Differences that a step names.


class ReceiptStatement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the receipt states about itself. It counts only if the verification is valid."""

    verdict: Any
    confidence: Any
    issuer: Any
    generated_at: Any


class ReceiptVerification(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The verification of one receipt. If nothing was checked, it is not valid."""

    receipt_id: str
    key_id: str
    valid: bool
    exit: Exit
    steps: tuple[VerificationStep, ...]
    said: ReceiptStatement
    not_interpreted: tuple[str, ...] = ()
    """Members that the signature covers and no rule of ours reads."""
    link: ReceiptLink | msgspec.UnsetType = msgspec.UNSET
    """Which of several linked receipts it is, if it is valid and one of them."""

    @property
    def problem(self) -> VerificationStep | None:
        """The step that decided against the receipt: a failed one, or one that was not checked."""
        wrong = [(step, step.fault) for step in self.steps if step.fault is not None]
        decisive = (step for step, fault in wrong if fault.exit is self.exit)
        failed = (step for step, _ in wrong if step.status is StepStatus.FAILED)
        return next(decisive, next(failed, wrong[0][0] if wrong else None))


class LinkedVerification(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The verifications of linked receipts, and whether they belong together."""

    valid: bool
    exit: Exit
    receipts: tuple[ReceiptVerification, ...]
    sets: tuple[LinkedSet, ...]

    @property
    def receipt_id(self) -> str:
        """The ids of the receipts, with spaces between them."""
        return " ".join(each.receipt_id for each in self.receipts)


def sets_of(verifications: Iterable[ReceiptVerification]) -> tuple[LinkedSet, ...]:
    """Return the sets of linked receipts among the verifications. Only valid receipts count."""
    return linked_sets(
        LinkedReceipt(each.receipt_id, each.link)
        for each in verifications
        if isinstance(each.link, ReceiptLink)
    )


def linked_verification(receipts: tuple[ReceiptVerification, ...]) -> LinkedVerification:
    """Return the verification of receipts that should belong together."""
    sets = sets_of(receipts)
    exit = worst_exit([*(each.exit for each in receipts), *(each.exit for each in sets)])
    return LinkedVerification(exit is Exit.YES, exit, receipts, sets)


def with_token(receipt: Receipt, token: bytes) -> Receipt:
    """Return the receipt with a detached token instead of its own, for verification."""
    digest = receipt.forms.anchor_digest if receipt.anchor is None else receipt.anchor.digest
    return msgspec.structs.replace(receipt, anchor=ReceiptAnchor(digest, token))


class ReceiptTrust(msgspec.Struct, frozen=True):
    """What the verifier trusts. Nothing of it comes from the receipt."""

    keys: TrustedKeys
    stamps: TimeStampTrust | None = None
    stamp_required: bool = False


def verify_receipt(
    receipt: Receipt,
    trust: ReceiptTrust,
    at: datetime,
    replayed: Sequence[VerificationStep],
    not_interpreted: tuple[str, ...] = (),
) -> ReceiptVerification:
    """Return the verification of a receipt. `at` is now; `replayed` are steps 4 and 5."""
    anchor, stamp = _anchor_step(receipt, trust, at)
    signature = signature_step(receipt.signature, receipt.forms.signed, trust.keys)
    key_id = receipt.signature.key_id
    if signature.status is StepStatus.PASSED:
        record = trust.keys.records.get(key_id)
        key = key_step(key_id, record, SigningTime(receipt.generated_at, stamp))
    else:
        key = skipped(KEY, "no signature holds, so there is no key to judge")
    steps = (anchor, _id_step(receipt), signature, key, *replayed)
    exit = exit_of_steps(steps)
    link = find_link(receipt.value, key_id, receipt.forms.content) if exit is Exit.YES else None
    return ReceiptVerification(
        receipt_id=receipt.id,
        key_id=key_id,
        valid=exit is Exit.YES,
        exit=exit,
        steps=steps,
        said=_statement(receipt.value),
        not_interpreted=not_interpreted,
        link=link or msgspec.UNSET,
    )


def _statement(receipt: Mapping[str, JsonValue]) -> ReceiptStatement:
    return ReceiptStatement(*(receipt.get(key) for key in ReceiptStatement.__struct_fields__))


def exit_of_steps(steps: Sequence[VerificationStep]) -> Exit:
    """Return the worst failure; without one, yes only if every required step passed."""
    failures = {
        step.fault.exit if step.fault else Exit.TAMPERED
        for step in steps
        if step.status is StepStatus.FAILED
    }
    if failures:
        return worst_exit(failures)
    # Only a receipt with a question has the line for its routing.
    status = {ROUTING: StepStatus.SKIPPED, **{step.name: step.status for step in steps}}
    is_complete = all(
        status.get(name) is StepStatus.PASSED
        or (name in _OPTIONAL and status.get(name) is StepStatus.SKIPPED)
        for name in STEP_NUMBERS
    )
    return Exit.YES if is_complete else Exit.UNKNOWN


def _step(name: str, status: StepStatus, detail: str, code: str | None = None) -> VerificationStep:
    number = STEP_NUMBERS[name]
    return VerificationStep(number=number, name=name, status=status, code=code, detail=detail)


def passed(name: str, detail: str) -> VerificationStep:
    """Return a step that holds."""
    return _step(name, StepStatus.PASSED, detail)


def skipped(name: str, detail: str) -> VerificationStep:
    """Return a step with nothing to check, or nothing to check it with."""
    return _step(name, StepStatus.SKIPPED, detail)


def failed(name: str, error: AffidavitError) -> VerificationStep:
    """Return a step that does not hold."""
    return _step(name, StepStatus.FAILED, error.message, error.fault.code)


def not_checked(name: str, error: AffidavitError) -> VerificationStep:
    """Return a required step that could not be checked."""
    return _step(name, StepStatus.NOT_CHECKED, error.message, error.fault.code)


def _anchor_step(
    receipt: Receipt, trust: ReceiptTrust, at: datetime
) -> tuple[VerificationStep, TimeStamp | None]:
    """Step 1: the anchor belongs to this receipt, its token holds, and the receipt is not newer."""
    try:
        stamp, step = _stamp(receipt, trust, at)
        if stamp is not None and receipt.generated_at > stamp.latest_at + MAX_CLOCK_SKEW:
            raise _too_late(receipt, stamp.made_at, "the time of its time stamp")
    except AffidavitError as error:
        return failed(ANCHOR, error), None
    if receipt.generated_at > at + MAX_CLOCK_SKEW:
        # The clock of the verifier proves nothing about the receipt.
        return not_checked(ANCHOR, _too_late(receipt, at, "the time now")), stamp
    return step, stamp


def _too_late(receipt: Receipt, limit: datetime, what: str) -> AffidavitError:
    said, latest = timestamp_text(receipt.generated_at), timestamp_text(limit)
    return AffidavitError(faults.RECEIPT_TIME, said=said, limit=latest, what=what)


def _stamp(
    receipt: Receipt, trust: ReceiptTrust, at: datetime
) -> tuple[TimeStamp | None, VerificationStep]:
    anchor = receipt.anchor
    if anchor is None:
        return None, _unstamped_step(trust, is_anchored=False)
    if anchor.unknown is not None:
        error = AffidavitError(faults.ANCHOR_UNKNOWN, found=anchor.unknown)
        return None, not_checked(ANCHOR, error)
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
    return None, skipped(ANCHOR, _UNVALIDATED)


_UNVALIDATED: Final = (
    "it has a time stamp that was NOT VALIDATED, so no time is proved: give the authority's root"
    " with --tsa-roots"
)


def _unstamped_step(trust: ReceiptTrust, *, is_anchored: bool) -> VerificationStep:
    if trust.stamp_required:
        return not_checked(ANCHOR, AffidavitError(faults.TST_MISSING))
    if is_anchored:
        return passed(ANCHOR, "the digest holds; nobody else has stamped it, so no time is proved")
    return skipped(ANCHOR, "there is no anchor, so no time is proved")


def _id_step(receipt: Receipt) -> VerificationStep:
    """Step 2: the id is derived from the content. It names; the signature of step 3 binds."""
    found = receipt.forms.receipt_id
    if receipt.id != found:
        said = excerpt(receipt.id)
        return failed(RECEIPT_ID, AffidavitError(faults.RECEIPT_ID, said=said, found=found))
    return passed(RECEIPT_ID, f"the content has the id {found}")


def signature_step(signature: Signature, signed: bytes, keys: TrustedKeys) -> VerificationStep:
    """Step 3: the signature over these bytes holds under a key that the verifier trusts."""
    if signature.suite != _SUITE:
        found = excerpt(signature.suite)
        error = AffidavitError(faults.SIGNATURE_ALGORITHM, found=found, known=_SUITE)
        return failed(SIGNATURE, error)
    key = keys.keys.get(signature.key_id)
    shown = excerpt(signature.key_id)
    if key is None:
        return not_checked(SIGNATURE, AffidavitError(faults.KEY_UNTRUSTED, key_id=shown))
    if signature.raw is None or not is_valid_signature(key.raw, signature.raw, signed):
        return failed(SIGNATURE, AffidavitError(faults.RECEIPT_SIGNATURE, key_id=shown))
    return passed(SIGNATURE, f"{shown} signed this content")


class SigningTime(msgspec.Struct, frozen=True):
    """When a receipt was signed: its own statement, and a validated time stamp if there is one.

    Only the time stamp is independent. The statement can count against the receipt, never for it.
    """

    stated_at: datetime
    stamp: TimeStamp | None = None


def key_step(key_id: str, record: KeyRecord | None, time: SigningTime) -> VerificationStep:
    """Step 3, second line: whether the key of a valid signature may be trusted at that time."""
    if record is None:
        return skipped(KEY, f"your keys have no lifecycle of {key_id}: name a registry")
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
    known = time.stated_at if time.stamp is None else min(time.stated_at, time.stamp.latest_at)
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
    elif time.stated_at > boundary:
        problem = f"{known}, and the receipt states {timestamp_text(time.stated_at)}"
    else:
        problem = f"{known}; only the receipt itself states that it was signed before"
        return not_checked(KEY, AffidavitError(faults.KEY_VALIDITY, problem=problem))
    return failed(KEY, AffidavitError(faults.KEY_VALIDITY, problem=problem))


def _signed_before(known: str, stamp: TimeStamp) -> VerificationStep:
    stamped = timestamp_text(stamp.made_at)
    return passed(KEY, f"{known}; this was signed before, as the stamp of {stamped} shows")


def evidence_step(
    cited_count: int, absent: Sequence[str], changed: Sequence[str], unknown: Sequence[str] = ()
) -> VerificationStep:
    """Step 4: no cited evidence is absent, and none has another digest.

    `unknown` is evidence that is not kept under a digest, so there is nothing to compare.
    """
    if absent:
        return failed(EVIDENCE, AffidavitError(faults.RECEIPT_CLOSURE, what=_joined(absent)))
    if changed:
        error = AffidavitError(faults.RECEIPT_EVIDENCE_DIGEST, what=_joined(changed))
        return failed(EVIDENCE, error)
    if unknown:
        error = AffidavitError(faults.RECEIPT_UNREPLAYABLE, what=_joined(unknown))
        return not_checked(EVIDENCE, error)
    return passed(EVIDENCE, f"every citation resolves and every digest holds ({cited_count} cited)")


def replay_step(differences: Sequence[str], unreplayable: str | None = None) -> VerificationStep:
    """Step 5: the signed answer equals the recomputed one, unless nothing can be recomputed."""
    if differences:
        return failed(REPLAY, AffidavitError(faults.RECEIPT_REPLAY, what=_joined(differences)))
    if unreplayable is not None:
        error = AffidavitError(faults.RECEIPT_UNREPLAYABLE, what=unreplayable)
        return not_checked(REPLAY, error)
    return passed(REPLAY, "verdicts and confidence follow from the evidence")


def routing_step(
    differences: Sequence[str], unreplayable: AffidavitError | None = None
) -> VerificationStep:
    """Step 5, second line: the question compiles to the signed checks."""
    if differences:
        return failed(ROUTING, AffidavitError(faults.RECEIPT_ROUTING, what=_joined(differences)))
    if unreplayable is not None:
        return not_checked(ROUTING, unreplayable)
    return passed(ROUTING, "the question compiles to these checks again")


def _joined(findings: Sequence[str]) -> str:
    more = len(findings) - _MAX_LISTED
    return "; ".join(findings[:_MAX_LISTED]) + (f"; and {more} more" if more > 0 else "")
