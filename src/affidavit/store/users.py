"""Users, their roles in workspaces, and their sign-ins.

A user may have a role in several workspaces. What an administrator of one workspace may see and
change goes through a `Scope`; signing in, and the commands of the operator, reach all of them.
"""

from hashlib import sha256
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import and_, func, select

from affidavit.store.database import SystemScope
from affidavit.store.roles import Member, MemberRole, SignIn
from affidavit.store.tables import (
    memberships,
    sign_in_failures,
    sign_ins,
    users,
    workspaces,
)


class UserRecord(Struct, frozen=True, kw_only=True):
    """A user. The password is a digest of Argon2; without one, somebody else signs the user in."""

    id: str
    name: str
    password: str | None
    issuer: str | None
    subject: str | None
    disabled: bool
    created_at: str


_USER: Final = tuple(users.c[name] for name in UserRecord.__struct_fields__)


def token_digest(token: str) -> str:
    """Return under what a token is stored."""
    return sha256(token.encode()).hexdigest()


def any_user(system: SystemScope) -> bool:
    """Say whether there is a user who is not disabled."""
    query = select(users.c.id).where(users.c.disabled.is_(False)).limit(1)
    return system.execute(query).first() is not None


def user_named(system: SystemScope, name: str) -> UserRecord | None:
    """Return the user of a name."""
    return _user(system.execute(select(*_USER).where(users.c.name == name)).first())


def user_of_issuer(system: SystemScope, issuer: str, subject: str) -> UserRecord | None:
    """Return the user whom an identity provider calls `subject`."""
    of_issuer = and_(users.c.issuer == issuer, users.c.subject == subject)
    return _user(system.execute(select(*_USER).where(of_issuer)).first())


def add_user(
    system: SystemScope,
    name: str,
    at: str,
    *,
    password: str | None = None,
    issuer: str | None = None,
    subject: str | None = None,
) -> UserRecord:
    """Add a user, who has no role yet."""
    row: dict[str, Any] = {
        "id": system.new_id(),
        "name": name,
        "password": password,
        "issuer": issuer,
        "subject": subject,
        "disabled": False,
        "created_at": at,
    }
    system.execute(users.insert(), [row])
    return UserRecord(**row)


def change_user(system: SystemScope, user_id: str, **values: Any) -> None:
    """Change the password of a user, or whether it is disabled; every sign-in ends."""
    system.execute(users.update().where(users.c.id == user_id).values(**values))
    system.execute(sign_ins.delete().where(sign_ins.c.user_id == user_id))


def set_role(system: SystemScope, user_id: str, workspace_id: str, role: MemberRole | None) -> None:
    """Give a user a role in a workspace, or none; its sign-ins there end."""
    own = and_(memberships.c.user_id == user_id, memberships.c.workspace_id == workspace_id)
    system.execute(memberships.delete().where(own))
    if role is not None:
        row = {"user_id": user_id, "workspace_id": workspace_id, "role": role.value}
        system.execute(memberships.insert(), [row])
    there = and_(sign_ins.c.user_id == user_id, sign_ins.c.workspace_id == workspace_id)
    system.execute(sign_ins.delete().where(there))


class UserRole(Struct, frozen=True):
    """The role of a user in one of its workspaces."""

    workspace_id: str
    workspace: str
    role: MemberRole


def roles_of(system: SystemScope, user_id: str) -> list[UserRole]:
    """Return the roles of a user, by the names of the workspaces."""
    query = (
        select(workspaces.c.id, workspaces.c.name, memberships.c.role)
        .join(workspaces, workspaces.c.id == memberships.c.workspace_id)
        .where(memberships.c.user_id == user_id)
        .order_by(workspaces.c.name)
    )
    return [UserRole(row.id, row.name, MemberRole(row.role)) for row in system.execute(query)]


