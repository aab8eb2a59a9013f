"""Keys in a project's `.affidavit/keys` folder: private keys as files, and their registry.

A private key is `<key id>.pem`. It is read only if other users cannot read it or it is encrypted,
and only if it has the id of its file name. The registry, `registry.json`, is public. A new key is
written before the registry names it, so a crash loses no key; unregistered keys are listed.
"""

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from affidavit.base.canonical import sorted_compact
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import receipts as faults
from affidavit.base.files import read_bounded, write_atomically
from affidavit.base.strict_json import decode
from affidavit.seal.keys import (
    DEFAULT_PREFIX,
    KeyRegistry,
    KeyStatus,
    PublicKey,
    SigningKey,
    is_encrypted,
    is_key_id,
    registry_document,
    registry_from,
    seed_from,
    signing_key_from,
)
from affidavit.store.files import exclusive_lock, may_exist

MAX_KEY_BYTES: Final = 64 * 1024
MAX_REGISTRY_BYTES: Final = 16 * 1024 * 1024
_GROUP_AND_OTHERS: Final = 0o077


class SigningKeyFolder:
    """Keys as files in a folder, which is created with the first one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def registry_path(self) -> Path:
        """The file of the registry."""
        return self._folder / "registry.json"

    @property
    def _lock(self) -> Path:
        return self._folder / ".lock"

    def private_path(self, key_id: str) -> Path:
        """Return the file of a private key, which need not exist."""
        return self._folder / f"{key_id}.pem"

    def registry(self) -> KeyRegistry:
        """Return the registry, which is empty before the first key."""
        path = self.registry_path
        if not may_exist(path):
            return KeyRegistry()
        try:
            return registry_from(decode(read_bounded(path, MAX_REGISTRY_BYTES)))
        except AffidavitError as error:
            raise error.at(file=str(path)) from None

    def add(self, key: PublicKey, pem: bytes, update: Callable[[KeyRegistry], KeyRegistry]) -> Path:
        """Store a new private key and update the registry. No private key is ever overwritten."""
        path = self.private_path(key.id)
        with exclusive_lock(self._lock):
            registry = update(self.registry())
            if os.path.lexists(path):
                problem = f"there is a private key {key.id} already"
                raise AffidavitError(faults.KEY_STATE, Where(file=str(path)), problem=problem)
            # Private keys must not be committed.
            write_atomically(self._folder / ".gitignore", b"*.pem\n.lock\n")
            write_atomically(path, pem, private=True)
            self._write(registry)
        return path

    def change(self, update: Callable[[KeyRegistry], KeyRegistry]) -> KeyRegistry:
        """Change the registry under a lock."""
        update(self.registry())  # A refused change must not even create the folder.
        with exclusive_lock(self._lock):
            registry = update(self.registry())
            self._write(registry)
        return registry

    def signing_key(self, passphrase: str | None, key_id: str | None = None) -> SigningKey:
        """Return the named signing key, or else the active one."""
        registry = self.registry()
        chosen = key_id or registry.active_key_id
        if chosen is None:
            problem = "there is no key to sign with; `affidavit keys new` makes one"
            raise AffidavitError(faults.KEY_STATE, problem=problem)
        record = registry.record(chosen)
        if record.status is not KeyStatus.ACTIVE:
            problem = f"{chosen} is {record.status}, and signs no more"
            raise AffidavitError(faults.KEY_STATE, problem=problem)
        return self._private(record.key, passphrase)

    def private_state(self, key_id: str) -> str:
        """Describe whether a private key exists, and how it is protected."""
        path = self.private_path(key_id)
        if not may_exist(path):
            return "not here"
        if is_encrypted(read_bounded(path, MAX_KEY_BYTES)):
            return "encrypted"
        mode = _mode_of(path)
        return f"mode {mode:04o}, refused" if mode & _GROUP_AND_OTHERS else f"mode {mode:04o}"

    def unregistered(self) -> tuple[str, ...]:
        """Return the private keys that are not in the registry, left by a crash."""
        known = {record.key.id for record in self.registry().records}
        found = sorted(path.stem for path in self._folder.glob("*.pem") if is_key_id(path.stem))
        return tuple(key_id for key_id in found if key_id not in known)

    def _private(self, key: PublicKey, passphrase: str | None) -> SigningKey:
        path = self.private_path(key.id)
        if not may_exist(path):
            problem = f"the private part of {key.id} is not here"
            raise AffidavitError(faults.KEY_STATE, Where(file=str(path)), problem=problem)
        found = signing_key_at(path, passphrase)
        if found.public != key:
            raise AffidavitError(
                faults.KEY_ID_MISMATCH,
                Where(file=str(path)),
                key_id=key.id,
                found=found.public.id,
            )
        return found

    def _write(self, registry: KeyRegistry) -> None:
        text = msgspec.json.format(sorted_compact(registry_document(registry)), indent=2)
        write_atomically(self.registry_path, text + b"\n")


def signing_key_at(path: Path, passphrase: str | None) -> SigningKey:
    """Return the private key of a file, if others cannot read it or it is encrypted."""
    pem = read_bounded(path, MAX_KEY_BYTES)
    mode = _mode_of(path)
    if mode & _GROUP_AND_OTHERS and not is_encrypted(pem):
        shown = f"{mode:04o}"
        raise AffidavitError(faults.KEY_PERMISSIONS, Where(file=str(path)), mode=shown)
    try:
        seed = seed_from(pem, passphrase)
    except AffidavitError as error:
        raise error.at(file=str(path)) from None
    # The files of a project are named after their keys; others get the usual prefix.
    prefix = path.stem.rpartition("-ed25519-")[0] if is_key_id(path.stem) else DEFAULT_PREFIX
    return signing_key_from(seed, prefix)


def _mode_of(path: Path) -> int:
    # On Windows the mode always shows every file as readable by all.
    return 0o600 if os.name == "nt" else stat.S_IMODE(path.stat().st_mode)
