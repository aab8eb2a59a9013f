"""Signing in with a name and a password, and managing the users of a workspace.

Passwords are stored as Argon2id digests. An attempt is counted before its password is looked at,
so that many at once are counted too; from the fifth on, a name has to wait, longer each time.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from threading import BoundedSemaphore
from typing import Annotated, Any, Final, TypeVar

from msgspec import Meta, Struct

from affidavit.app.clock import now, now_ms
from affidavit.app.ledger_store import LedgerStore, StoreConfig
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import service as faults
from affidavit.store.audit_rows import add_audit_entry
from affidavit.store.database import Scope, SystemScope
from affidavit.store.identity import require_workspace_name
from affidavit.store.roles import Member, MemberRole, SignIn
from affidavit.store.schema import newest_revision, revision_of
from affidavit.store.users import (
    UserRecord,
    add_sign_in,
    add_user,
    any_user,
    change_user,
    end_sign_in,
    failures_of,
    find_sign_in,
    members_of,
    roles_of,
    set_failures,
    set_role,
    user_named,
    user_of_issuer,
)

Result = TypeVar("Result")

SIGN_IN_MS: Final = 12 * 60 * 60 * 1000
"""A sign-in ends after a working day."""
TOKEN_BYTES: Final = 32
FREE_ATTEMPTS: Final = 4
LONGEST_WAIT_SECONDS: Final = 60
"""Long enough against guessing, and short enough that nobody can lock others out."""
MAX_PASSWORD_CHARACTERS: Final = 128
MIN_PASSWORD_CHARACTERS: Final = 12
_AT_ONCE: Final = 2
"""So many passwords are checked at the same time: each takes 64 MiB."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}")

Password = Annotated[str, Meta(max_length=1_000)]


