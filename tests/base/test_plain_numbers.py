"""How people write numbers."""

import math
import time

import pytest

from affidavit.decision.gate import parse_number

NUMBERS = {
    "a whole number": ("812", 812.0),
    "a part": ("0.80", 0.8),
    "nothing before the point": (".5", 0.5),
    "nothing after the point": ("5.", 5.0),
    "a sign": ("-0.5", -0.5),
    "the other sign": ("+2", 2.0),
    "with an exponent": ("1e-3", 0.001),
    "beyond all bounds": ("1e999", math.inf),
    "with a mark between thousands": ("1_000", None),
    "with a comma": ("0,8", None),
    "digits of another script": ("\u0663", None),
    "not a number": ("nan", None),
    "without end": ("inf", None),
    "a word": ("fast", None),
    "a unit": ("2s", None),
    "hexadecimal": ("0x10", None),
    "only a point": (".", None),
    "spaces": (" 1", None),
    "nothing": ("", None),
}


@pytest.mark.parametrize(("text", "wanted"), NUMBERS.values(), ids=NUMBERS.keys())
def test_number_in(text: str, wanted: float | None) -> None:
    assert parse_number(text) == wanted


@pytest.mark.parametrize(
    "text", ["9" * 20_000 + "x", "9" * 20_000 + ".x", "." + "9" * 20_000 + "x"]
)
def test_a_long_row_of_digits_is_scanned_once(text: str) -> None:
    before = time.process_time()
    assert parse_number(text) is None
    assert time.process_time() - before < 1
