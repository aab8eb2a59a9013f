"""The operator `matches_schema`: a closed part of JSON Schema 2020-12.

It is written here and not taken from a library, so that a receipt is replayed alike in every
installation; tests compare it with a library. There are no regular expressions (`pattern`), because
Python's have no timeout, no `format`, because its meaning is up to the library, and no references
to other documents. A keyword that is not in the table is refused: a misspelt one would assert
nothing.
The S rules of docs/checks.md.
"""

import operator
from collections.abc import Callable, Hashable, Iterator, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import msgspec

from affidavit.base.canonical import sorted_compact_decoded
from affidavit.base.json_values import JsonValue
from affidavit.base.text import excerpt
from affidavit.checks.values import TYPES, find_number, is_number

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
MAX_SCHEMA_BYTES: Final = 65_536
MAX_SCHEMA_DEPTH: Final = 32
MAX_STEPS: Final = 100_000
"""Schemas applied, and members compared, for one expectation: well below a second."""

_DEFINITION: Final = "#/$defs/"
_ANNOTATIONS: Final = frozenset(
    {
        *("$comment", "title", "description", "default", "examples"),
        *("deprecated", "readOnly", "writeOnly"),
    }
)
_REFUSED: Final = MappingProxyType(
    {
        "pattern": "regular expressions have no time limit",
        "patternProperties": "regular expressions have no time limit",
        "format": "its meaning differs between implementations",
        "$dynamicRef": "only $ref to #/$defs/NAME is allowed",
        "$id": "only $ref to #/$defs/NAME is allowed",
    }
)
_NEEDS: Final = MappingProxyType(
    {"then": "if", "else": "if", "minContains": "contains", "maxContains": "contains"}
)


class _TooManyStepsError(Exception):
    """The value and the schema together take too long."""


class Mismatch(msgspec.Struct, frozen=True):
    """The place in a value, and the keyword of the schema that does not hold there."""

    place: str
    keyword: str

    def __str__(self) -> str:
        return f"{self.place or 'the value'}: {self.keyword} does not hold"


# Which schemas are accepted.


def find_schema_problem(schema: JsonValue) -> str | None:
    """Return why a schema is refused, with its place, or None."""
    if not isinstance(schema, dict) or not schema.keys() - _ANNOTATIONS - {"$schema", "$defs"}:
        return "it is not an object that asserts something"
    if len(sorted_compact_decoded(schema)) > MAX_SCHEMA_BYTES:
        return f"it has more than {MAX_SCHEMA_BYTES} bytes"
    if schema.get("$schema", DIALECT) != DIALECT:
        return f"$schema is not {DIALECT}"
    definitions = schema.get("$defs", {})
    if not isinstance(definitions, dict):
        return "$defs is not an object"
    root = {key: value for key, value in schema.items() if key not in ("$schema", "$defs")}
    named: dict[str, JsonValue] = {f"$defs.{name}": each for name, each in definitions.items()}
    for place, each in {"": root, **named}.items():
        if problem := next(_schema_problems(each, place, definitions), None):
            return problem
    if _is_too_deep(root, definitions, MAX_SCHEMA_DEPTH, set()):
        return f"it is nested deeper than {MAX_SCHEMA_DEPTH}, or refers to itself"
    return None


def _schema_problems(
    schema: JsonValue, place: str, definitions: Mapping[str, JsonValue]
) -> Iterator[str]:
    shown = f"{place}: " if place else ""
    if not isinstance(schema, bool | dict):
        yield f"{shown}it is neither an object nor true or false"
    members = schema if isinstance(schema, dict) else {}
    for keyword, operand in members.items():
        if problem := _keyword_problem(keyword, operand, members, definitions):
            yield shown + problem
    for part, below in _subschemas(members):
        yield from _schema_problems(below, f"{place}.{part}" if place else part, definitions)


