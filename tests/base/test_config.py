"""The one reader of configuration files: positions, unknown keys, limits."""

import tomllib
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from affidavit.base.config import (
    MAX_CONFIG_BYTES,
    ConfigFaults,
    find_unknown_key,
    parse_toml,
    parse_yaml,
    read_config,
)
from affidavit.base.errors import AffidavitError, Fault

SYNTAX = Fault("AF001", "x.syntax", "not {kind}: {problem}", "correct it")
VALUE = Fault("AF002", "x.value", "{problem}", "correct it")
KEY = Fault("AF003", "x.key", "unknown key {key!r}", "{advice}")
FAULTS = ConfigFaults(SYNTAX, VALUE)


class Cat(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="cat"):
    lives: int = 9


class Dog(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="dog"):
    tricks: tuple[str, ...] = ()


class House(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    size: int | None = None
    pets: tuple[Cat | Dog, ...] = ()
    rooms: Annotated[dict[str, "Room"], msgspec.Meta(title="Rooms")] = {}


class Room(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    doors: int = 1
    names: list[str] | str = ""


TEXT = '''# a comment with [brackets] = and "quotes"
size = 3
"größe.x" = 'Straße' # not = a field
plain.dotted."q\\u00e4" = 1979-05-27 07:32:00

[table] # [no]
many = [ 1, # one
  """two "quotes"
=[}""", {three = "}", four = [[5]]},
]
literal = \'\'\'it's = [x]\'\'\'
[[row]]
id = "a"
[row.sub]
deep = true
[[row]]
id = "b"
[ "other table" . x ]
y = -1.5e3
'''

POSITIONS = {
    "size": (2, 1),
    "größe.x": (3, 1),
    "plain.dotted.qä": (4, 1),
    "table": (6, 1),
    "table.many[0]": (7, 10),
    "table.many[1]": (8, 3),
    "table.many[2].three": (9, 10),
    "table.many[2].four[0][0]": (9, 32),
    "table.literal": (11, 1),
    "row[0].id": (13, 1),
    "row[0].sub.deep": (15, 1),
    "row[1]": (16, 1),
    "row[1].id": (17, 1),
    "other table.x.y": (19, 1),
    "row[1].nothing.there[3]": (16, 1),
    "nowhere": (None, None),
}


@pytest.mark.parametrize("ends", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["no BOM", "BOM"])
def test_every_key_of_toml_has_its_position(mark: bytes, ends: str) -> None:
    document = parse_toml(mark + TEXT.replace("\n", ends).encode(), "c.toml", FAULTS)
    assert document.value["größe.x"] == "Straße"
    for field, position in POSITIONS.items():
        where = document.where(field)
        assert (where.line, where.column) == position, field


NAMES = st.text(min_size=1, max_size=4).filter(lambda name: "\r" not in name)
SCALARS = st.integers(-9, 9) | st.booleans() | st.text(max_size=5) | st.floats(-9, 9)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(NAMES, inner), max_leaves=8
)


def toml_of(value: Any) -> str:
    if isinstance(value, dict):
        members = (f"{toml_of(key)} = {toml_of(member)}" for key, member in value.items())
        return "{" + ", ".join(members) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_of, value)) + "]"
    if isinstance(value, str):
        return '"' + "".join(f"\\U{ord(letter):08x}" for letter in value) + '"'
    return str(value).lower()


@given(st.lists(st.tuples(NAMES, VALUES), max_size=4, unique_by=lambda pair: pair[0]))
def test_each_key_is_found_on_its_own_line(pairs: list[tuple[str, Any]]) -> None:
    text = "".join(f"{toml_of(name)} = {toml_of(value)} # x\n" for name, value in pairs)
    document = parse_toml(text.encode(), None, FAULTS)
    assert document.value == tomllib.loads(text)
    lines = [document.positions()[name] for name, _ in pairs]
    assert lines == [(line, 1) for line in range(1, len(pairs) + 1)]


