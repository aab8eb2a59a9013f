"""The one exception, the catalog of faults behind it, and the exit codes."""

import pickle
import re
from collections import Counter
from string import Formatter

import pytest

from affidavit.base import faults
from affidavit.base.errors import NOWHERE, AffidavitError, Fault, Where
from affidavit.base.exits import EXIT_MEANINGS, Exit
from affidavit.base.faults import CATALOG
from affidavit.base.faults.input import DEFECT, FILE_MISSING, FILE_TOO_LARGE

ALL_FAULTS = [
    value for area in faults._AREAS for value in vars(area).values() if isinstance(value, Fault)
]


def sample_values(fault: Fault) -> dict[str, object]:
    """Return a value for every name that the fault's texts use."""
    texts = (fault.message, fault.next_step)
    names = {name for text in texts for _, name, _, _ in Formatter().parse(text) if name}
    return dict.fromkeys(names, "3")


PLACES = {
    "nothing is known": (Where(), ""),
    "a file": (Where(file="a.json"), "a.json"),
    "a line of a file": (Where("a.jsonl", 7), "a.jsonl, line 7"),
    "a field of a line of a file": (Where("a.jsonl", 7, "x.0"), "a.jsonl, line 7, field x.0"),
    "a field alone": (Where(field="x"), "field x"),
    "line 0 is a line": (Where(line=0), "line 0"),
}


@pytest.mark.parametrize(("place", "said"), PLACES.values(), ids=PLACES.keys())
def test_a_place_shows_its_known_parts(place: Where, said: str) -> None:
    assert str(place) == said


def test_an_error_has_code_place_message_and_next_step() -> None:
    error = AffidavitError(FILE_TOO_LARGE, Where("big.json"), limit=10)
    assert str(error) == (
        "AF013: big.json: the file has more than 10 bytes. Next: split it, or raise the limit"
    )
    assert error.args == (str(error),)


def test_an_error_without_a_place_does_not_name_one() -> None:
    assert str(AffidavitError(FILE_MISSING)) == (
        "AF010: the file does not exist. Next: check the path"
    )


def test_an_error_as_json_has_its_parts() -> None:
    error = AffidavitError(DEFECT, Where("a", 2, "b"), kind="KeyError", detail="{odd}")
    assert error.as_wire() == {
        "code": "AF004",
        "name": "defect",
        "message": "unexpected error in Affidavit (KeyError: {odd})",
        "next": DEFECT.next_step,
        "file": "a",
        "line": 2,
        "field": "b",
    }


def test_a_place_is_completed_and_never_overwritten() -> None:
    inner = AffidavitError(FILE_TOO_LARGE, Where(line=3), limit=1)
    outer = inner.at(file="a.jsonl", line=99, field="x")
    assert outer.where == Where("a.jsonl", 3, "x")
    assert outer.at(file="b", field="y").where == outer.where
    assert (outer.fault, outer.values) == (inner.fault, inner.values)
    assert inner.where == Where(line=3)
    assert AffidavitError(FILE_MISSING).at().where == NOWHERE


def test_a_message_without_its_values_raises() -> None:
    with pytest.raises(KeyError, match="limit"):
        AffidavitError(FILE_TOO_LARGE)


@pytest.mark.parametrize("fault", ALL_FAULTS, ids=lambda fault: fault.name)
def test_every_fault_renders_and_crosses_processes(fault: Fault) -> None:
    error = AffidavitError(fault, Where("a", 1, "b"), **sample_values(fault))
    assert str(error).startswith(f"{fault.code}: a, line 1, field b: ")
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert (copy.fault, copy.where, copy.values) == (error.fault, error.where, error.values)
    assert str(copy) == str(error)


@pytest.mark.parametrize("fault", ALL_FAULTS, ids=lambda fault: fault.name)
def test_every_fault_is_well_formed(fault: Fault) -> None:
    assert re.fullmatch(r"AF[0-8]\d\d", fault.code)
    assert re.fullmatch(r"[a-z0-9_]+(\.[a-z0-9_]+)*", fault.name)
    for text in (fault.message, fault.next_step):
        assert text.strip() == text != ""
        assert not text.endswith(".")
    assert fault.exit is not Exit.YES


def test_codes_and_names_are_never_used_twice() -> None:
    assert [code for code, uses in Counter(f.code for f in ALL_FAULTS).items() if uses > 1] == []
    assert [name for name, uses in Counter(f.name for f in ALL_FAULTS).items() if uses > 1] == []


def test_the_catalog_has_every_fault_in_the_order_of_codes() -> None:
    assert sorted(CATALOG) == list(CATALOG)
    assert dict(CATALOG) == {fault.code: fault for fault in ALL_FAULTS}


def test_the_catalog_is_read_only() -> None:
    with pytest.raises(TypeError):
        CATALOG["AF999"] = FILE_MISSING  # type: ignore[index]  # what the test is about


def test_exit_codes_are_the_documented_five() -> None:
    assert [int(code) for code in Exit] == [0, 1, 2, 3, 4]
    assert list(EXIT_MEANINGS) == list(Exit)
