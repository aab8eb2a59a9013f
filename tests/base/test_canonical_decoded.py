"""The fast path to the sorted compact form of decoded values gives the same bytes."""

import json

from hypothesis import example, given
from hypothesis import strategies as st
from tests.json_values import FLOATS, VALUES

from affidavit.base.canonical import (
    decode_sorted_compact,
    sorted_compact,
    sorted_compact_decoded,
)
from affidavit.base.json_values import JsonValue

SMALL = st.floats(-1e-3, 1e-3)


@given(VALUES | st.lists(FLOATS | SMALL))
@example([9.999999999999999e-05, 1e-4, 1e-5, 1e-6, 5e-324, -1e-5])
@example({"a": "0.0000", "b": "e-", "c": "\x7f", "d": "é"})
@example({"a": "2e-", "b": "leave-1"})
@example([-1e-7, 1.5e-300])
def test_the_same_bytes(value: JsonValue) -> None:
    expected = json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
    assert sorted_compact_decoded(value) == sorted_compact(value) == expected
    decoded, text = decode_sorted_compact(json.dumps(value).encode())
    assert repr(decoded) == repr(value)
    assert text == expected
