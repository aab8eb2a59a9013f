"""The public package `dynamicfeed-verify`, in an environment of its own, judges our receipts.

`interop/dynamicfeed.sh` makes the environment; where it is absent these tests are skipped, and in
that script they fail.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest
from tests.repository import ROOT
from tests.seal.samples import FLAT, KEY, anchored, sealed

PYTHON = ROOT / ".interop" / "dynamicfeed" / "bin" / "python"
JUDGE = """
import json, sys
from dynamicfeed_verify import verify
asked = json.load(sys.stdin)
print(json.dumps([verify(each, jwks=asked["keys"]) for each in asked["receipts"]]))
"""


def require_verifier() -> Path:
    """End the test where the package is not installed."""
    if not PYTHON.exists():
        say = pytest.fail if os.environ.get("AFFIDAVIT_INTEROP") else pytest.skip
        say("dynamicfeed-verify is not installed: run interop/dynamicfeed.sh")
    return PYTHON


def judged(*receipts: object) -> list[dict[str, object]]:
    """Return what the public verifier says of each receipt, under our key, offline."""
    done = subprocess.run(
        [str(require_verifier()), "-c", JUDGE],
        input=json.dumps({"keys": FLAT, "receipts": receipts}),
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[dict[str, object]] = json.loads(done.stdout)
    return found


def test_our_receipts_are_accepted() -> None:
    small = sealed(confidence=1e-05, figures=[14.0, 0, -0.0, 1e22, "\x7f é 😀"])
    for result in judged(sealed(), anchored(sealed()), small):
        assert result["ok"] is True, result
        assert result["key_id"] == KEY.public.id
        assert result["verdict"] == "supported"


def test_changed_ones_are_refused() -> None:
    changed = {**sealed(), "verdict": "contradicted"}
    signature = sealed()["signature"]
    assert isinstance(signature, dict)
    foreign = {**sealed(), "signature": {**signature, "key_id": "af-ed25519-000000000000"}}
    assert [result["ok"] for result in judged(changed, foreign)] == [False, False]
