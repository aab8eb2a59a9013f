"""Receipts: the three canonical forms of one, its id, and its signature.

Origin: answer-eval, section 5. In the form `json-sorted-compact`:

- the id is made of the receipt without `receipt_id`, `signature` and `anchor`;
- the signature covers the receipt without `signature` and `anchor`, so the id is inside;
- the anchor covers the receipt without `anchor`, so the signature is inside.

A receipt is a JSON object whose other members are none of this package's business.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from affidavit.base.canonical import sorted_compact, sorted_compact_decoded
from affidavit.base.digest import content_id, sha256_hex
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import receipts as faults
from affidavit.base.json_limits import JsonValue
from affidavit.base.places import excerpt
from affidavit.base.strict_json import decode
from affidavit.seal.anchor import Anchor, anchor_from
from affidavit.seal.base64_text import find_base64url, to_base64url
from affidavit.seal.ed25519 import sign
from affidavit.seal.keys import SigningKey
from affidavit.seal.moments import find_moment

SCHEMA: Final = "answer/v1"
ALGORITHM: Final = "Ed25519"
CANONICALIZATION: Final = "json-sorted-compact"
ID_PREFIX: Final = "ans"

_SIGNATURE_MEMBERS: Final = frozenset({"alg", "key_id", "canonicalization", "sig"})


@dataclass(frozen=True, slots=True)
class CanonicalForms:
    """What the id, the signature and the anchor are made of. Every member is written once only."""

    content: bytes
    signed: bytes
    anchored: bytes

    @property
    def receipt_id(self) -> str:
        """The id that the content has, whatever the receipt says."""
        return content_id(ID_PREFIX, self.content)

    @property
    def anchor_digest(self) -> str:
        """What an anchor is about, as 64 hexadecimal digits."""
        return sha256_hex(self.anchored)


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature block; `raw` is None where its text is not base64url."""

    key_id: str
    raw: bytes | None


@dataclass(frozen=True, slots=True)
class Receipt:
    """A receipt that has the form of one. Nothing in it is proved yet."""

    value: Mapping[str, JsonValue]
    id: str
    generated_at: datetime
    signature: Signature
    anchor: Anchor | None
    forms: CanonicalForms


def canonical_forms(
    document: Mapping[str, JsonValue], write: Callable[[JsonValue], bytes] = sorted_compact
) -> CanonicalForms:
    """Return the three forms of a receipt, or of any document that is signed in the same way.

    Members are sorted by code point, so the forms differ only in whether two pieces stand at their
    places. Cutting there costs a third of writing the document three times.
    """
    before: dict[str, JsonValue] = {}
    between: dict[str, JsonValue] = {}
    after: dict[str, JsonValue] = {}
    marked: dict[str, bytes] = {"receipt_id": b"", "signature": b""}
    for key, member in document.items():
        if key in marked:
            marked[key] = write({key: member})[1:-1]
        elif key < "receipt_id":
            before[key] = member
        elif key < "signature":
            between[key] = member
        else:
            after[key] = member
    before.pop("anchor", None)
    first, middle, last = (write(part)[1:-1] for part in (before, between, after))
    named, signature = marked["receipt_id"], marked["signature"]
    return CanonicalForms(
        _object(first, middle, last),
        _object(first, named, middle, last),
        _object(first, named, middle, signature, last),
    )


def _object(*pieces: bytes) -> bytes:
    return b"{%b}" % b",".join(filter(None, pieces))


def seal_receipt(body: Mapping[str, JsonValue], key: SigningKey) -> dict[str, JsonValue]:
    """Return a body with its id and its signature, as a new object."""
    taken = sorted({"receipt_id", "signature", "anchor"} & body.keys())
    if taken:
        problem = f"the body has a member {taken[0]} already"
        raise AffidavitError(faults.RECEIPT_FORMAT, problem=problem)
    named = {**body, "receipt_id": canonical_forms(body).receipt_id}
    return sign_document(named, key)


def sign_document(document: Mapping[str, JsonValue], key: SigningKey) -> dict[str, JsonValue]:
    """Return a document with a signature over all of it but `signature` and `anchor`."""
    raw = sign(key.seed, canonical_forms(document).signed)
    signature: dict[str, JsonValue] = {
        "alg": ALGORITHM,
        "key_id": key.public.id,
        "canonicalization": CANONICALIZATION,
        "sig": to_base64url(raw),
    }
    return {**document, "signature": signature}


def receipt_from_bytes(raw: bytes) -> Receipt:
    """Return the receipt that a file is; only strict JSON is one."""
    return _receipt(decode(raw), sorted_compact_decoded)


def receipt_from(value: JsonValue) -> Receipt:
    """Return the receipt that a value is, wherever it comes from."""
    return _receipt(value, sorted_compact)


def _receipt(value: JsonValue, write: Callable[[JsonValue], bytes]) -> Receipt:
    if not isinstance(value, dict):
        raise AffidavitError(faults.RECEIPT_FORMAT, problem="it is not a JSON object")
    schema = value.get("schema")
    if schema != SCHEMA:
        raise AffidavitError(faults.RECEIPT_VERSION, found=excerpt(str(schema)), known=SCHEMA)
    receipt_id = value.get("receipt_id")
    generated_at = find_moment(value.get("generated_at"))
    if not isinstance(receipt_id, str):
        raise _malformed("receipt_id", "it is not a text")
    if generated_at is None:
        raise _malformed("generated_at", "it is not a time like 2026-01-31T14:30:00Z")
    anchor = anchor_from(value["anchor"]) if "anchor" in value else None
    signature = signature_from(value.get("signature"))
    forms = canonical_forms(value, write)
    return Receipt(value, receipt_id, generated_at, signature, anchor, forms)


def signature_from(block: JsonValue) -> Signature:
    """Return a signature block. Nothing protects it, so it may hold nothing but what is checked."""
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
