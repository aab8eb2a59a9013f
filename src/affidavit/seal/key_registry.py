"""Keys documents (flat map, JWK set, registry), the lifecycle of a key, and which keys a verifier
trusts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Final, Literal

import msgspec

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import receipts as faults
from affidavit.base.json_values import JsonValue
from affidavit.base.text import excerpt
from affidavit.base.timestamps import find_timestamp, timestamp_text
from affidavit.seal.keys import PublicKey, keys_by_id, public_key_from_text

# The life of a key: active, retired, compromised; and whether a signature falls within it.
#
# That a signature holds and that its key may be believed are two questions. Origin: the signing-key
# registry of Dynamic Feed, whose policy is taken over: what a receipt says of its own time is no
# evidence, and for a compromised key only an independent time stamp from before it is.

RECEIPT_SIGNING: Final = "receipt-signing"


class KeyStatus(StrEnum):
    """Where in its life a key is; the later, the less it may be believed."""

    ACTIVE = "active"
    RETIRED = "retired"
    COMPROMISED = "compromised"


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """A key and its life so far."""

    key: PublicKey
    active_from: datetime
    status: KeyStatus = KeyStatus.ACTIVE
    retired_at: datetime | None = None
    compromised_after: datetime | None = None
    reason: str | None = None
    use: str = RECEIPT_SIGNING


@dataclass(frozen=True, slots=True)
class KeyRegistry:
    """All keys of an issuer, the oldest first, and which of them signs now."""

    records: tuple[KeyRecord, ...] = ()
    active_key_id: str | None = None
    revision: int = 0
    updated_at: datetime | None = None

    def record(self, key_id: str) -> KeyRecord:
        """Return the record of a key by its id."""
        found = next((record for record in self.records if record.key.id == key_id), None)
        if found is None:
            raise AffidavitError(faults.KEY_STATE, problem=f"no key here is named {key_id!r}")
        return found

    def with_new(self, key: PublicKey, at: datetime) -> "KeyRegistry":
        """Return the registry with one more key, which signs from now on."""
        if any(record.key.id == key.id for record in self.records):
            raise AffidavitError(faults.KEY_STATE, problem=f"there is a key {key.id} already")
        return self._next((*self.records, KeyRecord(key, at)), key.id, at)

    def with_retired(self, key_id: str, when: datetime, at: datetime) -> "KeyRegistry":
        """Return the registry with a key that signs no more; what it signed before still counts."""
        record = self.record(key_id)
        if record.status is not KeyStatus.ACTIVE:
            raise AffidavitError(faults.KEY_STATE, problem=f"{key_id} is {record.status} already")
        _require_past(when, at)
        if when < record.active_from:
            since = timestamp_text(record.active_from)
            problem = f"{key_id} cannot be retired before it was made, at {since}"
            raise AffidavitError(faults.KEY_STATE, problem=problem)
        return self._with(replace(record, status=KeyStatus.RETIRED, retired_at=when), at)

    def with_compromised(
        self, key_id: str, since: datetime, reason: str, at: datetime
    ) -> "KeyRegistry":
        """Return the registry with a key that others may hold since some moment.

        The moment can be moved to an earlier one when more is known, never to a later one.
        """
        record = self.record(key_id)
        _require_past(since, at)
        if not reason.strip():
            raise AffidavitError(faults.KEY_STATE, problem="a compromise needs a reason")
        if record.compromised_after is not None and since > record.compromised_after:
            known = timestamp_text(record.compromised_after)
            problem = f"{key_id} is known to be compromised since {known}; later is not believed"
            raise AffidavitError(faults.KEY_STATE, problem=problem)
        changed = replace(
            record,
            status=KeyStatus.COMPROMISED,
            compromised_after=since,
            retired_at=record.retired_at or at,
            reason=reason.strip(),
        )
        return self._with(changed, at)

    def _with(self, changed: KeyRecord, at: datetime) -> "KeyRegistry":
        records = tuple(
            changed if record.key.id == changed.key.id else record for record in self.records
        )
        active = self.active_key_id
        if active == changed.key.id:
            # The newest that is left signs now; if none is, nothing can be signed.
            left = [record.key.id for record in records if record.status is KeyStatus.ACTIVE]
            active = left[-1] if left else None
        return self._next(records, active, at)

    def _next(
        self, records: tuple[KeyRecord, ...], active: str | None, at: datetime
    ) -> "KeyRegistry":
        return KeyRegistry(records, active, self.revision + 1, at)


def _require_past(moment: datetime, at: datetime) -> None:
    if moment > at:
        problem = f"{timestamp_text(moment)} has not come yet"
        raise AffidavitError(faults.KEY_STATE, problem=problem)


# JSON web keys: Ed25519 public keys of RFC 8037, and no others.
#
# The algorithm comes from the document that the user trusts, never from what was signed. A document
# that carries a private part is refused whole: somebody published a secret by mistake.

_ALGORITHMS: Final = ("EdDSA", "Ed25519")


def public_keys_from_jwks(keys: object) -> list[PublicKey]:
    """Return the keys of the list `keys` in a JWK set."""
    if not isinstance(keys, list):
        raise AffidavitError(faults.KEY_FORMAT, Where(field="keys"), problem="it is not a list")
    seen: set[str] = set()
    for jwk in keys:
        key_id = jwk.get("kid") if isinstance(jwk, dict) else None
        if isinstance(key_id, str) and key_id in seen:
            raise AffidavitError(faults.KEY_DUPLICATE_ID, key_id=excerpt(key_id))
        seen.add(str(key_id))
    found = []
    for place, jwk in enumerate(keys):
        try:
            found.append(public_key_from_jwk(jwk))
        except AffidavitError as error:
            raise error.at(field=f"keys[{place}]") from None
    return found


def public_key_from_jwk(jwk: object) -> PublicKey:
    """Return the key of one JWK; its `kid` must be the id that the key has."""
    if not isinstance(jwk, dict):
        raise AffidavitError(faults.KEY_FORMAT, problem="a key is a JSON object")
    _require_ed25519(jwk)
    if "d" in jwk:
        raise AffidavitError(faults.KEY_FORMAT, problem="it holds the private part, d")
    if jwk.get("use", "sig") != "sig":
        found = excerpt(str(jwk["use"]))
        raise AffidavitError(faults.KEY_USAGE, key_id=excerpt(str(jwk.get("kid"))), found=found)
    key_id = jwk.get("kid")
    if not isinstance(key_id, str):
        raise AffidavitError(faults.KEY_FORMAT, problem="it has no id, kid")
    return public_key_from_text(key_id, jwk.get("x"))


def _require_ed25519(jwk: Mapping[str, object]) -> None:
    kind, curve = jwk.get("kty"), jwk.get("crv")
    algorithm = jwk.get("alg", "Ed25519")
    for said, is_ours in (
        (kind, kind == "OKP"),
        (curve, curve == "Ed25519"),
        (algorithm, algorithm in _ALGORITHMS),
    ):
        if not is_ours:
            raise AffidavitError(faults.KEY_ALGORITHM, found=excerpt(str(said)))


# Keys documents: the flat map, the registry with lifecycles, and JWK sets; what they all mean.
#
# Origin: `/.well-known/keys` and `signing-key-registry.json` of Dynamic Feed. Trust is the
# caller's: a document that came with the receipt proves nothing.

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
                records[record.key.id] = max(known, record, key=_distrust_rank)
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


def registry_from(document: JsonValue) -> KeyRegistry:
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
    updated = None if wire.updated_at is None else _timestamp(wire.updated_at, "updated_at")
    return KeyRegistry(tuple(records), wire.active_key_id, wire.registry_revision, updated)


def keys_document(registry: KeyRegistry) -> dict[str, str]:
    """Return the flat map for readers that know no lifecycles: compromised keys are left out."""
    return {
        record.key.id: record.key.text
        for record in registry.records
        if record.status is not KeyStatus.COMPROMISED
    }


def registry_document(registry: KeyRegistry) -> dict[str, JsonValue]:
    """Return the registry as it is written and published."""
    return {
        "schema": REGISTRY_SCHEMA,
        "registry_revision": registry.revision,
        "updated_at": _text(registry.updated_at),
        "active_key_id": registry.active_key_id,
        "public_keys": {record.key.id: record.key.text for record in registry.records},
        "lifecycle": {record.key.id: _lifecycle(record) for record in registry.records},
    }


def _lifecycle(record: KeyRecord) -> dict[str, JsonValue]:
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
    return None if moment is None else timestamp_text(moment)


def _record(key: PublicKey, life: LifecycleV1) -> KeyRecord:
    place = f"lifecycle.{key.id}"
    if life.alg != "Ed25519":
        raise AffidavitError(faults.KEY_ALGORITHM, Where(field=place), found=life.alg)
    if life.fingerprint_sha256 != key.fingerprint:
        raise AffidavitError(
            faults.KEY_ID_MISMATCH, Where(field=place), key_id=key.id, found=key.fingerprint
        )
    retired, compromised = (
        None if text is None else _timestamp(text, place)
        for text in (life.retired_at, life.compromised_after)
    )
    status = KeyStatus(life.status)
    if (status is KeyStatus.RETIRED and retired is None) or (
        status is KeyStatus.COMPROMISED and compromised is None
    ):
        problem = f"a key that is {status} says since when"
        raise AffidavitError(faults.KEY_FORMAT, Where(field=place), problem=problem)
    began = _timestamp(life.active_from, place)
    return KeyRecord(key, began, status, retired, compromised, life.reason, life.use)


def _placed(key_id: str, text: object) -> PublicKey:
    try:
        return public_key_from_text(key_id, text)
    except AffidavitError as error:
        raise error.at(field=key_id[:60]) from None


def _timestamp(text: str, place: str) -> datetime:
    moment = find_timestamp(text)
    if moment is None:
        problem = f"{text[:60]!r} is not a time like 2026-01-31T14:30:00Z"
        raise AffidavitError(faults.KEY_FORMAT, Where(field=place), problem=problem)
    return moment


def _distrust_rank(record: KeyRecord) -> tuple[int, float]:
    boundary = record.compromised_after or record.retired_at
    return list(KeyStatus).index(record.status), -boundary.timestamp() if boundary else 0.0