class NewUserV1(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A user to add to the workspace."""

    name: str
    password: Password
    role: MemberRole


class UserChangeV1(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What to change about a user."""

    role: MemberRole | None = None
    password: Password | None = None
    disabled: bool | None = None


class UserListV1(Struct, frozen=True):
    """The users of the workspace, by name."""

    users: list[Member]


class MeV1(Struct, frozen=True, kw_only=True):
    """Who asks, and what for. `csrf` is what changing requests of a browser have to carry."""

    name: str
    workspace: str
    role: MemberRole | None
    workspaces: list[str]
    scopes: list[str]
    csrf: str | None


@dataclass(frozen=True, slots=True)
class Administrator:
    """Who manages users, and in which workspace. `user_id` is None for an API key."""

    workspace: str
    name: str
    user_id: str | None = None


def has_users(config: StoreConfig) -> bool:
    """Say whether anybody could sign in to a store, which may not exist yet."""
    store = LedgerStore(config)
    try:
        if revision_of(store.database) != newest_revision():
            return False
        return store.database.system(any_user, writes=False)
    finally:
        store.close()


class Accounts:
    """The users of a store. Several threads may use it at the same time."""

    def __init__(self, store: LedgerStore, random_bytes: Callable[[int], bytes]) -> None:
        self._store = store
        self._random_bytes = random_bytes
        self._hashing = BoundedSemaphore(_AT_ONCE)

    # Signing in.

    def sign_in(self, name: str, password: str, replaced: str | None = None) -> tuple[str, SignIn]:
        """Return a new token for a user. `replaced` is a token that the browser had before."""
        found = self._system(lambda system: self._begin_attempt(system, name))
        is_right = self._is_right(found, password)
        if found is None or not is_right or found.disabled:
            raise AffidavitError(faults.SIGN_IN_REFUSED)
        return self._system(lambda system: self._signed_in(system, found, replaced))

    def sign_in_from(
        self,
        issuer: str,
        subject: str,
        name: str,
        roles: dict[str, MemberRole],
        replaced: str | None,
    ) -> tuple[str, SignIn]:
        """Return a new token for a user whom an identity provider has signed in.

        The provider decides about the roles in the workspaces that `roles` names.
        """
        places = {workspace: self._store.workspace(workspace) for workspace in roles}

        def work(system: SystemScope) -> tuple[str, SignIn]:
            found = user_of_issuer(system, issuer, subject)
            if found is None:
                free = name if user_named(system, name) is None else f"{name} ({subject[:16]})"
                found = add_user(system, free, now(), issuer=issuer, subject=subject)
            if found.disabled:
                raise AffidavitError(faults.SIGN_IN_REFUSED)
            known = {each.workspace: each.role for each in roles_of(system, found.id)}
            for workspace, role in roles.items():
                if known.get(workspace) is not role:
                    set_role(system, found.id, places[workspace], role)
                    scope = Scope(system, places[workspace])
                    _audit(scope, issuer, "user.role", found.name, role=role.value)
            return self._signed_in(system, found, replaced)

        return self._system(work)

    def find(self, token: str) -> SignIn | None:
        """Return who is signed in by a token."""
        moment = now_ms()
        return self._store.database.system(
            lambda system: find_sign_in(system, token, moment), writes=False
        )

    def sign_out(self, token: str) -> None:
        """End a sign-in."""
        self._system(lambda system: end_sign_in(system, token, now_ms()))

    def switch(self, token: str, current: SignIn, workspace: str) -> tuple[str, SignIn]:
        """Go to another workspace of the user, with a new token."""

        def work(system: SystemScope) -> tuple[str, SignIn]:
            found = user_named(system, current.name)
            if found is None or all(
                each.workspace != workspace for each in roles_of(system, found.id)
            ):
                raise AffidavitError(faults.USER_UNKNOWN, user=current.name)
            return self._signed_in(system, found, token, workspace)

        return self._system(work)

    def workspaces_of(self, user_id: str) -> list[str]:
        """Return the names of the workspaces in which a user has a role."""
        found = self._store.database.system(lambda system: roles_of(system, user_id), writes=False)
        return [each.workspace for each in found]

    def _begin_attempt(self, system: SystemScope, name: str) -> UserRecord | None:
        moment = now_ms()
        failures, blocked_until = failures_of(system, name)
        if blocked_until > moment:
            seconds = (blocked_until - moment + 999) // 1000
            raise AffidavitError(faults.SIGN_IN_WAIT, seconds=seconds)
        wait = 0
        if failures >= FREE_ATTEMPTS:
            wait = min(2 ** min(failures - FREE_ATTEMPTS, 10), LONGEST_WAIT_SECONDS)
        set_failures(system, name, failures + 1, moment + 1000 * wait)
        found = user_named(system, name)
        if wait and found is not None:
            for each in roles_of(system, found.id):
                scope = Scope(system, each.workspace_id)
                _audit(scope, "the service", "sign_in.delayed", name, failures=failures)
        return found

    def _is_right(self, found: UserRecord | None, password: str) -> bool:
        from argon2.exceptions import VerificationError

        # A name that nobody has takes as long.
        stored = self._nobody if found is None or found.password is None else found.password
        with self._hashing:
            try:
                is_right = self._hasher.verify(stored, password[: MAX_PASSWORD_CHARACTERS + 1])
            except VerificationError:
                return False
        return is_right and found is not None and found.password is not None

    def _signed_in(
        self,
        system: SystemScope,
        found: UserRecord,
        replaced: str | None,
        workspace: str | None = None,
    ) -> tuple[str, SignIn]:
        roles = roles_of(system, found.id)
        if not roles:
            raise AffidavitError(faults.SIGN_IN_REFUSED)
        place = next(
            (each.workspace_id for each in roles if each.workspace == workspace),
            roles[0].workspace_id,
        )
        moment = now_ms()
        if replaced is not None:
            # A token that somebody planted before must not become the one that is signed in.
            end_sign_in(system, replaced, moment)
        set_failures(system, found.name, 0, 0)
        token, csrf = (self._random_bytes(TOKEN_BYTES).hex() for _ in range(2))
        add_sign_in(
            system,
            token,
            user_id=found.id,
            workspace_id=place,
            csrf=csrf,
            expires_ms=moment + SIGN_IN_MS,
            at=now(),
        )
        _audit(Scope(system, place), f"user {found.name}", "sign_in", found.name)
        made = find_sign_in(system, token, moment)
        if made is None:
            raise AffidavitError(faults.SIGN_IN_REFUSED)
        return token, made

    # Managing users.

    def members(self, workspace: str) -> list[Member]:
        """Return the users of a workspace."""
        place = self._store.workspace(workspace)
        return self._store.database.system(lambda system: members_of(system, place), writes=False)

    def add(self, by: Administrator, request: NewUserV1) -> Member:
        """Add a user with a role in the workspace. A name can be used once in the whole service."""
        if not _NAME.fullmatch(request.name):
            problem = "it is empty, too long, or has other characters"
            raise _name_error(request.name, problem)
        stored = self._hashed(request.password)
        place = self._store.workspace(require_workspace_name(by.workspace))

        def work(system: SystemScope) -> Member:
            if user_named(system, request.name) is not None:
                raise _name_error(request.name, "somebody has it")
            made = add_user(system, request.name, now(), password=stored)
            set_role(system, made.id, place, request.role)
            scope = Scope(system, place)
            _audit(scope, by.name, "user.add", request.name, role=request.role.value)
            return _member(system, place, made.id)

        return self._system(work)

    def change(self, by: Administrator, user_id: str, request: UserChangeV1) -> Member:
        """Change a user of the workspace, which ends its sign-ins."""
        place = self._store.workspace(by.workspace)
        stored = None if request.password is None else self._hashed(request.password)

        def work(system: SystemScope) -> Member:
            found = _member(system, place, user_id)
            if problem := _change_problem(by, found, request):
                raise AffidavitError(faults.USER_CHANGE, problem=problem)
            if request.role is not None:
                set_role(system, found.id, place, request.role)
            values: dict[str, Any] = {} if stored is None else {"password": stored}
            if request.disabled is not None:
                values["disabled"] = request.disabled
            if values:
                change_user(system, found.id, **values)
                set_failures(system, found.name, 0, 0)
            detail = {
                "role": None if request.role is None else request.role.value,
                "disabled": request.disabled,
                "password": "changed" if stored else None,
            }
            known = {name: value for name, value in detail.items() if value is not None}
            _audit(Scope(system, place), by.name, "user.change", found.name, **known)
            return _member(system, place, user_id)

        return self._system(work)

    def give_role(self, by: str, name: str, workspace: str, role: MemberRole | None) -> None:
        """Give a user of any workspace a role in one: for the operator of the service."""
        place = self._store.workspace(require_workspace_name(workspace))

        def work(system: SystemScope) -> None:
            found = user_named(system, name)
            if found is None:
                raise AffidavitError(faults.USER_UNKNOWN, user=name)
            set_role(system, found.id, place, role)
            shown = "none" if role is None else role.value
            _audit(Scope(system, place), by, "user.role", name, role=shown)

        self._system(work)

    def disable(self, by: str, name: str, *, disabled: bool) -> None:
        """Disable a user in every workspace, or enable it again: for the operator."""

        def work(system: SystemScope) -> None:
            found = user_named(system, name)
            if found is None:
                raise AffidavitError(faults.USER_UNKNOWN, user=name)
            change_user(system, found.id, disabled=disabled)
            for each in roles_of(system, found.id):
                scope = Scope(system, each.workspace_id)
                _audit(scope, by, "user.change", name, disabled=disabled)

        self._system(work)

    def _hashed(self, password: str) -> str:
        problem = None
        if len(password) < MIN_PASSWORD_CHARACTERS:
            problem = f"it has fewer than {MIN_PASSWORD_CHARACTERS} characters"
        elif len(password) > MAX_PASSWORD_CHARACTERS:
            problem = f"it has more than {MAX_PASSWORD_CHARACTERS} characters"
        elif len(set(password)) < 5:
            problem = "it repeats a few characters"
        if problem:
            raise AffidavitError(faults.USER_PASSWORD, Where(field="password"), problem=problem)
        with self._hashing:
            return str(self._hasher.hash(password))

    @cached_property
    def _hasher(self) -> Any:
        from argon2 import PasswordHasher

        return PasswordHasher()

    @cached_property
    def _nobody(self) -> str:
        return str(self._hasher.hash(self._random_bytes(TOKEN_BYTES).hex()))

    def _system(self, work: Callable[[SystemScope], Result]) -> Result:
        return self._store.database.system(work)


def _change_problem(by: Administrator, found: Member, request: UserChangeV1) -> str | None:
    is_personal = request.password is not None or request.disabled is not None
    if found.elsewhere and is_personal:
        return "it has a role in another workspace, too"
    if request.password is not None and not found.is_local:
        return "an identity provider signs it in"
    if by.user_id == found.id and (
        request.disabled or request.role not in (None, MemberRole.ADMIN)
    ):
        return "nobody can take their own role away"
    return None


def _member(system: SystemScope, workspace_id: str, user_id: str) -> Member:
    found = next((each for each in members_of(system, workspace_id) if each.id == user_id), None)
    if found is None:
        raise AffidavitError(faults.USER_UNKNOWN, user=user_id[:64])
    return found


def _name_error(name: str, problem: str) -> AffidavitError:
    return AffidavitError(faults.USER_NAME, Where(field="name"), name=name[:64], problem=problem)


def _audit(scope: Scope, by: str, action: str, subject: str, **detail: Any) -> None:
    add_audit_entry(scope, at=now(), by=by, action=action, subject=subject, detail=detail)
