"""What is sent to a time stamp authority (RFC 3161, section 2.4.1). Sending it is not done here."""

from typing import Final

from affidavit.seal.der import NULL, OCTETS, SEQUENCE, TRUE, element, integer, object_id

REQUEST_TYPE: Final = "application/timestamp-query"
RESPONSE_TYPE: Final = "application/timestamp-reply"
NONCE_BYTES: Final = 8

_SHA256: Final = element(SEQUENCE, object_id("2.16.840.1.101.3.4.2.1"), element(NULL))
_VERSION: Final = 1


def stamp_request(digest: str, nonce: int, policy: str | None = None) -> bytes:
    """Return the request for a token over a SHA-256, with the authority's certificate in it.

    The nonce comes from chance and is compared with the answer's, so that an old answer cannot be
    played back. The authority learns the digest and nothing else.
    """
    imprint = element(SEQUENCE, _SHA256, element(OCTETS, bytes.fromhex(digest)))
    wanted = b"" if policy is None else object_id(policy)
    return element(SEQUENCE, integer(_VERSION), imprint, wanted, integer(nonce), TRUE)