def members_of(system: SystemScope, workspace_id: str) -> list[Member]:
    """Return the users who have a role in a workspace, by name."""
    others = memberships.alias()
    elsewhere = (
        select(func.count())
        .select_from(others)
        .where(others.c.user_id == users.c.id, others.c.workspace_id != workspace_id)
        .scalar_subquery()
    )
    query = (
        select(
            *(
                users.c.id,
                users.c.name,
                users.c.disabled,
                users.c.issuer,
                users.c.created_at,
                memberships.c.role,
                elsewhere.label("elsewhere"),
            )
        )
        .join(memberships, memberships.c.user_id == users.c.id)
        .where(memberships.c.workspace_id == workspace_id)
        .order_by(users.c.name)
    )
    return [
        Member(
            id=row.id,
            name=row.name,
            role=MemberRole(row.role),
            disabled=row.disabled,
            is_local=row.issuer is None,
            created_at=row.created_at,
            elsewhere=row.elsewhere > 0,
        )
        for row in system.execute(query)
    ]


def add_sign_in(
    system: SystemScope,
    token: str,
    *,
    user_id: str,
    workspace_id: str,
    csrf: str,
    expires_ms: int,
    at: str,
) -> None:
    """Sign a user in by a new token."""
    row = {
        "token_digest": token_digest(token),
        "user_id": user_id,
        "workspace_id": workspace_id,
        "csrf": csrf,
        "expires_ms": expires_ms,
        "created_at": at,
    }
    system.execute(sign_ins.insert(), [row])


def find_sign_in(system: SystemScope, token: str, now_ms: int) -> SignIn | None:
    """Return who is signed in by a token; None if it has ended, or the user has no role there."""
    query = (
        select(
            *(
                sign_ins.c.user_id,
                users.c.name,
                sign_ins.c.workspace_id,
                workspaces.c.name.label("workspace"),
                memberships.c.role,
                sign_ins.c.csrf,
                sign_ins.c.expires_ms,
            )
        )
        .join(users, users.c.id == sign_ins.c.user_id)
        .join(workspaces, workspaces.c.id == sign_ins.c.workspace_id)
        .join(
            memberships,
            and_(
                memberships.c.user_id == sign_ins.c.user_id,
                memberships.c.workspace_id == sign_ins.c.workspace_id,
            ),
        )
        .where(
            sign_ins.c.token_digest == token_digest(token),
            sign_ins.c.expires_ms > now_ms,
            users.c.disabled.is_(False),
        )
    )
    row = system.execute(query).first()
    if row is None:
        return None
    return SignIn(**{**row._asdict(), "role": MemberRole(row.role)})


def end_sign_in(system: SystemScope, token: str, now_ms: int) -> None:
    """End the sign-in of a token, and forget those that have ended by themselves."""
    system.execute(sign_ins.delete().where(sign_ins.c.token_digest == token_digest(token)))
    system.execute(sign_ins.delete().where(sign_ins.c.expires_ms <= now_ms))


def failures_of(system: SystemScope, name: str) -> tuple[int, int]:
    """Return how often signing in under a name failed, and until when it is not tried again."""
    query = select(sign_in_failures.c.failures, sign_in_failures.c.blocked_until_ms).where(
        sign_in_failures.c.name_digest == token_digest(name)
    )
    row = system.execute(query).first()
    return (0, 0) if row is None else (row.failures, row.blocked_until_ms)


def set_failures(system: SystemScope, name: str, failures: int, blocked_until_ms: int) -> None:
    """Record how often signing in under a name failed; 0 forgets it."""
    digest = token_digest(name)
    system.execute(sign_in_failures.delete().where(sign_in_failures.c.name_digest == digest))
    if failures:
        row = {
            "name_digest": digest,
            "failures": failures,
            "blocked_until_ms": blocked_until_ms,
        }
        system.execute(sign_in_failures.insert(), [row])


def _user(row: Any) -> UserRecord | None:
    return None if row is None else UserRecord(**row._asdict())
