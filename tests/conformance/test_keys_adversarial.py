"""The hostile constructions of the layer `key`, built here; the outcome is read from the table."""

from collections.abc import Callable, Iterable

import pytest
from tests.conformance.adversarial_table import cases, expected
from tests.seal.samples import DAY, FLAT_KEYS, KEY, MADE, NOW, OTHER_KEY, keys_of, sealed

from affidavit.base.errors import AffidavitError
from affidavit.base.json_values import JsonValue
from affidavit.seal.crypto import find_base64url, to_base64url
from affidavit.seal.keys import (
    KeyRegistry,
    TrustedKeys,
    key_id_of,
    registry_document,
    trusted_keys_from,
)
from affidavit.seal.receipts import (
    ReceiptTrust,
    SigningTime,
    key_step,
    receipt_from,
    signature_step,
    verify_receipt,
)
from affidavit.seal.rfc3161 import TimeStamp
from affidavit.seal.verification import VerificationStep

ID, TEXT = KEY.public.id, KEY.public.text
JWK: dict[str, JsonValue] = {"kty": "OKP", "crv": "Ed25519", "kid": ID, "x": TEXT}
# What is no signature is the same fault in a receipt and in a DSSE envelope; each has its name.
SAME = {"dsse.signature": "receipt.signature"}
ORDER = 2**252 + 27742317777372353535851937790883648493


def documents(*each: JsonValue) -> Iterable[str]:
    """Yield the name of the fault with which each keys document is refused."""
    for document in each:
        with pytest.raises(AffidavitError) as caught:
            trusted_keys_from([document])
        yield caught.value.fault.name


def weak(raw: bytes) -> JsonValue:
    return {key_id_of("af", raw): to_base64url(raw)}


def signatures(*texts: str) -> Iterable[str]:
    """Yield the fault of step 3 for a receipt with each of these signatures."""
    for text in texts:
        receipt = sealed()
        block = receipt["signature"]
        assert isinstance(block, dict)
        read = receipt_from({**receipt, "signature": {**block, "sig": text}})
        yield name_of(signature_step(read.signature, read.forms.signed, FLAT_KEYS))


def name_of(step: VerificationStep) -> str:
    assert step.fault is not None
    return step.fault.name


def raw_signature() -> bytes:
    raw = receipt_from(sealed()).signature.raw
    assert raw is not None
    return raw


def malleable() -> str:
    raw = raw_signature()
    scalar = int.from_bytes(raw[32:], "little") + ORDER
    return to_base64url(raw[:32] + scalar.to_bytes(32, "little"))


def carried_key() -> Iterable[str]:
    """A receipt brings its own keys along, and they would do; nobody asked for them."""
    carried = {**sealed(keys={OTHER_KEY.public.id: OTHER_KEY.public.text})}
    trust = ReceiptTrust(trusted_keys_from([{OTHER_KEY.public.id: OTHER_KEY.public.text}]))
    yield name_of(verify_receipt(receipt_from(carried), trust, NOW, ()).steps[2])


def lives(*keys: tuple[TrustedKeys, SigningTime]) -> Iterable[str]:
    for trusted, time in keys:
        yield name_of(key_step(ID, trusted.records[ID], time))


NEW = KeyRegistry().with_new(KEY.public, MADE - DAY)
RETIRED = keys_of(NEW.with_retired(ID, MADE, NOW))
REVOKED = keys_of(NEW.with_compromised(ID, MADE, "leaked", NOW))
LATE = SigningTime(MADE - DAY, TimeStamp(NOW, NOW, "CN=TSA"))
EARLY = SigningTime(MADE, TimeStamp(MADE - 2 * DAY, MADE - 2 * DAY, "CN=TSA"))


def other_role() -> JsonValue:
    document = registry_document(NEW)
    lifecycle = document["lifecycle"]
    assert isinstance(lifecycle, dict)
    life = lifecycle[ID]
    assert isinstance(life, dict)
    return {**document, "lifecycle": {ID: {**life, "use": "timestamping"}}}


CONSTRUCTIONS: dict[str, Callable[[], Iterable[str]]] = {
    "ADV-042": lambda: documents(weak(b"\x01" + bytes(31)), weak(bytes(32))),
    "ADV-043": lambda: documents(weak(b"\xee" + b"\xff" * 30 + b"\x7f")),
    "ADV-044": lambda: signatures(malleable()),
    "ADV-045": lambda: signatures(
        to_base64url(raw_signature()[:63]),
        to_base64url(raw_signature() + b"\0"),
        raw_signature().hex(),
        to_base64url(raw_signature().hex().encode()),
    ),
    "ADV-046": lambda: documents(
        {**JWK, "alg": "ES256"},
        {**JWK, "alg": "HS256"},
        {"kty": "RSA", "kid": ID, "n": TEXT, "e": "AQAB"},
        {"kty": "oct", "kid": ID, "k": TEXT},
        {"keys": [{"kty": "oct", "kid": ID, "x": TEXT, "crv": "Ed25519"}]},
    ),
    "ADV-047": lambda: documents(
        {**JWK, "d": TEXT},
        {**JWK, "x": to_base64url(KEY.public.raw[:31])},
        {**JWK, "x": to_base64url(KEY.public.raw + b"\0")},
    ),
    "ADV-048": lambda: documents({**JWK, "crv": "X25519"}, {**JWK, "crv": "Ed448"}),
    "ADV-049": lambda: documents({"keys": [JWK, {**JWK, "x": OTHER_KEY.public.text}]}),
    "ADV-050": lambda: documents({ID: OTHER_KEY.public.text}, {**JWK, "x": OTHER_KEY.public.text}),
    "ADV-051": carried_key,
    "ADV-052": lambda: lives(
        (RETIRED, LATE), (REVOKED, LATE), (REVOKED, SigningTime(MADE)), (RETIRED, EARLY)
    ),
    "ADV-053": lambda: lives((trusted_keys_from([other_role()]), SigningTime(MADE))),
}


@pytest.mark.parametrize("case", CONSTRUCTIONS)
def test_adversarial_keys(case: str) -> None:
    names = set(CONSTRUCTIONS[case]())
    assert names == {SAME.get(name, name) for name in expected(case)}


def test_every_case_of_the_layer_is_built() -> None:
    assert set(CONSTRUCTIONS) == cases("key")


def test_the_control_is_accepted() -> None:
    assert find_base64url(TEXT) == KEY.public.raw
    assert trusted_keys_from([{"keys": [JWK]}]).keys[ID] == KEY.public
    trust = ReceiptTrust(keys_of(NEW))
    steps = verify_receipt(receipt_from(sealed()), trust, NOW, ()).steps
    assert all(step.fault is None for step in steps)
