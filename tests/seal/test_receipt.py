"""The three canonical forms of a receipt, its id, its signature, and what is no receipt."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.json_values import TEXTS, VALUES
from tests.seal.samples import BODY, KEY, anchored, sealed

from affidavit.base.canonical import sorted_compact
from affidavit.base.digest import sha256_hex
from affidavit.base.errors import AffidavitError
from affidavit.base.json_values import JsonValue
from affidavit.seal.crypto import is_valid_signature
from affidavit.seal.receipts import canonical_forms, receipt_from, seal_receipt

MARKED = ("receipt_id", "signature", "anchor")


def without(document: dict[str, JsonValue], *names: str) -> bytes:
    """Return the form that the rule asks for, written the slow way."""
    kept = {name: member for name, member in document.items() if name not in names}
    return sorted_compact(kept)


ALL: dict[str, JsonValue] = {name: ["y"] for name in MARKED}


@given(st.dictionaries(TEXTS | st.sampled_from(MARKED), VALUES | st.just(ALL), max_size=6))
@example({"a": ALL})
@example({"z": [ALL, {"z": ALL}]})
@example({"a": {"receipt_id": "x"}})
def test_the_forms_are_those_of_the_rule(document: dict[str, JsonValue]) -> None:
    for marks in ({}, {"receipt_id": "x"}, ALL):
        marked = {**document, **marks}
        forms = canonical_forms(marked)
        assert forms.content == without(marked, *MARKED)
        assert forms.signed == without(marked, "signature", "anchor")
        assert forms.anchored == without(marked, "anchor")


def test_a_receipt_by_hand() -> None:
    receipt = sealed()
    body = json.dumps(BODY, sort_keys=True, separators=(",", ":")).encode()
    assert receipt["receipt_id"] == f"ans_{sha256_hex(body)[:16]}"
    named = {**BODY, "receipt_id": receipt["receipt_id"]}
    signed = json.dumps(named, sort_keys=True, separators=(",", ":")).encode()
    read = receipt_from(receipt)
    assert read.forms.signed == signed
    assert read.signature.raw is not None
    assert is_valid_signature(KEY.public.raw, read.signature.raw, signed)
    block = receipt["signature"]
    assert isinstance(block, dict)
    assert isinstance(block.pop("sig"), str)
    assert block == {
        "alg": "Ed25519",
        "key_id": KEY.public.id,
        "canonicalization": "json-sorted-compact",
    }


def test_sealing_leaves_the_body_alone() -> None:
    body = dict(BODY)
    seal_receipt(body, KEY)
    assert body == BODY


def test_the_same_body_is_sealed_to_the_same_receipt() -> None:
    turned = dict(reversed(BODY.items()))
    assert seal_receipt(turned, KEY) == sealed()


@pytest.mark.parametrize("name", MARKED)
def test_what_is_sealed_already_is_not_sealed_again(name: str) -> None:
    with pytest.raises(AffidavitError, match=rf"AF320.*{name}"):
        seal_receipt({**BODY, name: "x"}, KEY)


def test_the_seed_is_not_shown() -> None:
    assert KEY.seed.hex() not in repr(KEY)
    assert repr(KEY.seed) not in repr(KEY)


def changed_block(**changes: JsonValue) -> dict[str, JsonValue]:
    block = sealed()["signature"]
    assert isinstance(block, dict)
    return {**sealed(), "signature": {**block, **changes}}


def changed_anchor(**changes: JsonValue) -> dict[str, JsonValue]:
    anchor = anchored(sealed())["anchor"]
    assert isinstance(anchor, dict)
    return {**sealed(), "anchor": {**anchor, **changes}}


REFUSED: dict[str, tuple[JsonValue, str, str | None]] = {
    "a list": ([], "receipt.format", None),
    "an older schema": (sealed(schema="answer/v0"), "receipt.version", None),
    "a newer schema": (sealed(schema="answer/v2"), "receipt.version", None),
    "no schema": ({"receipt_id": "x"}, "receipt.format", "schema"),
    "a schema that is no text": (sealed(schema=1), "receipt.format", "schema"),
    "an id that is no text": ({**sealed(), "receipt_id": 7}, "receipt.format", "receipt_id"),
    "no time": (sealed(generated_at=None), "receipt.format", "generated_at"),
    "a day": (sealed(generated_at="2026-01-02"), "receipt.format", "generated_at"),
    "no such day": (sealed(generated_at="2026-02-30T00:00:00Z"), "receipt.format", "generated_at"),
    "an offset": (sealed(generated_at="2026-01-02T03:04:05+01:00"), "receipt.format", None),
    "Arabic digits": (sealed(generated_at="٢026-01-02T03:04:05Z"), "receipt.format", None),
    "no signature": (BODY | {"receipt_id": "x"}, "receipt.format", "signature"),
    "a signature that is a text": ({**sealed(), "signature": "x"}, "receipt.format", "signature"),
    "a key in the receipt": (changed_block(key="AAAA"), "receipt.format", "signature"),
    "an id of a key that is no text": (changed_block(key_id=1), "receipt.format", "signature"),
    "a signature that is a number": (changed_block(sig=1), "receipt.format", "signature"),
    "an anchor that is a text": ({**sealed(), "anchor": "x"}, "receipt.format", "anchor"),
    "an anchor whose kind is a list": (changed_anchor(status=[]), "receipt.format", "anchor"),
    "more in the anchor": (changed_anchor(url="http://x"), "receipt.format", "anchor"),
    "no token": (changed_anchor(status="rfc3161"), "receipt.format", "anchor"),
    "a digest in capitals": (changed_anchor(digest_sha256="AB" * 32), "receipt.format", "anchor"),
    "a digest that is a number": (changed_anchor(digest_sha256=1), "receipt.format", "anchor"),
    "a token that is no base64": (
        changed_anchor(status="rfc3161", **{"token": "AB=C"}),
        "tst.encoding",
        "anchor.token",
    ),
    "a token that is a number": (
        changed_anchor(status="rfc3161", token=1),
        "tst.encoding",
        "anchor.token",
    ),
}


@pytest.mark.parametrize(("value", "name", "field"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_no_receipt(value: JsonValue, name: str, field: str | None) -> None:
    with pytest.raises(AffidavitError) as caught:
        receipt_from(value)
    assert caught.value.fault.name == name
    assert field is None or caught.value.where.field == field


def test_the_words_that_others_put_into_an_anchor_are_no_fault() -> None:
    read = receipt_from(changed_anchor(how="openssl ts -query ...", note="self anchored"))
    assert read.anchor is not None
    assert read.anchor.token is None


def test_only_the_outer_signature_is_cut_from_the_signed_form() -> None:
    signed: dict[str, JsonValue] = {
        "a": 1,
        "nested": {"signature": "stays"},
        "signature": {"sig": "x"},
    }
    assert canonical_forms(signed).signed == b'{"a":1,"nested":{"signature":"stays"}}'
