"""Anchors: what ties a signed receipt to a moment, or only to its own digest.

Origin: the receipts of Dynamic Feed, `{status, digest_sha256, how, note}`. Of ours,

- a self anchor is `{status: "self_anchor", digest_sha256}`: anybody can have the digest stamped;
- a time stamp is `{status: "rfc3161", digest_sha256, token}`: a token (RFC 3161) in base64.

An anchor stands outside the signature, so it may hold nothing that is not checked. `how` and
`note`, which receipts of others carry, are the exception; they say nothing that counts.
"""

import re
from dataclasses import dataclass
from typing import Final

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import receipts as faults
from affidavit.base.json_limits import JsonValue
from affidavit.seal.base64_text import find_base64, to_base64

SELF: Final = "self_anchor"
STAMPED: Final = "rfc3161"

_DIGEST: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)
_UNPROTECTED: Final = frozenset({"how", "note"})
_MEMBERS: Final = {
    SELF: frozenset({"status", "digest_sha256"}),
    STAMPED: frozenset({"status", "digest_sha256", "token"}),
}


@dataclass(frozen=True, slots=True)
class Anchor:
    """The digest that an anchor is about, and the token over it, if a third party made one."""

    digest: str
    token: bytes | None


def anchor_member(digest: str, token: bytes | None = None) -> dict[str, JsonValue]:
    """Return what to put under `anchor`: with a token a time stamp, else a self anchor."""
    if token is None:
        return {"status": SELF, "digest_sha256": digest}
    return {"status": STAMPED, "digest_sha256": digest, "token": to_base64(token)}


def anchor_from(value: JsonValue) -> Anchor:
    """Return the anchor that a member of a receipt is."""
    status = value.get("status") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(status, str) or status not in _MEMBERS:
        raise _malformed(f"its status is not {SELF} or {STAMPED}")
    if value.keys() - _UNPROTECTED != _MEMBERS[status]:
        raise _malformed(f"it is not {{{', '.join(sorted(_MEMBERS[status]))}}}")
    digest = value["digest_sha256"]
    if not isinstance(digest, str) or _DIGEST.fullmatch(digest) is None:
        raise _malformed("digest_sha256 is not 64 hexadecimal digits in lower case")
    if status == SELF:
        return Anchor(digest, None)
    text = value["token"]
    token = find_base64(text) if isinstance(text, str) else None
    if token is None:
        raise AffidavitError(
            faults.TST_ENCODING, Where(field="anchor.token"), problem="it is not base64"
        )
    return Anchor(digest, token)


def _malformed(problem: str) -> AffidavitError:
    return AffidavitError(faults.RECEIPT_FORMAT, Where(field="anchor"), problem=problem)
