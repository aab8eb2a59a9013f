"""Ed25519 keys: ids, lifecycle, the documents that publish them and the files that store them."""

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final, Literal

import msgspec

from affidavit.base.digest import sha256_hex
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import receipts as faults
from affidavit.base.json_values import JsonValue
from affidavit.base.text import excerpt
from affidavit.base.timestamps import find_timestamp, timestamp_text
from affidavit.seal import crypto
from affidavit.seal.crypto import (
    OCTET_STRING,
    SEQUENCE,
    der_element,
    der_integer,
    der_object_id,
    find_base64url,
    to_base64url,
)

# Public keys, their lifecycle, and the documents that publish them.
#
# A key id is `<prefix>-ed25519-` and the first 12 hexadecimal digits of the SHA-256 of the raw
# public key (answer-eval, section 5). It is derived from the key, so it is always recomputed. 48
# bits name a key but do not bind it: two keys with one id can be made, so a set of keys rejects the
# second.
#
# Three kinds of documents are read: the flat map and the registry with lifecycles (Dynamic Feed's
# `/.well-known/keys` and `signing-key-registry.json`), and JWK sets (RFC 8037). A document that
# came with the receipt proves nothing; the caller decides which ones to trust.

DEFAULT_PREFIX: Final = "af"
SEED_BYTES: Final = 32
RECEIPT_SIGNING: Final = "receipt-signing"
REGISTRY_SCHEMA: Final = "affidavit-key-registry/v1"

_REGISTRY_SCHEMAS: Final = frozenset({REGISTRY_SCHEMA, "df-signing-key-registry/v1"})
_JWK_ALGORITHMS: Final = ("EdDSA", "Ed25519")
_KEY_ID: Final = re.compile(r"([a-z0-9]+(?:-[a-z0-9]+)*)-ed25519-([0-9a-f]{12})")
_PREFIX: Final = re.compile(r"[a-z0-9]{1,16}(?:-[a-z0-9]{1,16}){0,2}")


class PublicKey(msgspec.Struct, frozen=True):
    """A public key that is not weak, and the id that was computed from it."""

    id: str
    raw: bytes

    @property
    def text(self) -> str:
        """The key as documents write it: base64url, padded."""
        return to_base64url(self.raw)

    @property
    def fingerprint(self) -> str:
        """The whole SHA-256 of the raw key, as 64 hexadecimal digits."""
        return sha256_hex(self.raw)


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key. Its seed does not appear in its repr, so not in tracebacks either."""

    public: PublicKey
    seed: bytes = field(repr=False)


def key_id_of(prefix: str, raw: bytes) -> str:
    """Return the id of a raw public key."""
    return f"{prefix}-ed25519-{sha256_hex(raw)[:12]}"


def is_key_id(text: str) -> bool:
    """Return whether a text has the form of a key id."""
    return _KEY_ID.fullmatch(text) is not None


def public_key_named(key_id: str, raw: bytes) -> PublicKey:
    """Return a key from a document; raise if it is weak or has another id."""
    match = _KEY_ID.fullmatch(key_id)
    if match is None:
        raise _malformed(f"{excerpt(key_id)!r} is not the id of a key")
    if len(raw) != crypto.KEY_BYTES:
        raise _malformed(f"an Ed25519 key has {crypto.KEY_BYTES} bytes, not {len(raw)}")
    if crypto.is_weak_key(raw):
        raise AffidavitError(faults.KEY_WEAK)
    found = key_id_of(match[1], raw)
    if found != key_id:
        raise AffidavitError(faults.KEY_ID_MISMATCH, key_id=key_id, found=found)
    return PublicKey(key_id, raw)


def public_key_from_text(key_id: str, text: object) -> PublicKey:
    """Return a key from a document that has it in base64url."""
    raw = find_base64url(text) if isinstance(text, str) else None
    if raw is None:
        raise _malformed("a public key stands there in base64url")
    return public_key_named(key_id, raw)


def public_key_from_pem(pem: bytes, prefix: str = DEFAULT_PREFIX) -> PublicKey:
    """Return the key of a PEM file (SubjectPublicKeyInfo), as OpenSSL and key stores export it."""
    try:
        raw = crypto.public_key_from_pem(pem)
    except ValueError:
        raise _malformed("it is not a public key in PEM") from None
    if isinstance(raw, str):
        raise AffidavitError(faults.KEY_ALGORITHM, found=raw)
    return public_key_named(key_id_of(prefix, raw), raw)


def signing_key_from(seed: bytes, prefix: str = DEFAULT_PREFIX) -> SigningKey:
    """Return the key of a 32-byte seed, which the caller drew from a secure random source."""
    if _PREFIX.fullmatch(prefix) is None:
        raise _malformed(
            f"the prefix {excerpt(prefix)!r} is not lower-case letters, digits and hyphens"
        )
    raw = crypto.public_key_of_seed(seed)
    return SigningKey(PublicKey(key_id_of(prefix, raw), raw), seed)


def keys_by_id(keys: Iterable[PublicKey]) -> Mapping[str, PublicKey]:
    """Return the keys by id; raise if two different keys have the same id."""
    found: dict[str, PublicKey] = {}
    for key in keys:
        if found.setdefault(key.id, key) != key:
            raise AffidavitError(faults.KEY_DUPLICATE_ID, key_id=key.id)
    return found


class KeyStatus(StrEnum):
    """The stages of a key's life, in order of decreasing trust."""

    ACTIVE = "active"
    RETIRED = "retired"
    COMPROMISED = "compromised"


class KeyRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A key with its lifecycle."""

    key: PublicKey
    active_from: datetime
    status: KeyStatus = KeyStatus.ACTIVE
    retired_at: datetime | None = None
    compromised_after: datetime | None = None
    reason: str | None = None
    use: str = RECEIPT_SIGNING


class KeyRegistry(msgspec.Struct, frozen=True):
    """All keys of an issuer, oldest first, and which of them signs now."""

    records: tuple[KeyRecord, ...] = ()
    active_key_id: str | None = None
    revision: int = 0
    updated_at: datetime | None = None

    def record(self, key_id: str) -> KeyRecord:
        """Return the record of a key."""
        found = next((record for record in self.records if record.key.id == key_id), None)
        if found is None:
            raise _wrong_state(f"no key here is named {key_id!r}")
        return found

    def with_new(self, key: PublicKey, at: datetime) -> "KeyRegistry":
        """Return the registry with one more key, which signs from now on."""
        if any(record.key.id == key.id for record in self.records):
            raise _wrong_state(f"there is a key {key.id} already")
        records = (*self.records, KeyRecord(key=key, active_from=at))
        return KeyRegistry(records, key.id, self.revision + 1, at)

    def with_retired(self, key_id: str, when: datetime, at: datetime) -> "KeyRegistry":
        """Return the registry with a retired key; its earlier signatures still count."""
        record = self.record(key_id)
        if record.status is not KeyStatus.ACTIVE:
            raise _wrong_state(f"{key_id} is {record.status} already")
        _require_past(when, at)
        if when < record.active_from:
            since = timestamp_text(record.active_from)
            raise _wrong_state(f"{key_id} cannot be retired before it was made, at {since}")
        return self._with_changed(
            msgspec.structs.replace(record, status=KeyStatus.RETIRED, retired_at=when), at
        )

    def with_compromised(
        self, key_id: str, since: datetime, reason: str, at: datetime
    ) -> "KeyRegistry":
        """Return the registry with a key that others may have had since some time.

        The time can later be moved to an earlier one, never to a later one.
        """
        record = self.record(key_id)
        _require_past(since, at)
        if not reason.strip():
            raise _wrong_state("a compromise needs a reason")
        if record.compromised_after is not None and since > record.compromised_after:
            known = timestamp_text(record.compromised_after)
            raise _wrong_state(
                f"{key_id} is known to be compromised since {known}; later is not believed"
            )
        changed = msgspec.structs.replace(
            record,
            status=KeyStatus.COMPROMISED,
            compromised_after=since,
            retired_at=record.retired_at or at,
            reason=reason.strip(),
        )
        return self._with_changed(changed, at)

    def _with_changed(self, changed: KeyRecord, at: datetime) -> "KeyRegistry":
        records = tuple(
            changed if record.key.id == changed.key.id else record for record in self.records
        )
        active = self.active_key_id
        if active == changed.key.id:
            # The newest of the remaining keys signs now. Without one nothing can be signed.
            left = [record.key.id for record in records if record.status is KeyStatus.ACTIVE]
            active = left[-1] if left else None
        return KeyRegistry(records, active, self.revision + 1, at)


def _require_past(time: datetime, at: datetime) -> None:
    if time > at:
        raise _wrong_state(f"{timestamp_text(time)} has not come yet")


def _wrong_state(problem: str) -> AffidavitError:
    return AffidavitError(faults.KEY_STATE, problem=problem)


class LifecycleV1(msgspec.Struct):
    """The lifecycle of one key in a registry document; unknown members are ignored."""

    alg: str
    use: str
    fingerprint_sha256: str
    status: Literal["active", "retired", "compromised"]
    active_from: str
    retired_at: str | None = None
    compromised_after: str | None = None
    reason: str | None = None


class RegistryV1(msgspec.Struct):
    """A registry document."""

    schema: str
    registry_revision: int
    public_keys: dict[str, str]
    lifecycle: dict[str, LifecycleV1]
    active_key_id: str | None = None
    updated_at: str | None = None


class TrustedKeys(msgspec.Struct, frozen=True):
    """The keys that a verifier trusts, with the lifecycles that are known."""

    keys: Mapping[str, PublicKey]
    records: Mapping[str, KeyRecord]


def trusted_keys_from(documents: Iterable[JsonValue]) -> TrustedKeys:
    """Return all keys of documents of any kind.

    If two documents disagree on the lifecycle of a key, the less trusting one counts.
    """
    keys: list[PublicKey] = []
    # By the key itself: a receipt chooses the id, so another prefix must not change the lifecycle.
    records: dict[bytes, KeyRecord] = {}
    for document in documents:
        if isinstance(document, dict) and "schema" in document:
            for record in registry_from(document).records:
                keys.append(record.key)
                known = records.get(record.key.raw, record)
                records[record.key.raw] = max(known, record, key=_distrust_rank)
        else:
            keys.extend(public_keys_from(document))
    by_id = keys_by_id(keys)
    lives = {id: records[key.raw] for id, key in by_id.items() if key.raw in records}
    return TrustedKeys(by_id, lives)


def _distrust_rank(record: KeyRecord) -> tuple[int, float]:
    boundary = record.compromised_after or record.retired_at
    return list(KeyStatus).index(record.status), -boundary.timestamp() if boundary else 0.0


def public_keys_from(document: JsonValue) -> list[PublicKey]:
    """Return the keys of a document without lifecycles: a flat map, a JWK set, or one JWK."""
    if not isinstance(document, dict):
        raise _malformed("a keys document is a JSON object")
    if "kty" in document:
        return [public_key_from_jwk(document)]
    if "keys" in document:
        return _public_keys_from_jwks(document["keys"])
    return [_key_of_member(key_id, text) for key_id, text in document.items()]


def _public_keys_from_jwks(keys: object) -> list[PublicKey]:
    if not isinstance(keys, list):
        raise _malformed("it is not a list", "keys")
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
    """Return the Ed25519 key of one JWK; its `kid` must be the id that the key has.

    A JWK with a private part is rejected whole: somebody published a secret by mistake.
    """
    if not isinstance(jwk, dict):
        raise _malformed("a key is a JSON object")
    kind, curve, algorithm = jwk.get("kty"), jwk.get("crv"), jwk.get("alg", "Ed25519")
    for value, is_ours in (
        (kind, kind == "OKP"),
        (curve, curve == "Ed25519"),
        (algorithm, algorithm in _JWK_ALGORITHMS),
    ):
        if not is_ours:
            raise AffidavitError(faults.KEY_ALGORITHM, found=excerpt(str(value)))
    key_id = jwk.get("kid")
    if "d" in jwk:
        raise _malformed("it holds the private part, d")
    if jwk.get("use", "sig") != "sig":
        found = excerpt(str(jwk["use"]))
        raise AffidavitError(faults.KEY_USAGE, key_id=excerpt(str(key_id)), found=found)
    if not isinstance(key_id, str):
        raise _malformed("it has no id, kid")
    return public_key_from_text(key_id, jwk.get("x"))


def registry_from(document: JsonValue) -> KeyRegistry:
    """Return the registry of a document."""
    try:
        wire = msgspec.convert(document, RegistryV1)
    except msgspec.ValidationError as error:
        raise _malformed(str(error)) from None
    if wire.schema not in _REGISTRY_SCHEMAS:
        raise _malformed(f"{wire.schema!r} is not a registry of keys", "schema")
    known = wire.lifecycle.keys()
    if wire.public_keys.keys() != known or wire.active_key_id not in {None, *known}:
        raise _malformed("public_keys, lifecycle and active_key_id do not name the same keys")
    records = [
        _record(_key_of_member(key_id, wire.public_keys[key_id]), life)
        for key_id, life in wire.lifecycle.items()
    ]
    _require_consistent(records, wire.active_key_id)
    records.sort(key=lambda record: record.active_from)
    updated = None if wire.updated_at is None else _timestamp(wire.updated_at, "updated_at")
    return KeyRegistry(tuple(records), wire.active_key_id, wire.registry_revision, updated)


def keys_document(registry: KeyRegistry) -> dict[str, str]:
    """Return the flat map. It has no lifecycles, so compromised keys are left out."""
    return {
        record.key.id: record.key.text
        for record in registry.records
        if record.status is not KeyStatus.COMPROMISED
    }


def registry_document(registry: KeyRegistry) -> dict[str, JsonValue]:
    """Return the registry as it is stored and published."""
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


def _text(time: datetime | None) -> str | None:
    return None if time is None else timestamp_text(time)


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
    return KeyRecord(
        key=key,
        active_from=_timestamp(life.active_from, place),
        status=KeyStatus(life.status),
        retired_at=retired,
        compromised_after=compromised,
        reason=life.reason,
        use=life.use,
    )


def _require_consistent(records: Sequence[KeyRecord], active_key_id: str | None) -> None:
    """Raise if two statements of a registry cannot both be true."""
    if len({record.key.raw for record in records}) < len(records):
        raise _contradiction("one key has two ids, so it would have two lifecycles")
    for record in records:
        place = f"lifecycle.{record.key.id}"
        if problem := _find_contradiction(record):
            raise _contradiction(problem, place)
        if record.key.id == active_key_id and record.status is not KeyStatus.ACTIVE:
            raise _contradiction(f"it is active_key_id, and its status is {record.status}", place)


def _find_contradiction(record: KeyRecord) -> str | None:
    """Return what is contradictory in the lifecycle of a key, or None.

    `compromised_after` may be before `active_from`: issuers round it down to the day.
    """
    status = record.status
    if status is KeyStatus.COMPROMISED and record.compromised_after is None:
        return "the status is compromised, without compromised_after"
    if status is KeyStatus.RETIRED and record.retired_at is None:
        return "the status is retired, without retired_at"
    if status is not KeyStatus.COMPROMISED and record.compromised_after is not None:
        return f"the status is {status}, with compromised_after"
    if status is KeyStatus.ACTIVE and record.retired_at is not None:
        return "the status is active, with retired_at"
    if record.retired_at is not None and record.retired_at < record.active_from:
        return "retired_at is before active_from"
    return None


def _contradiction(problem: str, field: str | None = None) -> AffidavitError:
    return AffidavitError(faults.REGISTRY_CONTRADICTION, Where(field=field), problem=problem)


def _key_of_member(key_id: str, text: object) -> PublicKey:
    try:
        return public_key_from_text(key_id, text)
    except AffidavitError as error:
        raise error.at(field=key_id[:60]) from None


def _timestamp(text: str, place: str) -> datetime:
    time = find_timestamp(text)
    if time is None:
        raise _malformed(f"{text[:60]!r} is not a time like 2026-01-31T14:30:00Z", place)
    return time


def _malformed(problem: str, field: str | None = None) -> AffidavitError:
    return AffidavitError(faults.KEY_FORMAT, Where(field=field), problem=problem)


# Private keys as files: PKCS#8 in PEM (RFC 5958, RFC 8410), plain or encrypted.
#
# Encryption is PBES2 with scrypt (RFC 7914) and AES-256-CBC. `cryptography` would derive the key
# with 2,048 rounds of PBKDF2, which a graphics card tries millions of times a second. OpenSSL reads
# both: `openssl pkey -in KEY.pem -noout -text`.

SALT_BYTES: Final = 16
IV_BYTES: Final = 16

# The most that OpenSSL reads (it stops at 32 MiB), with p raised to the recommendation of OWASP's
# password storage cheat sheet for this n: 17 MB and a quarter of a second for each try.
_COST_N, _BLOCK_R, _PARALLEL_P = 2**14, 8, 5

_ED25519: Final = der_object_id("1.3.101.112")
_PBES2: Final = der_object_id("1.2.840.113549.1.5.13")
_SCRYPT: Final = der_object_id("1.3.6.1.4.1.11591.4.11")
_AES_256_CBC: Final = der_object_id("2.16.840.1.101.3.4.1.42")


def plain_pem(seed: bytes) -> bytes:
    """Return a seed as an unencrypted private key."""
    return _pem("PRIVATE KEY", _private_key_info(seed))


def encrypted_pem(seed: bytes, passphrase: str, *, salt: bytes, iv: bytes) -> bytes:
    """Return a seed as an encrypted private key; salt and iv come from a secure random source."""
    key = hashlib.scrypt(
        _passphrase_bytes(passphrase),
        salt=salt,
        n=_COST_N,
        r=_BLOCK_R,
        p=_PARALLEL_P,
        maxmem=64 * 1024 * 1024,
        dklen=32,
    )
    derivation = der_element(
        SEQUENCE,
        der_element(OCTET_STRING, salt),
        *map(der_integer, (_COST_N, _BLOCK_R, _PARALLEL_P)),
    )
    scheme = der_element(
        SEQUENCE,
        der_element(SEQUENCE, _SCRYPT, derivation),
        der_element(SEQUENCE, _AES_256_CBC, der_element(OCTET_STRING, iv)),
    )
    encrypted = crypto.aes_256_cbc(key, iv, _private_key_info(seed))
    info = der_element(
        SEQUENCE, der_element(SEQUENCE, _PBES2, scheme), der_element(OCTET_STRING, encrypted)
    )
    return _pem("ENCRYPTED PRIVATE KEY", info)


def is_encrypted(pem: bytes) -> bool:
    """Return whether a key file needs a passphrase."""
    return pem.lstrip().startswith(b"-----BEGIN ENCRYPTED PRIVATE KEY-----")


def seed_from(pem: bytes, passphrase: str | None) -> bytes:
    """Return the seed of a key file. No error quotes the file or the passphrase."""
    secret = None if passphrase is None else _passphrase_bytes(passphrase)
    try:
        found = crypto.seed_from_pem(pem, secret)
    except crypto.WrongPassphraseError:
        reason = "no passphrase was given" if passphrase is None else "this is not its passphrase"
        problem = f"the private key is encrypted, and {reason}"
        raise AffidavitError(faults.KEY_PASSPHRASE, problem=problem) from None
    except ValueError:
        problem = "it is not a private key in PEM (PKCS#8)"
        raise AffidavitError(faults.KEY_FORMAT, problem=problem) from None
    if isinstance(found, str):
        raise AffidavitError(faults.KEY_ALGORITHM, found=found)
    return found


def _passphrase_bytes(passphrase: str) -> bytes:
    # An environment variable may hold any bytes. OpenSSL uses them as they are, and so do we.
    return passphrase.encode("utf-8", "surrogateescape")


def _private_key_info(seed: bytes) -> bytes:
    key = der_element(OCTET_STRING, der_element(OCTET_STRING, seed))
    return der_element(SEQUENCE, der_integer(0), der_element(SEQUENCE, _ED25519), key)


def _pem(label: str, der: bytes) -> bytes:
    text = b64encode(der)
    lines = [text[at : at + 64] for at in range(0, len(text), 64)]
    return b"\n".join(
        (f"-----BEGIN {label}-----".encode(), *lines, f"-----END {label}-----".encode(), b"")
    )
