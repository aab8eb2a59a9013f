"""The signing keys of a project: creating, listing, exporting and retiring them."""

import os
import secrets
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Final

from msgspec import Struct

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import receipts as faults
from affidavit.base.json_values import JsonValue
from affidavit.base.timestamps import timestamp_text
from affidavit.seal.keys import (
    IV_BYTES,
    SALT_BYTES,
    SEED_BYTES,
    KeyRecord,
    KeyRegistry,
    encrypted_pem,
    keys_document,
    plain_pem,
    registry_document,
    signing_key_from,
)
from affidavit.store.signing_keys import SigningKeyFolder

PROJECT_FOLDER = ".affidavit"
PASSPHRASE_VARIABLE = "AFFIDAVIT_KEY_PASSPHRASE"  # noqa: S105 - the name of a variable


def key_folder(root: Path) -> SigningKeyFolder:
    """Return the key folder of a project."""
    return SigningKeyFolder(root / PROJECT_FOLDER / "keys")


def random_bytes(size: int) -> bytes:
    """Return bytes from a secure random source."""
    return secrets.token_bytes(size)


def find_passphrase() -> str | None:
    """Return the passphrase in the environment, or None if it is empty or not set."""
    return os.environ.get(PASSPHRASE_VARIABLE) or None


SHORTEST_PASSPHRASE: Final = 8


class CreatedKey(Struct, frozen=True):
    """A new key, and the path of its private part."""

    key_id: str
    path: Path
    is_encrypted: bool


class ListedKey(Struct, frozen=True, kw_only=True):
    """An entry of the list of keys. Times are in RFC 3339."""

    key_id: str
    status: str
    signs_now: bool = False
    active_from: str | None = None
    retired_at: str | None = None
    compromised_after: str | None = None
    reason: str | None = None
    private: str


def create_key(
    store: SigningKeyFolder,
    prefix: str,
    passphrase: str | None,
    random: Callable[[int], bytes],
    at: datetime,
) -> CreatedKey:
    """Create a key from a secure random source; it signs from now on."""
    if passphrase is not None and len(passphrase) < SHORTEST_PASSPHRASE:
        problem = f"a passphrase has at least {SHORTEST_PASSPHRASE} characters"
        raise AffidavitError(faults.KEY_PASSPHRASE, problem=problem)
    key = signing_key_from(random(SEED_BYTES), prefix)
    if passphrase is None:
        pem = plain_pem(key.seed)
    else:
        pem = encrypted_pem(key.seed, passphrase, salt=random(SALT_BYTES), iv=random(IV_BYTES))
    path = store.add(key.public, pem, lambda registry: registry.with_new(key.public, at))
    return CreatedKey(key.public.id, path, passphrase is not None)


def list_keys(store: SigningKeyFolder) -> tuple[ListedKey, ...]:
    """Return the keys of the registry, oldest first, then private keys that are not in it."""
    registry = store.registry()
    known = [_listed(record, registry, store) for record in registry.records]
    unregistered = [
        ListedKey(key_id=key_id, status="unregistered", private=store.private_state(key_id))
        for key_id in store.unregistered()
    ]
    return (*known, *unregistered)


def export_keys(store: SigningKeyFolder, *, lifecycles: bool) -> dict[str, JsonValue]:
    """Return the public document: the flat map, or the registry with lifecycles."""
    registry = store.registry()
    if not registry.records:
        problem = "there is no key yet; `affidavit keys new` makes one"
        raise AffidavitError(faults.KEY_STATE, problem=problem)
    return registry_document(registry) if lifecycles else {**keys_document(registry)}


def retire_key(store: SigningKeyFolder, reference: str, when: datetime, at: datetime) -> ListedKey:
    """Retire a key. What it signed before, as a time stamp shows, still counts."""

    def update(registry: KeyRegistry) -> KeyRegistry:
        return registry.with_retired(_key_named(registry, reference), when, at)

    return _changed(store, reference, update)


def compromise_key(
    store: SigningKeyFolder, reference: str, since: datetime, reason: str, at: datetime
) -> ListedKey:
    """Mark a key as compromised: only what a time stamp shows to be earlier still counts."""

    def update(registry: KeyRegistry) -> KeyRegistry:
        return registry.with_compromised(_key_named(registry, reference), since, reason, at)

    return _changed(store, reference, update)


def _changed(
    store: SigningKeyFolder, reference: str, update: Callable[[KeyRegistry], KeyRegistry]
) -> ListedKey:
    registry = store.change(update)
    return _listed(registry.record(_key_named(registry, reference)), registry, store)


def _key_named(registry: KeyRegistry, reference: str) -> str:
    """Return the only key whose id, or its digits, begin with the reference."""
    ids = [record.key.id for record in registry.records]
    found = [
        key_id
        for key_id in ids
        if reference and (key_id.startswith(reference) or _digits(key_id).startswith(reference))
    ]
    if reference in ids:
        return reference
    if len(found) == 1:
        return found[0]
    problem = f"no key here is named {reference!r}"
    if found:
        problem = f"{reference!r} may mean {' or '.join(found)}"
    raise AffidavitError(faults.KEY_STATE, problem=problem)


def _digits(key_id: str) -> str:
    return key_id.rpartition("-")[2]


def _listed(record: KeyRecord, registry: KeyRegistry, store: SigningKeyFolder) -> ListedKey:
    def text(time: datetime | None) -> str | None:
        return None if time is None else timestamp_text(time)

    return ListedKey(
        key_id=record.key.id,
        status=record.status.value,
        signs_now=record.key.id == registry.active_key_id,
        active_from=timestamp_text(record.active_from),
        retired_at=text(record.retired_at),
        compromised_after=text(record.compromised_after),
        reason=record.reason,
        private=store.private_state(record.key.id),
    )
