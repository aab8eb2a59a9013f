"""A receipt, the key that signed it, and what a verifier needs to know of the key."""

from datetime import UTC, datetime, timedelta

from affidavit.base.json_values import JsonValue
from affidavit.seal.keys import (
    KeyRegistry,
    TrustedKeys,
    registry_document,
    signing_key_from,
    trusted_keys_from,
)
from affidavit.seal.receipts import ReceiptTrust, anchor_member, canonical_forms, seal_receipt

KEY = signing_key_from(bytes(range(32)))
OTHER_KEY = signing_key_from(bytes(range(1, 33)))
MADE = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
DAY = timedelta(days=1)
NOW = MADE + DAY

BODY: dict[str, JsonValue] = {
    "schema": "answer/v1",
    "generated_at": "2026-01-02T03:04:05Z",
    "issuer": "example.org",
    "verdict": "supported",
    "confidence": 0.8,
    "note": "café · 日本語 😀",
    "checks": [{"id": "py", "verdict": "supported", "cites": ["sha256:ab"], "required": True}],
    "zulu": None,
}

REGISTRY = KeyRegistry().with_new(KEY.public, MADE - DAY)
FLAT: dict[str, JsonValue] = {KEY.public.id: KEY.public.text}
FLAT_KEYS = trusted_keys_from([FLAT])


def sealed(**changes: JsonValue) -> dict[str, JsonValue]:
    """Return a signed receipt without an anchor."""
    return seal_receipt({**BODY, **changes}, KEY)


def anchored(receipt: dict[str, JsonValue], token: bytes | None = None) -> dict[str, JsonValue]:
    """Return a receipt with a self anchor, or with a token."""
    return {**receipt, "anchor": anchor_member(canonical_forms(receipt).anchor_digest, token)}


def keys_of(registry: KeyRegistry) -> TrustedKeys:
    """Return the keys of a registry as a verifier reads them from its document."""
    return trusted_keys_from([registry_document(registry)])


TRUST = ReceiptTrust(keys_of(REGISTRY))
