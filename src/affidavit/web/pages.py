"""The HTML pages of the service: templates, our own style sheets and scripts, and their policy.

A page has no inline script or style, and its policy forbids them, so that text which slipped
through the escaping could not run. Nothing is loaded from another address.
"""

from collections.abc import Mapping
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any, Final

import msgspec
from litestar import Response
from msgspec import Struct

from affidavit import __version__
from affidavit.base.digest import sha256_hex
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import service as faults
from affidavit.reports.pages import page_templates
from affidavit.store.api_keys import ApiKeyScope
from affidavit.web.access import Caller
from affidavit.web.bodies import PageResponse
from affidavit.web.problems import ProblemResponse, ProblemV1

PAGE_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " form-action 'self'; base-uri 'none'"
)
_ASSET_MAX_AGE_SECONDS: Final = 31_536_000
_DIGEST_CHARACTERS: Final = 12
_ASSETS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "verdicts.css": ("affidavit.reports", "templates"),
        "pages.css": ("affidavit.web", "assets"),
        "pages.js": ("affidavit.web", "assets"),
        "check.js": ("affidavit.web", "assets"),
        "progress.js": ("affidavit.web", "assets"),
        "ledger.js": ("affidavit.web", "assets"),
        "viewer.js": ("affidavit.web", "assets"),
        "review.js": ("affidavit.web", "assets"),
        "icon.svg": ("affidavit.web", "assets"),
    }
)
_MEDIA_TYPES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "css": "text/css; charset=utf-8",
        "js": "text/javascript; charset=utf-8",
        "svg": "image/svg+xml",
    }
)


class Viewer(Struct, frozen=True, kw_only=True):
    """Who looks at a page, and what they may do."""

    name: str
    workspace: str
    may_edit: bool
    may_review: bool
    may_administer: bool
    csrf: str | None
    """The token of a sign-in, which its changing requests carry; None without a sign-in."""


def viewer_of(caller: Caller) -> Viewer:
    """Return what a caller may do on pages."""
    return Viewer(
        name=caller.shown_name,
        workspace=caller.workspace,
        may_edit=ApiKeyScope.EDIT in caller.scopes,
        may_review=ApiKeyScope.REVIEW in caller.scopes,
        may_administer=ApiKeyScope.ADMIN in caller.scopes,
        csrf=None if caller.user is None else caller.user.csrf,
    )


def render_page(file: str, /, *, status: int = 200, **values: Any) -> PageResponse:
    """Return a page from a template."""
    template = page_templates("affidavit.web").get_template(file)
    shown = template.render(asset=asset_address, version=__version__, **values)
    return PageResponse(shown, PAGE_POLICY, status)


def problem_page(problem: ProblemResponse, viewer: Viewer | None = None) -> PageResponse:
    """Return a problem document as a page, for a browser."""
    document = msgspec.json.decode(problem.body, type=ProblemV1)
    page = render_page("problem.html.j2", status=problem.status, problem=document, viewer=viewer)
    for name, value in problem.headers:
        page.headers[name] = value
    return page


def asset_address(name: str) -> str:
    """Return the address of a style sheet or script; it changes with its content."""
    return f"/assets/{name}?v={sha256_hex(_asset(name))[:_DIGEST_CHARACTERS]}"


def asset_response(name: str) -> Response[bytes]:
    """Return a style sheet or script."""
    if name not in _ASSETS:
        raise AffidavitError(faults.NO_SUCH_ADDRESS)
    kind = _MEDIA_TYPES[name.rpartition(".")[2]]
    headers = {"cache-control": f"public, max-age={_ASSET_MAX_AGE_SECONDS}, immutable"}
    return Response(_asset(name), media_type=kind, headers=headers)


@cache
def _asset(name: str) -> bytes:
    package, folder = _ASSETS[name]
    return (resources.files(package) / folder / name).read_bytes()
