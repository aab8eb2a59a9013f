"""Lists in cells, and citations in answers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affidavit.importers.fields import find_list
from affidavit.importers.tool_format import RowProblem, cited_in

LISTS = {
    "JSON": ('["a", "b"]', ["a", "b"]),
    "Python's quotes": ("""['a', "it's"]""", ["a", "it's"]),
    "NumPy leaves out the commas": ("['a' 'b'\n 'c']", ["a", "b", "c"]),
    "an array of objects": ("array(['a', 'b'], dtype=object)", ["a", "b"]),
    "escapes are read": (r"['line\nfeed', 'M\xfcller', 'a\\b']", ["line\nfeed", "Müller", "a\\b"]),
    "a real line feed inside an element": ("['a\r\nb']", ["a\r\nb"]),
    "numbers are ids": ("[1, 22]", [1, 22]),
    "words without quotes": ("[doc1, doc-2]", ["doc1", "doc-2"]),
    "nothing": ("[]", []),
    "nothing, with a space": ("[ ]", []),
    "a comma inside an element": ("['a, b']", ["a, b"]),
    "a text that begins with a bracket": ("[1] Smith says so", None),
    "a text between brackets": ("[see [2]]", None),
    "a plain text": ("five days", None),
    "an object": ('{"a": 1}', None),
    "spaces around": ("  ['a'] ", ["a"]),
}


@pytest.mark.parametrize(("cell", "wanted"), LISTS.values(), ids=LISTS.keys())
def test_find_list(cell: str, wanted: list[object] | None) -> None:
    assert find_list(cell, "contexts") == wanted


@pytest.mark.parametrize("cell", ["['a', 'b", "['a', b'c'", '["a', r"['\x']", "['a'] and more"])
def test_a_truncated_list_is_refused(cell: str) -> None:
    with pytest.raises(RowProblem, match="list is incomplete"):
        find_list(cell, "contexts")


@given(st.lists(st.text()))
def test_every_list_of_texts_comes_back_from_python(texts: list[str]) -> None:
    assert find_list(repr(texts), "contexts") == texts


MARKS = {
    "a number is a place": ("So [2].", ("b",)),
    "several in one mark": ("So [1, 3].", ("a", "c")),
    "an id": ("So [b].", ("b",)),
    "ids in one mark": ("So [b; c].", ("b", "c")),
    "an id with a comma": ("So [d, e].", ("d, e",)),
    "the anchor of a ledger": ("So [cite:b].", ("b",)),
    "each once, in order": ("[2] and [1], then [2]", ("b", "a")),
    "a number that leads nowhere, beside one that leads": ("[1] and [9]", ("a", "[9]")),
    "a number that leads nowhere is a citation too": ("In [9] of the year [2024]", ("[9]",)),
    "a year alone is none": ("In [2024]", None),
    "a word before the number": ("[Source 1] [doc 2] [Passage #3]", ("a", "b", "c")),
    "a footnote": ("So.[^2]", ("b",)),
    "a year is not a mark": ("[1] of [2024]", ("a",)),
    "words in brackets": ("[sic] [a] note", ("a",)),
    "no mark": ("So it is.", None),
}


@pytest.mark.parametrize(("answer", "wanted"), MARKS.values(), ids=MARKS.keys())
def test_cited_in(answer: str, wanted: tuple[str, ...] | None) -> None:
    assert cited_in(answer, ("a", "b", "c", "d, e")) == wanted


def test_without_retrieved_passages_marks_are_not_citations() -> None:
    assert cited_in("So [1].", ()) is None
