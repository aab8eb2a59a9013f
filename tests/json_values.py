"""Values and texts that properties of the JSON modules are tried on."""

import json
import math
from typing import Any

from hypothesis import strategies as st

MAX_INTEGER = 2**53 - 1

# Surrogates have no UTF-8 form; they are tried apart, as a fault.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
INTEGERS = st.integers(-MAX_INTEGER, MAX_INTEGER)
FLOATS = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(
    [0.0, -0.0, 1.0, 1e-4, 1e-5, 1e-6, 1e-7, 1e15, 1e16, 1e20, 1e21, 1e22, 5e-324, 2.0**53]
)


def values(scalars: st.SearchStrategy[Any], keys: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    """Return trees of these scalars."""
    return st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=5) | st.dictionaries(keys, inner, max_size=5),
        max_leaves=20,
    )


SCALARS = st.none() | st.booleans() | INTEGERS | FLOATS | TEXTS
VALUES = values(SCALARS, TEXTS)
FLOAT_FREE = values(st.none() | st.booleans() | INTEGERS | TEXTS, TEXTS)
ASCII_FLOAT_FREE = values(
    st.none() | st.booleans() | INTEGERS | st.text('aZ :"\\\n.', max_size=300),
    st.text("abcdefgh", max_size=12),
)

# Texts that are nearly JSON: whole tokens and broken ones, put together at random.
TOKENS = [
    *(b"{", b"}", b"[", b"]", b":", b",", b" ", b"\n", b"\r", b"\t", b'"', b"\\"),
    *(b'"a"', b'"b"', b'"\\u0061"', b'"\\u003a"', b'":"', b'"\\\\u003a"', b'"\\ud83d\\ude00"'),
    *(b'"a":1', b'{"a":1}', b"[]", b"{}", b"true", b"false", b"null", b"NaN", b"-Infinity"),
    *(b"0", b"-0", b"-", b"1", b"01", b"1.5", b"1.", b".5", b"1e5", b"1e400", b"1e-400", b"e+"),
    *(b"9007199254740991", b"9007199254740992", b"18446744073709551616", b"1" * 30, b'"1e+1"'),
    *(
        b'"\\ud800"',
        b'"\\x"',
        b"\x00",
        b"\x0c",
        b"\xef\xbb\xbf",
        b"\xc3\xa9",
        b"\xed\xa0\x80",
        b"\xff",
    ),
    b'"12345678901234567890e+"',
]
NEARLY_JSON = st.lists(st.sampled_from(TOKENS), max_size=12).map(b"".join)


def reference_decode(raw: bytes) -> Any:
    """Read strict JSON by the standard library, as the rules say; raise ValueError otherwise."""
    text = raw.decode()
    value = json.loads(
        text,
        object_pairs_hook=_without_duplicates,
        parse_int=_safe_integer,
        parse_float=_finite,
        parse_constant=_refuse,
    )
    json.dumps(value, ensure_ascii=False).encode()  # Half a surrogate pair cannot be encoded.
    return value


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key twice")
    return value


def _safe_integer(text: str) -> int:
    if abs(int(text)) > MAX_INTEGER:
        raise ValueError("an integer out of range")
    return int(text)


def _finite(text: str) -> float:
    if not math.isfinite(float(text)):
        raise ValueError("a number out of range")
    return float(text)


def _refuse(text: str) -> float:
    raise ValueError(text)


def same(one: Any, other: Any) -> bool:
    """Say whether two values are the same, types and the sign of zero included."""
    return repr(one) == repr(other)
