"""API keys in a project's `.affidavit/api-keys.json`: names, workspaces, scopes, salted digests.

A key is `afk_<id>_<secret>`. The secret has 256 random bits, so one round of SHA-256 with a salt is
enough: it cannot be guessed. The key itself is never stored.
"""

import hashlib
import hmac
import os
import re
import stat
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import service as faults
from affidavit.base.files import read_bounded, write_atomically
from affidavit.base.strict_json import decode
from affidavit.store.files import FileBackedValue, exclusive_lock, may_exist

SCHEMA: Final = "affidavit-api-keys/v2"
FIRST_SCHEMA: Final = "affidavit-api-keys/v1"
"""Its keys have no workspace and no expiry. They are read, and written as version 2 by a change."""
DEFAULT_WORKSPACE: Final = "default"
"""Of keys that name none, of callers without a key, and of the command line."""
WORKSPACE_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
MAX_BYTES: Final = 16 * 1024 * 1024
ID_BYTES: Final = 6
SALT_BYTES: Final = 16
SECRET_BYTES: Final = 32
_KEY: Final = re.compile(r"afk_([0-9a-f]{12})_([0-9a-f]{64})")
_GROUP_AND_OTHERS: Final = 0o077

Hex = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]+\Z")]


class ApiKeyScope(StrEnum):
    """What a key permits."""

    ANSWER = "answer"
    VERIFY = "verify"
    READ = "read"
    LEDGERS = "ledgers"
    """See the documents, sessions and ledgers of the workspace."""
    EDIT = "edit"
    """Upload, check, export and delete."""
    REVIEW = "review"
    """Decide about claims and answers."""
    ADMIN = "admin"
    """Manage the users and API keys of the workspace, and export its audit log."""
    SPANS = "spans"
    """Send spans and log records of OpenTelemetry."""


class ApiKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One key as it is stored."""

    id: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{12}\Z")]
    name: str
    scopes: tuple[ApiKeyScope, ...]
    salt: Hex
    sha256: Hex
    created_at: str
    revoked_at: str | None = None
    workspace: str = DEFAULT_WORKSPACE
    expires_at: str | None = None

    def is_valid(self, at: str) -> bool:
        """Tell whether the key is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or at < self.expires_at)

    def has_secret(self, secret: str) -> bool:
        """Tell whether this is the key's secret, in constant time."""
        return hmac.compare_digest(digest_of_secret(self.salt, secret), self.sha256)


class ApiKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    schema: Literal["affidavit-api-keys/v1", "affidavit-api-keys/v2"]
    keys: tuple[ApiKey, ...]


ApiKeyTuple = tuple[ApiKey, ...]


class ApiKeyFile:
    """API keys in a file, which is created with the first one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._cached = FileBackedValue(path, self._read)

    def keys(self) -> ApiKeyTuple:
        """Return all keys, the oldest first; a changed file is read again."""
        return self._cached.get()

    def change(self, update: Callable[[ApiKeyTuple], ApiKeyTuple]) -> ApiKeyTuple:
        """Change the keys under a lock."""
        with exclusive_lock(self.path.with_suffix(".lock")):
            keys = update(self._read())
            document = msgspec.json.encode(ApiKeys(SCHEMA, keys))
            text = msgspec.json.format(document, indent=2)
            write_atomically(self.path, text + b"\n", private=True)
        return keys

    def find(self, text: str, at: str) -> ApiKey | None:
        """Return the key of a text, if it is known, and neither revoked nor expired."""
        match = _KEY.fullmatch(text)
        if match is None:
            return None
        found = next((key for key in self.keys() if key.id == match[1]), None)
        if found is None or not found.is_valid(at) or not found.has_secret(match[2]):
            return None
        return found

    def _read(self) -> ApiKeyTuple:
        if not may_exist(self.path):
            return ()
        where = Where(file=str(self.path))
        raw = read_bounded(self.path, MAX_BYTES)
        mode = stat.S_IMODE(self.path.stat().st_mode)
        if mode & _GROUP_AND_OTHERS and os.name != "nt":  # Windows has no such mode.
            raise AffidavitError(faults.API_KEYS_READABLE, where, mode=f"{mode:04o}")
        try:
            return msgspec.convert(decode(raw), ApiKeys).keys
        except msgspec.ValidationError as error:
            raise AffidavitError(faults.API_KEYS_FORMAT, where, problem=str(error)) from None
        except AffidavitError as error:
            raise error.at(file=str(self.path)) from None


def api_key_text(key_id: str, secret: str) -> str:
    """Return a key in the form that its owner receives once."""
    return f"afk_{key_id}_{secret}"


def digest_of_secret(salt: str, secret: str) -> str:
    """Return the stored digest of a secret."""
    return hashlib.sha256(bytes.fromhex(salt) + bytes.fromhex(secret)).hexdigest()
