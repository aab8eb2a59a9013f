"""Documents that Dynamic Feed signed and published: accepted, and their twins refused."""

import json

import pytest
from tests.vectors import vector_path

from affidavit.base.strict_json import decode
from affidavit.base.timestamps import find_timestamp
from affidavit.seal.keys import KeyStatus, TrustedKeys, registry_from, trusted_keys_from
from affidavit.seal.receipts import (
    SigningTime,
    canonical_forms,
    key_step,
    signature_from,
    signature_step,
)
from affidavit.seal.verification import StepStatus, VerificationStep

COMPROMISED = "df-ed25519-4cb32e72f333"


def signature_of(raw: bytes, keys: TrustedKeys) -> VerificationStep:
    """Return step 3 for a document of any schema."""
    document = decode(raw)
    assert isinstance(document, dict)
    return signature_step(
        signature_from(document["signature"]), canonical_forms(document).signed, keys
    )


def load(name: str) -> bytes:
    return vector_path("dynamicfeed", name).read_bytes()


@pytest.mark.parametrize(
    ("twin", "status"), [("authentic", StepStatus.PASSED), ("tampered", StepStatus.FAILED)]
)
def test_a_signed_document_and_its_tampered_twin(twin: str, status: StepStatus) -> None:
    document = json.loads(load("signed-awareness.json"))
    keys = trusted_keys_from([document["public_keys"]])
    step = signature_of(document[twin]["envelope_text"].encode(), keys)
    assert step.status is status
    assert (status is StepStatus.PASSED) is document[twin]["expect"]["ok"]


def test_the_keys_have_the_ids_they_are_published_under() -> None:
    keys = trusted_keys_from([decode(load("keys.json"))])
    assert list(keys.keys) == ["df-ed25519-6ca0de29113b"]
    assert keys.records == {}


def test_the_registry_is_read_and_its_own_signature_holds() -> None:
    raw = load("signing-key-registry.json")
    registry = registry_from(decode(raw))
    assert registry.active_key_id == "df-ed25519-6ca0de29113b"
    assert registry.record(COMPROMISED).status is KeyStatus.COMPROMISED
    assert signature_of(raw, trusted_keys_from([decode(raw)])).status is StepStatus.PASSED


def test_a_signature_that_holds_under_a_compromised_key_is_not_believed() -> None:
    document = json.loads(load("signed-awareness.json"))
    text = document["authentic"]["envelope_text"].encode()
    keys = trusted_keys_from([decode(load("signing-key-registry.json"))])
    assert signature_of(text, keys).status is StepStatus.PASSED
    issued_at = find_timestamp(json.loads(text)["issued_at"])
    assert issued_at is not None
    boundary = keys.records[COMPROMISED].compromised_after
    assert boundary is not None
    assert issued_at < boundary
    step = key_step(COMPROMISED, keys.records[COMPROMISED], SigningTime(issued_at))
    assert step.status is StepStatus.FAILED
    assert step.fault is not None
    assert step.fault.name == "key.validity"
