"""Laws of the canonical forms, against their reference implementations."""

import json
import math
import random
import re
import struct
from typing import Any

import orjson
import pytest
import rfc8785
from hypothesis import given
from tests.json_values import ASCII_FLOAT_FREE, FLOAT_FREE, VALUES, same

from affidavit.base.canonical import (
    is_canonical,
    is_ecmascript_text,
    is_python_text,
    jcs,
    require_canonical,
    sorted_compact,
)
from affidavit.base.json_values import floats_in
from affidavit.base.strict_json import decode

LONG_DIGITS = re.compile(rb"[0-9]{16}")


@given(VALUES | FLOAT_FREE | ASCII_FLOAT_FREE)
def test_sorted_compact_is_json_dumps(value: Any) -> None:
    wanted = json.dumps(value, sort_keys=True, separators=(",", ":"))
    assert sorted_compact(value) == wanted.encode()


@given(VALUES | FLOAT_FREE | ASCII_FLOAT_FREE)
def test_jcs_is_rfc8785(value: Any) -> None:
    assert jcs(value) == rfc8785.dumps(value)


@given(VALUES)
def test_sorted_compact_is_idempotent(value: Any) -> None:
    assert sorted_compact(decode(sorted_compact(value))) == sorted_compact(value)


@given(VALUES.filter(lambda value: not LONG_DIGITS.search(rfc8785.dumps(value))))
def test_jcs_is_idempotent(value: Any) -> None:
    assert jcs(decode(jcs(value))) == jcs(value)
    assert is_canonical(jcs(value))


@pytest.mark.parametrize("number", [2.0**53, -1e20])
def test_a_float_that_jcs_writes_as_a_large_integer_is_not_read_back(number: float) -> None:
    assert not is_canonical(jcs(number))
    assert not is_canonical(orjson.dumps(number))


@given(FLOAT_FREE)
def test_require_canonical_returns_the_written_value(value: Any) -> None:
    raw = jcs({"a": value})
    assert same(require_canonical(raw), json.loads(raw))


@given(VALUES | ASCII_FLOAT_FREE)
def test_every_float_is_found(value: Any) -> None:
    text = repr(floats_in(value))
    assert sorted(text) == sorted(repr(all_floats(value)))


def all_floats(value: Any) -> list[float]:
    """Return the floats of a value, by recursion."""
    if isinstance(value, float):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [number for member in inner for number in all_floats(member)]


def floats_of_all_magnitudes(count: int) -> list[float]:
    """Return floats by random bits, by random magnitude, and around every border of a rule."""
    chance = random.Random(8785)
    bits = (struct.unpack("<d", chance.randbytes(8))[0] for _ in range(count))
    found = [number for number in bits if math.isfinite(number)]
    found += [chance.uniform(-1, 1) * 10.0 ** chance.randrange(-12, 25) for _ in range(count)]
    for border in (0.0, 1e-4, 1e-5, 1e-6, 1e-7, 1e15, 2.0**53, 1e16, 2.0**63, 2.0**64, 1e20, 1e21):
        below = above = border
        for _ in range(50):
            found += [below, above, -below, -above]
            below, above = math.nextafter(below, -1), math.nextafter(above, math.inf)
    return found


def test_the_texts_of_floats() -> None:
    # The facts that the fast paths and the strict decoder rest on.
    for number in floats_of_all_magnitudes(10_000):
        text = orjson.dumps(number)
        assert not is_python_text(number) or text == repr(number).encode()
        assert not is_ecmascript_text(number) or text == rfc8785.dumps(number)
        assert (b"e+" in text) is (abs(number) >= 1e16)
