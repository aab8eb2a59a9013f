"""Laws of strict JSON, on any bytes and on texts that are nearly JSON."""

import json

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.json_values import NEARLY_JSON, VALUES, reference_decode, same

from affidavit.base.errors import AffidavitError
from affidavit.base.json_values import DOCUMENT_LIMITS, JsonLimits
from affidavit.base.strict_json import decode, refusal_error


def outcome(raw: bytes, limits: JsonLimits = DOCUMENT_LIMITS) -> object:
    """Return the value, or the error, that decoding ends in."""
    try:
        return decode(raw, limits)
    except AffidavitError as error:
        return error


@given(st.binary(max_size=60) | NEARLY_JSON)
@settings(max_examples=300)
def test_any_bytes_decode_as_in_the_reference(raw: bytes) -> None:
    try:
        wanted = reference_decode(raw)
    except (ValueError, RecursionError):
        error = outcome(raw)
        assert isinstance(error, AffidavitError), error
        assert str(error)
    else:
        assert same(decode(raw), wanted)


@given(NEARLY_JSON, st.integers(0, 3), st.integers(0, 3), st.integers(0, 4))
@settings(max_examples=300)
def test_the_diagnosis_agrees_with_the_decoder(
    raw: bytes, depth: int, keys: int, characters: int
) -> None:
    # The diagnosis finds a fault in exactly what the decoder refuses, within any limits.
    limits = JsonLimits(max_depth=depth, max_keys=keys, max_string=characters)
    is_refused = isinstance(outcome(raw, limits), AffidavitError)
    assert ("the decoder does not accept it" not in str(refusal_error(raw, limits))) is is_refused


@given(VALUES)
def test_written_values_are_read_back(value: object) -> None:
    for raw in (
        json.dumps(value).encode(),
        json.dumps(value, ensure_ascii=False, indent=1).encode(),
        orjson.dumps(value),
    ):
        assert same(decode(raw), value)


@given(VALUES, st.data())
def test_a_duplicate_member_is_always_found(value: object, data: st.DataObject) -> None:
    members = {"first": value, "a:b": value, "last": 1}
    key = data.draw(st.sampled_from(list(members)))
    copy = json.dumps({key: data.draw(VALUES)})
    text = json.dumps(members)[:-1] + "," + copy[1:]
    with pytest.raises(AffidavitError) as caught:
        decode(text.encode())
    assert caught.value.fault.name == "json.duplicate_key"
