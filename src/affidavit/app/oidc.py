"""Sign-in by an identity provider: OpenID Connect, authorization code flow with PKCE.

Origin: OpenID Connect Core 1.0, sections 3.1.2 and 3.1.3; RFC 7636 with S256; RFC 9207 for the
issuer in the response. The provider's description is read from its well-known address. The token
must be signed with RS256 or ES256 by a key of the provider; "none" and shared secrets are refused.
"""

import hmac
import json
import os
from collections.abc import Callable, Mapping
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, Final
from urllib.parse import SplitResult, urlencode

import msgspec
from msgspec import Meta, Struct

from affidavit.app.clock import now_ms
from affidavit.app.keys import random_bytes
from affidavit.base.config import ConfigFaults, read_config
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import service as faults
from affidavit.base.http_address import UrlProblem, parse_url, request_target
from affidavit.base.http_client import (
    Deadline,
    HttpFailure,
    HttpRequest,
    HttpResponse,
    connect,
    send_request,
)
from affidavit.base.json_values import JsonLimits
from affidavit.base.strict_json import decode
from affidavit.seal.crypto import find_base64url, is_signed_by_jwk, to_base64url
from affidavit.store.roles import MemberRole

FLOW_MS: Final = 10 * 60 * 1000
"""Who does not come back from the provider within this time has to begin again."""
CLOCK_SKEW_SECONDS: Final = 60
_SECONDS: Final = 10.0
_MAX_BYTES: Final = 256 * 1024
_KEEP_MS: Final = 10 * 60 * 1000
_TOKEN_BYTES: Final = 32
_JSON: Final = JsonLimits(max_bytes=_MAX_BYTES)
_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
CALLBACK: Final = "/sign-in/oidc/callback"


