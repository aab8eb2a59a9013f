"""The hostile constructions of the layers `dsse`, `statement` and `log`."""

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace
from tests.conformance.adversarial_table import cases, outcome
from tests.seal.attesting import (
    DIGESTS,
    KEYS,
    LOG_HOLDER,
    LOG_KEY,
    LOG_TRUST,
    STATEMENT,
    SUMMARY,
    THIRD_KEY,
    TRUST,
    fault_of,
    logged,
    refusal,
    signed,
    signer,
    verify,
    verify_bytes,
)
from tests.seal.samples import KEY, NOW, OTHER_KEY

from affidavit.seal import crypto
from affidavit.seal.attestation import any_key_trust
from affidavit.seal.bundle.merkle import leaf_of
from affidavit.seal.dsse import (
    Envelope,
    EnvelopeSignature,
    envelope_as_wire,
    envelope_from_sigstore,
    log_entry,
    sigstore_bundle,
)
from affidavit.seal.statement import TEST_RESULT, Artifact
from affidavit.seal.transparency import (
    LOG_SIGNATURE,
    Checkpoint,
    note_key,
    proof_from,
    sign_checkpoint,
)

GOOD = signed()
LOGGED = replace(TRUST, log=LOG_TRUST, log_required=True)
WIRE: dict[str, Any] = envelope_as_wire(GOOD)


def faults(*envelopes: Envelope) -> Iterable[str]:
    return [fault_of(verify(each)) for each in envelopes]


def wired(*changes: dict[str, Any]) -> Iterable[str]:
    return [fault_of(verify_bytes(json.dumps({**WIRE, **each}).encode())) for each in changes]


def with_signature(raw: bytes, key_id: str | None = KEY.public.id) -> Envelope:
    return replace(GOOD, signatures=(EnvelopeSignature(raw, key_id),))


def over(message: bytes, key: Any = KEY, key_id: str | None = KEY.public.id) -> Envelope:
    return with_signature(crypto.sign(key.seed, message), key_id)


def miscounted() -> Iterable[str]:
    kind = "application/vnd.t\u00e9st"
    message = f"DSSEv1 {len(kind)} {kind} {len(GOOD.payload)} ".encode() + GOOD.payload
    made = replace(over(message), payload_type=kind)
    # The type is refused first; with the type of statements a wrong count is a false signature.
    kind = GOOD.payload_type
    wrong = f"DSSEv1 {len(kind) - 1} {kind} {len(GOOD.payload)} ".encode() + GOOD.payload
    assert list(faults(made)) == ["dsse.payload_type"]
    return faults(over(wrong))


def twice() -> Iterable[str]:
    (one,) = GOOD.signatures
    both = replace(one, key_id="b")
    made = replace(GOOD, signatures=(replace(one, key_id="a"), both))
    return [fault_of(verify(made, any_key_trust(KEYS, 2)))]


def duplicated() -> Iterable[str]:
    text = json.dumps(WIRE)
    other = b64encode(b"{}").decode()
    return [fault_of(verify_bytes(f'{{"payload":"{other}",{text[1:]}'.encode()))]


def statements(*changes: dict[str, Any], drop: str = "") -> Iterable[str]:
    kept = {key: value for key, value in STATEMENT.items() if key != drop}
    return [fault_of(verify(signed({**kept, **each}))) for each in changes]


def digests(*each: object) -> Iterable[str]:
    return statements(*({"subject": [{"name": "receipt.json", "digest": one}]} for one in each))


def other_subject() -> Iterable[str]:
    other = replace(SUMMARY, subjects=(Artifact("other.json", dict.fromkeys(DIGESTS, "00" * 32)),))
    return [fault_of(verify(GOOD, subject=lambda statement: other))]


def mismatched_media_type() -> Iterable[str]:
    made = {**STATEMENT, "predicateType": TEST_RESULT}
    kind = "application/vnd.in-toto.svr+json"
    yield fault_of(verify(signed(made, payload_type=kind)))


def order() -> bytes:
    raw = GOOD.signatures[0].raw
    scalar = int.from_bytes(raw[32:], "little") + 2**252 + 27742317777372353535851937790883648493
    return raw[:32] + scalar.to_bytes(32, "little")


def proofs(*texts: str) -> Iterable[str]:
    return [fault_of(verify(replace(GOOD, log_proofs=(text,)), LOGGED)) for text in texts]


def proof_text() -> str:
    return logged(GOOD).log_proofs[0]


def changed_proofs() -> Iterable[str]:
    proof = proof_from(proof_text())
    first, *rest = proof.path
    yield from proofs(
        replace(proof, index=proof.index - 1).text,
        replace(proof, index=proof.index + 1).text,
        replace(proof, path=proof.path[:-1]).text,
        replace(proof, path=(*proof.path, first)).text,
        replace(proof, path=(b"\0" * 32, *rest)).text,
        _other_checkpoint(size=4),
        _other_checkpoint(root=b"\0" * 32),
    )


def _other_checkpoint(**changes: object) -> str:
    proof = proof_from(proof_text())
    lines = proof.checkpoint.split("\n")
    known = Checkpoint(lines[0], int(lines[1]), b"\1" * 32)
    note = sign_checkpoint(replace(known, **changes), LOG_KEY, signer(LOG_HOLDER))
    return replace(proof, checkpoint=note.text).text


def node_as_leaf() -> Iterable[str]:
    """A log whose leaf is hashed without its prefix, so that a node could pass for an entry."""
    entry = log_entry(GOOD)
    assert leaf_of(entry) != crypto_leaf(entry)
    note = sign_checkpoint(
        Checkpoint(LOG_KEY.name, 1, crypto_leaf(entry)), LOG_KEY, signer(LOG_HOLDER)
    )
    proof = replace(proof_from(proof_text()), index=0, path=(), checkpoint=note.text)
    return proofs(proof.text)


