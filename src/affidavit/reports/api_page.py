"""The page that describes the service to people, made from its OpenAPI document."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from affidavit.reports.page_templates import page_templates


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
