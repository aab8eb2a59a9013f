"""Anchoring a signed receipt: to its own digest, or by the word of a time stamp authority.

The authority is sent the digest and nothing else. Its token is taken only if it is of this digest
and repeats the nonce; who may stamp is for the verifier to say.
"""

from collections.abc import Callable, Mapping

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import answers as faults
from affidavit.base.json_limits import JsonValue
from affidavit.seal.anchor import anchor_member
from affidavit.seal.receipt import canonical_forms
from affidavit.seal.stamping import NONCE_BYTES, stamp_request
from affidavit.seal.tokens import token_from_response


def with_self_anchor(receipt: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the receipt with its own digest, which anybody can have stamped later."""
    return {**receipt, "anchor": anchor_member(canonical_forms(receipt).anchor_digest)}


def with_time_stamp(
    receipt: Mapping[str, JsonValue],
    authority: str,
    send: Callable[[str, bytes], bytes],
    chance: Callable[[int], bytes],
) -> dict[str, JsonValue]:
    """Return the receipt with a token of the authority, or raise why there is none."""
    digest = canonical_forms(receipt).anchor_digest
    nonce = int.from_bytes(chance(NONCE_BYTES))
    response = send(authority, stamp_request(digest, nonce))
    try:
        token = token_from_response(response, digest, nonce)
    except AffidavitError as error:
        raise AffidavitError(
            faults.STAMP_UNAVAILABLE, url=authority, problem=error.message
        ) from None
    return {**receipt, "anchor": anchor_member(digest, token)}
