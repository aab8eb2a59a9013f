"""Commitments: what stands in the place of a value that was taken out, and can be checked later.

The digest covers 32 bytes of chance and the canonical value, so that nobody finds a short value (a
yes, a name, a number) by trying them all; the chance is kept apart, by whoever may reveal.
"""

import hashlib
import hmac
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

import msgspec

from affidavit.base.canonical import jcs
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import recordings as faults
from affidavit.base.json_limits import JsonValue
from affidavit.base.places import excerpt
from affidavit.packs.pointers import below, steps_of

KEY: Final = "$redacted"
ALGORITHM: Final = "sha256-salted"
SALT_BYTES: Final = 32
_ANY: Final = "*"
_INDEX_DIGITS: Final = 10  # A longer number is no place in any list, and slow to read.


class _SaidV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a commitment says, and nothing else: whatever says more was not made here."""

    alg: Literal["sha256-salted"]
    digest: Annotated[str, msgspec.Meta(pattern=r"^sha256:[0-9a-f]{64}$")]
    size_bytes: Annotated[int, msgspec.Meta(ge=0)]


@dataclass(frozen=True, slots=True)
class Pointer:
    """A JSON pointer into an event, which begins with /data; `*` stands for every member."""

    text: str
    steps: tuple[str, ...]


def pointer_from(text: str) -> Pointer:
    """Return a pointer (RFC 6901), or refuse one that does not lead into the data of an event."""
    steps = steps_of(text.removeprefix("/"))
    if not text.startswith("/data") or steps[0] != "data":
        raise AffidavitError(faults.REDACT_PATH, path=excerpt(text))
    return Pointer(text, steps[1:])


def commitment(value: JsonValue, salt: bytes) -> dict[str, JsonValue]:
    """Return what stands in the place of a value."""
    said: dict[str, JsonValue] = {
        "alg": ALGORITHM,
        "digest": salted_digest(value, salt),
        "size_bytes": len(jcs(value)),
    }
    return {KEY: said}


def salted_digest(value: JsonValue, salt: bytes) -> str:
    """Return the digest of a value behind its salt."""
    return f"sha256:{hashlib.sha256(salt + jcs(value)).hexdigest()}"


def is_commitment(value: object) -> bool:
    """Say whether a value was redacted: it is a commitment as we make them, to the letter.

    What only looks like one may hold anything, and is redacted like any other value.
    """
    if not isinstance(value, dict) or value.keys() != {KEY}:
        return False
    try:
        msgspec.convert(value[KEY], _SaidV1)
    except msgspec.ValidationError:
        return False
    return True


def holds(found: Mapping[str, Any], value: JsonValue, salt: bytes) -> bool:
    """Say whether a value with its salt is what a commitment stands for."""
    wanted = commitment(value, salt)
    return hmac.compare_digest(jcs(dict(found)), jcs(wanted))


def places_of(event: dict[str, Any], pointer: Pointer) -> Iterator[tuple[Any, Any, str]]:
    """Yield each place that a pointer names: what holds it, under which key, and its exact path."""
    places: list[tuple[Any, Any, str]] = [(event, "data", "/data")]
    for step in pointer.steps:
        places = [
            (value, key, below(path, key))
            for holder, at, path in places
            for value in (holder[at],)
            for key in _keys(value, step)
        ]
    yield from places


def _keys(value: Any, step: str) -> list[Any]:
    if isinstance(value, dict) and not is_commitment(value):
        return list(value) if step == _ANY else [step] if step in value else []
    if isinstance(value, list):
        if step == _ANY:
            return list(range(len(value)))
        is_index = step.isdecimal() and len(step) < _INDEX_DIGITS and int(step) < len(value)
        return [int(step)] if is_index else []
    return []
