"""The OpenAPI document, built from the table of operations and the structs that they name."""

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any, Final

import msgspec

from affidavit import __version__
from affidavit.base.errors import Fault
from affidavit.checks.check import MAX_EXPECTATIONS
from affidavit.checks.operators import OPERATORS, Operand
from affidavit.checks.values import MAX_PATH_CHARACTERS, MAX_PATH_DEPTH
from affidavit.web import operations
from affidavit.web.operations import JSON, OPERATIONS, Operation
from affidavit.web.problems import MEDIA_TYPE, STATUSES, ProblemV1
from affidavit.web.settings import WebSettings

# Whole requests for the OpenAPI document, by operation; all of them are answered with 200.
#
# They ask the one tool that every service has, `software_version`.

_EXAMPLE_CHECK: Final = {
    "id": "click-version",
    "tool": "software_version",
    "args": {"product": "click"},
    "expect": {"op": "semver_gte", "value": "8.0"},
}
_EXAMPLE_RECEIPT: Final = {
    "schema": "answer/v1",
    "receipt_id": "ans_0000000000000000",
    "generated_at": "2026-01-31T14:30:00Z",
    "signature": {
        "alg": "Ed25519",
        "key_id": "af-ed25519-000000000000",
        "canonicalization": "json-sorted-compact",
        "sig": "AAAA",
    },
}

EXAMPLE_BODIES: Final[Mapping[str, Mapping[str, Any]]] = {
    operations.ANSWER.id: {
        "checks": {"checks": [_EXAMPLE_CHECK], "deadline_ms": 2000},
        "a question": {"question": "Which version of click is installed?"},
        "a bare list of checks": [{**_EXAMPLE_CHECK, "observe": True}],
    },
    operations.VERIFY.id: {"a receipt that does not hold": _EXAMPLE_RECEIPT},
}
EXAMPLE_CODE: Final = "AF302"


# The JSON Schema of an expectation: which operator takes what. Made from the operators' table.
#
# A struct says that `op` is a text and `value` is anything; the table says more, and callers should
# be able to read it.

# One step of a path: not empty, no dot in it, and not the star alone.
_STEP: Final = r"(?:[^.*][^.]*|\*[^.]+)"
_PATH: Final = {
    "anyOf": [
        {
            "type": "string",
            "maxLength": MAX_PATH_CHARACTERS,
            "pattern": rf"^{_STEP}(?:\.{_STEP}){{0,{MAX_PATH_DEPTH - 1}}}$",
        },
        {"type": "null"},
    ]
}
_SIZE: Final = {"type": "number", "minimum": 0}
_SINGLE: Final = {"type": ["string", "number", "boolean", "null"]}
_NOT_AN_OBJECT: Final = {"type": ["string", "number", "boolean", "null", "array"]}
_OPERAND_SCHEMAS: Final[dict[Operand, Any]] = {
    Operand.VALUE: {},
    Operand.PAIR: {"type": "array", "minItems": 2, "maxItems": 2},
    Operand.MEMBERS: {"type": "array", "minItems": 1, "items": _SINGLE},
    Operand.WITHIN: _NOT_AN_OBJECT,
    Operand.SECONDS: _SIZE,
}


def expectation_schema() -> dict[str, Any]:
    """Return one alternative for each kind of operand."""
    return {
        "title": "Expectation",
        "description": "What must hold of the evidence: an operator, with what it takes.",
        "anyOf": [_operand_alternative(operand) for operand in Operand],
    }


def _operand_alternative(operand: Operand) -> dict[str, Any]:
    names = [name for name, operator in OPERATORS.items() if operator.operand is operand]
    properties: dict[str, Any] = {"op": {"enum": names}, "path": _PATH, "tol": {"type": "null"}}
    required = ["op"]
    if operand is not Operand.NOTHING:
        properties["value"] = _OPERAND_SCHEMAS[operand]
        required.append("value")
    if operand is Operand.WITHIN:
        properties["tol"] = _SIZE
        required.append("tol")
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


# The OpenAPI document, made from the table of operations and the structs that they name.

_SCHEMA_PREFIX: Final = "#/components/schemas/"
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
        [*kinds, ProblemV1], ref_template=_SCHEMA_PREFIX + "{name}"
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
            "schemas": _complete_components(components),
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
        bodies = {name: {"value": value} for name, value in EXAMPLE_BODIES[each.id].items()}
        content = {JSON: {"schema": _schema(each.takes, named), "examples": bodies}}
        described["requestBody"] = {"required": True, "content": content}
    if "{code}" in each.path:
        schema = {"type": "string", "pattern": "^AF[0-9]{3}$"}
        slot = {"name": "code", "in": "path", "required": True, "schema": schema}
        described["parameters"] = [{**slot, "example": EXAMPLE_CODE}]
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


def _complete_components(components: dict[str, Any]) -> dict[str, Any]:
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
