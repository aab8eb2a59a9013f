"""The page that verifies files in a browser: one file, no network, a strict policy."""

import hashlib
from base64 import b64encode
from functools import cache
from importlib import resources

import affidavit
from affidavit.reports.page_templates import page_templates


@cache
def verify_page() -> str:
    """Return the page. Its policy allows exactly its own script and its own style."""
    script, style = _part("verify.js"), _part("verify.css")
    return (
        page_templates()
        .get_template("verify.html.j2")
        .render(
            script=script,
            style=style,
            script_digest=_digest(script),
            style_digest=_digest(style),
            version=affidavit.__version__,
        )
    )


def verify_page_policy() -> str:
    """Return the content security policy of the page, for servers that send it as a header."""
    script, style = _digest(_part("verify.js")), _digest(_part("verify.css"))
    return f"default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'"


def _part(name: str) -> str:
    return (resources.files("affidavit.reports") / "templates" / name).read_text("utf-8")


def _digest(text: str) -> str:
    return b64encode(hashlib.sha256(text.encode()).digest()).decode()
