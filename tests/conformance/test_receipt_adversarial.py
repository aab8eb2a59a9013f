"""The hostile constructions of the layer `receipt`, built here over a real answer."""

import copy
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from tests.checks.builders import PYTHON, body
from tests.conformance.adversarial_table import cases, expected
from tests.seal.samples import FLAT_KEYS, KEY, anchored

from affidavit.app.verify import verify_steps
from affidavit.base.errors import AffidavitError
from affidavit.base.timestamps import find_timestamp
from affidavit.seal.receipts import (
    ReceiptTrust,
    ReceiptVerification,
    receipt_from,
    seal_receipt,
)

SECOND_CHECK = {**PYTHON, "id": "second", "args": {"product": "pypy"}}
BODY = body(PYTHON, SECOND_CHECK)
MADE = find_timestamp(BODY["generated_at"])
assert MADE is not None
NOW = MADE + timedelta(hours=1)


def verified(receipt: dict[str, Any]) -> ReceiptVerification:
    """Verify all five steps."""
    return verify_steps(receipt_from(receipt), ReceiptTrust(FLAT_KEYS), NOW)


def sealed(change: Callable[[dict[str, Any]], object] | None = None) -> dict[str, Any]:
    """Return the answer, changed by whoever holds the key, and then signed."""
    changed: dict[str, Any] = copy.deepcopy(BODY)
    if change is not None:
        change(changed)
    return anchored(seal_receipt(changed, KEY))


def cite_unknown(answer: dict[str, Any]) -> None:
    answer["checks"][0]["evidence"] = [f"sha256:{'0' * 64}"]


def swap_evidence(answer: dict[str, Any]) -> None:
    evidence = answer["evidence_index"]
    first = next(iter(evidence))
    evidence[first] = {**evidence[first], "unit": "another"}


def flip(answer: dict[str, Any]) -> None:
    answer["verdict"] = "contradicted"


def after(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    """Return the answer as it was signed, changed afterwards by somebody else."""
    receipt = copy.deepcopy(sealed())
    change(receipt)
    return receipt


CONSTRUCTIONS: dict[str, list[dict[str, Any]]] = {
    "ADV-090": [sealed(cite_unknown)],
    "ADV-091": [sealed(swap_evidence)],
    "ADV-092": [after(lambda receipt: receipt.update(receipt_id="ans_0123456789abcdef"))],
    "ADV-093": [sealed(flip), sealed(lambda answer: answer.update(confidence=0.95))],
    "ADV-094": [
        sealed(lambda answer: answer.update(schema="answer/v0")),
        sealed(lambda answer: answer.update(schema="answer/v9")),
    ],
    "ADV-095": [sealed(lambda answer: answer.update(generated_at="2026-12-31T00:00:00Z"))],
    "ADV-096": [
        after(lambda receipt: receipt["checks"].reverse()),
        after(lambda receipt: receipt["checks"].pop()),
        after(lambda receipt: receipt["checks"].append(receipt["checks"][0])),
    ],
}


def names_of(receipt: dict[str, Any]) -> set[str]:
    """Return all that is wrong with a receipt."""
    try:
        return {step.fault.name for step in verified(receipt).steps if step.fault}
    except AffidavitError as error:
        return {error.fault.name}


@pytest.mark.parametrize("case", CONSTRUCTIONS)
def test_adversarial_receipts(case: str) -> None:
    for receipt in CONSTRUCTIONS[case]:
        assert expected(case) <= names_of(receipt)


def test_every_case_of_the_layer_is_built() -> None:
    assert set(CONSTRUCTIONS) == cases("receipt")


def test_the_control_is_accepted() -> None:
    assert names_of(sealed()) == set()
    assert verified(sealed()).valid
