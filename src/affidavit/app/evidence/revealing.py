"""Checks what an owner reveals of a redacted bundle: a value, or what the bundle was made from."""

import hmac
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from affidavit.app.evidence.bundle_files import opened_bundle
from affidavit.app.evidence.commitments import (
    KEY,
    SALT_BYTES,
    holds,
    is_commitment,
    places_of,
    pointer_from,
    salted_digest,
)
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import recordings as faults
from affidavit.base.json_limits import JsonValue
from affidavit.base.places import excerpt
from affidavit.seal.bundle.limits import DEFAULT_LIMITS, BundleLimits

_DIGITS: Final = 2 * SALT_BYTES
_Salt = Annotated[str, msgspec.Meta(pattern=rf"^[0-9a-f]{{{_DIGITS}}}$")]


class RevealedV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A value that its owner reveals: where it stood, the salt, and the value."""

    event: int
    path: str
    salt: _Salt
    value: Any


class RevealedOriginV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The digest of the bundle that a redacted one was made from, and its salt."""

    origin: str
    salt: _Salt


def check_revealed(
    bundle: Path, revealed: JsonValue, limits: BundleLimits = DEFAULT_LIMITS
) -> RevealedV1 | RevealedOriginV1:
    """Return what is revealed if the bundle holds the commitment to it; raise where not."""
    try:
        if isinstance(revealed, dict) and "origin" in revealed:
            origin = msgspec.convert(revealed, RevealedOriginV1)
            _require_origin(bundle, origin, limits)
            return origin
        read = msgspec.convert(revealed, RevealedV1)
    except msgspec.ValidationError as error:
        raise AffidavitError(faults.REVEAL_FORMAT, problem=str(error)) from None
    _require_value(bundle, read, limits)
    return read


def _require_value(bundle: Path, read: RevealedV1, limits: BundleLimits) -> None:
    pointer = pointer_from(read.path)
    found: list[Any] = []
    with opened_bundle(bundle, limits) as reader:
        for _, event in reader.events():
            if event["assayseq"] == read.event:
                found = [holder[key] for holder, key, _ in places_of(event, pointer)]
    if len(found) != 1 or not is_commitment(found[0]):
        problem = f"event {read.event} has no redacted value at {excerpt(read.path)}"
        raise AffidavitError(faults.REVEAL_MISMATCH, problem=problem)
    if not holds(found[0], read.value, bytes.fromhex(read.salt)):
        problem = f"it says {found[0][KEY]['digest']}"
        raise AffidavitError(faults.REVEAL_MISMATCH, problem=problem)


def _require_origin(bundle: Path, read: RevealedOriginV1, limits: BundleLimits) -> None:
    with opened_bundle(bundle, limits) as reader:
        for _ in reader.lines():
            pass
        ours = reader.manifest.known.ours
    said = None if ours is None else ours.origin
    if said is None:
        raise AffidavitError(faults.REVEAL_MISMATCH, problem="the bundle names no origin")
    if not hmac.compare_digest(said, salted_digest(read.origin, bytes.fromhex(read.salt))):
        raise AffidavitError(faults.REVEAL_MISMATCH, problem=f"its origin is {excerpt(said, 80)}")
