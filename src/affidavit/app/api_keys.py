"""Making, listing and revoking the API keys of the service."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import service as faults
from affidavit.store.api_keys import (
    ID_BYTES,
    SALT_BYTES,
    SECRET_BYTES,
    ApiKeyFile,
    ApiKeyV1,
    Keys,
    Scope,
    digest_of_secret,
    key_text,
)

MAX_NAME_LETTERS: Final = 64


@dataclass(frozen=True, slots=True)
class CreatedApiKey:
    """A new key. `key` is shown now and never again."""

    id: str
    name: str
    scopes: tuple[str, ...]
    key: str


@dataclass(frozen=True, slots=True)
class ListedApiKey:
    """What may be shown of a key."""

    id: str
    name: str
    scopes: tuple[str, ...]
    status: str
    created_at: str
    revoked_at: str | None


def create_api_key(
    file: ApiKeyFile, name: str, scopes: Sequence[Scope], chance: Callable[[int], bytes], at: str
) -> CreatedApiKey:
    """Make a key that opens the scopes; the service knows it at once."""
    if problem := _name_problem(name):
        raise AffidavitError(faults.API_KEY_NAME, name=name, problem=problem)
    opened = tuple(scope for scope in Scope if scope in scopes)
    key_id, salt, secret = (chance(size).hex() for size in (ID_BYTES, SALT_BYTES, SECRET_BYTES))
    made = ApiKeyV1(key_id, name, opened, salt, digest_of_secret(salt, secret), at)

    def update(keys: Keys) -> Keys:
        if any(key.name == name and key.revoked_at is None for key in keys):
            raise AffidavitError(faults.API_KEY_NAME, name=name, problem="another key has it")
        return (*keys, made)

    file.change(update)
    return CreatedApiKey(key_id, name, opened, key_text(key_id, secret))


def list_api_keys(file: ApiKeyFile) -> tuple[ListedApiKey, ...]:
    """Return every key, the oldest first; revoked ones stay listed."""
    return tuple(map(_listed, file.keys()))


def revoke_api_key(file: ApiKeyFile, reference: str, at: str) -> ListedApiKey:
    """Have a key open nothing from now on; the service knows it at once."""
    meant = _meant(file.keys(), reference)

    def update(keys: Keys) -> Keys:
        return tuple(_revoked(key, at) if key.id == meant.id else key for key in keys)

    return next(_listed(key) for key in file.change(update) if key.id == meant.id)


def _revoked(key: ApiKeyV1, at: str) -> ApiKeyV1:
    return ApiKeyV1(
        key.id, key.name, key.scopes, key.salt, key.sha256, key.created_at, key.revoked_at or at
    )


def _meant(keys: Keys, reference: str) -> ApiKeyV1:
    """Return the one key that is named so, or whose id begins so."""
    named = [key for key in keys if key.name == reference and key.revoked_at is None]
    found = named or [key for key in keys if reference and key.id.startswith(reference)]
    if len(found) != 1:
        raise AffidavitError(faults.API_KEY_UNKNOWN, reference=reference)
    return found[0]


def _name_problem(name: str) -> str | None:
    if not name.strip():
        return "it is empty"
    if len(name) > MAX_NAME_LETTERS:
        return f"it has more than {MAX_NAME_LETTERS} letters"
    return None if name.isprintable() else "it has letters that cannot be printed"


def _listed(key: ApiKeyV1) -> ListedApiKey:
    status = "active" if key.revoked_at is None else "revoked"
    return ListedApiKey(key.id, key.name, key.scopes, status, key.created_at, key.revoked_at)
