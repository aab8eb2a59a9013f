"""The public package `dynamicfeed-verify` judges our receipts, under our key, offline."""

import json
from typing import Any

from dynamicfeed_verify import verify
from tests.seal.samples import FLAT, KEY, anchored, sealed


def judged(receipt: object) -> dict[str, Any]:
    """Return what the public verifier says of a receipt that went over the wire."""
    found: dict[str, Any] = verify(json.loads(json.dumps(receipt)), jwks=FLAT)
    return found


def test_our_receipts_are_accepted() -> None:
    small = sealed(confidence=1e-05, figures=[14.0, 0, -0.0, 1e22, "\x7f é 😀"])
    for receipt in (sealed(), anchored(sealed()), small):
        result = judged(receipt)
        assert result["ok"] is True, result
        assert result["key_id"] == KEY.public.id
        assert result["verdict"] == "supported"


def test_changed_ones_are_refused() -> None:
    changed = {**sealed(), "verdict": "contradicted"}
    signature = sealed()["signature"]
    assert isinstance(signature, dict)
    foreign = {**sealed(), "signature": {**signature, "key_id": "af-ed25519-000000000000"}}
    assert [judged(receipt)["ok"] for receipt in (changed, foreign)] == [False, False]
