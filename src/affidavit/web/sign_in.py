"""Sign-ins of browsers: their cookies, and proof that a request comes from our own pages.

A browser sends cookies with requests that other sites make it send. So a changing request has to
carry the token of its sign-in in `X-CSRF-Token`, or in the field `csrf` of a form, which other
sites cannot read; and what the browser says about its origin must not be another site.
"""

import hmac
import re
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from litestar.datastructures import Cookie

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import service as faults
from affidavit.web.access import Caller
from affidavit.web.routes import is_form_path

# `__Host-` makes browsers refuse the cookie without Secure, from another host, or with a domain.
SESSION_COOKIE: Final = "__Host-affidavit"
FORM_COOKIE: Final = "__Host-affidavit-form"
OIDC_COOKIE: Final = "__Host-affidavit-oidc"
CSRF_HEADER: Final = "x-csrf-token"
CSRF_FIELD: Final = "csrf"
FORM_TYPE: Final = "application/x-www-form-urlencoded"
MAX_FORM_BYTES: Final = 16 * 1024
_MAX_FIELDS: Final = 20
_MAX_COOKIES: Final = 8192
_TOKEN: Final = re.compile(r"[A-Za-z0-9._~-]{16,4000}")
_SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_OTHER_SITES: Final = frozenset({"cross-site", "same-site"})


def cookie(name: str, value: str, seconds: int, *, is_strict: bool = False) -> Cookie:
    """Return a cookie; 0 seconds delete it.

    A cookie that is not strict is sent when a link on another site is followed, and never with a
    form or a script of one.
    """
    return Cookie(
        key=name,
        value=value,
        path="/",
        max_age=seconds,
        secure=True,
        httponly=True,
        samesite="strict" if is_strict else "lax",
    )


def find_cookie(headers: Mapping[str, str], name: str) -> str | None:
    """Return the value of a cookie, if it can be one of ours and is there once."""
    given = headers.get("cookie", "")
    # Of two cookies with one name, a browser says nothing about which one is ours.
    if len(given) > _MAX_COOKIES or given.count(f"{name}=") != 1:
        return None
    try:
        found = SimpleCookie(given).get(name)
    except CookieError:
        return None
    return found.value if found is not None and _TOKEN.fullmatch(found.value) else None


def require_own_request(caller: Caller, method: str, path: str, headers: Mapping[str, str]) -> None:
    """Raise if a page of another site may have sent a changing request.

    An API key is not sent by a browser by itself, so it is proof enough.
    """
    if method in _SAFE_METHODS or caller.key is not None or "authorization" in headers:
        return
    if headers.get("sec-fetch-site") in _OTHER_SITES or not _is_own_origin(headers):
        raise AffidavitError(faults.CROSS_SITE)
    if caller.user is None:
        return
    given_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if given_type == FORM_TYPE and is_form_path(path):
        return  # `form_from` looks for the token in the form.
    require_csrf(caller.user.csrf, headers.get(CSRF_HEADER, ""))


def _is_own_origin(headers: Mapping[str, str]) -> bool:
    origin = headers.get("origin")
    if origin is None:
        return True
    return urlsplit(origin).netloc.lower() == headers.get("host", "").lower()


def require_csrf(wanted: str, given: str) -> None:
    """Raise unless a token is the one that is wanted; in constant time."""
    if not hmac.compare_digest(wanted.encode(), given.encode("utf-8", "replace")):
        raise AffidavitError(faults.CSRF_TOKEN)


def form_from(raw: bytes, headers: Mapping[str, str], caller: Caller) -> dict[str, str]:
    """Return the fields of a form that one of our own pages sent."""
    given_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if given_type != FORM_TYPE:
        raise AffidavitError(faults.BAD_REQUEST)
    try:
        pairs = parse_qsl(
            raw.decode(),
            keep_blank_values=True,
            strict_parsing=bool(raw),
            errors="strict",
            max_num_fields=_MAX_FIELDS,
        )
    except ValueError:
        raise AffidavitError(faults.BAD_REQUEST) from None
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise AffidavitError(faults.BAD_REQUEST)
    # A caller who is not signed in has the token in a cookie of its own.
    wanted = find_cookie(headers, FORM_COOKIE) if caller.user is None else caller.user.csrf
    if wanted is None:
        raise AffidavitError(faults.CSRF_TOKEN)
    require_csrf(wanted, fields.pop(CSRF_FIELD, ""))
    return fields


def own_path(text: str | None) -> str:
    """Return where to go after signing in: a path of this service, whatever was asked for.

    Browsers read `//host`, `/\\host` and control characters as the way to another site.
    """
    if text is None or not text.startswith("/") or not text.isprintable() or len(text) > 2000:
        return "/"
    is_other = text[1:2] in ("/", "\\") or "\\" in text or urlsplit(text).netloc != ""
    return "/" if is_other or not text.isascii() else text