REFUSED: dict[str, tuple[bytes, int | None, int | None, str]] = {
    "a value is missing": (b"a = 1\nb = \n", 2, 5, "not TOML: Invalid value"),
    "the text ends too early": (b"a = 1\nb = [1,", 2, 8, "at the end"),
    "a bare key with non-ASCII letters": ("größe = 1".encode(), 1, 3, "in quotes"),
    "not UTF-8": (b"a = 1\nb = \xff", 2, 5, "the text is not UTF-8"),
    "an integer of 5,000 digits": (b"a = " + b"9" * 5_000, None, None, "not TOML"),
    "deeper than the stack": (b"a = " + b"[" * 5_000, None, None, "nested too deeply"),
}


@pytest.mark.parametrize(("raw", "line", "column", "words"), REFUSED.values(), ids=REFUSED)
def test_toml_that_is_refused(raw: bytes, line: int | None, column: int | None, words: str) -> None:
    with pytest.raises(AffidavitError) as caught:
        parse_toml(raw, "c.toml", FAULTS)
    where = caught.value.where
    assert (caught.value.fault, where.file, where.line, where.column) == (
        SYNTAX,
        "c.toml",
        line,
        column,
    )
    assert words in caught.value.message


WRONG: dict[str, tuple[str, str, str]] = {
    "a key": ("siez: 1", "line 1, column 1, field siez", "did you mean size?"),
    "a key of a tagged table": (
        "pets: [{type: dog}, {type: dog, trick: []}]",
        "line 1, column 33, field pets[1].trick",
        "did you mean tricks?",
    ),
    "a key of a table with a free name": (
        "rooms:\n  Küche: {doors: 2, door: 1}",
        "line 2, column 21, field rooms.Küche.door",
        "did you mean doors?",
    ),
    "a wrong type": ("size: big", "line 1, column 1, field size", "expected `int | null`"),
    "a wrong type under a free name": (
        "rooms: {Bad: {doors: x}}",
        "line 1, column 1, field rooms.doors",
        "expected `int`, got `str`",
    ),
    "a wrong tag": ("pets: [{type: cow}]", "line 1, column 9, field pets[0].type", "'cow'"),
    "an object is expected": ("[1]", "line 1, column 1", "expected `object`"),
}


@pytest.mark.parametrize(("text", "place", "words"), WRONG.values(), ids=WRONG.keys())
def test_a_value_of_the_wrong_type_is_refused(text: str, place: str, words: str) -> None:
    document = parse_yaml(text.encode(), None, FAULTS)
    with pytest.raises(AffidavitError) as caught:
        document.decode(House, document.value)
    assert (caught.value.fault, str(caught.value.where)) == (VALUE, place)
    assert words in caught.value.message


def test_an_unknown_key_can_have_a_fault_of_its_own() -> None:
    document = parse_toml(b"x = 1\nsise = 2", "c.toml", ConfigFaults(SYNTAX, VALUE, KEY))
    with pytest.raises(AffidavitError, match=r"AF003: c\.toml, line 1, column 1, field x: unknown"):
        document.decode(House, document.value)
    assert find_unknown_key({"size": 1, "rooms": 3, "pets": ["x"]}, House) is None
    assert find_unknown_key({"size": {"a": 1}}, House) is None


def test_an_error_of_a_part_gets_its_position() -> None:
    document = parse_toml(b"[a]\nb = [1, 2]", "c.toml", FAULTS)
    error = document.locate(AffidavitError(VALUE, problem="odd").at(field="[1]"), "a.b")
    assert str(error.where) == "c.toml, line 2, column 9, field a.b[1]"
    assert error.as_wire()["column"] == 9
    assert "column" not in AffidavitError(VALUE, problem="odd").as_wire()


def test_the_name_decides_between_toml_and_yaml(tmp_path: Path) -> None:
    for name, text in (("a.toml", "size = 1"), ("a.YML", "size: 1"), ("a.yaml", "size: 1")):
        (tmp_path / name).write_text(text, "utf-8")
        document = read_config(tmp_path / name, FAULTS)
        assert document.decode(House, document.value) == House(1)
    (tmp_path / "large.toml").write_bytes(b"#" * (MAX_CONFIG_BYTES + 1))
    with pytest.raises(AffidavitError, match="AF0"):
        read_config(tmp_path / "large.toml", FAULTS)