class OidcRole(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Who has `value` in `claim` gets a role in a workspace."""

    claim: str
    value: str
    role: MemberRole
    workspace: str = "default"


class OidcSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The table `[oidc]` of affidavit.toml."""

    issuer: str
    client_id: str
    public_url: str
    """The address of the service as browsers see it."""
    roles: Annotated[tuple[OidcRole, ...], Meta(min_length=1)]
    client_secret_env: str | None = None
    name_claim: str = "preferred_username"
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    label: str = "your organisation"


class OidcUser(Struct, frozen=True, kw_only=True):
    """Whom the provider has signed in."""

    issuer: str
    subject: str
    name: str
    roles: dict[str, MemberRole]
    next: str


class OidcFlow(Struct, frozen=True, kw_only=True):
    """What the browser keeps, signed, while its user is at the provider."""

    state: str
    nonce: str
    verifier: str
    next: str
    expires_ms: int


def find_oidc_settings(project: Path) -> OidcSettings | None:
    """Return the table `[oidc]` of a project; None if it has none."""
    path = project / "affidavit.toml"
    if not path.is_file():
        return None
    found = read_config(path, ConfigFaults(faults.OIDC_CONFIG, faults.OIDC_CONFIG))
    table = found.value.get("oidc")
    if table is None:
        return None
    settings = found.decode(OidcSettings, table, "oidc")
    for url in (settings.issuer, settings.public_url):
        _require_address(url)
    if settings.client_secret_env and not os.environ.get(settings.client_secret_env):
        raise _config_error(f"the variable {settings.client_secret_env} is not set")
    return settings


class OidcClient:
    """The service as a client of one provider. Several threads may use it at the same time."""

    def __init__(self, settings: OidcSettings, secret: Callable[[], bytes]) -> None:
        self.settings = settings
        self._find_secret = secret
        self._lock = Lock()
        self._known: dict[str, tuple[int, dict[str, Any]]] = {}

    def begin(self, next_path: str) -> tuple[str, str]:
        """Return the address of the provider, and what the browser keeps until it comes back."""
        flow = OidcFlow(
            state=_token(),
            nonce=_token(),
            verifier=_token(),
            next=next_path,
            expires_ms=now_ms() + FLOW_MS,
        )
        challenge = to_base64url(sha256(flow.verifier.encode()).digest()).rstrip("=")
        query = {
            "response_type": "code",
            "client_id": self.settings.client_id,
            "redirect_uri": self._redirect_uri,
            "scope": " ".join(self.settings.scopes),
            "state": flow.state,
            "nonce": flow.nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        endpoint = self._endpoint("authorization_endpoint")
        address = f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}"
        return address, self._sealed(flow)

    def finish(self, kept: str | None, query: Mapping[str, str]) -> OidcUser:
        """Return whom the provider signed in, by what it sent back with the browser."""
        flow = self._flow(kept)
        if not hmac.compare_digest(flow.state.encode(), query.get("state", "").encode()):
            raise _refused("the response belongs to another attempt")
        if query.get("iss", self.settings.issuer) != self.settings.issuer:
            raise _refused("the response is from another provider")
        if "code" not in query:
            raise _refused("it gave no code")
        claims = self._claims(self._tokens(query["code"], flow.verifier), flow.nonce)
        roles = self._roles(claims)
        if not roles:
            raise _refused("it gives you no role here")
        name = claims.get(self.settings.name_claim) or claims.get("email") or claims["sub"]
        shown = "".join(letter for letter in str(name) if letter.isprintable())[:64]
        return OidcUser(
            issuer=self.settings.issuer,
            subject=str(claims["sub"]),
            name=shown or "unnamed",
            roles=roles,
            next=flow.next,
        )

    @property
    def _secret(self) -> bytes:
        # A key of its own: what is signed here must not be an address of a download, too.
        return sha256(b"oidc flow\n" + self._find_secret()).digest()

    @property
    def _redirect_uri(self) -> str:
        return self.settings.public_url.rstrip("/") + CALLBACK

    def _roles(self, claims: Mapping[str, Any]) -> dict[str, MemberRole]:
        ranks = list(MemberRole)
        found: dict[str, MemberRole] = {}
        for each in self.settings.roles:
            given = claims.get(each.claim)
            values = given if isinstance(given, list) else [given]
            if each.value in values:
                known = found.get(each.workspace, each.role)
                found[each.workspace] = max(known, each.role, key=ranks.index)
        return found

    def _tokens(self, code: str, verifier: str) -> str:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._redirect_uri,
            "client_id": self.settings.client_id,
            "code_verifier": verifier,
        }
        if self.settings.client_secret_env:
            form["client_secret"] = os.environ.get(self.settings.client_secret_env, "")
        endpoint = self._endpoint("token_endpoint")
        found = _asked(endpoint, urlencode(form).encode()).get("id_token")
        if not isinstance(found, str):
            raise _refused("it gave no id token")
        return found

    def _claims(self, token: str, nonce: str) -> dict[str, Any]:
        """Return what a token says: OpenID Connect Core, section 3.1.3.7."""
        parts = token.split(".")
        header, claims = (_part(parts, at) for at in (0, 1))
        signature = find_base64url(parts[2]) if len(parts) == 3 else None
        signed = f"{parts[0]}.{parts[1]}".encode()
        keys = self._keys(header.get("kid"))
        if signature is None or not any(
            is_signed_by_jwk(key, str(header.get("alg")), signature, signed) for key in keys
        ):
            raise _refused("the signature of its token does not hold")
        audience = claims.get("aud")
        moment = now_ms() / 1000
        checks = {
            "is from another issuer": claims.get("iss") == self.settings.issuer,
            "is for another client": audience
            in (self.settings.client_id, [self.settings.client_id]),
            "belongs to another attempt": claims.get("nonce") == nonce,
            "has expired": _number(claims, "exp") > moment - CLOCK_SKEW_SECONDS,
            "is from the future": _number(claims, "iat") < moment + CLOCK_SKEW_SECONDS,
            "names nobody": isinstance(claims.get("sub"), str) and 0 < len(claims["sub"]) <= 255,
        }
        for problem, holds in checks.items():
            if not holds:
                raise _refused(f"its token {problem}")
        return claims

    def _keys(self, key_id: object) -> list[dict[str, Any]]:
        address = self._endpoint("jwks_uri")
        for is_fresh in (False, True):  # A provider may have changed its keys since.
            keys = self._document(address, is_fresh=is_fresh).get("keys")
            found = [
                key
                for key in (keys if isinstance(keys, list) else [])
                if isinstance(key, dict) and (key_id is None or key.get("kid") == key_id)
            ]
            if found:
                return found
        raise _refused("the key of its token is not known")

    def _endpoint(self, name: str) -> str:
        address = self.settings.issuer.rstrip("/") + "/.well-known/openid-configuration"
        known = self._document(address)
        if known.get("issuer") != self.settings.issuer:
            raise _refused("it calls itself by another name")
        found = known.get(name)
        if not isinstance(found, str):
            raise _refused(f"it has no {name}")
        _require_address(found)
        return found

    def _document(self, address: str, *, is_fresh: bool = False) -> dict[str, Any]:
        with self._lock:
            until, known = self._known.get(address, (0, {}))
        if until > now_ms() and not is_fresh:
            return known
        found = _asked(address, None)
        with self._lock:
            self._known[address] = (now_ms() + _KEEP_MS, found)
        return found

    def _sealed(self, flow: OidcFlow) -> str:
        body = to_base64url(msgspec.json.encode(flow)).rstrip("=")
        return f"{body}.{hmac.new(self._secret, body.encode(), 'sha256').hexdigest()}"

    def _flow(self, kept: str | None) -> OidcFlow:
        body, _, mark = (kept or "").partition(".")
        wanted = hmac.new(self._secret, body.encode(), "sha256").hexdigest()
        if not hmac.compare_digest(wanted, mark):
            raise _refused("this browser did not begin to sign in here")
        flow = msgspec.json.decode(find_base64url(body) or b"", type=OidcFlow)
        if flow.expires_ms <= now_ms():
            raise _refused("it took too long")
        return flow


