"""One format of timestamps, read as a datetime and as nanoseconds."""

from datetime import UTC, datetime

import pytest

from affidavit.base.timestamps import find_nanoseconds, find_timestamp, timestamp_text

SPEC: dict[str, tuple[object, datetime | None]] = {
    "whole seconds": ("1970-01-01T00:00:01Z", datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)),
    "a fraction": ("1970-01-01T00:00:00.25Z", datetime(1970, 1, 1, 0, 0, 0, 250_000, tzinfo=UTC)),
    "an offset instead of Z": ("1970-01-01T00:00:00+00:00", None),
    "hour 24, which Python 3.13 accepts": ("1970-01-01T24:00:00Z", None),
    "month 13": ("1970-13-01T00:00:00Z", None),
    "a leap second": ("2016-12-31T23:59:60Z", None),
    "ten decimals": ("1970-01-01T00:00:00.1234567890Z", None),
    "digits of another script": ("١٩٧٠-01-01T00:00:00Z", None),
    "a number": (5, None),
    "a list": ([], None),
}


@pytest.mark.parametrize(("value", "wanted"), SPEC.values(), ids=SPEC.keys())
def test_both_readers_accept_the_same_texts(value: object, wanted: datetime | None) -> None:
    assert find_timestamp(value) == wanted
    assert (find_nanoseconds(value) is None) is (wanted is None)


def test_nanoseconds_are_exact_and_microseconds_are_cut() -> None:
    text = "1970-01-01T00:00:01.123456789Z"
    assert find_nanoseconds(text) == 1_123_456_789
    found = find_timestamp(text)
    assert found is not None
    assert timestamp_text(found) == "1970-01-01T00:00:01.123456Z"
