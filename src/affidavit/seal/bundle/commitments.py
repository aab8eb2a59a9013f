"""Commitments, which replace redacted values.

A commitment has a digest of a salt and the canonical value. The salt is random, so nobody can find
a short value by trying all of them; with the salt, anybody can check the value. The size is rounded
up to a class, so that it does not tell `allow` from `deny`. The subject of an event has to be a
text, so there the commitment is a URN.
"""

import hashlib
import hmac
import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

import msgspec

from affidavit.base.canonical import jcs
from affidavit.base.json_values import JsonValue

REDACTED_KEY: Final = "$redacted"
SUBJECT_PREFIX: Final = "urn:affidavit:redacted:"
EXACT: Final = "sha256-salted"  # Earlier versions stated the exact size.
PADDED: Final = "sha256-salted-padded"
SALT_BYTES: Final = 32
_KEY_MARK: Final = f'"{REDACTED_KEY}"'.encode()
_SUBJECT_MARK: Final = SUBJECT_PREFIX.encode()
_SMALLEST_CLASS: Final = 64
_CLASS_FACTOR: Final = 4
_SUBJECT: Final = re.compile(rf"{SUBJECT_PREFIX}sha256:[0-9a-f]{{64}}:[0-9]{{2,12}}", re.ASCII)


class CommitmentV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A commitment that we made; one with other members was not."""

    alg: Literal["sha256-salted", "sha256-salted-padded"]
    digest: Annotated[str, msgspec.Meta(pattern=r"^sha256:[0-9a-f]{64}$")]
    size_bytes: Annotated[int, msgspec.Meta(ge=0)]


def commitment(value: JsonValue, salt: bytes, algorithm: str = PADDED) -> dict[str, JsonValue]:
    """Return the commitment that replaces a value."""
    size = len(jcs(value))
    members: dict[str, JsonValue] = {
        "alg": algorithm,
        "digest": salted_digest(value, salt),
        "size_bytes": size if algorithm == EXACT else size_class(size),
    }
    return {REDACTED_KEY: members}


def subject_commitment(subject: str, salt: bytes) -> str:
    """Return the commitment that replaces the subject of an event."""
    return f"{SUBJECT_PREFIX}{salted_digest(subject, salt)}:{size_class(len(jcs(subject)))}"


def size_class(size: int) -> int:
    """Return the size that a commitment states: the next of 64, 256, 1024 and so on."""
    padded = _SMALLEST_CLASS
    while padded < size:
        padded *= _CLASS_FACTOR
    return padded


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


def is_redacted_subject(subject: object) -> bool:
    """Return whether the subject of an event is a commitment."""
    return isinstance(subject, str) and _SUBJECT.fullmatch(subject) is not None


def commitment_holds(found: Any, value: JsonValue, salt: bytes) -> bool:
    """Return whether a commitment, in data or as a subject, belongs to a value and a salt."""
    if isinstance(found, str):
        wanted: JsonValue = subject_commitment(str(value), salt)
    else:
        wanted = commitment(value, salt, found[REDACTED_KEY]["alg"])
    return hmac.compare_digest(jcs(found), jcs(wanted))


def may_be_redacted(text: bytes) -> bool:
    """Say whether canonical lines may have redacted values; if not, they certainly have none."""
    # Canonical JSON spells both marks in no other way. Most texts have no dollar sign, and one byte
    # is found several times as quickly as eleven.
    return (b"$" in text and _KEY_MARK in text) or _SUBJECT_MARK in text


def count_commitments(event: Mapping[str, Any]) -> int:
    """Return the number of redacted values of an event."""
    count, pending = int(is_redacted_subject(event.get("subject"))), [event["data"]]
    while pending:
        value = pending.pop()
        if is_commitment(value):
            count += 1
        elif isinstance(value, dict):
            pending.extend(value.values())
        elif isinstance(value, list):
            pending.extend(value)
    return count
