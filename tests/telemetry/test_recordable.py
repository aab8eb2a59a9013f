"""Whatever a program records becomes strict JSON; nothing raises."""

import dataclasses
import enum
from collections import OrderedDict, defaultdict, namedtuple
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from affidavit.base.canonical import jcs
from affidavit.base.strict_json import decode
from affidavit.packs.pointers import has_content
from affidavit.telemetry.recordable import fitted, recordable


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: int
    y: float


class Named(msgspec.Struct):
    name: str


Pair = namedtuple("Pair", "a b")


class Model:
    def model_dump(self) -> dict[str, Any]:
        return {"a": 1}


class Raising:
    def __repr__(self) -> str:
        raise RuntimeError("no")


class Plain:
    def __repr__(self) -> str:
        return "Plain()"


CYCLE: list[Any] = []
CYCLE.append(CYCLE)

VALUES: dict[str, tuple[Any, Any]] = {
    "text": ("a", "a"),
    "none": (None, None),
    "true": (True, True),
    "integer": (3, 3),
    "an integer that doubles cannot tell from its neighbours": (2**53, {"$int": str(2**53)}),
    "a long float that would be written as an integer": (1e20, {"$float": "1e+20"}),
    "a very long float": (1e21, 1e21),
    "not a number": (float("nan"), {"$float": "nan"}),
    "infinite": (float("-inf"), {"$float": "-inf"}),
    "tuple": ((1, 2), [1, 2]),
    "mapping of another kind": (OrderedDict(a=1), {"a": 1}),
    "defaultdict": (defaultdict(int, a=1), {"a": 1}),
    "keys that are no texts": ({1: "a"}, {"$map": [[1, "a"]]}),
    "keys that look the same": ({"\u00e9": 1, "e\u0301": 2}, {"$map": [["é", 1], ["e\u0301", 2]]}),
    "keys of another alphabet": ({"é": 1}, {"é": 1}),
    "a key with half a character": ({"\ud800": 1}, {"$map": [[{"$text": "\\ud800"}, 1]]}),
    "an object that reads like a typed form": ({"$int": "1"}, {"$map": [["$int", "1"]]}),
    "half a character": ("\ud800", {"$text": "\\ud800"}),
    "bytes": (b"\x00", {"$bytes": "AA=="}),
    "time": (datetime(2026, 1, 31, tzinfo=UTC), {"$datetime": "2026-01-31T00:00:00+00:00"}),
    "day": (date(2026, 1, 31), {"$date": "2026-01-31"}),
    "time of day": (time(14, 30), {"$time": "14:30:00"}),
    "duration": (timedelta(seconds=1), {"$timedelta": "1000000.0us"}),
    "decimal": (Decimal("1.10"), {"$decimal": "1.10"}),
    "uuid": (UUID(int=1), {"$uuid": "00000000-0000-0000-0000-000000000001"}),
    "complex": (1 + 2j, {"$complex": "(1+2j)"}),
    "path": (PurePosixPath("a/b"), {"$path": "a/b"}),
    "member of an enum": (Colour.RED, "red"),
    "set": ({3, 1}, {"$set": [1, 3]}),
    "dataclass": (Point(1, 2.5), {"$object": {"type": "Point", "fields": {"x": 1, "y": 2.5}}}),
    "struct": (Named("n"), {"$object": {"type": "Named", "fields": {"name": "n"}}}),
    "named tuple": (Pair(1, 2), {"$object": {"type": "Pair", "fields": {"a": 1, "b": 2}}}),
    "model": (Model(), {"$object": {"type": "Model", "fields": {"a": 1}}}),
    "array": (np.array([1, 2]), [1, 2]),
    "number of numpy": (np.int64(3), 3),
    "error": (ValueError("no"), {"$error": "ValueError: no"}),
    "anything else": (Plain(), {"$repr": "Plain()"}),
    "its code raises": (
        Raising(),
        {"$unrecorded": {"reason": "it raised", "type": "Raising", "error": "RuntimeError"}},
    ),
}


@pytest.mark.parametrize(("value", "wanted"), VALUES.values(), ids=VALUES.keys())
def test_every_value_has_a_form(value: Any, wanted: Any) -> None:
    made = recordable(value)
    assert made == wanted
    assert type(made) is type(wanted)
    assert decode(jcs(made)) == wanted


def test_a_cycle_ends() -> None:
    text = jcs(recordable(CYCLE))
    assert b"too_deep" in text
    assert decode(text) is not None


def test_a_mark_is_no_content() -> None:
    assert not has_content(recordable(Raising()))
    assert has_content(recordable({"a": [b"x"]}))


@given(st.dictionaries(st.text("abc", min_size=1), st.text(max_size=300), max_size=8))
def test_what_is_too_large_gets_a_mark_with_its_digest(data: dict[str, str]) -> None:
    made, cut = fitted(dict(data), 400)
    assert made.keys() == data.keys()
    assert all(made[name] == data[name] for name in data.keys() - set(cut))
    marks: list[Any] = [made[name] for name in cut]
    assert all("digest" in mark["$unrecorded"] for mark in marks)
    if not cut:
        assert made == data