def _keyword_problem(
    keyword: str,
    operand: JsonValue,
    schema: Mapping[str, JsonValue],
    definitions: Mapping[str, JsonValue],
) -> str | None:
    if keyword in _ANNOTATIONS:
        return None
    if keyword not in _KEYWORDS:
        reason = _REFUSED.get(keyword, "it is not one of those that are known")
        return f"the keyword {excerpt(keyword)!r} is refused: {reason}"
    if keyword in _NEEDS and _NEEDS[keyword] not in schema:
        return f"{keyword} asserts nothing without {_NEEDS[keyword]}"
    if not _KEYWORDS[keyword].is_operand(operand):
        return f"{keyword} has a wrong operand"
    if keyword == "$ref" and _definition_name(str(operand)) not in definitions:
        return f"$ref {excerpt(str(operand))!r} is not #/$defs/NAME of this schema"
    return None


def _definition_name(reference: str) -> str | None:
    return reference.removeprefix(_DEFINITION) if reference.startswith(_DEFINITION) else None


def _subschemas(schema: Mapping[str, JsonValue]) -> Iterator[tuple[str, JsonValue]]:
    for keyword, operand in schema.items():
        if keyword in _BELOW:
            yield keyword, operand
        elif keyword in _BELOW_LISTS and isinstance(operand, list):
            yield from ((f"{keyword}.{number}", each) for number, each in enumerate(operand))
        elif keyword == "properties" and isinstance(operand, dict):
            yield from ((f"{keyword}.{name}", each) for name, each in operand.items())


def _is_too_deep(
    schema: JsonValue, definitions: Mapping[str, JsonValue], left: int, seen: set[tuple[str, int]]
) -> bool:
    """Say whether a schema is nested deeper than `left`, with its references followed."""
    if not isinstance(schema, dict):
        return False
    if left == 0:
        return True
    if any(_is_too_deep(part, definitions, left - 1, seen) for _, part in _subschemas(schema)):
        return True
    name = _definition_name(str(schema.get("$ref")))
    # Definitions that refer to one another twice would be walked again and again.
    if name is None or (name, left) in seen:
        return False
    seen.add((name, left))
    return _is_too_deep(definitions[name], definitions, left - 1, seen)


# How a value is compared with an accepted schema.


def find_mismatch(value: JsonValue, schema: Mapping[str, Any]) -> Mismatch | str | None:
    """Return the first mismatch, None if there is none, or in words why it cannot be told.

    Keywords are applied in the order of the table, and members in the order of the value, so the
    first mismatch is the same everywhere.
    """
    try:
        return _Comparison(schema.get("$defs", {})).find(value, schema, "")
    except _TooManyStepsError:
        return f"comparing it with the schema takes more than {MAX_STEPS} steps"


class _Comparison:
    """One comparison of a value with a schema, and how many steps are left for it."""

    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions
        self._left = MAX_STEPS

    def spend(self, steps: int) -> None:
        """Count steps, or raise if there are none left."""
        self._left -= steps
        if self._left < 0:
            raise _TooManyStepsError

    def find(self, value: JsonValue, schema: Any, place: str) -> Mismatch | None:
        """Return the first mismatch of a value at a place."""
        self.spend(1)
        if isinstance(schema, bool):
            return None if schema else Mismatch(place, "false")
        if "$ref" in schema:
            definition = self._definitions[schema["$ref"].removeprefix(_DEFINITION)]
            if (mismatch := self.find(value, definition, place)) is not None:
                return mismatch
        for keyword, rule in _KEYWORDS.items():
            if keyword in schema and (found := rule.find(self, value, schema, place)):
                return found if isinstance(found, Mismatch) else Mismatch(place, keyword)
        return None

    def key(self, value: Any) -> Hashable:
        """Return a key that equal values share: 1 and 1.0 are equal, 1 and true are not."""
        self.spend(1)
        if isinstance(value, list):
            return ("list", *map(self.key, value))
        if isinstance(value, dict):
            return ("object", frozenset((name, self.key(each)) for name, each in value.items()))
        return (isinstance(value, bool), value)

    def holds(self, value: JsonValue, schema: Any) -> bool:
        """Say whether a value has no mismatch."""
        return self.find(value, schema, "") is None


Find: TypeAlias = Callable[[_Comparison, Any, Mapping[str, Any], str], Mismatch | bool | None]


class _Keyword(msgspec.Struct, frozen=True):
    """Which operand a keyword takes, and what returns a mismatch, or true for one of its own."""

    is_operand: Callable[[Any], bool]
    find: Find


