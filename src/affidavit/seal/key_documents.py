"""Keys documents: the flat map, the registry with lifecycles, and JWK sets; what they all mean.

Origin: `/.well-known/keys` and `signing-key-registry.json` of Dynamic Feed. Trust is the caller's:
a document that came with the receipt proves nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

import msgspec

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import receipts as faults
from affidavit.base.json_limits import JsonValue
from affidavit.seal.jwk import public_key_from_jwk, public_keys_from_jwks
from affidavit.seal.keys import PublicKey, keys_by_id, public_key_from_text
from affidavit.seal.lifecycle import KeyRecord, KeyStatus, Registry
from affidavit.seal.moments import find_moment, moment_text

REGISTRY_SCHEMA: Final = "affidavit-key-registry/v1"
_REGISTRY_SCHEMAS: Final = frozenset({REGISTRY_SCHEMA, "df-signing-key-registry/v1"})


class LifecycleV1(msgspec.Struct):
    """The life of one key as the registry writes it; members that we do not know are left alone."""

    alg: str
    use: str
    fingerprint_sha256: str
    status: Literal["active", "retired", "compromised"]
    active_from: str
    retired_at: str | None = None
    compromised_after: str | None = None
    reason: str | None = None


class RegistryV1(msgspec.Struct):
    """A registry as it is written."""

    schema: str
    registry_revision: int
    public_keys: dict[str, str]
    lifecycle: dict[str, LifecycleV1]
    active_key_id: str | None = None
    updated_at: str | None = None


@dataclass(frozen=True, slots=True)
class TrustedKeys:
    """The keys that a verifier trusts, and what is known of their lives. It crosses processes."""

    keys: Mapping[str, PublicKey]
    records: Mapping[str, KeyRecord]


NO_KEYS: Final = TrustedKeys({}, {})


def trusted_keys_from(documents: Iterable[JsonValue]) -> TrustedKeys:
    """Return all keys of some documents of any kind.

    Where two documents tell different lives of a key, the one that is believed less counts.
    """
    keys: list[PublicKey] = []
    records: dict[str, KeyRecord] = {}
    for document in documents:
        if isinstance(document, dict) and "schema" in document:
            for record in registry_from(document).records:
                keys.append(record.key)
                known = records.get(record.key.id, record)
                records[record.key.id] = max(known, record, key=_distrust)
        else:
            keys.extend(public_keys_from(document))
    return TrustedKeys(keys_by_id(keys), records)


def public_keys_from(document: JsonValue) -> list[PublicKey]:
    """Return the keys of a document without lifecycles: a flat map, a JWK set, or one JWK."""
    if not isinstance(document, dict):
        raise AffidavitError(faults.KEY_FORMAT, problem="a keys document is a JSON object")
    if "kty" in document:
        return [public_key_from_jwk(document)]
    if "keys" in document:
        return public_keys_from_jwks(document["keys"])
    return [_placed(key_id, text) for key_id, text in document.items()]


def registry_from(document: JsonValue) -> Registry:
    """Return the registry that a document is."""
    try:
        wire = msgspec.convert(document, RegistryV1)
    except msgspec.ValidationError as error:
        raise AffidavitError(faults.KEY_FORMAT, problem=str(error)) from None
    if wire.schema not in _REGISTRY_SCHEMAS:
        problem = f"{wire.schema!r} is not a registry of keys"
        raise AffidavitError(faults.KEY_FORMAT, Where(field="schema"), problem=problem)
    known = wire.lifecycle.keys()
    if wire.public_keys.keys() != known or wire.active_key_id not in {None, *known}:
        problem = "public_keys, lifecycle and active_key_id do not name the same keys"
        raise AffidavitError(faults.KEY_FORMAT, problem=problem)
    records = [
        _record(_placed(key_id, wire.public_keys[key_id]), life)
        for key_id, life in wire.lifecycle.items()
    ]
    records.sort(key=lambda record: record.active_from)
    updated = None if wire.updated_at is None else _moment(wire.updated_at, "updated_at")
    return Registry(tuple(records), wire.active_key_id, wire.registry_revision, updated)


def keys_document(registry: Registry) -> dict[str, str]:
    """Return the flat map for readers that know no lifecycles: compromised keys are left out."""
    return {
        record.key.id: record.key.text
        for record in registry.records
        if record.status is not KeyStatus.COMPROMISED
    }


def registry_document(registry: Registry) -> dict[str, JsonValue]:
    """Return the registry as it is written and published."""
    return {
        "schema": REGISTRY_SCHEMA,
        "registry_revision": registry.revision,
        "updated_at": _text(registry.updated_at),
        "active_key_id": registry.active_key_id,
        "public_keys": {record.key.id: record.key.text for record in registry.records},
        "lifecycle": {record.key.id: _life(record) for record in registry.records},
    }


def _life(record: KeyRecord) -> dict[str, JsonValue]:
    return {
        "alg": "Ed25519",
        "use": record.use,
        "fingerprint_sha256": record.key.fingerprint,
        "status": record.status.value,
        "active_from": _text(record.active_from),
        "retired_at": _text(record.retired_at),
        "compromised_after": _text(record.compromised_after),
        "reason": record.reason,
    }


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else moment_text(moment)


def _record(key: PublicKey, life: LifecycleV1) -> KeyRecord:
    place = f"lifecycle.{key.id}"
    if life.alg != "Ed25519":
        raise AffidavitError(faults.KEY_ALGORITHM, Where(field=place), found=life.alg)
    if life.fingerprint_sha256 != key.fingerprint:
        raise AffidavitError(
            faults.KEY_ID_MISMATCH, Where(field=place), key_id=key.id, found=key.fingerprint
        )
    retired, compromised = (
        None if text is None else _moment(text, place)
        for text in (life.retired_at, life.compromised_after)
    )
    status = KeyStatus(life.status)
    if (status is KeyStatus.RETIRED and retired is None) or (
        status is KeyStatus.COMPROMISED and compromised is None
    ):
        problem = f"a key that is {status} says since when"
        raise AffidavitError(faults.KEY_FORMAT, Where(field=place), problem=problem)
    began = _moment(life.active_from, place)
    return KeyRecord(key, began, status, retired, compromised, life.reason, life.use)


def _placed(key_id: str, text: object) -> PublicKey:
    try:
        return public_key_from_text(key_id, text)
    except AffidavitError as error:
        raise error.at(field=key_id[:60]) from None


def _moment(text: str, place: str) -> datetime:
    moment = find_moment(text)
    if moment is None:
        problem = f"{text[:60]!r} is not a time like 2026-01-31T14:30:00Z"
        raise AffidavitError(faults.KEY_FORMAT, Where(field=place), problem=problem)
    return moment


def _distrust(record: KeyRecord) -> tuple[int, float]:
    boundary = record.compromised_after or record.retired_at
    return list(KeyStatus).index(record.status), -boundary.timestamp() if boundary else 0.0
