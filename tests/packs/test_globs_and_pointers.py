"""Patterns of types, pointers into events, and the names that were meant."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affidavit.base.validation import nearest_name, suggestion_for
from affidavit.packs.events import FieldFinder
from affidavit.packs.globs import GlobError, glob_from
from affidavit.packs.model import is_version_met, version_numbers
from affidavit.packs.pointers import ABSENT, child_pointer, commitment_in, pointer_from

GLOBS: dict[str, tuple[str, str, bool]] = {
    "a text is itself": ("a.b", "a.b", True),
    "and nothing else": ("a.b", "a.bc", False),
    "a dot is a dot": ("a.b", "axb", False),
    "a star is any text": ("*.started", "a.b.started", True),
    "a star is nothing, too": ("a*", "a", True),
    "two stars are one": ("a**b", "axxb", True),
    "a star goes back": ("*ab", "aab", True),
    "a star alone is all": ("*", "", True),
    "case counts": ("A", "a", False),
    "a question mark is one letter": ("a?c", "abc", True),
    "and not none": ("a?c", "ac", False),
    "a class": ("a[xy]c", "ayc", True),
    "out of the class": ("a[xy]c", "azc", False),
    "a range": ("v[0-9]", "v7", True),
    "not of a class": ("v[!0-9]", "va", True),
    "not of a class, the other way": ("v[^0-9]", "v1", False),
    "a bracket in a class": ("[]]", "]", True),
    "a hyphen at the end of a class": ("[a-]", "-", True),
    "one of two texts": ("{a,b}.x", "b.x", True),
    "none of the two": ("{a,b}.x", "c.x", False),
    "texts in texts": ("{a,{b,c}d}", "cd", True),
    "nothing is a text": ("a{,b}", "a", True),
    "a comma outside of braces": ("a,b", "a,b", True),
    "an escaped star": (r"a\*", "a*", True),
    "an escaped star is no star": (r"a\*", "ab", False),
    "a star behind the end": ("a*b", "a", False),
}


@pytest.mark.parametrize(("pattern", "text", "wanted"), GLOBS.values(), ids=GLOBS.keys())
def test_a_pattern(pattern: str, text: str, wanted: bool) -> None:
    assert glob_from(pattern).matches(text) is wanted


BAD_GLOBS = {
    "braces that are not closed": ("{a", "a { is not closed"),
    "a brace that closes nothing": ("a}", "a } closes nothing"),
    "a class that is not closed": ("[a", "a [ is not closed"),
    "a range that runs backwards": ("[z-a]", "the range z-a runs backwards"),
    "a backslash at the end": ("a\\", "a backslash stands at the end"),
    "too many texts": ("{a,b}" * 7, "more than 64 texts"),
}


@pytest.mark.parametrize(("pattern", "words"), BAD_GLOBS.values(), ids=BAD_GLOBS.keys())
def test_what_is_no_pattern(pattern: str, words: str) -> None:
    with pytest.raises(GlobError, match=re.escape(words)):
        glob_from(pattern)


def test_what_the_stars_stand_for() -> None:
    assert glob_from("*.started").parts("a.b.started") == ("a.b",)
    assert glob_from("*.x.*").parts("a.x.b") == ("a", "b")
    assert glob_from("{q,*.x*}").parts("a.x") == ("a", "")
    assert glob_from("{a,b*c*}").stars == 2
    assert glob_from("plain").parts("plain") == ()


@given(
    st.lists(st.sampled_from(["*", "?", "a", "b", "."]), max_size=8), st.text("ab.", max_size=12)
)
def test_a_pattern_says_what_the_same_expression_says(pattern: list[str], text: str) -> None:
    expression = "".join({"*": ".*", "?": "."}.get(each, re.escape(each)) for each in pattern)
    wanted = re.fullmatch(expression, text, re.DOTALL) is not None
    assert glob_from("".join(pattern)).matches(text) is wanted


@given(st.text("ab", max_size=30), st.text("ab*", max_size=30))
def test_a_hostile_pattern_ends(text: str, pattern: str) -> None:
    glob_from(pattern + "*b").matches("a" * 2000 + text)


DOCUMENT: Any = {"a": {"b/c": [10, {"": 1}], "m~n": None}, "": 5}
POINTERS = {
    "the whole": ("", DOCUMENT),
    "the whole, by a slash": ("/", DOCUMENT),
    "a key": ("/a", DOCUMENT["a"]),
    "without the first slash": ("a/m~0n", None),
    "a slash in a key": ("/a/b~1c/0", 10),
    "an empty key behind": ("/a/b~1c/1/", 1),
    "no such key": ("/x", ABSENT),
    "behind a number": ("/a/b~1c/0/x", ABSENT),
    "a number that is too large": ("/a/b~1c/9999999999", ABSENT),
    "digits that are not ASCII": ("/a/b~1c/\u0660", ABSENT),
}


@pytest.mark.parametrize(("text", "wanted"), POINTERS.values(), ids=POINTERS.keys())
def test_a_pointer(text: str, wanted: object) -> None:
    assert pointer_from(text).find(DOCUMENT) == wanted


def test_required_bytes_and_members() -> None:
    assert pointer_from("/data/x").required_bytes == b'"x"'
    assert pointer_from("/data/1").required_bytes is None
    assert pointer_from("/").required_bytes is None
    assert child_pointer("/a", "b/c~") == "/a/b~1c~0"
    assert repr(ABSENT) == "ABSENT"


KEYS = {
    "a member of the payload": ("/data/x", "x"),
    "deeper in the payload": ("/data/x/y", None),
    "the payload itself": ("/data", None),
    "a member of the event": ("/type", None),
    "an index or a key": ("/data/1", None),
}


@pytest.mark.parametrize(("text", "key"), KEYS.values(), ids=KEYS.keys())
def test_only_a_member_of_the_payload_has_a_key(text: str, key: str | None) -> None:
    assert FieldFinder(pointer_from(text)).key == key


COMMITMENTS: dict[str, tuple[object, bool]] = {
    "a commitment": ({"$redacted": {"alg": "sha256-salted", "digest": "sha256:0"}}, True),
    "no digest": ({"$redacted": {"alg": "sha256-salted"}}, False),
    "a digest that is no text": ({"$redacted": {"alg": "x", "digest": 5}}, False),
    "another member beside it": ({"$redacted": {"alg": "x", "digest": "y"}, "z": 1}, False),
    "no object": ({"$redacted": "x"}, False),
    "another value": ({"x": 1}, False),
    "a text": ("$redacted", False),
}


@pytest.mark.parametrize(("value", "wanted"), COMMITMENTS.values(), ids=COMMITMENTS.keys())
def test_what_counts_as_redacted(value: object, wanted: bool) -> None:
    assert (commitment_in(value) is not None) is wanted


NEAREST = {
    "a letter too many": ("severityy", "severity"),
    "two letters swapped": ("vresion", "version"),
    "the beginning": ("desc", "description"),
    "case": ("Version", "version"),
    "nothing alike": ("zzzzzz", None),
    "too short to tell": ("q", None),
}


@pytest.mark.parametrize(("given_name", "wanted"), NEAREST.values(), ids=NEAREST.keys())
def test_the_nearest_name(given_name: str, wanted: str | None) -> None:
    assert nearest_name(given_name, ("severity", "version", "description")) == wanted


def test_no_names_are_no_advice() -> None:
    assert nearest_name("abc", ()) is None
    assert suggestion_for("abd", ["abc", "x"]) == "did you mean abc? The known ones are abc, x"


VERSIONS = {
    "the same": (">=5.4.0", "5.4.0", True),
    "older": (">=2.10.0", "5.4.0", True),
    "newer": ("5.10.0", "5.4.0", False),
    "two numbers": ("1.2", "1.2", True),
    "an equals sign": ("=5.4.0", "5.4.0", True),
    "with a label": ("5.4.0-rc1", "5.4.0", True),
    "words": ("new", "5.4.0", False),
    "digits that are not ASCII": ("\u0665.\u0664.\u0660", "5.4.0", False),
}


@pytest.mark.parametrize(("wanted", "found", "met"), VERSIONS.values(), ids=VERSIONS.keys())
def test_versions(wanted: str, found: str, met: bool) -> None:
    assert is_version_met(wanted, found) is met


def test_numbers_of_a_version() -> None:
    assert version_numbers(" >= 1.2 ") == (1, 2, 0)
