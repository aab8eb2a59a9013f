"""The signing keys of a project: where they are kept, and how they are made, listed, exported and
retired.
"""

import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import receipts as faults
from affidavit.base.json_values import JsonValue
from affidavit.base.timestamps import timestamp_text
from affidavit.seal.key_files import IV_BYTES, SALT_BYTES, encrypted_pem, plain_pem
from affidavit.seal.keys import (
    SEED_BYTES,
    KeyRecord,
    KeyRegistry,
    keys_document,
    registry_document,
    signing_key_from,
)
from affidavit.store.signing_keys import SigningKeyFolder

# Where the keys of a project lie, and what they need from outside: chance, time, a passphrase.

PROJECT_FOLDER = ".affidavit"
PASSPHRASE_VARIABLE = "AFFIDAVIT_KEY_PASSPHRASE"  # noqa: S105 - the name of a variable


def key_folder(root: Path) -> SigningKeyFolder:
    """Return the keys of the project at a place."""
    return SigningKeyFolder(root / PROJECT_FOLDER / "keys")


def random_bytes(size: int) -> bytes:
    """Return bytes that nobody can foresee."""
    return secrets.token_bytes(size)


def find_passphrase() -> str | None:
    """Return the passphrase of private keys that the environment holds; empty is none."""
    return os.environ.get(PASSPHRASE_VARIABLE) or None


# Making, listing, exporting, retiring and disavowing the keys of a project.

SHORTEST_PASSPHRASE: Final = 8


@dataclass(frozen=True, slots=True)
class CreatedKey:
    """A new key: its id, and where its private part lies."""

    key_id: str
    path: Path
    is_encrypted: bool


@dataclass(frozen=True, slots=True)
class ListedKey:
    """A line of the list of keys. Times are as documents write them."""

    key_id: str
    status: str
    signs_now: bool
    active_from: str | None
    retired_at: str | None
    compromised_after: str | None
    reason: str | None
    private: str


def create_key(
    store: SigningKeyFolder,
    prefix: str,
    passphrase: str | None,
    chance: Callable[[int], bytes],
    at: datetime,
) -> CreatedKey:
    """Make a key from a secure random source; it signs from now on."""
    if passphrase is not None and len(passphrase) < SHORTEST_PASSPHRASE:
        problem = f"a passphrase has at least {SHORTEST_PASSPHRASE} characters"
        raise AffidavitError(faults.KEY_PASSPHRASE, problem=problem)
    key = signing_key_from(chance(SEED_BYTES), prefix)
    if passphrase is None:
        pem = plain_pem(key.seed)
    else:
        pem = encrypted_pem(key.seed, passphrase, salt=chance(SALT_BYTES), iv=chance(IV_BYTES))
    path = store.add(key.public, pem, lambda registry: registry.with_new(key.public, at))
    return CreatedKey(key.public.id, path, passphrase is not None)


def list_keys(store: SigningKeyFolder) -> tuple[ListedKey, ...]:
    """Return every key of the registry, the oldest first, then private keys it does not name."""
    registry = store.registry()
    known = [_listed(record, registry, store) for record in registry.records]
    strays = [
        ListedKey(
            key_id, "unregistered", False, None, None, None, None, store.private_state(key_id)
        )
        for key_id in store.unregistered()
    ]
    return (*known, *strays)


def export_keys(store: SigningKeyFolder, *, lifecycles: bool) -> dict[str, JsonValue]:
    """Return the public document: the flat map, or the registry with lifecycles."""
    registry = store.registry()
    if not registry.records:
        problem = "there is no key yet; `affidavit keys new` makes one"
        raise AffidavitError(faults.KEY_STATE, problem=problem)
    return registry_document(registry) if lifecycles else {**keys_document(registry)}


def retire_key(store: SigningKeyFolder, reference: str, when: datetime, at: datetime) -> ListedKey:
    """Have a key sign no more; what it signed before, by a time stamp, still counts."""

    def update(registry: KeyRegistry) -> KeyRegistry:
        return registry.with_retired(_key_named(registry, reference), when, at)

    return _changed(store, reference, update)


def compromise_key(
    store: SigningKeyFolder, reference: str, since: datetime, reason: str, at: datetime
) -> ListedKey:
    """Disavow what a key signed since a moment, and all that no time stamp shows to be earlier."""

    def update(registry: KeyRegistry) -> KeyRegistry:
        return registry.with_compromised(_key_named(registry, reference), since, reason, at)

    return _changed(store, reference, update)


def _changed(
    store: SigningKeyFolder, reference: str, update: Callable[[KeyRegistry], KeyRegistry]
) -> ListedKey:
    registry = store.change(update)
    return _listed(registry.record(_key_named(registry, reference)), registry, store)


def _key_named(registry: KeyRegistry, reference: str) -> str:
    """Return the one key whose id, or its digits, begin so."""
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
    problem = f"{reference!r} may mean {' or '.join(found)}" if found else _unknown(reference)
    raise AffidavitError(faults.KEY_STATE, problem=problem)


def _unknown(reference: str) -> str:
    return f"no key here is named {reference!r}"


def _digits(key_id: str) -> str:
    return key_id.rpartition("-")[2]


def _listed(record: KeyRecord, registry: KeyRegistry, store: SigningKeyFolder) -> ListedKey:
    return ListedKey(
        record.key.id,
        record.status.value,
        record.key.id == registry.active_key_id,
        timestamp_text(record.active_from),
        None if record.retired_at is None else timestamp_text(record.retired_at),
        None if record.compromised_after is None else timestamp_text(record.compromised_after),
        record.reason,
        store.private_state(record.key.id),
    )
