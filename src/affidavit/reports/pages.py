"""The Jinja environment of the HTML pages, and the pages that show no result.

Values are escaped, and a missing name is an error.
"""

import hashlib
import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import affidavit

if TYPE_CHECKING:
    from jinja2 import Environment


# The page that describes the service to people, made from its OpenAPI document.


def api_page(document: Mapping[str, Any]) -> str:
    """Return the HTML page for an OpenAPI document: every operation with examples and errors."""
    return (
        page_templates()
        .get_template("api.html.j2")
        .render(
            title=document["info"]["title"],
            version=document["info"]["version"],
            description=document["info"]["description"],
            operations=list(_operations(document)),
        )
    )


def _operations(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield {
                "method": method.upper(),
                "path": path,
                "id": operation["operationId"],
                "summary": operation["summary"],
                "description": operation.get("description", ""),
                "bodies": list(_examples(operation)),
                "responses": [
                    {"status": status, "description": response["description"]}
                    for status, response in sorted(operation["responses"].items())
                ],
            }


def _examples(operation: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    for content in operation.get("requestBody", {}).get("content", {}).values():
        for name, example in content["examples"].items():
            yield {"name": name, "text": json.dumps(example["value"], indent=2)}


# The page that verifies files in a browser: one file, no network, a strict policy.


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


@cache
def page_templates(package: str = "affidavit.reports") -> "Environment":
    """Return the environment with the templates of a package; those of reports are in each."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    packages = dict.fromkeys((package, "affidavit.reports"))
    return Environment(
        loader=ChoiceLoader([PackageLoader(each) for each in packages]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
