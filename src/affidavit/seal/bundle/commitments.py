"""Commitments, which replace redacted values.

A commitment has a digest of a salt and the canonical value. The salt is random, so nobody can find
a short value by trying all of them; with the salt, anybody can check the value.
"""

import hashlib
import hmac
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

import msgspec

from affidavit.base.canonical import jcs
from affidavit.base.json_values import JsonValue

REDACTED_KEY: Final = "$redacted"
REDACTED_MARK: Final = b'"$redacted"'  # Canonical JSON spells the key in no other way.
ALGORITHM: Final = "sha256-salted"
SALT_BYTES: Final = 32


class CommitmentV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A commitment that we made; one with other members was not."""

    alg: Literal["sha256-salted"]
    digest: Annotated[str, msgspec.Meta(pattern=r"^sha256:[0-9a-f]{64}$")]
    size_bytes: Annotated[int, msgspec.Meta(ge=0)]


def commitment(value: JsonValue, salt: bytes) -> dict[str, JsonValue]:
    """Return the commitment that replaces a value."""
    members: dict[str, JsonValue] = {
        "alg": ALGORITHM,
        "digest": salted_digest(value, salt),
        "size_bytes": len(jcs(value)),
    }
    return {REDACTED_KEY: members}


def salted_digest(value: JsonValue, salt: bytes) -> str:
    """Return the digest of a salt and a value."""
    return f"sha256:{hashlib.sha256(salt + jcs(value)).hexdigest()}"


def is_commitment(value: object) -> bool:
    """Return whether a value is exactly a commitment as we make them.

    A value that only resembles one may hold anything, so it is redacted like any other value.
    """
    if not isinstance(value, dict) or value.keys() != {REDACTED_KEY}:
        return False
    try:
        msgspec.convert(value[REDACTED_KEY], CommitmentV1)
    except msgspec.ValidationError:
        return False
    return True


def commitment_holds(found: Mapping[str, Any], value: JsonValue, salt: bytes) -> bool:
    """Return whether a commitment belongs to a value and a salt."""
    wanted = commitment(value, salt)
    return hmac.compare_digest(jcs(dict(found)), jcs(wanted))


def count_commitments(event: Mapping[str, Any]) -> int:
    """Return the number of redacted values of an event."""
    count, pending = 0, [event["data"]]
    while pending:
        value = pending.pop()
        if is_commitment(value):
            count += 1
        elif isinstance(value, dict):
            pending.extend(value.values())
        elif isinstance(value, list):
            pending.extend(value)
    return count
