"""The use cases of the HTTP service: API keys, and answering and verifying for a project."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final

from affidavit.app.answer import AnswerContext, answer_request, load_answer_setup, request_from_wire
from affidavit.app.clock import datetime_of
from affidavit.app.keys import PROJECT_FOLDER, export_keys, find_passphrase, key_folder
from affidavit.app.tool_queries import SOURCE_THREADS, DaemonThreadPool, NotImmediateError
from affidavit.app.verify import ReceiptInput, ReceiptOutcome, ReceiptVerifier, trust_from
from affidavit.base.canonical import sorted_compact, sorted_compact_decoded
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import service as faults
from affidavit.base.json_values import JsonLimits
from affidavit.base.strict_json import decode
from affidavit.seal.keys import SigningKey
from affidavit.seal.receipt_verification import ReceiptTrust
from affidavit.store.api_keys import (
    ID_BYTES,
    SALT_BYTES,
    SECRET_BYTES,
    ApiKey,
    ApiKeyFile,
    ApiKeyScope,
    ApiKeyTuple,
    api_key_text,
    digest_of_secret,
)
from affidavit.store.files import FileBackedValue

# Making, listing and revoking the API keys of the service.

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
    file: ApiKeyFile,
    name: str,
    scopes: Sequence[ApiKeyScope],
    chance: Callable[[int], bytes],
    at: str,
) -> CreatedApiKey:
    """Make a key that opens the scopes; the service knows it at once."""
    if problem := _name_problem(name):
        raise AffidavitError(faults.API_KEY_NAME, name=name, problem=problem)
    opened = tuple(scope for scope in ApiKeyScope if scope in scopes)
    key_id, salt, secret = (chance(size).hex() for size in (ID_BYTES, SALT_BYTES, SECRET_BYTES))
    made = ApiKey(key_id, name, opened, salt, digest_of_secret(salt, secret), at)

    def update(keys: ApiKeyTuple) -> ApiKeyTuple:
        if any(key.name == name and key.revoked_at is None for key in keys):
            raise AffidavitError(faults.API_KEY_NAME, name=name, problem="another key has it")
        return (*keys, made)

    file.change(update)
    return CreatedApiKey(key_id, name, opened, api_key_text(key_id, secret))


def list_api_keys(file: ApiKeyFile) -> tuple[ListedApiKey, ...]:
    """Return every key, the oldest first; revoked ones stay listed."""
    return tuple(map(_listed, file.keys()))


def revoke_api_key(file: ApiKeyFile, reference: str, at: str) -> ListedApiKey:
    """Have a key open nothing from now on; the service knows it at once."""
    meant = _api_key_named(file.keys(), reference)

    def update(keys: ApiKeyTuple) -> ApiKeyTuple:
        return tuple(_revoked(key, at) if key.id == meant.id else key for key in keys)

    return next(_listed(key) for key in file.change(update) if key.id == meant.id)


def _revoked(key: ApiKey, at: str) -> ApiKey:
    return ApiKey(
        key.id, key.name, key.scopes, key.salt, key.sha256, key.created_at, key.revoked_at or at
    )


def _api_key_named(keys: ApiKeyTuple, reference: str) -> ApiKey:
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


def _listed(key: ApiKey) -> ListedApiKey:
    status = "active" if key.revoked_at is None else "revoked"
    return ListedApiKey(key.id, key.name, key.scopes, status, key.created_at, key.revoked_at)


# Puts together what the service works with, from what the user named. It crosses processes.

API_KEYS_NAME: Final = "api-keys.json"


def api_key_file(project: Path) -> ApiKeyFile:
    """Return the API keys of the project at a place."""
    return ApiKeyFile(project / PROJECT_FOLDER / API_KEYS_NAME)


@dataclass(frozen=True, slots=True)
class ServiceConfig:
    """What the user named: all that each process of the service needs to set itself up."""

    project: Path
    tools: Path | None = None
    routes: Path | None = None
    issuer: str | None = None
    keys: tuple[Path, ...] = ()
    tsa_roots: tuple[Path, ...] = ()


class AnswerService:
    """Answers and verifies for a project. Threads may use it at the same time.

    Signing keys and trusted keys are read again when the registry changes; tools and routes are
    those of the start.
    """

    def __init__(self, plan: ServiceConfig) -> None:
        self._plan = plan
        self._folder = key_folder(plan.project)
        self._setup = load_answer_setup(plan.tools, plan.routes, plan.project)
        registry = self._folder.registry_path
        self._signing = FileBackedValue(registry, self._signing_key)
        self._trust = FileBackedValue(registry, self._trusted)

    def answer(self, raw: bytes, limits: JsonLimits, since: float) -> bytes:
        """Return the signed receipt for a request, whose deadline counts from `since`."""
        return self._receipt(raw, limits, SOURCE_THREADS, since)

    def find_answer_at_hand(self, raw: bytes, limits: JsonLimits) -> bytes | None:
        """Return the same if no source has to be waited for.

        It hangs if a file does, so the caller has to watch whether it comes back.
        """
        try:
            return self._receipt(raw, limits, None, None)
        except NotImmediateError:
            return None

    def verify(self, raw: bytes, name: str) -> ReceiptOutcome:
        """Return the steps of verifying a receipt, with the keys of the project and those named."""
        verifier = ReceiptVerifier(self._trust.get(), datetime_of(None))
        return verifier.verify(ReceiptInput(name, None, raw))

    @cached_property
    def coverage(self) -> bytes:
        """What can be asked: the coverage manifest."""
        return sorted_compact(self._desk(self._signing.get()).coverage)

    def public_keys(self, *, lifecycles: bool) -> bytes:
        """Return the flat document of public keys, or the registry."""
        return sorted_compact(export_keys(self._folder, lifecycles=lifecycles))

    def require_ready(self) -> None:
        """Raise why nothing could be signed or verified now."""
        self._signing.get()
        self._trust.get()

    def _receipt(
        self, raw: bytes, limits: JsonLimits, crew: DaemonThreadPool | None, since: float | None
    ) -> bytes:
        request = request_from_wire(decode(raw, limits))
        key = self._signing.get()
        desk = replace(self._desk(key), crew=crew, since=since)
        # It was written once, to be signed, so it holds nothing that has no form.
        return sorted_compact_decoded(answer_request(request, desk, key))

    def _desk(self, key: SigningKey) -> AnswerContext:
        return self._setup.desk(self._plan.issuer or self._setup.issuer or key.public.id)

    def _signing_key(self) -> SigningKey:
        return self._folder.signing_key(find_passphrase())

    def _trusted(self) -> ReceiptTrust:
        files = (self._folder.registry_path, *self._plan.keys)
        return trust_from(files, self._plan.tsa_roots)
