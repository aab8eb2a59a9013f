"""RFC 3161 time stamps: requests, and the validation of tokens.

This is the only module that imports `rfc3161_client`, which takes 0.2 s to load, so it is imported
for the first token. Each of our checks runs before the library's, so that each rejection has its
own code. The library checks the signature and the chain of certificates up to a root.
"""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import receipts as faults
from affidavit.base.timestamps import MAX_CLOCK_SKEW, timestamp_text
from affidavit.seal import crypto
from affidavit.seal.crypto import (
    NULL,
    OCTET_STRING,
    SEQUENCE,
    TRUE,
    Certificate,
    DerElement,
    der_element,
    der_elements,
    der_integer,
    der_object_id,
)

if TYPE_CHECKING:
    from rfc3161_client import Accuracy, TimeStampResponse

NONCE_BYTES: Final = 8

_SHA256_ALGORITHM: Final = der_element(
    SEQUENCE, der_object_id("2.16.840.1.101.3.4.2.1"), der_element(NULL)
)
_REQUEST_VERSION: Final = 1


def time_stamp_request(digest: str, nonce: int, policy: str | None = None) -> bytes:
    """Return a request (section 2.4.1) for a token over a SHA-256, with the certificate in it.

    The random nonce is compared with that of the response, so an old response cannot be replayed.
    The authority learns nothing but the digest.
    """
    imprint = der_element(
        SEQUENCE, _SHA256_ALGORITHM, der_element(OCTET_STRING, bytes.fromhex(digest))
    )
    wanted = b"" if policy is None else der_object_id(policy)
    parts = (der_integer(_REQUEST_VERSION), imprint, wanted, der_integer(nonce), TRUE)
    return der_element(SEQUENCE, *parts)


_GRANTED: Final = 0
_GRANTED_STATUS: Final = der_element(SEQUENCE, der_integer(_GRANTED))
_CERTIFICATES: Final = 0xA0
"""The tag of the certificates among the parts of the signed data (RFC 5652, section 5.1)."""
_SHA256: Final = "2.16.840.1.101.3.4.2.1"
_SIGNER_DIGESTS: Final = {
    der_object_id(_SHA256): "sha256",
    der_object_id("2.16.840.1.101.3.4.2.2"): "sha384",
    der_object_id("2.16.840.1.101.3.4.2.3"): "sha512",
}
# OpenSSL ignores the name of the signature algorithm, so it is compared with the digest's.
_SIGNATURE_DIGESTS: Final = {
    der_object_id("1.2.840.10045.4.3.2"): "sha256",
    der_object_id("1.2.840.10045.4.3.3"): "sha384",
    der_object_id("1.2.840.10045.4.3.4"): "sha512",
    der_object_id("1.2.840.113549.1.1.11"): "sha256",
    der_object_id("1.2.840.113549.1.1.12"): "sha384",
    der_object_id("1.2.840.113549.1.1.13"): "sha512",
    der_object_id("1.2.840.113549.1.1.1"): None,
}


class TimeStampTrust(Struct, frozen=True):
    """Trusted authorities: the roots as PEM, and optionally one policy and one signer.

    The signer is its whole subject in the notation of RFC 4514.
    """

    roots: bytes
    policy: str | None = None
    signer: str | None = None


class TimeStamp(Struct, frozen=True):
    """What a valid token proves: the digest existed at `made_at`, within the accuracy."""

    made_at: datetime
    latest_at: datetime
    signer: str


def roots_from(pem: bytes) -> tuple[Certificate, ...]:
    """Return the certificates of a PEM file of roots."""
    try:
        return _roots(pem)
    except ValueError:
        problem = "it holds no certificates in PEM, or one that cannot be read"
        raise AffidavitError(faults.KEY_FORMAT, problem=problem) from None


@lru_cache(maxsize=8)
def _roots(pem: bytes) -> tuple[Certificate, ...]:
    return crypto.certificates_from_pem(pem)


def token_from_response(response: bytes, digest: str, nonce: int) -> bytes:
    """Return the token of an authority's response to our request.

    Not covered: who signed it. The caller runs `check_token` before anchoring.
    """
    read = _read(response)
    if read.tst_info.nonce != nonce:
        raise AffidavitError(faults.TST_NONCE)
    _require_imprint(read, digest)
    return read.time_stamp_token()