def _always_holds(run: _Comparison, value: Any, schema: Mapping[str, Any], place: str) -> None:
    """Return no mismatch: another keyword reads this one."""


def _compare(
    keyword: str, applies: Callable[[Any], bool], fails: Callable[[Any, Any], bool]
) -> Find:
    """Return a keyword that compares values of one type with its operand."""

    def find(run: _Comparison, value: Any, schema: Mapping[str, Any], place: str) -> bool:
        return applies(value) and fails(value, schema[keyword])

    return find


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _enum(run: _Comparison, value: Any, schema: Mapping[str, Any], place: str) -> bool:
    return run.key(value) not in map(run.key, schema["enum"])


def _const(run: _Comparison, value: Any, schema: Mapping[str, Any], place: str) -> bool:
    return run.key(value) != run.key(schema["const"])


def _is_no_multiple(value: Any, factor: Any) -> bool:
    return Fraction(find_number(value) or 0) % Fraction(find_number(factor) or 1) != 0


def _unique_items(run: _Comparison, value: Any, schema: Mapping[str, Any], place: str) -> bool:
    if not _is_list(value) or not schema["uniqueItems"]:
        return False
    return len(set(map(run.key, value))) != len(value)


def _prefix_items(
    run: _Comparison, value: Any, schema: Mapping[str, Any], place: str
) -> Mismatch | None:
    pairs = zip(value, schema["prefixItems"], strict=False) if _is_list(value) else ()
    found = (run.find(each, part, _joined(place, n)) for n, (each, part) in enumerate(pairs))
    return next(filter(None, found), None)


def _items(run: _Comparison, value: Any, schema: Mapping[str, Any], place: str) -> Mismatch | None:
    start = len(schema.get("prefixItems", ()))
    rest = enumerate(value[start:], start) if _is_list(value) else ()
    found = (run.find(each, schema["items"], _joined(place, number)) for number, each in rest)
    return next(filter(None, found), None)


def _contains(run: _Comparison, value: Any, schema: Mapping[str, Any], place: str) -> bool:
    if not _is_list(value):
        return False
    count = sum(run.holds(each, schema["contains"]) for each in value)
    return not schema.get("minContains", 1) <= count <= schema.get("maxContains", count)


def _properties(
    run: _Comparison, value: Any, schema: Mapping[str, Any], place: str
) -> Mismatch | None:
    found = (
        run.find(value[name], part, _joined(place, name))
        for name, part in schema["properties"].items()
        if _is_object(value) and name in value
    )
    return next(filter(None, found), None)


def _additional(
    run: _Comparison, value: Any, schema: Mapping[str, Any], place: str
) -> Mismatch | None:
    known = schema.get("properties", {})
    found = (
        run.find(each, schema["additionalProperties"], _joined(place, name))
        for name, each in (value.items() if _is_object(value) else ())
        if name not in known
    )
    wrong = next(filter(None, found), None)
    if wrong is not None and schema["additionalProperties"] is False:
        return Mismatch(wrong.place, "additionalProperties")
    return wrong


def _required(
    run: _Comparison, value: Any, schema: Mapping[str, Any], place: str
) -> Mismatch | None:
    run.spend(len(schema["required"]))
    absent = (name for name in schema["required"] if _is_object(value) and name not in value)
    return next((Mismatch(_joined(place, name), "required") for name in absent), None)


def _dependent_required(
    run: _Comparison, value: Any, schema: Mapping[str, Any], place: str
) -> bool:
    rows = schema["dependentRequired"].items() if _is_object(value) else ()
    run.spend(sum(len(names) for _, names in rows))
    return any(name in value and not value.keys() >= set(names) for name, names in rows)


def _property_names(run: _Comparison, value: Any, schema: Mapping[str, Any], place: str) -> bool:
    names = value if _is_object(value) else ()
    return not all(run.holds(name, schema["propertyNames"]) for name in names)


def _all_of(run: _Comparison, value: Any, schema: Mapping[str, Any], place: str) -> Mismatch | None:
    found = (run.find(value, part, place) for part in schema["allOf"])
    return next(filter(None, found), None)


def _any_of(run: _Comparison, value: Any, schema: Mapping[str, Any], place: str) -> bool:
    return not any(run.holds(value, part) for part in schema["anyOf"])


