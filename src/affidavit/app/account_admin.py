"""API keys and the audit log of one workspace, for its administrators."""

from typing import Annotated

from msgspec import Meta, Struct

from affidavit.app.accounts import Administrator
from affidavit.app.clock import datetime_of, now, time_of
from affidavit.app.keys import find_passphrase, key_folder, random_bytes
from affidavit.app.ledger_store import LedgerStore
from affidavit.app.project import Project
from affidavit.app.service import (
    CreatedApiKey,
    ListedApiKey,
    api_key_file,
    create_api_key,
    list_api_keys,
    revoke_api_key,
)
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import service as faults
from affidavit.seal.audit import export_text
from affidavit.store.api_keys import ApiKeyScope
from affidavit.store.audit_rows import add_audit_entry, audit_entries


class NewApiKeyV1(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An API key to create. `expires` is the day or time from which it is refused."""

    name: str
    scopes: Annotated[list[ApiKeyScope], Meta(min_length=1)]
    expires: str | None = None


class ApiKeyListV1(Struct, frozen=True):
    """The API keys of the workspace, the oldest first."""

    keys: list[ListedApiKey]


class AccountAdmin:
    """What an administrator of a workspace does beside its users."""

    def __init__(self, store: LedgerStore, project: Project) -> None:
        self._store = store
        self._keys = api_key_file(project.root)
        self._folder = key_folder(project.root)

    def api_keys(self, workspace: str) -> list[ListedApiKey]:
        """Return the API keys of a workspace."""
        return [key for key in list_api_keys(self._keys, now()) if key.workspace == workspace]

    def new_api_key(self, by: Administrator, request: NewApiKeyV1) -> CreatedApiKey:
        """Create an API key of the workspace."""
        if not request.scopes:
            raise AffidavitError(faults.API_KEY_NAME, name=request.name, problem="it has no scope")
        made = create_api_key(
            self._keys,
            request.name,
            tuple(request.scopes),
            random_bytes=random_bytes,
            at=now(),
            workspace=by.workspace,
            expires_at=None if request.expires is None else time_of(request.expires),
        )
        scopes = ", ".join(made.scopes)
        self._audit(by, "apikey.add", f"{made.name} ({made.id})", scopes=scopes)
        return made

    def revoke_api_key(self, by: Administrator, key_id: str) -> ListedApiKey:
        """Revoke an API key of the workspace."""
        if all(key.id != key_id for key in self.api_keys(by.workspace)):
            raise AffidavitError(faults.API_KEY_UNKNOWN, reference=key_id[:64])
        revoked = revoke_api_key(self._keys, key_id, now())
        self._audit(by, "apikey.revoke", f"{revoked.name} ({revoked.id})")
        return revoked

    def audit_log(self, workspace: str) -> bytes:
        """Return the audit log of a workspace, signed with the active key of the project."""
        place = self._store.workspace(workspace)
        entries = self._store.database.read(place, audit_entries)
        key = self._folder.signing_key(find_passphrase())
        return export_text(workspace, entries, key, datetime_of(None))

    def _audit(self, by: Administrator, action: str, subject: str, **detail: str) -> None:
        place = self._store.workspace(by.workspace)
        self._store.database.write(
            place,
            lambda scope: add_audit_entry(
                scope, at=now(), by=by.name, action=action, subject=subject, detail=detail
            ),
        )
