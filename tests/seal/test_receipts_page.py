"""What docs/receipts.md says can be done by hand can be done; its rules and codes exist."""

import json
import re
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from tests.app.test_linked_receipts import linked
from tests.repository import ROOT
from tests.seal.samples import FLAT, anchored, sealed

from affidavit.base.errors import Fault
from affidavit.base.faults import CATALOG
from affidavit.base.faults import receipts as faults
from affidavit.seal.receipts import STEP_NUMBERS

PAGE = (ROOT / "docs" / "receipts.md").read_text("utf-8")


def test_a_receipt_is_verified_by_hand() -> None:
    code, _ = re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102 - it is our own page
    receipt = json.loads(json.dumps(anchored(sealed())))
    assert names["verify"](receipt, FLAT) == receipt["anchor"]["digest_sha256"]
    with pytest.raises(AssertionError):
        names["verify"]({**receipt, "verdict": "contradicted"}, FLAT)
    with pytest.raises(InvalidSignature):
        names["verify"]({**receipt, "signature": sealed(issuer="x")["signature"]}, FLAT)


def test_linked_receipts_are_verified_by_hand() -> None:
    names: dict[str, Any] = {}
    for code in re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL):
        exec(code, names)  # noqa: S102 - it is our own page
    receipts = linked()
    names["verify_linked"](receipts)
    for wrong in (receipts[::-1], receipts[:2], [receipts[0], receipts[0], receipts[2]]):
        with pytest.raises(AssertionError):
            names["verify_linked"](wrong)


def test_every_line_of_a_verification_is_explained() -> None:
    for name, number in STEP_NUMBERS.items():
        assert f"| {number} | `{name}` |" in PAGE


def test_every_code_on_the_page_exists() -> None:
    named = set(re.findall(r"AF3\d\d", PAGE))
    ours = {fault.code for fault in vars(faults).values() if isinstance(fault, Fault)}
    assert named
    assert named <= ours <= set(CATALOG)


def test_rules_are_numbered_without_gaps() -> None:
    for family in ("RC", "RL", "KL", "TS"):
        numbers = [int(each) for each in re.findall(rf"^\| {family}-(\d+) \|", PAGE, re.MULTILINE)]
        assert numbers == list(range(1, len(numbers) + 1))
        assert numbers
