"""`matches_schema`: what it accepts, what it finds, and that it agrees with a library."""

from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from affidavit.checks.schemas import (
    MAX_SCHEMA_BYTES,
    MAX_STEPS,
    find_mismatch,
    find_schema_problem,
)

ROW = {"price": 8.5, "name": "tea", "tags": ["hot", "green"]}
HELD = None

SPEC: dict[str, tuple[Any, dict[str, Any], str | None]] = {
    "a type": (ROW, {"type": "object"}, HELD),
    "one of several types": (1.0, {"type": ["string", "integer"]}, HELD),
    "none of several types": (True, {"type": ["string", "number"]}, "the value: type"),
    "true is not one": (True, {"const": 1}, "the value: const"),
    "1.0 is one": (1.0, {"const": 1}, HELD),
    "members in any order": ({"a": 1, "b": [2]}, {"const": {"b": [2.0], "a": 1}}, HELD),
    "one of": ("b", {"enum": ["a", "b"]}, HELD),
    "none of": ("c", {"enum": ["a", "b"]}, "the value: enum"),
    "a minimum": (5, {"minimum": 5}, HELD),
    "below a minimum": (4.9, {"minimum": 5}, "the value: minimum"),
    "above a maximum": (5.1, {"maximum": 5}, "the value: maximum"),
    "not above": (5, {"exclusiveMinimum": 5}, "the value: exclusiveMinimum"),
    "not below": (5, {"exclusiveMaximum": 5}, "the value: exclusiveMaximum"),
    "a text has no maximum": ("x", {"maximum": 5}, HELD),
    "a price is a multiple of a cent": (19.99, {"multipleOf": 0.01}, HELD),
    "no multiple": (19.995, {"multipleOf": 0.01}, "the value: multipleOf"),
    "zero is a multiple": (0, {"multipleOf": 7}, HELD),
    "letters are counted, not bytes": ("é😀", {"minLength": 2, "maxLength": 2}, HELD),
    "too short": ("", {"minLength": 1}, "the value: minLength"),
    "too long": ("ab", {"maxLength": 1}, "the value: maxLength"),
    "too few": ([], {"minItems": 1}, "the value: minItems"),
    "too many": ([1, 2], {"maxItems": 1}, "the value: maxItems"),
    "no members": ({}, {"minProperties": 1}, "the value: minProperties"),
    "many members": (ROW, {"maxProperties": 2}, "the value: maxProperties"),
    "no duplicates": ([1, "1", True, None], {"uniqueItems": True}, HELD),
    "duplicates": ([{"a": 1}, {"a": 1.0}], {"uniqueItems": True}, "the value: uniqueItems"),
    "duplicates are allowed": ([1, 1], {"uniqueItems": False}, HELD),
    "required": (ROW, {"required": ["price", "name"]}, HELD),
    "what is missing": (ROW, {"required": ["size"]}, "size: required"),
    "required of what it implies": (
        ROW,
        {"dependentRequired": {"price": ["currency"], "x": ["y"]}},
        "the value: dependentRequired",
    ),
    "the place of a member": (
        {"rows": [ROW, {"price": "8"}]},
        {"properties": {"rows": {"items": {"properties": {"price": {"type": "number"}}}}}},
        "rows.1.price: type",
    ),
    "no other members": (
        ROW,
        {"properties": {"price": True, "name": True}, "additionalProperties": False},
        "tags: additionalProperties",
    ),
    "other members": (ROW, {"additionalProperties": {"type": "string"}}, "price: type"),
    "a member that must not be": (ROW, {"properties": {"price": False}}, "price: false"),
    "names": (ROW, {"propertyNames": {"maxLength": 4}}, "the value: propertyNames"),
    "by position": ([1, "a", 2], {"prefixItems": [{}, {"type": "number"}]}, "1: type"),
    "after the positions": (
        [1, "a", "b", 2],
        {"prefixItems": [True, True], "items": {"type": "string"}},
        "3: type",
    ),
    "contains": ([1, "a"], {"contains": {"type": "string"}}, HELD),
    "contains none": ([1], {"contains": {"type": "string"}}, "the value: contains"),
    "contains none, which is enough": ([1], {"contains": {"const": 2}, "minContains": 0}, HELD),
    "contains too many": (
        [1, 1],
        {"contains": {"const": 1}, "maxContains": 1},
        "the value: contains",
    ),
    "all of": (5, {"allOf": [{"minimum": 1}, {"maximum": 4}]}, "the value: maximum"),
    "any of": (5, {"anyOf": [{"type": "string"}, {"minimum": 1}]}, HELD),
    "not any of": (0, {"anyOf": [{"type": "string"}, {"minimum": 1}]}, "the value: anyOf"),
    "exactly one of": (5, {"oneOf": [{"minimum": 1}, {"minimum": 2}]}, "the value: oneOf"),
    "not": (5, {"not": {"type": "integer"}}, "the value: not"),
    "if, then": (
        ROW,
        {"if": {"required": ["price"]}, "then": {"required": ["currency"]}},
        "currency: required",
    ),
    "if not, else": (5, {"if": {"type": "string"}, "else": {"minimum": 6}}, "the value: minimum"),
    "if alone": (5, {"if": {"type": "string"}}, HELD),
    "a definition": (
        [1, -1],
        {"$defs": {"n": {"minimum": 0}}, "items": {"$ref": "#/$defs/n", "maximum": 5}},
        "1: minimum",
    ),
    "beside a reference": (
        9,
        {"$defs": {"n": {"minimum": 0}}, "$ref": "#/$defs/n", "maximum": 5},
        "the value: maximum",
    ),
    "descriptions assert nothing": ("x", {"title": "t", "default": 1, "type": "string"}, HELD),
    "keywords of other types": (None, {"items": False, "properties": {"a": False}}, HELD),
    "and more of them": (
        1,
        {"prefixItems": [False], "contains": False, "required": ["a"], "uniqueItems": True},
        HELD,
    ),
    "and of objects": (
        1,
        {"additionalProperties": False, "propertyNames": False, "dependentRequired": {"a": ["b"]}},
        HELD,
    ),
}


