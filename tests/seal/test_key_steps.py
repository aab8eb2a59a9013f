"""Whether a key may be believed at the time of a signature: one table."""

from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace
from tests.seal.samples import DAY, KEY, MADE, NOW, REGISTRY

from affidavit.base.exits import Exit
from affidavit.seal.keys import KeyRecord, KeyStatus
from affidavit.seal.receipts import SigningTime, key_step
from affidavit.seal.rfc3161 import TimeStamp
from affidavit.seal.verification import StepStatus

ID = KEY.public.id
SECOND = timedelta(seconds=1)
ACTIVE = REGISTRY.record(ID)
RETIRED = REGISTRY.with_retired(ID, MADE + DAY, NOW).record(ID)
COMPROMISED = REGISTRY.with_compromised(ID, MADE + DAY, "leaked", NOW + DAY).record(ID)
BOTH = replace(COMPROMISED, retired_at=MADE)
UNDATED = replace(ACTIVE, status=KeyStatus.COMPROMISED)


def stamped(at: datetime, accuracy: timedelta = timedelta(0)) -> SigningTime:
    return SigningTime(MADE, TimeStamp(at, at + accuracy, "CN=TSA"))


def said(at: datetime) -> SigningTime:
    return SigningTime(at)


P, F, N, SKIP = StepStatus.PASSED, StepStatus.FAILED, StepStatus.NOT_CHECKED, StepStatus.SKIPPED
SPEC: dict[str, tuple[KeyRecord | None, SigningTime, StepStatus, str | None]] = {
    "nothing is known": (None, said(MADE), SKIP, None),
    "in use": (ACTIVE, said(MADE), P, None),
    "in use, from its first moment": (ACTIVE, said(ACTIVE.active_from), P, None),
    "before it was made": (ACTIVE, said(ACTIVE.active_from - SECOND), F, "key.validity"),
    "stamped before it was made": (ACTIVE, stamped(MADE - 2 * DAY), F, "key.validity"),
    "for something else": (replace(ACTIVE, use="timestamping"), said(MADE), F, "key.usage"),
    "retired, stamped before": (RETIRED, stamped(MADE), P, None),
    "retired, stamped at that moment": (RETIRED, stamped(MADE + DAY), P, None),
    "retired, stamped after": (RETIRED, stamped(MADE + DAY + SECOND), F, "key.validity"),
    "retired, the stamp may be of after": (
        RETIRED,
        stamped(MADE + DAY, SECOND),
        F,
        "key.validity",
    ),
    "retired, before by its own word": (RETIRED, said(MADE), N, "key.validity"),
    "retired, after by its own word": (RETIRED, said(MADE + 2 * DAY), F, "key.validity"),
    "compromised, before by its own word": (COMPROMISED, said(MADE), F, "key.validity"),
    "compromised, stamped before": (COMPROMISED, stamped(MADE), P, None),
    "compromised, stamped at that moment": (COMPROMISED, stamped(MADE + DAY), F, "key.validity"),
    "compromised, stamped after": (COMPROMISED, stamped(MADE + 2 * DAY), F, "key.validity"),
    "compromised, the stamp may be of after": (
        COMPROMISED,
        stamped(MADE + DAY - SECOND, SECOND),
        F,
        "key.validity",
    ),
    "compromised, retired before, stamped between": (
        BOTH,
        stamped(MADE + SECOND),
        F,
        "key.validity",
    ),
    "compromised, since when is not known": (UNDATED, stamped(MADE), F, "key.validity"),
}


@pytest.mark.parametrize(("record", "time", "status", "name"), SPEC.values(), ids=SPEC.keys())
def test_key_step(
    record: KeyRecord | None, time: SigningTime, status: StepStatus, name: str | None
) -> None:
    step = key_step(ID, record, time)
    assert (step.number, step.name, step.status) == (3, "key_lifecycle", status)
    assert (step.fault and step.fault.name) == name
    assert step.fault is None or step.fault.exit is Exit.NO
    assert ID in step.detail
