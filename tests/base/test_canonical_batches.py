"""Batches of texts: every text that is proved canonical is canonical."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.json_values import TOKENS, VALUES

from affidavit.base.canonical import are_all_canonical, is_canonical, jcs
from affidavit.base.json_values import JsonLimits

LIMITS = JsonLimits(max_depth=4, max_keys=4, max_string=100)

PROVED = {
    "nothing": [],
    "scalars": [b"1", b"null", b'"a"', b"0.5", b"-7"],
    "objects": [b'{"a":1,"b":[2]}', b"{}"],
    "texts beyond ASCII": ['"größe 😀"'.encode(), '{"a":"é"}'.encode()],
    "escapes as RFC 8785 writes them": [b'"\\u001b\\n\\\\\\""', b'"\x7f"'],
    "as deep as allowed": [b"[[[[]]]]"],
    "brackets within the limit": [b'["[[["]'],
}
NOT_PROVED = {
    "keys out of order": b'{"b":1,"a":2}',
    "a key twice": b'{"a":1,"a":1}',
    "white space": b"[1, 2]",
    "a needless escape": b'"\\u0041"',
    "a whole float": b"1.0",
    "minus zero": b"-0.0",
    "an exponent": b"1e5",
    "a small float": b"0.00001",
    "an integer beyond 53 bits": b"9007199254740992",
    "an integer beyond 64 bits": b"18446744073709551616",
    "an infinity": b"1e999",
    "half a surrogate": b'"\\ud800"',
    "a surrogate in UTF-8": b'"\xed\xa0\x80"',
    "not JSON": b"nul",
    "two values": b"1,2",
    "a key beyond ASCII": '{"é":1}'.encode(),
    "too deep": b"[[[[[]]]]]",
    "perhaps too deep": b'{"a":"[[[[["}',
    "perhaps too many keys": b'{"aaaaaaaaaaaaaaaaaaaa":1}',
    "too deep for any reader": b"[" * 5000,
}


@pytest.mark.parametrize("texts", PROVED.values(), ids=PROVED.keys())
def test_batches_that_are_all_canonical(texts: list[bytes]) -> None:
    assert are_all_canonical(texts, JsonLimits(max_depth=4))


@pytest.mark.parametrize("text", NOT_PROVED.values(), ids=NOT_PROVED.keys())
def test_batches_that_are_not_all_canonical(text: bytes) -> None:
    assert not are_all_canonical([b"1", text, b"2"], LIMITS)


@given(st.lists(VALUES, max_size=4))
def test_every_proved_text_is_canonical(values: list[object]) -> None:
    texts = [jcs(value) for value in values]
    if are_all_canonical(texts, JsonLimits()):
        assert all(map(is_canonical, texts))


@given(st.lists(st.sampled_from(TOKENS), max_size=6).map(b"".join))
def test_malformed_json_is_never_proved_canonical(text: bytes) -> None:
    if are_all_canonical([b"1", text], JsonLimits()):
        assert is_canonical(text)