@pytest.mark.parametrize(("value", "schema", "wanted"), SPEC.values(), ids=SPEC.keys())
def test_matches_schema(value: Any, schema: dict[str, Any], wanted: str | None) -> None:
    assert find_schema_problem(schema) is None
    found = find_mismatch(value, schema)
    assert (found and str(found)) == (wanted and f"{wanted} does not hold")
    if "multipleOf" not in schema:  # The library divides doubles.
        assert jsonschema.Draft202012Validator(schema).is_valid(value) is (wanted is None)


DEEP: dict[str, Any] = {"type": "string"}
for _ in range(32):
    DEEP = {"items": DEEP}
NEXT = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(9)}

REFUSED: dict[str, tuple[Any, str]] = {
    "nothing asserted": ({}, "asserts something"),
    "only described": ({"title": "t", "$schema": "x", "$defs": {}}, "asserts something"),
    "always true": (True, "asserts something"),
    "no schema": ("string", "asserts something"),
    "another dialect": (
        {"$schema": "http://json-schema.org/draft-07/schema#", "type": "null"},
        "$schema is not",
    ),
    "a regular expression": ({"pattern": "(a+)+$"}, "'pattern' is refused: regular expressions"),
    "regular expressions of names": (
        {"properties": {"a": {"patternProperties": {"^a": True}}}},
        "properties.a: the keyword 'patternProperties' is refused: regular expressions",
    ),
    "a format": ({"items": {"format": "date"}}, "items: the keyword 'format' is refused"),
    "an address": ({"$ref": "https://example.org/schema"}, "is not #/$defs/NAME of this schema"),
    "another place": ({"$ref": "#/properties/a"}, "is not #/$defs/NAME"),
    "no such definition": ({"$ref": "#/$defs/a"}, "is not #/$defs/NAME"),
    "the bare name": ({"$ref": "a", "$defs": {"a": True}}, "is not #/$defs/NAME"),
    "itself": ({"$defs": {"a": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}, "refers to itself"),
    "definitions below": ({"items": {"$defs": {}}}, "items: the keyword '$defs' is refused"),
    "definitions of no object": ({"$defs": 1, "type": "null"}, "$defs is not an object"),
    "a definition that is none": ({"$defs": {"a": 1}, "type": "null"}, "$defs.a: it is neither"),
    "a misspelt keyword": ({"maxlength": 1}, "'maxlength' is refused: it is not one of those"),
    "a dynamic reference": ({"$dynamicRef": "#a"}, "only $ref"),
    "a condition without if": ({"then": {"type": "null"}}, "then asserts nothing without if"),
    "a count without contains": ({"minContains": 1}, "asserts nothing without contains"),
    "no type": ({"type": "text"}, "type has a wrong operand"),
    "a type twice": ({"type": ["null", "null"]}, "type has a wrong operand"),
    "no types": ({"type": []}, "type has a wrong operand"),
    "a negative length": ({"minLength": -1}, "minLength has a wrong operand"),
    "a text as minimum": ({"minimum": "1"}, "minimum has a wrong operand"),
    "a multiple of nothing": ({"multipleOf": 0}, "multipleOf has a wrong operand"),
    "no list": ({"enum": []}, "enum has a wrong operand"),
    "one name": ({"required": "a"}, "required has a wrong operand"),
    "no names": ({"dependentRequired": {"a": [1]}}, "dependentRequired has a wrong operand"),
    "no object": ({"properties": []}, "properties has a wrong operand"),
    "no flag": ({"uniqueItems": 1}, "uniqueItems has a wrong operand"),
    "alternatives of none": ({"anyOf": []}, "anyOf has a wrong operand"),
    "an alternative that is none": ({"anyOf": [True, 1]}, "anyOf.1: it is neither"),
    "too deep": (DEEP, "nested deeper than 32"),
    "too long": ({"const": "x" * MAX_SCHEMA_BYTES}, "more than 65536 bytes"),
}


@pytest.mark.parametrize(("schema", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_a_schema_that_is_refused(schema: Any, reason: str) -> None:
    assert reason in str(find_schema_problem(schema))


def test_the_deepest_schema() -> None:
    assert find_schema_problem(DEEP["items"]) is None


COSTLY: dict[str, tuple[Any, Any]] = {
    "definitions that double": (
        1,
        {"$defs": {**NEXT, "d9": {"type": "integer"}}, "allOf": [{"$ref": "#/$defs/d0"}] * 200},
    ),
    "a long list": (list(range(MAX_STEPS)), {"items": {"type": "integer"}}),
    "a large value, compared often": ([[1] * 999], {"items": {"anyOf": [{"const": 0}] * 200}}),
    "many names": ([{}] * 1000, {"items": {"dependentRequired": {"a": list(map(str, range(99)))}}}),
    "many of one": ([0] * 1000, {"items": {"enum": [*range(1, 101), 0]}}),
}


@pytest.mark.parametrize(("value", "schema"), COSTLY.values(), ids=COSTLY.keys())
def test_the_cost_is_bounded(value: Any, schema: Any) -> None:
    assert find_schema_problem(schema) is None
    found = find_mismatch(value, schema)
    assert found == f"comparing it with the schema takes more than {MAX_STEPS} steps"


values = some.recursive(
    some.one_of(
        some.none(),
        some.booleans(),
        some.integers(-3, 3),
        some.sampled_from((0.5, 1.0, -2.0)),
        some.text("ab", max_size=3),
    ),
    lambda below: some.one_of(
        some.lists(below, max_size=3),
        some.dictionaries(some.sampled_from("abc"), below, max_size=3),
    ),
    max_leaves=8,
)
names = some.lists(some.sampled_from("abc"), unique=True, max_size=2)
counts = some.integers(0, 3)


def schemas_of(below: some.SearchStrategy[Any]) -> some.SearchStrategy[Any]:
    listed = some.lists(below, min_size=1, max_size=2)
    return some.fixed_dictionaries(
        {},
        optional={
            "items": below,
            "prefixItems": listed,
            "additionalProperties": below,
            "properties": some.dictionaries(some.sampled_from("abc"), below, max_size=2),
            "propertyNames": below,
            "contains": below,
            "allOf": listed,
            "anyOf": listed,
            "oneOf": listed,
            "not": below,
            "if": below,
        },
    )


schemas = some.recursive(
    some.one_of(
        some.booleans(),
        some.fixed_dictionaries(
            {},
            optional={
                "type": some.sampled_from(("null", "integer", "number", "string", "array")),
                "enum": some.lists(values, min_size=1, max_size=3),
                "const": values,
                "minimum": some.integers(-2, 2),
                "exclusiveMaximum": some.sampled_from((0, 0.5, 1.0)),
                "minLength": counts,
                "maxItems": counts,
                "minProperties": counts,
                "uniqueItems": some.booleans(),
                "required": names,
                "dependentRequired": some.dictionaries(some.sampled_from("ab"), names, max_size=1),
            },
        ),
    ),
    schemas_of,
    max_leaves=6,
)


@settings(max_examples=300)
@given(values, schemas.filter(lambda each: isinstance(each, dict) and each))
def test_it_agrees_with_a_library(value: Any, schema: Any) -> None:
    assert find_schema_problem(schema) is None
    wanted = jsonschema.Draft202012Validator(schema).is_valid(value)
    assert (find_mismatch(value, schema) is None) is wanted
