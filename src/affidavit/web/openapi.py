"""The OpenAPI document, made from the table of operations and the structs that they name."""

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any, Final

import msgspec

from affidavit import __version__
from affidavit.base.errors import Fault
from affidavit.checks.unit import MAX_EXPECTATIONS
from affidavit.web import examples, operations
from affidavit.web.expectation_schema import expectation_schema
from affidavit.web.operations import JSON, OPERATIONS, Operation
from affidavit.web.problems import MEDIA_TYPE, STATUSES, ProblemV1
from affidavit.wiring.web_settings import WebSettings

_PREFIX: Final = "#/components/schemas/"
_REQUEST_ID: Final = {
    "description": "The id of this request, as it stands in the log.",
    "schema": {"type": "string"},
}

_VERIFIABLE: Final = {
    "operationId": operations.VERIFY.id,
    "requestBody": "$response.body",
    "description": "The receipt can be verified as it is.",
}


def openapi_document(settings: WebSettings) -> dict[str, Any]:
    """Return the document of a service with these settings."""
    kinds = [kind for each in OPERATIONS for kind in (*each.takes, *each.gives)]
    schemas, components = msgspec.json.schema_components(
        [*kinds, ProblemV1], ref_template=_PREFIX + "{name}"
    )
    named = dict(zip(map(repr, [*kinds, ProblemV1]), schemas, strict=True))
    paths: dict[str, Any] = {}
    for each in OPERATIONS:
        described = _operation(each, named, settings)
        paths.setdefault(each.path, {})[each.method.lower()] = described
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Affidavit",
            "version": __version__,
            "description": "Checks over tool evidence, and signed receipts that replay offline.",
        },
        "paths": paths,
        "components": {
            "schemas": _mended(components),
            "securitySchemes": {
                "api_key": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A key made with `affidavit apikeys new`.",
                }
            },
        },
    }


def _schema(kinds: tuple[object, ...], named: dict[str, Any]) -> dict[str, Any]:
    found = [named[repr(kind)] for kind in kinds]
    return found[0] if len(found) == 1 else {"anyOf": found}


def _operation(each: Operation, named: dict[str, Any], settings: WebSettings) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": each.id,
        "summary": each.summary,
        "responses": {
            "200": _response("Done.", JSON, _schema(each.gives, named)),
            **_problems(each.all_faults(anonymous=settings.anonymous), named),
        },
    }
    if each is operations.ANSWER:
        described["responses"]["200"]["links"] = {"verify": _VERIFIABLE}
    if each.scope is not None:
        described["description"] = f"Needs a key with the scope `{each.scope.value}`."
        described["security"] = [{"api_key": []}]
        if settings.anonymous:
            described["description"] += " From this machine it needs none."
            described["security"].append({})
    if each.takes:
        bodies = {name: {"value": value} for name, value in examples.BODIES[each.id].items()}
        content = {JSON: {"schema": _schema(each.takes, named), "examples": bodies}}
        described["requestBody"] = {"required": True, "content": content}
    if "{code}" in each.path:
        schema = {"type": "string", "pattern": "^AF[0-9]{3}$"}
        slot = {"name": "code", "in": "path", "required": True, "schema": schema}
        described["parameters"] = [{**slot, "example": examples.CODE}]
    return described


def _problems(faults: Iterable[Fault], named: dict[str, Any]) -> dict[str, Any]:
    by_status: dict[HTTPStatus, list[Fault]] = {}
    for fault in faults:
        by_status.setdefault(STATUSES[fault], []).append(fault)
    return {
        str(status.value): _response(
            "; ".join(f"{fault.code} {fault.name}" for fault in found),
            MEDIA_TYPE,
            named[repr(ProblemV1)],
        )
        for status, found in sorted(by_status.items())
    }


def _response(description: str, media_type: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {
        "description": description,
        "headers": {"X-Request-Id": _REQUEST_ID},
        "content": {media_type: {"schema": schema}},
    }


def _mended(components: dict[str, Any]) -> dict[str, Any]:
    """Say what structs cannot say, and say it in the regular expressions of JSON Schema."""
    components["Expectation"] = expectation_schema()
    for name in ("Check", "CheckResultV1"):
        for choice in components[name]["properties"]["expect"]["anyOf"]:
            if choice.get("type") == "array":
                choice |= {"minItems": 1, "maxItems": MAX_EXPECTATIONS}
    mended: dict[str, Any] = _with_patterns(components)
    return mended


def _with_patterns(value: Any) -> Any:
    """Write \\Z, which only Python knows, as $, which means the same elsewhere."""
    if isinstance(value, dict):
        return {
            key: part.replace(r"\Z", "$")
            if key == "pattern" and isinstance(part, str)
            else _with_patterns(part)
            for key, part in value.items()
        }
    return [_with_patterns(part) for part in value] if isinstance(value, list) else value