def require_imprint(token: bytes, digest: str) -> None:
    """Raise if a token covers anything but this SHA-256. Nothing else is checked."""
    _require_imprint(_read_token(token), digest)


def check_token(token: bytes, digest: str, trust: TimeStampTrust, at: datetime) -> TimeStamp:
    """Return what a token proves, or raise the first error.

    `at` is now: a time stamp from the future is rejected.
    """
    read = _read_token(token)
    _require_imprint(read, digest)
    policy = read.tst_info.policy.dotted_string
    if trust.policy is not None and policy != trust.policy:
        raise AffidavitError(faults.TST_POLICY, found=policy, wanted=trust.policy)
    signer = _signer(read)
    if problem := crypto.time_stamp_purpose_problem(signer):
        raise AffidavitError(faults.TST_EKU, problem=problem)
    made_at = read.tst_info.gen_time
    _require_time(made_at, signer, at)
    _require_chain(read, digest, roots_from(trust.roots), made_at)
    name = signer.subject.rfc4514_string()
    if trust.signer is not None and name != trust.signer:
        problem = f"{name!r} signed it, not {trust.signer!r}"
        raise AffidavitError(faults.TST_SIGNER, problem=problem)
    return TimeStamp(made_at, made_at + _accuracy(read), name)


def token_from_file(raw: bytes) -> bytes:
    """Return the token of a file: a token by itself, or the whole response of an authority."""
    try:
        return _read_token(raw).time_stamp_token()
    except AffidavitError as error:
        if error.fault is not faults.TST_ENCODING:
            raise
    return _read(raw).time_stamp_token()


def _read_token(token: bytes) -> "TimeStampResponse":
    # Only the token of a response is stored, because nothing protects the rest.
    return _read(der_element(SEQUENCE, _GRANTED_STATUS, token))


def _read(response: bytes) -> "TimeStampResponse":
    from rfc3161_client import decode_timestamp_response

    try:
        try:
            read = decode_timestamp_response(response)
        except ValueError:
            read = decode_timestamp_response(_with_sorted_certificates(response))
        status = read.status
        if status == _GRANTED:
            _require_strict(read)
            return read
        said = "; ".join(read.status_string)[:200]
    except (ValueError, IndexError, AttributeError):
        problem = "it cannot be read"
        raise AffidavitError(faults.TST_ENCODING, problem=problem) from None
    problem = f"the authority answered with status {status}{f', {said}' if said else ''}"
    raise AffidavitError(faults.TST_ENCODING, problem=problem)


def _with_sorted_certificates(response: bytes) -> bytes:
    """Return the response with the certificates of its token in the order that DER requires.

    `openssl ts` writes a chain in the order of its file. The order means nothing and nothing signs
    it: each certificate is used only if the signature or another certificate needs it.
    """
    (whole,) = der_elements(response)
    status, content_info = whole.members
    kind, explicit = content_info.members
    (signed_data,) = explicit.members

    def written(order: Callable[[Iterable[bytes]], Iterable[bytes]]) -> bytes:
        parts = [
            der_element(part.tag, *order([member.whole for member in part.members]))
            if part.tag == _CERTIFICATES
            else part.whole
            for part in signed_data.members
        ]
        content = der_element(explicit.tag, der_element(SEQUENCE, *parts))
        return der_element(SEQUENCE, status.whole, der_element(SEQUENCE, kind.whole, content))

    if written(tuple) != response:  # It is not DER for another reason, too.
        raise ValueError
    return written(sorted)


def _require_strict(read: "TimeStampResponse") -> None:
    """Check what the library ignores: versions, and the name of the signature algorithm."""
    signers = read.signed_data.signer_infos
    if len(signers) != 1:
        raise AffidavitError(faults.TST_SIGNER, problem=f"it has {len(signers)} signatures, not 1")
    versions = (read.tst_info.version, read.signed_data.version, signers.pop().version)
    if versions != (1, 3, 1):  # RFC 3161, section 2.4.2; RFC 5652, sections 5.1 and 5.3.
        raise AffidavitError(faults.TST_ENCODING, problem="it has the version of another standard")
    _, _, digest_algorithm, *rest = _signer_info(read.time_stamp_token())
    signature_algorithm = next(part for part in rest if part.tag == SEQUENCE)
    digest, signature = (part.members[0].whole for part in (digest_algorithm, signature_algorithm))
    named = _SIGNER_DIGESTS.get(digest)
    if named is None or _SIGNATURE_DIGESTS.get(signature, "another") not in {named, None}:
        wanted = "RSA or ECDSA over one SHA-2"
        raise AffidavitError(faults.TST_HASH, found="another signature", wanted=wanted)


