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
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import msgspec

from affidavit.base.canonical import decode_sorted_compact, sorted_compact, sorted_compact_decoded
from affidavit.base.digest import content_id, sha256_hex
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import receipts as faults
from affidavit.base.json_values import JsonValue
from affidavit.base.text import excerpt
from affidavit.base.timestamps import find_timestamp
from affidavit.seal.crypto import sign
from affidavit.seal.encodings import find_base64, find_base64url, to_base64, to_base64url
from affidavit.seal.keys import SigningKey

SELF_ANCHOR: Final = "self_anchor"
RFC3161_ANCHOR: Final = "rfc3161"

_HEX_DIGEST: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)
_UNPROTECTED: Final = frozenset({"how", "note"})
_ANCHOR_MEMBERS: Final = {
    SELF_ANCHOR: frozenset({"status", "digest_sha256"}),
    RFC3161_ANCHOR: frozenset({"status", "digest_sha256", "token"}),
}


@dataclass(frozen=True, slots=True)
class ReceiptAnchor:
    """The digest that an anchor covers, and the token over it, if there is one."""

    digest: str
    token: bytes | None


def anchor_member(digest: str, token: bytes | None = None) -> dict[str, JsonValue]:
    """Return the member `anchor`: a time stamp if there is a token, otherwise a self anchor."""
    if token is None:
        return {"status": SELF_ANCHOR, "digest_sha256": digest}
    return {"status": RFC3161_ANCHOR, "digest_sha256": digest, "token": to_base64(token)}


def anchor_from(value: JsonValue) -> ReceiptAnchor:
    """Read the anchor of a receipt."""
    status = value.get("status") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(status, str) or status not in _ANCHOR_MEMBERS:
        raise _malformed_anchor(f"its status is not {SELF_ANCHOR} or {RFC3161_ANCHOR}")
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
    """A signature block; `raw` is None if its text is not base64url."""

    key_id: str
    raw: bytes | None


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


def receipt_from_bytes(raw: bytes) -> Receipt:
    """Read a receipt from strict JSON."""
    return _receipt(*decode_sorted_compact(raw))


def receipt_from(value: JsonValue) -> Receipt:
    """Read a receipt from a decoded value."""
    return _receipt(value, sorted_compact(value))


def _receipt(value: JsonValue, whole: bytes) -> Receipt:
    if not isinstance(value, dict):
        raise AffidavitError(faults.RECEIPT_FORMAT, problem="it is not a JSON object")
    schema = value.get("schema")
    if schema != SCHEMA:
        raise AffidavitError(faults.RECEIPT_VERSION, found=excerpt(str(schema)), known=SCHEMA)
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
    if not isinstance(block, dict) or block.keys() != _SIGNATURE_MEMBERS:
        raise _malformed("signature", "it is not {alg, key_id, canonicalization, sig}")
    key_id, text = block["key_id"], block["sig"]
    if block["alg"] != ALGORITHM or block["canonicalization"] != CANONICALIZATION:
        raise _malformed("signature", f"only {ALGORITHM} over {CANONICALIZATION} is verified")
    if not isinstance(key_id, str) or not isinstance(text, str):
        raise _malformed("signature", "key_id and sig are texts")
    return Signature(key_id, find_base64url(text))


def _malformed(field: str, problem: str) -> AffidavitError:
    return AffidavitError(faults.RECEIPT_FORMAT, Where(field=field), problem=problem)
