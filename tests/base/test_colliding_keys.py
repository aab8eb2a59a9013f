"""Keys that are equal in NFC are found, in linear time for every input."""

import time
import unicodedata
from itertools import cycle, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affidavit.base.canonical import refuse_colliding_keys
from affidavit.base.errors import AffidavitError
from affidavit.base.text import to_nfc, to_nfd

# Letters that have parts, marks of several classes, Hangul in pieces, and plain ones.
ODD = st.sampled_from("aé가각\u1100\u1161\u11a8Ångström\u0301\u0323\u0327\u0345\u0f71\u1e69\u212b")
TEXTS = st.text(ODD | st.characters(exclude_categories=["Cs"]), max_size=40)


@given(TEXTS, st.integers(1, 12))
def test_the_normal_forms_are_those_of_unicodedata(text: str, times: int) -> None:
    assert to_nfd(text * times) == unicodedata.normalize("NFD", text * times)
    assert to_nfc(text * times) == unicodedata.normalize("NFC", text * times)


@given(TEXTS, TEXTS)
def test_keys_collide_if_they_are_equal_in_nfc(first: str, second: str) -> None:
    are_twins = unicodedata.normalize("NFC", first) == unicodedata.normalize("NFC", second)
    if first == second or not are_twins:
        refuse_colliding_keys((first, second))
        return
    with pytest.raises(AffidavitError) as caught:
        refuse_colliding_keys((first, second))
    assert caught.value.fault.name == "canon.unicode_collision"


def test_half_a_million_combining_marks_are_compared_quickly() -> None:
    marks = "a" + "".join(islice(cycle("\u0301\u0323"), 500_000))
    sorted_marks = "a" + "\u0323" * 250_000 + "\u0301" * 250_000
    start = time.process_time()
    with pytest.raises(AffidavitError):
        refuse_colliding_keys((marks, sorted_marks))
    assert to_nfc(marks) == to_nfc(sorted_marks)
    assert time.process_time() - start < 2