def _signer_info(token: bytes) -> tuple[DerElement, ...]:
    """Return the parts of the signature: version, signer, digest, attributes, algorithm, ..."""
    (content_info,) = der_elements(token)
    (signed_data,) = content_info.members[1].members
    (signer,) = signed_data.members[-1].members
    return signer.members


def _require_imprint(read: "TimeStampResponse", digest: str) -> None:
    imprint = read.tst_info.message_imprint
    algorithm = imprint.hash_algorithm.dotted_string
    if algorithm != _SHA256:
        raise AffidavitError(faults.TST_HASH, found=f"the digest {algorithm}", wanted="SHA-256")
    if imprint.message.hex() != digest:
        raise AffidavitError(faults.TST_IMPRINT, found=imprint.message.hex(), wanted=digest)


def _signer(read: "TimeStampResponse") -> Certificate:
    """Return the certificate that the signature names by issuer and serial number.

    Anybody can add other certificates to a token (GHSA-3xxc-pwj6-jgrj). Names are compared as
    bytes, so hostile ones are not parsed.
    """
    _, named, *_ = _signer_info(read.time_stamp_token())
    try:
        found = [
            crypto.certificate_from_der(der)
            for der in read.signed_data.certificates
            if _issuer_and_number(der) == named.content
        ]
    except ValueError:
        problem = "a certificate in it cannot be read"
        raise AffidavitError(faults.TST_ENCODING, problem=problem) from None
    if len(found) != 1:
        problem = "the certificate that its signature names is not in it, once"
        raise AffidavitError(faults.TST_SIGNER, problem=problem)
    return found[0]


def _issuer_and_number(certificate: bytes) -> bytes:
    """Return both as a signature names them: 2nd and 4th in a version 3 certificate."""
    (whole,) = der_elements(certificate)
    _, number, _, issuer, *_ = whole.members[0].members
    return issuer.whole + number.whole


def _require_time(made_at: datetime, signer: Certificate, at: datetime) -> None:
    found = timestamp_text(made_at)
    if not crypto.is_valid_at(signer, made_at):
        problem = "the certificate that signed it was not valid then"
        raise AffidavitError(faults.TST_TIME, found=found, problem=problem)
    if made_at > at + MAX_CLOCK_SKEW:
        problem = f"it is now {timestamp_text(at)}"
        raise AffidavitError(faults.TST_TIME, found=found, problem=problem)


def _require_chain(
    read: "TimeStampResponse", digest: str, roots: tuple[Certificate, ...], made_at: datetime
) -> None:
    if not any(crypto.is_valid_at(root, made_at) for root in roots):
        problem = "no root that you name was valid then"
        raise AffidavitError(faults.TST_TIME, found=timestamp_text(made_at), problem=problem)
    # OpenSSL considers only the first root of a name, but an authority that changed the key of its
    # root has two. So if all together fail, each is tried alone.
    alone = [(root,) for root in roots] if len(roots) > 1 else []
    if not any(_leads_to(some, read, digest) for some in (roots, *alone)):
        problem = "its signature and certificates do not hold up to any of them"
        raise AffidavitError(faults.TST_UNTRUSTED, problem=problem)


def _leads_to(roots: tuple[Certificate, ...], read: "TimeStampResponse", digest: str) -> bool:
    from rfc3161_client import VerificationError, VerifierBuilder

    try:
        return VerifierBuilder(roots=list(roots)).build().verify(read, bytes.fromhex(digest))
    except (VerificationError, ValueError):
        return False


def _accuracy(read: "TimeStampResponse") -> timedelta:
    # It is optional in RFC 3161, although the library's types say otherwise.
    accuracy: Accuracy | None = read.tst_info.accuracy
    if accuracy is None:
        return timedelta(0)
    return timedelta(
        seconds=accuracy.seconds,
        milliseconds=accuracy.millis or 0,
        microseconds=accuracy.micros or 0,
    )