def _one_of(run: _Comparison, value: Any, schema: Mapping[str, Any], place: str) -> bool:
    return sum(run.holds(value, part) for part in schema["oneOf"]) != 1


def _not(run: _Comparison, value: Any, schema: Mapping[str, Any], place: str) -> bool:
    return run.holds(value, schema["not"])


def _if(run: _Comparison, value: Any, schema: Mapping[str, Any], place: str) -> Mismatch | None:
    branch = "then" if run.holds(value, schema["if"]) else "else"
    return run.find(value, schema.get(branch, True), place)


def _joined(place: str, part: str | int) -> str:
    return f"{place}.{part}" if place else str(part)


# Which operands are accepted.


def _is_schema(value: Any) -> bool:
    return True  # Schemas below another are validated with their own place.


def _are_schemas(value: Any) -> bool:
    return isinstance(value, list) and bool(value)


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value)) and len({*value}) == len(value)


def _are_types(value: Any) -> bool:
    names = value if isinstance(value, list) else [value]
    return bool(names) and _are_names(names) and all(name in TYPES for name in names)


def _is_of_no_type(value: Any, names: Any) -> bool:
    return not any(TYPES[name](value) for name in (names if isinstance(names, list) else [names]))


def _always(value: Any) -> bool:
    return True


_KEYWORDS: Final[Mapping[str, _Keyword]] = MappingProxyType(
    {
        "$ref": _Keyword(_is_text, _always_holds),
        "type": _Keyword(_are_types, _compare("type", _always, _is_of_no_type)),
        "enum": _Keyword(_are_schemas, _enum),
        "const": _Keyword(_always, _const),
        "minimum": _Keyword(is_number, _compare("minimum", is_number, operator.lt)),
        "maximum": _Keyword(is_number, _compare("maximum", is_number, operator.gt)),
        "exclusiveMinimum": _Keyword(
            is_number, _compare("exclusiveMinimum", is_number, operator.le)
        ),
        "exclusiveMaximum": _Keyword(
            is_number, _compare("exclusiveMaximum", is_number, operator.ge)
        ),
        "multipleOf": _Keyword(
            lambda value: is_number(value) and value > 0,
            _compare("multipleOf", is_number, _is_no_multiple),
        ),
        **{
            keyword: _Keyword(_is_count, _compare(keyword, applies, fails))
            for keyword, applies, fails in (
                ("minLength", _is_text, lambda value, count: len(value) < count),
                ("maxLength", _is_text, lambda value, count: len(value) > count),
                ("minItems", _is_list, lambda value, count: len(value) < count),
                ("maxItems", _is_list, lambda value, count: len(value) > count),
                ("minProperties", _is_object, lambda value, count: len(value) < count),
                ("maxProperties", _is_object, lambda value, count: len(value) > count),
            )
        },
        "uniqueItems": _Keyword(lambda value: isinstance(value, bool), _unique_items),
        "required": _Keyword(_are_names, _required),
        "dependentRequired": _Keyword(
            lambda value: isinstance(value, dict) and all(map(_are_names, value.values())),
            _dependent_required,
        ),
        "properties": _Keyword(_is_object, _properties),
        "additionalProperties": _Keyword(_is_schema, _additional),
        "propertyNames": _Keyword(_is_schema, _property_names),
        "prefixItems": _Keyword(_are_schemas, _prefix_items),
        "items": _Keyword(_is_schema, _items),
        "contains": _Keyword(_is_schema, _contains),
        "minContains": _Keyword(_is_count, _always_holds),
        "maxContains": _Keyword(_is_count, _always_holds),
        "allOf": _Keyword(_are_schemas, _all_of),
        "anyOf": _Keyword(_are_schemas, _any_of),
        "oneOf": _Keyword(_are_schemas, _one_of),
        "not": _Keyword(_is_schema, _not),
        "if": _Keyword(_is_schema, _if),
        "then": _Keyword(_is_schema, _always_holds),
        "else": _Keyword(_is_schema, _always_holds),
    }
)
_BELOW: Final = frozenset(
    ["items", "contains", "not", "if", "then", "else", "additionalProperties", "propertyNames"]
)
_BELOW_LISTS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
