"""The JSON Schema of an expectation: which operator takes what. Made from the operators' table.

A struct says that `op` is a text and `value` is anything; the table says more, and callers should
be able to read it.
"""

from typing import Any, Final

from affidavit.checks.operators import OPERATORS, Operand
from affidavit.checks.paths import MAX_DEPTH, MAX_LETTERS

# One step of a path: not empty, no dot in it, and not the star alone.
_STEP: Final = r"(?:[^.*][^.]*|\*[^.]+)"
_PATH: Final = {
    "anyOf": [
        {
            "type": "string",
            "maxLength": MAX_LETTERS,
            "pattern": rf"^{_STEP}(?:\.{_STEP}){{0,{MAX_DEPTH - 1}}}$",
        },
        {"type": "null"},
    ]
}
_SIZE: Final = {"type": "number", "minimum": 0}
_SINGLE: Final = {"type": ["string", "number", "boolean", "null"]}
_NOT_AN_OBJECT: Final = {"type": ["string", "number", "boolean", "null", "array"]}
_VALUES: Final[dict[Operand, Any]] = {
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
        "anyOf": [_alternative(operand) for operand in Operand],
    }


def _alternative(operand: Operand) -> dict[str, Any]:
    names = [name for name, operator in OPERATORS.items() if operator.operand is operand]
    properties: dict[str, Any] = {"op": {"enum": names}, "path": _PATH, "tol": {"type": "null"}}
    required = ["op"]
    if operand is not Operand.NOTHING:
        properties["value"] = _VALUES[operand]
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