def crypto_leaf(entry: bytes) -> bytes:
    from hashlib import sha256

    return sha256(entry).digest()


def false_checkpoints() -> Iterable[str]:
    text = proof_text()
    other = note_key("example.org/other", LOG_SIGNATURE, LOG_HOLDER.public.raw)
    foreign = logged(GOOD, key=other).log_proofs[0]
    lines = text.split("\n")
    at = lines.index("example.org/log")
    no_size = "\n".join((*lines[: at + 1], *lines[at + 2 :]))
    bad_hint = note_key("example.org/log", LOG_SIGNATURE, KEY.public.raw)
    checkpoint = Checkpoint("example.org/log", 5, b"\1" * 32)
    by_other = sign_checkpoint(checkpoint, bad_hint, signer(KEY))
    forged = sign_checkpoint(checkpoint, LOG_KEY, signer(KEY))
    proof = proof_from(text)
    return proofs(
        foreign,
        no_size,
        replace(proof, checkpoint=by_other.text).text,
        replace(proof, checkpoint=forged.text).text,
    )


def entry_of_another() -> Iterable[str]:
    return proofs(logged(signed({**STATEMENT, "predicate": {}})).log_proofs[0])


def two_signatures_in_a_bundle() -> Iterable[str]:
    both = signed(STATEMENT, KEY, OTHER_KEY)
    bundle = sigstore_bundle(GOOD)
    bundle["dsseEnvelope"] = envelope_as_wire(both)
    yield refusal(lambda: sigstore_bundle(both))
    yield refusal(lambda: envelope_from_sigstore(bundle))


URL_SAFE = {
    **WIRE,
    "payload": urlsafe_b64encode(GOOD.payload).decode(),
    "signatures": [
        {"keyid": KEY.public.id, "sig": urlsafe_b64encode(GOOD.signatures[0].raw).decode()}
    ],
}

CONSTRUCTIONS: dict[str, Callable[[], Iterable[str]]] = {
    "ADV-024": lambda: faults(over(GOOD.payload)),
    "ADV-025": miscounted,
    "ADV-026": lambda: faults(replace(GOOD, payload_type="application/vnd.in-toto.affidavit+json")),
    "ADV-027": lambda: faults(signed(payload_type="text/plain")),
    "ADV-028": lambda: faults(
        signed(payload_type="Application/vnd.in-toto+json"),
        signed(payload_type="application/vnd.in-toto+json;charset=utf-8"),
    ),
    "ADV-029": lambda: wired({"signatures": []}),
    "ADV-030": lambda: wired({"signatures": [{"sig": ""}]}),
    "ADV-031": twice,
    "ADV-032": lambda: [refusal(lambda: any_key_trust(KEYS, 0))],
    "ADV-033": lambda: faults(
        over(GOOD.signed, THIRD_KEY), over(GOOD.signed, OTHER_KEY), over(b"", OTHER_KEY)
    ),
    "ADV-034": lambda: faults(with_signature(GOOD.signatures[0].raw, None)),
    "ADV-035": lambda: wired(URL_SAFE),
    "ADV-036": lambda: wired({"payload": "aGVs*bG8="}, {"payload": "aGVs\nbG8="}),
    "ADV-037": lambda: wired({"payload": "aGVsbG9="}),
    "ADV-038": lambda: wired({"payload": "-+aa"}, {"payload": "aGVsbG8"}, {"payload": "+_aa"}),
    "ADV-039": duplicated,
    "ADV-040": lambda: wired({"x": 1}),
    "ADV-041": two_signatures_in_a_bundle,
    "ADV-054": lambda: [
        *statements({"_type": "https://in-toto.io/Statement/v0.1"}),
        *statements({}, drop="_type"),
    ],
    "ADV-055": lambda: [
        *statements({"predicateType": "https://slsa.dev/provenance/v1"}),
        *mismatched_media_type(),
    ],
    "ADV-056": lambda: [
        *statements({"subject": []}, {"subject": [{"name": "x"}]}, {"subject": None}),
        *digests({}),
    ],
    "ADV-057": other_subject,
    "ADV-058": lambda: digests(
        {"sha256": "AA"}, {"sha256": "AB" * 32}, {"sha256": "zz" * 32}, {"sha256": 1}
    ),
    "ADV-059": lambda: digests({"md5": "ab" * 16}, {"foo": "ab"}),
    "ADV-060": lambda: digests({**DIGESTS, "sha512": "00" * 64}),
    "ADV-061": lambda: statements({"predicate_type": STATEMENT["predicateType"]}),
    "ADV-071": changed_proofs,
    "ADV-072": node_as_leaf,
    "ADV-073": false_checkpoints,
    "ADV-074": entry_of_another,
}


@pytest.mark.parametrize("case", CONSTRUCTIONS)
def test_adversarial_attestations(case: str) -> None:
    assert set(CONSTRUCTIONS[case]()) == outcome(case)


def test_every_case_of_the_layers_is_built() -> None:
    assert set(CONSTRUCTIONS) == cases("dsse") | cases("statement") | cases("log")


def test_the_control_is_accepted() -> None:
    assert list(faults(GOOD, logged(GOOD))) == ["accept", "accept"]
    assert fault_of(verify(logged(GOOD), LOGGED)) == "accept"
    assert fault_of(verify(GOOD, any_key_trust(KEYS), NOW + timedelta(days=1))) == "accept"


def test_signatures_that_are_none_are_false_in_an_envelope_too() -> None:
    raw = GOOD.signatures[0].raw
    for other in (order(), raw[:63], raw + b"\0", raw.hex().encode()):
        assert list(faults(with_signature(other))) == ["dsse.signature"]
