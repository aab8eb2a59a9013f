"""The handlers of signing in, and of users, API keys and the audit log of a workspace."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from secrets import token_hex
from typing import Annotated, Any, Final, TypeVar

import anyio
import msgspec
from anyio.to_thread import run_sync
from litestar import Request, Response
from litestar.datastructures import Cookie
from litestar.params import JSONBody, PathParameter

from affidavit.app.account_admin import AccountAdmin, ApiKeyListV1, NewApiKeyV1
from affidavit.app.accounts import (
    Accounts,
    Administrator,
    MeV1,
    NewUserV1,
    UserChangeV1,
    UserListV1,
)
from affidavit.app.ledger_service import request_from_json
from affidavit.app.oidc import OidcClient
from affidavit.app.service import CreatedApiKey, ListedApiKey
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import service as faults
from affidavit.base.json_values import JsonLimits
from affidavit.store.api_keys import ApiKeyScope
from affidavit.store.roles import Member, MemberRole
from affidavit.web.access import Caller, CallerSlots
from affidavit.web.bodies import NO_BODY, EncodedJson, RawBody, request_state
from affidavit.web.pages import render_page, viewer_of
from affidavit.web.problems import STATUSES
from affidavit.web.sign_in import (
    FORM_COOKIE,
    MAX_FORM_BYTES,
    OIDC_COOKIE,
    SESSION_COOKIE,
    cookie,
    find_cookie,
    form_from,
    own_path,
)

Result = TypeVar("Result")
UserId = Annotated[str, PathParameter(schema_extra={"format": "uuid"})]
KeyId = Annotated[str, PathParameter(schema_extra={"pattern": "^[0-9a-f]{12}$"})]

JSON_LINES: Final = "application/jsonl"
SIGN_IN_SECONDS: Final = 12 * 60 * 60
FLOW_SECONDS: Final = 600
FORM_SECONDS: Final = 3600


@dataclass(frozen=True, slots=True)
class AccountHandlers:
    """The handlers of one service with a store."""

    accounts: Accounts
    admin: AccountAdmin
    oidc: OidcClient | None
    limits: JsonLimits
    limiter: anyio.CapacityLimiter
    slots: CallerSlots

    async def me(self, request: Request[Any, Any, Any]) -> EncodedJson[MeV1]:
        """Return who asks, what for, and the token that changing requests of a browser carry."""
        caller = request_state(request).caller
        if caller.refusal is not None:
            raise caller.refusal
        user = caller.user
        places = [caller.workspace]
        if user is not None:
            places = await self._thread(self.accounts.workspaces_of, user.user_id)
        return _json(
            MeV1(
                name=caller.shown_name,
                workspace=caller.workspace,
                role=None if user is None else user.role,
                workspaces=places,
                scopes=[scope.value for scope in caller.scopes],
                csrf=None if user is None else user.csrf,
            )
        )

    # Users, API keys and the audit log.

    async def list_users(self, request: Request[Any, Any, Any]) -> EncodedJson[UserListV1]:
        """List the users of the workspace."""
        workspace = request_state(request).caller.workspace
        return _json(UserListV1(await self._run(request, self.accounts.members, workspace)))

    async def add_user(
        self, request: Request[Any, Any, Any], data: JSONBody[RawBody[NewUserV1]] = NO_BODY
    ) -> EncodedJson[Member]:
        """Add a user with a role in the workspace."""
        wanted = request_from_json(data.raw, self.limits, NewUserV1)
        return _json(await self._run(request, self.accounts.add, _administrator(request), wanted))

    async def change_user(
        self,
        request: Request[Any, Any, Any],
        user_id: UserId,
        data: JSONBody[RawBody[UserChangeV1]] = NO_BODY,
    ) -> EncodedJson[Member]:
        """Change the role or the password of a user, or disable it; its sign-ins end."""
        wanted = request_from_json(data.raw, self.limits, UserChangeV1)
        by = _administrator(request)
        return _json(await self._run(request, self.accounts.change, by, user_id, wanted))

    async def list_api_keys(self, request: Request[Any, Any, Any]) -> EncodedJson[ApiKeyListV1]:
        """List the API keys of the workspace."""
        workspace = request_state(request).caller.workspace
        return _json(ApiKeyListV1(await self._run(request, self.admin.api_keys, workspace)))

    async def new_api_key(
        self, request: Request[Any, Any, Any], data: JSONBody[RawBody[NewApiKeyV1]] = NO_BODY
    ) -> EncodedJson[CreatedApiKey]:
        """Create an API key of the workspace. It is returned once."""
        wanted = request_from_json(data.raw, self.limits, NewApiKeyV1)
        by = _administrator(request)
        return _json(await self._run(request, self.admin.new_api_key, by, wanted))

    async def revoke_api_key(
        self, request: Request[Any, Any, Any], key_id: KeyId
    ) -> EncodedJson[ListedApiKey]:
        """Revoke an API key of the workspace."""
        by = _administrator(request)
        return _json(await self._run(request, self.admin.revoke_api_key, by, key_id))

    async def export_audit(self, request: Request[Any, Any, Any]) -> Response[bytes]:
        """Export the audit log of the workspace, signed, for `affidavit verify`."""
        workspace = request_state(request).caller.workspace
        content = await self._run(request, self.admin.audit_log, workspace)
        headers = {"content-disposition": 'attachment; filename="audit.jsonl"'}
        return Response(content, media_type=JSON_LINES, headers=headers)

    # Pages.

    async def sign_in_page(self, request: Request[Any, Any, Any]) -> Response[str]:
        """Ask for a name and a password."""
        return self._sign_in_page(request, own_path(request.query_params.get("next")))

    async def sign_in(self, request: Request[Any, Any, Any]) -> Response[str]:
        """Sign in by name and password, and go on to where the user came from."""
        form = await self._form(request)
        name, target = form.get("name", ""), own_path(form.get("next"))
        replaced = find_cookie(request.headers, SESSION_COOKIE)
        try:
            token, _ = await self._thread(
                self.accounts.sign_in, name, form.get("password", ""), replaced
            )
        except AffidavitError as error:
            if error.fault not in (faults.SIGN_IN_REFUSED, faults.SIGN_IN_WAIT):
                raise
            return self._sign_in_page(request, target, name, error)
        return _signed_in(token, target)

    async def sign_out(self, request: Request[Any, Any, Any]) -> Response[str]:
        """End the sign-in of this browser."""
        await self._form(request)
        token = request_state(request).caller.token
        if token is not None:
            await self._thread(self.accounts.sign_out, token)
        return redirect("/sign-in", cookie(SESSION_COOKIE, "", 0))

    async def switch_workspace(self, request: Request[Any, Any, Any]) -> Response[str]:
        """Go to another workspace of the user."""
        form = await self._form(request)
        caller = request_state(request).caller
        if caller.user is None or caller.token is None:
            raise AffidavitError(faults.SIGN_IN_NEEDED)
        wanted = form.get("workspace", "")
        token, _ = await self._thread(self.accounts.switch, caller.token, caller.user, wanted)
        return _signed_in(token, "/")

    async def begin_oidc(self, request: Request[Any, Any, Any]) -> Response[str]:
        """Go to the identity provider."""
        client = self._client()
        target = own_path(request.query_params.get("next"))
        address, kept = await self._thread(client.begin, target)
        return redirect(address, cookie(OIDC_COOKIE, kept, FLOW_SECONDS))

    async def finish_oidc(self, request: Request[Any, Any, Any]) -> Response[str]:
        """Come back from the identity provider."""
        client = self._client()
        kept = find_cookie(request.headers, OIDC_COOKIE)
        query = dict(request.query_params.items())
        found = await self._thread(client.finish, kept, query)
        replaced = find_cookie(request.headers, SESSION_COOKIE)
        token, _ = await self._thread(
            self.accounts.sign_in_from,
            *(found.issuer, found.subject, found.name, found.roles, replaced),
        )
        return _signed_in(token, own_path(found.next), cookie(OIDC_COOKIE, "", 0))

    async def users_page(self, request: Request[Any, Any, Any]) -> Response[str]:
        """Show the users and API keys of the workspace."""
        return await self._users_page(request)

    async def users_form(self, request: Request[Any, Any, Any]) -> Response[str]:
        """Change users or API keys."""
        form = await self._form(request)
        try:
            made = await self._run(request, self._apply, _administrator(request), form)
        except AffidavitError as error:
            if error.fault not in STATUSES:
                raise
            return await self._users_page(request, problem=error)
        if made is not None:
            return await self._users_page(request, new_key=made.key)
        return redirect("/users")

    def _apply(self, by: Administrator, form: dict[str, str]) -> CreatedApiKey | None:
        match form.get("action"):
            case "add":
                role = _role(form)
                self.accounts.add(
                    by, NewUserV1(name=form.get("name", ""), password=_password(form), role=role)
                )
            case "role":
                self.accounts.change(by, form.get("user", ""), UserChangeV1(role=_role(form)))
            case "password":
                change = UserChangeV1(password=_password(form))
                self.accounts.change(by, form.get("user", ""), change)
            case "disable" | "enable" as action:
                change = UserChangeV1(disabled=action == "disable")
                self.accounts.change(by, form.get("user", ""), change)
            case "key":
                scopes = [each for each in ApiKeyScope if form.get(f"scope_{each.value}")]
                wanted = NewApiKeyV1(
                    name=form.get("name", ""), scopes=scopes, expires=form.get("expires") or None
                )
                return self.admin.new_api_key(by, wanted)
            case "revoke":
                self.admin.revoke_api_key(by, form.get("key", ""))
            case _:
                raise AffidavitError(faults.BAD_REQUEST)
        return None

    async def _users_page(
        self,
        request: Request[Any, Any, Any],
        *,
        problem: AffidavitError | None = None,
        new_key: str | None = None,
    ) -> Response[str]:
        caller = request_state(request).caller
        csrf = None if caller.user is None else caller.user.csrf
        token = csrf or find_cookie(request.headers, FORM_COOKIE) or token_hex()
        users = await self._run(request, self.accounts.members, caller.workspace)
        keys = await self._run(request, self.admin.api_keys, caller.workspace)
        page = _page(
            "users.html.j2",
            problem,
            workspace=caller.workspace,
            users=users,
            keys=keys,
            roles=[role.value for role in MemberRole],
            scopes=[scope.value for scope in ApiKeyScope],
            csrf=token,
            new_key=new_key,
            viewer=viewer_of(caller),
        )
        if csrf is None:
            page.set_cookie(cookie(FORM_COOKIE, token, FORM_SECONDS, is_strict=True))
        return page

    def _sign_in_page(
        self,
        request: Request[Any, Any, Any],
        target: str,
        name: str = "",
        problem: AffidavitError | None = None,
    ) -> Response[str]:
        token = find_cookie(request.headers, FORM_COOKIE) or token_hex()
        provider = None if self.oidc is None else self.oidc.settings.label
        page = _page(
            "sign_in.html.j2",
            problem,
            csrf=token,
            next=target,
            name=name[:64],
            provider=provider,
            viewer=None,
        )
        page.set_cookie(cookie(FORM_COOKIE, token, FORM_SECONDS, is_strict=True))
        if problem is not None and problem.fault is faults.SIGN_IN_WAIT:
            page.headers["retry-after"] = str(problem.values["seconds"])
        return page

    def _client(self) -> OidcClient:
        if self.oidc is None:
            raise AffidavitError(faults.OIDC_CONFIG, problem="there is no table [oidc]")
        return self.oidc

    async def _form(self, request: Request[Any, Any, Any]) -> dict[str, str]:
        """Return the fields of a form, whose token was compared."""
        raw = bytearray()
        seconds = request.app.state.body_seconds
        try:
            async with asyncio.timeout(seconds):
                async for piece in request.stream():
                    raw += piece
                    if len(raw) > MAX_FORM_BYTES:
                        raise AffidavitError(faults.BODY_TOO_LARGE, limit=MAX_FORM_BYTES)
        except TimeoutError:
            raise AffidavitError(faults.BODY_LATE, seconds=f"{seconds:g}") from None
        caller = request_state(request).caller
        given = {name.lower(): value for name, value in request.headers.items()}
        # On the page for signing in nobody is signed in, even if the browser was before.
        is_signing_in = request.scope["path"] == "/sign-in"
        return form_from(bytes(raw), given, Caller(caller.address) if is_signing_in else caller)

    async def _run(
        self, request: Request[Any, Any, Any], work: Callable[..., Result], *args: object
    ) -> Result:
        with self.slots.take(request_state(request).caller.name):
            return await self._thread(work, *args)

    async def _thread(self, work: Callable[..., Result], *args: object) -> Result:
        return await run_sync(work, *args, limiter=self.limiter)


def _administrator(request: Request[Any, Any, Any]) -> Administrator:
    caller = request_state(request).caller
    user_id = None if caller.user is None else caller.user.user_id
    return Administrator(caller.workspace, caller.identity, user_id)


def _role(form: dict[str, str]) -> MemberRole:
    try:
        return MemberRole(form.get("role", ""))
    except ValueError:
        raise AffidavitError(faults.BAD_REQUEST) from None


def _password(form: dict[str, str]) -> str:
    return form.get("password", "")


def _signed_in(token: str, target: str, *cookies: Cookie) -> Response[str]:
    return redirect(target, cookie(SESSION_COOKIE, token, SIGN_IN_SECONDS), *cookies)


def redirect(target: str, *cookies: Cookie) -> Response[str]:
    """Return a response that makes the browser go elsewhere."""
    return Response("", status_code=303, headers={"location": target}, cookies=list(cookies))


def _page(template: str, problem: AffidavitError | None, **values: Any) -> Response[str]:
    shown = None
    if problem is not None:
        shown = f"{problem.message[:1].upper()}{problem.message[1:]}. Next: {problem.next_step}."
    status = 200 if problem is None else STATUSES[problem.fault].value
    return render_page(template, status=status, problem=shown, **values)


def _json(value: Any) -> EncodedJson[Any]:
    return EncodedJson(msgspec.json.encode(value))
