"""The roles of users in workspaces, and who is signed in."""

from enum import StrEnum
from typing import Final

from msgspec import Struct

from affidavit.store.api_keys import ApiKeyScope


class MemberRole(StrEnum):
    """What a user may do in a workspace."""

    VIEWER = "viewer"
    REVIEWER = "reviewer"
    """Uploads, checks and decides, too."""
    ADMIN = "admin"
    """Manages users, API keys and the audit log, too."""


_VIEWER: Final = frozenset({ApiKeyScope.READ, ApiKeyScope.LEDGERS, ApiKeyScope.VERIFY})
ROLE_SCOPES: Final = {
    MemberRole.VIEWER: _VIEWER,
    MemberRole.REVIEWER: _VIEWER | {ApiKeyScope.ANSWER, ApiKeyScope.EDIT, ApiKeyScope.REVIEW},
    MemberRole.ADMIN: frozenset(ApiKeyScope),
}


class Member(Struct, frozen=True, kw_only=True):
    """A user in one workspace. `elsewhere`: in another one, too."""

    id: str
    name: str
    role: MemberRole
    disabled: bool
    is_local: bool
    created_at: str
    elsewhere: bool


class SignIn(Struct, frozen=True, kw_only=True):
    """Who is signed in by a token, in which workspace, as what."""

    user_id: str
    name: str
    workspace_id: str
    workspace: str
    role: MemberRole
    csrf: str
    expires_ms: int
