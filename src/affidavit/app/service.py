"""The use cases of the HTTP service: API keys, and answering and verifying for a project."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from affidavit.app.answer import (
    SELF_ANCHOR,
    AnswerContext,
    anchor_receipt,
    answer_linked,
    answer_request,
    linked_document,
    load_answer_setup,
    receipt_text,
    request_from_wire,
)
from affidavit.app.clock import datetime_of
from affidavit.app.keys import PROJECT_FOLDER, export_keys, find_passphrase, key_folder
from affidavit.app.tool_queries import (
    MAX_DEADLINE_MS,
    SOURCE_THREADS,
    CallerThreads,
    NotImmediateError,
)
from affidavit.app.verify import ReceiptInput, is_linked_document, trust_from, verify_steps
from affidavit.base.canonical import sorted_compact
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import service as faults
from affidavit.base.faults import store as store_faults
from affidavit.base.json_values import JsonLimits, JsonValue
from affidavit.base.strict_json import decode
from affidavit.seal.keys import SigningKey
from affidavit.seal.receipts import (
    LinkedVerification,
    ReceiptTrust,
    ReceiptVerification,
    linked_verification,
)
from affidavit.store.api_keys import (
    DEFAULT_WORKSPACE,
    ID_BYTES,
    SALT_BYTES,
    SECRET_BYTES,
    WORKSPACE_NAME,
    ApiKey,
    ApiKeyFile,
    ApiKeyScope,
    ApiKeyTuple,
    api_key_text,
    digest_of_secret,
)
from affidavit.store.files import FileBackedValue

if TYPE_CHECKING:
    from affidavit.app.ledger_store import StoreConfig

MAX_NAME_LETTERS: Final = 64


@dataclass(frozen=True, slots=True)
class CreatedApiKey:
    """A new key. `key` is shown once and not stored."""

    id: str
    name: str
    scopes: tuple[str, ...]
    key: str
    workspace: str
    expires_at: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedApiKey:
    """A key without its secret."""

    id: str
    name: str
    scopes: tuple[str, ...]
    status: str
    created_at: str
    revoked_at: str | None
    workspace: str
    expires_at: str | None


def create_api_key(
    file: ApiKeyFile,
    name: str,
    scopes: Sequence[str],
    *,
    random_bytes: Callable[[int], bytes],
    at: str,
    workspace: str = DEFAULT_WORKSPACE,
    expires_at: str | None = None,
) -> CreatedApiKey:
    """Create a key for the scopes. A running service accepts it at once."""
    if problem := _name_problem(name):
        raise AffidavitError(faults.API_KEY_NAME, name=name, problem=problem)
    if not WORKSPACE_NAME.fullmatch(workspace):
        raise AffidavitError(store_faults.WORKSPACE_NAME, name=workspace)
    if expires_at is not None and expires_at <= at:
        raise AffidavitError(store_faults.EXPIRY, text=expires_at)
    ordered = tuple(scope for scope in ApiKeyScope if scope in scopes)
    sizes = (ID_BYTES, SALT_BYTES, SECRET_BYTES)
    key_id, salt, secret = (random_bytes(size).hex() for size in sizes)
    created = ApiKey(
        id=key_id,
        name=name,
        scopes=ordered,
        salt=salt,
        sha256=digest_of_secret(salt, secret),
        created_at=at,
        workspace=workspace,
        expires_at=expires_at,
    )

    def update(keys: ApiKeyTuple) -> ApiKeyTuple:
        if any(key.name == name and key.revoked_at is None for key in keys):
            raise AffidavitError(faults.API_KEY_NAME, name=name, problem="another key has it")
        return (*keys, created)

    file.change(update)
    text = api_key_text(key_id, secret)
    return CreatedApiKey(key_id, name, ordered, text, workspace=workspace, expires_at=expires_at)


def list_api_keys(file: ApiKeyFile, at: str) -> tuple[ListedApiKey, ...]:
    """Return every key, the oldest first, revoked and expired ones included."""
    keys = file.keys()
    return tuple(_listed(key, at) for key in keys)


def revoke_api_key(file: ApiKeyFile, reference: str, at: str) -> ListedApiKey:
    """Revoke a key. A running service refuses it at once."""
    key_id = _api_key_named(file.keys(), reference).id

    def update(keys: ApiKeyTuple) -> ApiKeyTuple:
        return tuple(
            msgspec.structs.replace(key, revoked_at=key.revoked_at or at)
            if key.id == key_id
            else key
            for key in keys
        )

    return next(_listed(key, at) for key in file.change(update) if key.id == key_id)


def _api_key_named(keys: ApiKeyTuple, reference: str) -> ApiKey:
    """Return the one active key with this name, or the one whose id starts with it."""
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


def _listed(key: ApiKey, at: str) -> ListedApiKey:
    status = "active" if key.is_valid(at) else "expired"
    return ListedApiKey(
        id=key.id,
        name=key.name,
        scopes=key.scopes,
        status=status if key.revoked_at is None else "revoked",
        created_at=key.created_at,
        revoked_at=key.revoked_at,
        workspace=key.workspace,
        expires_at=key.expires_at,
    )


API_KEYS_NAME: Final = "api-keys.json"


def api_key_file(project: Path) -> ApiKeyFile:
    """Return the API keys of a project."""
    return ApiKeyFile(project / PROJECT_FOLDER / API_KEYS_NAME)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceConfig:
    """What each process of the service needs to start. It is pickled to other processes."""

    project: Path
    tools: Path | None = None
    routes: Path | None = None
    issuer: str | None = None
    keys: tuple[Path, ...] = ()
    tsa_roots: tuple[Path, ...] = ()
    anchor: str | None = None
    anchor_required: bool = False
    store: "StoreConfig | None" = None


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """The limits of a request: of its JSON, and of the deadline that it may ask for."""

    json: JsonLimits
    max_deadline_ms: int = MAX_DEADLINE_MS


@dataclass(frozen=True, slots=True)
class IssuedReceipt:
    """A signed receipt as JSON text, or linked ones.

    For the log: the id, or ids with spaces between, and why there is no time stamp.
    """

    id: str
    text: bytes
    anchor_problem: str | None = None


class AnswerService:
    """Answers and verifies for a project. Several threads may use it at the same time.

    Signing keys and trusted keys are read again when the registry changes. Tools and routes are
    read once.
    """

    def __init__(self, config: ServiceConfig) -> None:
        self._config = config
        self._folder = key_folder(config.project)
        self._setup = load_answer_setup(config.tools, config.routes, config.project)
        registry = self._folder.registry_path
        self._signing = FileBackedValue(registry, self._signing_key)
        self._trust = FileBackedValue(registry, self._trusted)

    def answer(
        self, raw: bytes, limits: RequestLimits, caller: str, started_at: float
    ) -> IssuedReceipt:
        """Return the signed receipt for a request. Its deadline counts from `started_at`.

        A caller has a share of the threads that query sources.
        """
        return self._receipt(raw, limits, CallerThreads(SOURCE_THREADS, caller), started_at)

    def answer_immediately(self, raw: bytes, limits: RequestLimits) -> IssuedReceipt | None:
        """Return the signed receipt, or None if a source may take time to respond.

        It hangs if reading a file hangs, so the caller needs a timeout.
        """
        try:
            if self._config.anchor not in (None, SELF_ANCHOR):
                raise NotImmediateError
            return self._receipt(raw, limits, None, None)
        except NotImmediateError:
            return None

    def verify(
        self, raw: bytes, limits: JsonLimits, name: str
    ) -> ReceiptVerification | LinkedVerification:
        """Verify a receipt, or linked ones, with the keys of the project and the config."""
        receipts = ReceiptInput(name, raw=raw, limits=limits).receipts()
        at = datetime_of(None)
        each = tuple(verify_steps(receipt, self._trust.get(), at) for receipt in receipts)
        return linked_verification(each) if is_linked_document(raw) else each[0]

    @cached_property
    def coverage(self) -> bytes:
        """The coverage manifest."""
        context = self._context(self._signing.get())
        return sorted_compact(msgspec.to_builtins(context.coverage))

    def public_keys(self, *, lifecycles: bool) -> bytes:
        """Return the flat document of public keys, or the registry."""
        return sorted_compact(export_keys(self._folder, lifecycles=lifecycles))

    def require_ready(self) -> None:
        """Raise the reason why nothing can be signed or verified now."""
        self._signing.get()
        self._trust.get()

    def _receipt(
        self,
        raw: bytes,
        limits: RequestLimits,
        threads: CallerThreads | None,
        started_at: float | None,
    ) -> IssuedReceipt:
        value = decode(raw, limits.json)
        request = request_from_wire(value, max_deadline_ms=limits.max_deadline_ms)
        key = self._signing.get()
        context = replace(self._context(key), threads=threads, started_at=started_at)
        if not request.split:
            receipt, problem = self._anchored(answer_request(request, context, key))
            return IssuedReceipt(str(receipt["receipt_id"]), receipt_text(receipt), problem)
        pairs = [self._anchored(receipt) for receipt in answer_linked(request, context, key)]
        receipts = [receipt for receipt, _ in pairs]
        ids = " ".join(str(receipt["receipt_id"]) for receipt in receipts)
        problem = next((problem for _, problem in pairs if problem is not None), None)
        return IssuedReceipt(ids, receipt_text(linked_document(receipts)), problem)

    def _anchored(self, receipt: dict[str, JsonValue]) -> tuple[dict[str, JsonValue], str | None]:
        """Return the receipt with its anchor, or without one and the reason."""
        try:
            return anchor_receipt(receipt, self._config.anchor), None
        except AffidavitError as error:
            if self._config.anchor_required:
                raise
            return receipt, error.message

    def _context(self, key: SigningKey) -> AnswerContext:
        return self._setup.context(self._config.issuer or self._setup.issuer or key.public.id)

    def _signing_key(self) -> SigningKey:
        return self._folder.signing_key(find_passphrase())

    def _trusted(self) -> ReceiptTrust:
        files = (self._folder.registry_path, *self._config.keys)
        return trust_from(files, self._config.tsa_roots)
