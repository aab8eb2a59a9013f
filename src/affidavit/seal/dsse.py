"""DSSE envelopes: what a signature covers, reading and writing them, and counting signers.

Origin: github.com/secure-systems-lab/dsse, protocol.md and envelope.md, version 1.0. The bytes that
were verified are the bytes that are handed on: nothing is decoded a second time. Time stamps and
proofs of a log travel in the member `x-affidavit`, which other readers ignore.

Not covered: whether the payload is true, and which keys to trust.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from affidavit.base.canonical import jcs
from affidavit.base.digest import sha256_hex
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import attestation as faults
from affidavit.base.json_values import JsonValue
from affidavit.base.strict_json import decode
from affidavit.base.text import excerpt
from affidavit.seal.crypto import (
    SEQUENCE,
    der_element,
    der_integer,
    find_base64,
    find_base64url,
    is_valid_signature,
    spki_from_raw,
    to_base64,
)
from affidavit.seal.keys import PublicKey

EXTRAS: Final = "x-affidavit"
SIGNATURE_BYTES: Final = 64
_PROOF_LISTS: Final = ("log_proofs", "log_consistency")


class EnvelopeSignature(msgspec.Struct, frozen=True):
    """One signature. The key id is a hint that nothing protects; None if there is none."""

    raw: bytes
    key_id: str | None = None


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """An envelope, decoded. Time stamps are tokens in DER, proofs are in the format of C2SP."""

    payload_type: str
    payload: bytes
    signatures: tuple[EnvelopeSignature, ...]
    time_stamps: tuple[bytes, ...] = ()
    log_proofs: tuple[str, ...] = ()
    log_consistency: tuple[str, ...] = ()

    @property
    def signed(self) -> bytes:
        """The bytes that every signature covers."""
        return pae(self.payload_type, self.payload)


def pae(payload_type: str, payload: bytes) -> bytes:
    """Return the exact bytes that a signature covers. Lengths are in bytes, not characters.

    Origin: protocol.md, "Signature Definition".
    """
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def envelope_bytes(envelope: Envelope) -> bytes:
    """Return an envelope as it is stored: compact JSON and a line feed."""
    return jcs(envelope_as_wire(envelope)) + b"\n"


def envelope_as_wire(envelope: Envelope) -> dict[str, JsonValue]:
    """Return the members of an envelope."""
    extras: dict[str, JsonValue] = {}
    if envelope.time_stamps:
        extras["time_stamps"] = [to_base64(token) for token in envelope.time_stamps]
    for name in _PROOF_LISTS:
        if listed := getattr(envelope, name):
            extras[name] = list(listed)
    return {**_core(envelope), **({EXTRAS: extras} if extras else {})}


def _core(envelope: Envelope) -> dict[str, JsonValue]:
    return {
        "payload": to_base64(envelope.payload),
        "payloadType": envelope.payload_type,
        "signatures": [
            {
                **({} if each.key_id is None else {"keyid": each.key_id}),
                "sig": to_base64(each.raw),
            }
            for each in envelope.signatures
        ],
    }


def log_entry(envelope: Envelope) -> bytes:
    """Return the log entry of an envelope, which binds type, payload, signatures and key ids.

    The key is bound by the signature: Ed25519 hashes it into what is signed. Digests instead of the
    payload, because an entry of a tiled log has at most 65,535 bytes.
    """
    core = _core(envelope)
    return jcs(
        {
            "payload_sha256": sha256_hex(envelope.payload),
            "payload_type": envelope.payload_type,
            "signatures": core["signatures"],
        }
    )


def envelope_from(value: JsonValue) -> Envelope:
    """Return the envelope of decoded JSON; unknown members are ignored, as the standard demands."""
    if not isinstance(value, dict):
        raise _malformed("it is not a JSON object")
    payload_type = value.get("payloadType")
    if not isinstance(payload_type, str):
        raise _malformed("payloadType is not a text")
    listed = value.get("signatures")
    if not isinstance(listed, list):
        raise _malformed("signatures is not a list")
    payload = _decoded(value.get("payload"), "the payload")
    signatures = tuple(_signature(each) for each in listed)
    if not signatures:
        raise AffidavitError(faults.DSSE_NO_SIGNATURE)
    extras = value.get(EXTRAS, {})
    stamps = tuple(_decoded(each, "a time stamp") for each in _listed(extras, "time_stamps"))
    proofs = {name: _texts(_listed(extras, name)) for name in _PROOF_LISTS}
    return Envelope(
        payload_type=payload_type,
        payload=payload,
        signatures=signatures,
        time_stamps=stamps,
        **proofs,
    )


def envelope_from_bytes(raw: bytes) -> Envelope:
    """Return the envelope of a file: strict JSON, so no member occurs twice."""
    return envelope_from(decode(raw))


def _signature(value: JsonValue) -> EnvelopeSignature:
    if not isinstance(value, dict):
        raise _malformed("a signature is not a JSON object")
    key_id = value.get("keyid")
    if not isinstance(key_id, str | None):
        raise _malformed("keyid is not a text")
    if value.get("sig") == "":
        raise AffidavitError(faults.DSSE_NO_SIGNATURE)
    # Some writers give an empty key id where others leave it out.
    return EnvelopeSignature(_decoded(value.get("sig"), "a signature"), key_id or None)


def _listed(extras: JsonValue, name: str) -> list[JsonValue]:
    found = extras.get(name, []) if isinstance(extras, dict) else None
    if not isinstance(found, list):
        raise _malformed(f"{EXTRAS}.{name} is not a list")
    return found


def _texts(listed: list[JsonValue]) -> tuple[str, ...]:
    texts = tuple(each for each in listed if isinstance(each, str))
    if len(texts) != len(listed):
        raise _malformed("a log proof is not a text")
    return texts


def _decoded(text: JsonValue, what: str) -> bytes:
    """Decode base64 in either alphabet, as verifiers must, but padded and without spare bits."""
    if not isinstance(text, str):
        raise _malformed(f"{what} is not a text")
    found = find_base64(text)
    if found is None and len(text) % 4 == 0:
        found = find_base64url(text)
    if found is None:
        raise AffidavitError(faults.DSSE_BASE64, what=what)
    return found


def _malformed(problem: str) -> AffidavitError:
    return AffidavitError(faults.DSSE_FORMAT, problem=problem)


def hint_of(key: PublicKey) -> str:
    """Return the key id that Assay writes: the digest of the whole public key."""
    return f"sha256:{sha256_hex(spki_from_raw(key.raw))}"


class Signer(msgspec.Struct, frozen=True):
    """A trusted key with the signature that it made."""

    key: PublicKey
    signature: EnvelopeSignature


def signers_of(envelope: Envelope, keys: Mapping[str, PublicKey]) -> tuple[Signer, ...]:
    """Return the different trusted keys that signed an envelope; raise if a signature is false.

    A signature that names a trusted key has to hold under that key: a false one among true ones is
    not ignored. One that names none is tried with every key, because the id is only a hint. A
    signature of a key that nobody trusts counts for nothing.
    """
    signed = envelope.signed
    named = {**{hint_of(key): key for key in keys.values()}, **keys}
    found: dict[bytes, Signer] = {}
    for each in envelope.signatures:
        key = None if each.key_id is None else named.get(each.key_id)
        tried = keys.values() if key is None else (key,)
        holds = (one for one in tried if is_valid_signature(one.raw, each.raw, signed))
        signer = next(holds, None)
        if signer is not None:
            found.setdefault(signer.raw, Signer(signer, each))
        elif key is not None:
            raise AffidavitError(faults.DSSE_SIGNATURE, key_id=key.id)
    return tuple(found.values())


def stamp_digest(signature: EnvelopeSignature) -> str:
    """Return what a time stamp covers: the SHA-256 of the signature, as Sigstore has it."""
    return sha256_hex(signature.raw)


# Sigstore bundles, version 0.3, with a key instead of a certificate: an envelope with exactly one
# signature, and time stamps of that signature. Nothing in `verificationMaterial` is trusted.

SIGSTORE_MEDIA_TYPE: Final = "application/vnd.dev.sigstore.bundle.v0.3+json"
_SIGSTORE_PREFIX: Final = "application/vnd.dev.sigstore.bundle"
_GRANTED: Final = der_element(SEQUENCE, der_integer(0))


def is_sigstore_bundle(value: JsonValue) -> bool:
    """Return whether a document says that it is a Sigstore bundle, of any version."""
    media_type = value.get("mediaType") if isinstance(value, dict) else None
    return isinstance(media_type, str) and media_type.startswith(_SIGSTORE_PREFIX)


def sigstore_bundle(envelope: Envelope) -> dict[str, JsonValue]:
    """Return an envelope as a Sigstore bundle; its log proofs have no place there."""
    if len(envelope.signatures) != 1:
        found = len(envelope.signatures)
        raise AffidavitError(faults.BUNDLE_SIGNATURE_COUNT, found=found)
    hint = envelope.signatures[0].key_id or ""
    material: dict[str, JsonValue] = {"publicKey": {"hint": hint}, "tlogEntries": []}
    if envelope.time_stamps:
        responses = [der_element(SEQUENCE, _GRANTED, token) for token in envelope.time_stamps]
        stamps: list[JsonValue] = [{"signedTimestamp": to_base64(each)} for each in responses]
        material["timestampVerificationData"] = {"rfc3161Timestamps": stamps}
    return {
        "mediaType": SIGSTORE_MEDIA_TYPE,
        "verificationMaterial": material,
        "dsseEnvelope": _core(envelope),
    }


class _Stamp(msgspec.Struct, frozen=True, rename="camel"):
    signed_timestamp: str


class _Stamps(msgspec.Struct, frozen=True):
    rfc3161_timestamps: tuple[_Stamp, ...] = msgspec.field(default=(), name="rfc3161Timestamps")


class _Hint(msgspec.Struct, frozen=True):
    hint: str = ""


class _Material(msgspec.Struct, frozen=True, rename="camel"):
    public_key: _Hint
    timestamp_verification_data: _Stamps = _Stamps()


def envelope_from_sigstore(value: JsonValue) -> tuple[Envelope, tuple[bytes, ...]]:
    """Return the envelope of a Sigstore bundle, and its time stamps as responses in DER."""
    if not isinstance(value, dict) or value.get("mediaType") != SIGSTORE_MEDIA_TYPE:
        found = value.get("mediaType") if isinstance(value, dict) else value
        raise _not_sigstore(f"its media type is {excerpt(str(found), 80)}")
    if "dsseEnvelope" not in value:
        raise _not_sigstore("it has no dsseEnvelope")
    try:
        material = msgspec.convert(value.get("verificationMaterial"), _Material)
    except msgspec.ValidationError as error:
        raise _not_sigstore(f"verificationMaterial: {error}") from None
    envelope = envelope_from(value["dsseEnvelope"])
    if len(envelope.signatures) != 1:
        found = len(envelope.signatures)
        raise AffidavitError(faults.BUNDLE_SIGNATURE_COUNT, found=found)
    hint = material.public_key.hint
    if hint != (envelope.signatures[0].key_id or ""):
        raise _not_sigstore("its hint and the key id of its signature differ")
    listed = material.timestamp_verification_data.rfc3161_timestamps
    return envelope, tuple(_decoded(each.signed_timestamp, "a time stamp") for each in listed)


def _not_sigstore(problem: str) -> AffidavitError:
    return AffidavitError(faults.SIGSTORE_FORMAT, problem=problem)
