"""The OpenAPI document: Litestar derives it from the handlers, msgspec derives the schemas.

Litestar's own schemas of Structs omit docstrings, `additionalProperties` and tags, so the
components are those of msgspec.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from litestar import Litestar
from litestar.handlers import HTTPRouteHandler
from litestar.openapi import OpenAPIConfig
from litestar.openapi.spec import (
    Components,
    Example,
    Link,
    OpenAPIHeader,
    OpenAPIMediaType,
    OpenAPIResponse,
    Operation,
    RequestBody,
    Schema,
    SecurityScheme,
)
from litestar.openapi.spec.enums import OpenAPIFormat, OpenAPIType

from affidavit import __version__
from affidavit.checks.check import MAX_EXPECTATIONS
from affidavit.checks.operators import OPERATORS, Operand
from affidavit.checks.values import MAX_PATH_CHARACTERS, MAX_PATH_DEPTH, TYPES
from affidavit.web.problems import ProblemV1

API_KEY_SCHEME: Final = "api_key"
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
# Complete requests by operation. They use `software_version`, the one tool that every service has,
# and are all answered with 200.
_EXAMPLE_BODIES: Final[Mapping[str, Mapping[str, Any]]] = {
    "answer": {
        "checks": {"checks": [_EXAMPLE_CHECK], "deadline_ms": 2000},
        "a question": {"question": "Which version of click is installed?"},
        "a bare list of checks": [{**_EXAMPLE_CHECK, "observe": True}],
    },
    "verify": {"a receipt that does not hold": _EXAMPLE_RECEIPT},
}


@dataclass
class ServiceOperation(Operation):
    """An operation as Litestar derives it, with the header of every response and our examples."""

    def __post_init__(self) -> None:
        """Complete the operation."""
        responses = {
            status: response
            for status, response in (self.responses or {}).items()
            # Litestar adds a 400 of its own, but our error handler sends another document.
            if isinstance(response, OpenAPIResponse) and not _is_framework_error(status, response)
        }
        for response in responses.values():
            response.headers = {
                "X-Request-Id": OpenAPIHeader(
                    description="The id of this request in the log.",
                    schema=Schema(type=OpenAPIType.STRING),
                )
            }
        self.responses = {**responses}
        if self.operation_id == "answer":
            responses["200"].links = {
                "verify": Link(
                    operation_id="verify",
                    request_body="$response.body",
                    description="The receipt can be verified as it is.",
                )
            }
        if self.operation_id == "upload_document":
            document = Schema(type=OpenAPIType.STRING, format=OpenAPIFormat.BINARY)
            self.request_body = RequestBody(
                {"application/octet-stream": OpenAPIMediaType(document)}, required=True
            )
        elif isinstance(self.request_body, RequestBody):
            examples = _EXAMPLE_BODIES.get(self.operation_id or "", {})
            for content in self.request_body.content.values():
                content.examples = {name: Example(value=body) for name, body in examples.items()}
                for member in getattr(content.schema, "one_of", None) or ():
                    if isinstance(member, Schema) and member.type is OpenAPIType.ARRAY:
                        member.min_items = 1  # Litestar drops constraints of union members.


def _is_framework_error(status: str, response: OpenAPIResponse) -> bool:
    return status == "400" and "application/json" in (response.content or {})


def openapi_document(routes: Sequence[HTTPRouteHandler], max_deadline_ms: int) -> dict[str, Any]:
    """Return the document that describes the routes, with the deadline that this service allows."""
    config = OpenAPIConfig(
        title="Affidavit",
        version=__version__,
        description="Checks over tool evidence, and signed receipts that replay offline.",
        path="/openapi",
        components=Components(
            security_schemes={
                API_KEY_SCHEME: SecurityScheme(
                    type="http",
                    scheme="bearer",
                    description="A key created with `affidavit apikeys new`.",
                )
            }
        ),
    )
    described = Litestar(list(routes), openapi_config=config, logging_config=None)
    document = described.openapi_schema.to_schema()
    _, components = msgspec.json.schema_components(
        [*_models_of(routes), ProblemV1], ref_template="#/components/schemas/{name}"
    )
    document["components"]["schemas"] = _complete_components(components, max_deadline_ms)
    return document


def _models_of(routes: Sequence[HTTPRouteHandler]) -> list[Any]:
    """Return the models that the handlers name as their body and as their result."""
    signatures = [route.parsed_fn_signature for route in routes]
    bodies = (signature.parameters.get("data") for signature in signatures)
    results = (signature.return_type for signature in signatures)
    models = [field.inner_types[0] for field in (*filter(None, bodies), *results)]
    # msgspec refuses a union of untagged structs, so its members are listed one by one.
    return [
        member.annotation
        for model in models
        for member in (model.inner_types if model.is_union else (model,))
        # A form of a page is read as it comes: pages are not part of the API.
        if member.annotation is not object
    ]


# One step of a path: not empty, without a dot, and not `*` alone.
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
    Operand.COUNT: {"type": "integer", "minimum": 0},
    Operand.TYPE: {"enum": list(TYPES)},
    Operand.SCHEMA: {"type": "object", "minProperties": 1},
    Operand.EXPECTATION: {"type": "object"},
    Operand.EXPECTATIONS: {
        "type": "array",
        "minItems": 1,
        "maxItems": MAX_EXPECTATIONS,
        "items": {"type": "object"},
    },
}


def expectation_schema() -> dict[str, Any]:
    """Return one alternative for each kind of operand.

    The struct only says that `op` is a string and `value` is anything; the table of operators says
    which operator takes which operand.
    """
    return {
        "title": "Expectation",
        "description": "What must hold of the evidence: an operator and its operand.",
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


def _complete_components(components: dict[str, Any], max_deadline_ms: int) -> dict[str, Any]:
    """Add what the structs cannot express, and use the regular expressions of JSON Schema."""
    for name in ("ChecksRequestV1", "QuestionRequestV1"):
        deadline = components[name]["properties"]["deadline_ms"]
        deadline["maximum"] = max_deadline_ms
        deadline["default"] = min(deadline["default"], max_deadline_ms)
    components["Expectation"] = expectation_schema()
    for name in ("Check", "CheckResult"):
        for choice in components[name]["properties"]["expect"]["anyOf"]:
            if choice.get("type") == "array":
                choice |= {"minItems": 1, "maxItems": MAX_EXPECTATIONS}
    completed: dict[str, Any] = _with_patterns(components)
    return completed


def _with_patterns(value: Any) -> Any:
    """Replace \\Z, which only Python knows, by $, which means the same in JSON Schema."""
    if isinstance(value, dict):
        return {
            key: part.replace(r"\Z", "$")
            if key == "pattern" and isinstance(part, str)
            else _with_patterns(part)
            for key, part in value.items()
        }
    return [_with_patterns(part) for part in value] if isinstance(value, list) else value