def _asked(url: str, form: bytes | None) -> dict[str, Any]:
    """Return the JSON object that the provider answers with. Redirects are not followed."""
    address = _require_address(url)
    limit = Deadline(_SECONDS)
    headers = {"accept": "application/json"}
    if form is not None:
        headers["content-type"] = "application/x-www-form-urlencoded"
    found: HttpResponse | HttpFailure
    connection = connect(address, limit)
    if isinstance(connection, HttpFailure):
        raise _refused(f"it cannot be reached: {connection.message}")
    request = HttpRequest(
        method="GET" if form is None else "POST",
        target=request_target(address),
        headers=headers,
        max_bytes=_MAX_BYTES,
        body=form,
    )
    try:
        found = send_request(connection, request, limit)
    finally:
        connection.close()
    if isinstance(found, HttpFailure):
        raise _refused(f"it did not answer: {found.message}")
    if found.status != HTTPStatus.OK:
        raise _refused(f"it answered with status {found.status}")
    try:
        value = decode(found.body, _JSON)
    except AffidavitError:
        raise _refused("its answer is not JSON") from None
    if not isinstance(value, dict):
        raise _refused("its answer is no object")
    return value


def _require_address(url: str) -> SplitResult:
    """Return the parts of an address: https, or this machine, for a provider in a test."""
    parts = parse_url(url)
    if isinstance(parts, UrlProblem):
        raise _config_error(f"{url[:80]!r}: {parts}")
    if parts.scheme != "https" and parts.hostname not in _LOOPBACK:
        raise _config_error(f"{url[:80]!r} is not https")
    return parts


def _part(parts: list[str], at: int) -> dict[str, Any]:
    raw = find_base64url(parts[at]) if len(parts) == 3 else None
    try:
        value = json.loads(raw) if raw is not None else None
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise _refused("its token cannot be read")
    return value


def _number(claims: Mapping[str, Any], name: str) -> float:
    value = claims.get(name)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number:
        raise _refused(f"its token has no time {name}")
    return float(value or 0)


def _token() -> str:
    return to_base64url(random_bytes(_TOKEN_BYTES)).rstrip("=")


def _refused(problem: str) -> AffidavitError:
    return AffidavitError(faults.OIDC_REFUSED, problem=problem)


def _config_error(problem: str) -> AffidavitError:
    return AffidavitError(faults.OIDC_CONFIG, problem=problem)
