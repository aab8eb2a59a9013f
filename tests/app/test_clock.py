"""The one clock."""

import re

import pytest

from affidavit.app.clock import now, time_of
from affidavit.base.errors import AffidavitError


def test_now_is_utc_and_can_be_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767450600")
    assert now() == "2026-01-03T14:30:00Z"
    assert time_of(None) == "2026-01-03T14:30:00Z"
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", now())


TAKEN = {
    "a day is its first second": ("2026-01-03", "2026-01-03T00:00:00Z"),
    "a time stays": ("2026-01-03T14:30:00Z", "2026-01-03T14:30:00Z"),
}


@pytest.mark.parametrize(("given", "wanted"), TAKEN.values(), ids=TAKEN.keys())
def test_accepted_times(given: str, wanted: str) -> None:
    assert time_of(given) == wanted


REFUSED = {
    "a day that does not exist": "2026-02-30",
    "an hour that does not exist": "2026-01-03T25:00:00Z",
    "another zone": "2026-01-03T14:30:00+02:00",
    "words": "yesterday",
    "nothing": "",
}


@pytest.mark.parametrize("given", REFUSED.values(), ids=REFUSED.keys())
def test_refused(given: str) -> None:
    with pytest.raises(AffidavitError) as caught:
        time_of(given)
    assert caught.value.fault.name == "time.syntax"
