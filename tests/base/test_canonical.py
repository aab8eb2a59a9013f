"""The two canonical forms: what they write, what they refuse, and when bytes are canonical."""

import json
import sys
import uuid
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from typing import Any

import orjson
import pytest
import rfc8785

from affidavit.base.canonical import is_canonical, jcs, require_canonical, sorted_compact
from affidavit.base.errors import AffidavitError
from affidavit.base.json_values import MAX_DEPTH, JsonLimits


def by_json(value: Any) -> bytes:
    """Return the definition of the sorted compact form."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


class Verdict(StrEnum):
    SUPPORTED = "supported"


class Level(IntEnum):
    HIGH = 3


class Weight(float, Enum):
    TINY = 1e-7


class Plain(Enum):
    WORD = "word"
    TINY = 1e-7
    NOTHING = None
    INNER = Verdict.SUPPORTED


@dataclass
class Point:
    x: int


FORMS = {
    "keys are sorted": ({"b": 1, "a": {"d": 1, "c": 2}}, b'{"a":{"c":2,"d":1},"b":1}'),
    "lists keep their order": ([3, 1, 2], b"[3,1,2]"),
    "scalars": ([None, True, False, 0, -1, "x"], b'[null,true,false,0,-1,"x"]'),
    "a tuple is a list": ((1, (2,)), b"[1,[2]]"),
    "empty ones": ([[], {}, ""], b'[[],{},""]'),
    "short escapes": ('"\\/\b\f\n\r\t', b'"\\"\\\\/\\b\\f\\n\\r\\t"'),
    "other control characters": ("\x00\x1f", b'"\\u0000\\u001f"'),
    "the largest integers": ([2**53 - 1, 1 - 2**53], b"[9007199254740991,-9007199254740991]"),
    "a fraction": ([0.1, -1.5, 123456.789], b"[0.1,-1.5,123456.789]"),
    "members of an Enum are their values": (
        [Verdict.SUPPORTED, Level.HIGH, {"a": Verdict.SUPPORTED}],
        b'["supported",3,{"a":"supported"}]',
    ),
}


@pytest.mark.parametrize(("value", "wanted"), FORMS.values(), ids=FORMS)
def test_values_with_the_same_text_in_both_forms(value: Any, wanted: bytes) -> None:
    assert sorted_compact(value) == wanted == by_json(value)
    assert jcs(value) == wanted


# value, sorted compact, JCS
DIFFERENT = {
    "whole floats": (
        [1.0, -0.0, 1e15],
        b"[1.0,-0.0,1000000000000000.0]",
        b"[1,0,1000000000000000]",
    ),
    "large floats": (
        [1e16, 1e20, 1e21],
        b"[1e+16,1e+20,1e+21]",
        b"[10000000000000000,100000000000000000000,1e+21]",
    ),
    "beyond 2^53": (
        [2.0**53, 2.0**60],
        b"[9007199254740992.0,1.152921504606847e+18]",
        b"[9007199254740992,1152921504606847000]",
    ),
    "small floats": (
        [1e-4, 1e-5, 1e-6, 1e-7],
        b"[0.0001,1e-05,1e-06,1e-07]",
        b"[0.0001,0.00001,0.000001,1e-7]",
    ),
    "the smallest float": (5e-324, b"5e-324", b"5e-324"),
    "beyond ASCII": ("é😀", b'"\\u00e9\\ud83d\\ude00"', '"é😀"'.encode()),
    "a delete character": ("\x7f", b'"\\u007f"', b'"\x7f"'),
    "keys beyond the basic plane": (
        {"\ufb33": 1, "\U0001f600": 2.0},
        b'{"\\ufb33":1,"\\ud83d\\ude00":2.0}',
        '{"\U0001f600":2,"\ufb33":1}'.encode(),
    ),
    "keys beyond the basic plane, deep": (
        [{"a": ({"\ue000": [1], "\U0010ffff": "x", "z": {}},)}],
        b'[{"a":[{"z":{},"\\ue000":[1],"\\udbff\\udfff":"x"}]}]',
        '[{"a":[{"z":{},"\U0010ffff":"x","\ue000":[1]}]}]'.encode(),
    ),
    "a float in an Enum": ([Weight.TINY], b"[1e-07]", b"[1e-7]"),
}


@pytest.mark.parametrize(("value", "compact", "canonical"), DIFFERENT.values(), ids=DIFFERENT)
def test_where_the_forms_differ(value: Any, compact: bytes, canonical: bytes) -> None:
    assert sorted_compact(value) == compact == by_json(value)
    assert jcs(value) == canonical


def test_an_enum_is_written_as_its_value() -> None:
    value = {"a": [Plain.WORD, Plain.NOTHING, Plain.INNER]}
    assert sorted_compact(value) == jcs(value) == b'{"a":["word",null,"supported"]}'
    assert sorted_compact([Plain.WORD, 1e-7, Plain.TINY]) == b'["word",1e-07,1e-07]'
    assert sorted_compact([Plain.WORD, "é"]) == b'["word","\\u00e9"]'
    assert jcs([Plain.WORD, 2.0, Plain.TINY]) == b'["word",2,1e-7]'


def cyclic() -> list[Any]:
    value: list[Any] = [1]
    value.append({"again": value, "and": value})
    return value


def nested(depth: int, inner: Any) -> Any:
    for _ in range(depth):
        inner = [inner]
    return inner


UUID = uuid.UUID(int=0x10C4CB10C4CB10C4CB10C4CB10C4CB10)
REFUSED = {
    "not a number": ([0, {"x": float("nan")}], "json.number_domain", "[1].x"),
    "infinity": ({"x": float("inf")}, "json.number_domain", "x"),
    "infinity beside what is not ASCII": (["é", float("-inf")], "json.number_domain", "[1]"),
    "infinity beside astral keys": (
        {"\ue000": float("inf"), "😀": 1},
        "json.number_domain",
        r"['\ue000']",
    ),
    "2^53": ({"a": [2**53]}, "json.number_domain", "a[0]"),
    "a large integer": (10**5000, "json.number_domain", None),
    "half of a surrogate pair": (["\ud800"], "json.unicode", "[0]"),
    "half of a surrogate pair in a key": ([{"\ud800": 1}], "json.unicode", "[0]"),
    "a key that is not a text": ({"a": {1: 2}}, "canon.type", "a"),
    "a key that is None": ({None: 2}, "canon.type", None),
    "a key from an Enum": ({Verdict.SUPPORTED: 2}, "canon.type", None),
    "bytes": ({"a": b"x"}, "canon.type", "a"),
    "a set": ([{1}], "canon.type", "[0]"),
    "a date": ({"at": datetime(2026, 1, 1, tzinfo=UTC)}, "canon.type", "at"),
    "a decimal": ([Decimal(1)], "canon.type", "[0]"),
    "a dataclass": ([Point(1)], "canon.type", "[0]"),
    "a subclass of dict": ([OrderedDict(a=1)], "canon.type", "[0]"),
    "a UUID": ({"id": UUID}, "canon.type", "id"),
    "a UUID behind text": (["a long text of ASCII", UUID], "canon.type", "[1]"),
    "a UUID beside what is not ASCII": (["é", UUID], "canon.type", "[1]"),
    "a UUID beside a float": ([0.5, UUID], "canon.type", "[1]"),
    "a fragment of orjson's": ([orjson.Fragment(b"1 ,")], "canon.type", "[0]"),
    "a value that contains itself": (cyclic(), "json.depth", None),
    "a level more than can be written": (nested(MAX_DEPTH + 1, 1), "json.depth", None),
}


@pytest.mark.parametrize("write", [sorted_compact, jcs])
@pytest.mark.parametrize(("value", "name", "field"), REFUSED.values(), ids=REFUSED)
def test_refused(write: Any, value: Any, name: str, field: str | None) -> None:
    with pytest.raises(AffidavitError) as caught:
        write(value)
    assert caught.value.fault.name == name
    assert str(caught.value)
    if name != "json.depth":
        assert caught.value.where.field == field


@pytest.mark.parametrize("inner", [1, 1e-7, "é", 2.0], ids=["integer", "tiny", "text", "whole"])
def test_the_deepest_that_is_written(inner: Any) -> None:
    # Also on the paths that do not use orjson alone.
    value = nested(MAX_DEPTH, inner)
    assert sorted_compact(value) == by_json(value)
    assert jcs(value) == b"[" * MAX_DEPTH + jcs(inner) + b"]" * MAX_DEPTH


def test_the_depth_limit_is_that_of_orjson() -> None:
    orjson.dumps(nested(MAX_DEPTH, 1))
    with pytest.raises(TypeError, match="Recursion"):
        orjson.dumps(nested(MAX_DEPTH + 1, 1))


def with_little_stack(work: Any) -> Any:
    """Call `work` with room for about 150 more frames on the stack."""
    frames = 0
    frame: Any = sys._getframe()
    while frame is not None:
        frames, frame = frames + 1, frame.f_back

    def deeper(left: int) -> Any:
        return work() if left == 0 else deeper(left - 1)

    return deeper(sys.getrecursionlimit() - frames - 150)


def test_a_nearly_full_stack_does_not_crash() -> None:
    value = nested(MAX_DEPTH, 1)
    assert with_little_stack(lambda: jcs(value)) == by_json(value)
    assert with_little_stack(lambda: sorted_compact(value)) == by_json(value)

    def name_of_refusal() -> str:
        try:
            return "written" if sorted_compact(nested(MAX_DEPTH, "é")) else "empty"
        except AffidavitError as error:
            return error.fault.name

    # Later Pythons count the C stack separately, and can write it.
    assert with_little_stack(name_of_refusal) in ("json.depth", "written")


def test_a_refusal_without_a_cause_has_a_code() -> None:
    from affidavit.base.json_values import unwritable_error

    assert unwritable_error([1]).fault.name == "canon.type"


# Values in which 0xCB or 0xC4 occurs in the packed form without a float or UUID.
PACKED = {
    "a short integer": [203],
    "an integer of two bytes": {"count": 0xCBCB},
    "an integer of four bytes": {"amount_cents": 0x12CB34C4},
    "a negative integer": {"amount_cents": [-0x35, -0x3500, -0x34350000]},
    "an integer of eight bytes": {"nanoseconds": 0x1000CBC4CBC4},
    "a text of 203 characters": {"text": "x" * 203, "y": "z"},
    "a text of 196 characters": ["x" * 196, 16],
    "a text of 51,916 characters": ["x" * 0xCACC, "x" * 0xCB00],
    "a text of 13,000,000 characters": ["x" * 0xC6CB10],
    "a list of 203": [1] * 203,
    "a list of 65,739": [1] * 0x100CB,
    "an object of 203": {f"k{n:03}": n for n in range(203)},
    "an object of 65,739": {f"k{n:05}": 1 for n in range(0x100CB)},
    "short keys around it": {"a": {"b": 203, "c": {"d": 203}, "e": None, "f": True}},
    "many integers": {"all": list(range(100_000, 100_600))},
    "many integers, negative": {"all": list(range(-70_000, -69_000))},
}


@pytest.mark.parametrize("value", PACKED.values(), ids=PACKED)
def test_bytes_that_look_like_floats(value: Any) -> None:
    assert sorted_compact(value) == by_json(value)
    assert sorted_compact([value, 1e-5, value]) == by_json([value, 1e-5, value])
    assert jcs([value, 1.0]) == b"[" + by_json(value) + b",1]"


def test_non_ascii_text_is_not_read_as_integers() -> None:
    # D1 81 ends this text; where the text is not known to be ASCII, it would cover the float's CB.
    value = ["abcdefgh\u0441", 1e-7]
    assert sorted_compact(value) == by_json(value)
    assert jcs(value) == '["abcdefgh\u0441",1e-7]'.encode()


CANONICAL = {
    "an object": b'{"a":1,"b":[true,null,"x"]}',
    "an empty list": b"[]",
    "a scalar": b"1",
    "a fraction": b"[0.1,1e-7,1e+21]",
    "beyond ASCII": '{"é":"日"}'.encode(),
    "keys by UTF-16": '{"\U0001f600":1,"\ufb33":2}'.encode(),
    "a delete character": b'"\x7f"',
}


@pytest.mark.parametrize("raw", CANONICAL.values(), ids=CANONICAL)
def test_canonical_bytes(raw: bytes) -> None:
    assert is_canonical(raw)
    value: Any = require_canonical(raw)
    assert rfc8785.dumps(value) == raw


# raw, name of the fault, where it starts to differ
NOT_CANONICAL = {
    "a space": (b'{"a": 1}', "canon.noncanonical", "at column 6"),
    "a line feed at the end": (b"{}\n", "canon.noncanonical", "at column 3"),
    "the order of keys": (b'{"b":1,"a":2}', "canon.noncanonical", "at column 3"),
    "the order of code points": (
        '{"\ufb33":1,"\U0001f600":2}'.encode(),
        "canon.noncanonical",
        "at column 3",
    ),
    "a needless escape": (b'{"u":"http:\\/\\/x"}', "canon.noncanonical", "at column 12"),
    "an escape for what is not ASCII": (b'"\\u00e9"', "canon.noncanonical", "at column 2"),
    "an escape in upper case": (b'"\\u001F"', "canon.noncanonical", "at column 7"),
    "a whole float": (b"[1.0]", "canon.noncanonical", "at column 3"),
    "minus zero": (b'{"x":-0.0}', "canon.noncanonical", "at column 6"),
    "an exponent": (b'{"x":1e2}', "canon.noncanonical", "at column 7"),
    "a zero too many": (b'{"x":0.10}', "canon.noncanonical", "at column 9"),
    "over lines": (b'{"a":1,\n"b":2}', "canon.noncanonical", "at column 8"),
    "twin keys": (
        '{"e\u0301":2,"é":1}'.encode(),
        "canon.unicode_collision",
        r"'e\u0301' and '\xe9'",
    ),
    "twin keys, escaped and deep": (
        b'[{"a":{"\\u00e9":1,"e\\u0301":2}}]',
        "canon.unicode_collision",
        r"'e\u0301'",
    ),
    "not JSON": (b"{", "json.syntax", "ends too early"),
    "a duplicate key": (b'{"a":1,"a":1}', "json.duplicate_key", "'a'"),
}


@pytest.mark.parametrize(("raw", "name", "said"), NOT_CANONICAL.values(), ids=NOT_CANONICAL)
def test_bytes_that_are_not_canonical(raw: bytes, name: str, said: str) -> None:
    with pytest.raises(AffidavitError) as caught:
        require_canonical(raw)
    assert caught.value.fault.name == name
    assert said in caught.value.message


@pytest.mark.parametrize(
    ("raw", "name"), [row[:2] for row in NOT_CANONICAL.values()], ids=NOT_CANONICAL
)
def test_colliding_keys_are_canonical_but_refused(raw: bytes, name: str) -> None:
    assert is_canonical(raw) is (name == "canon.unicode_collision" and b"\\" not in raw)


def test_the_place_of_a_difference_is_a_line_too() -> None:
    with pytest.raises(AffidavitError) as caught:
        require_canonical(b'{"a":"x\\ny",\n"b":2}')
    assert caught.value.where.line == 1
    with pytest.raises(AffidavitError) as caught:
        require_canonical(b"1\n")
    assert (caught.value.where.line, caught.value.message[-11:]) == (1, "at column 2")


def test_the_limits_of_the_caller_apply() -> None:
    shallow = JsonLimits(max_depth=1)
    assert not is_canonical(b"[[]]", shallow)
    with pytest.raises(AffidavitError):
        require_canonical(b"[[]]", shallow)
