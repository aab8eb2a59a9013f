"""The parts of the importance score: rules I1 to I5 of docs/ledger.md."""

import pytest

from affidavit.ledger.importance import content_words, importance_score
from affidavit.ledger.model import ClaimType

SPEC = {
    "no question": ("Leave is paid", ClaimType.FACT, None, False, 35),
    "a question of small words": ("Leave is paid", ClaimType.FACT, "What is it?", False, 35),
    "nothing in common": ("Leave is paid", ClaimType.FACT, "Who is Jane?", False, 20),
    "half in common": ("Leave is paid", ClaimType.FACT, "What is the leave policy?", False, 40),
    "all in common": ("Leave is paid", ClaimType.FACT, "Is leave paid?", False, 60),
    "the first claim": ("Leave is paid", ClaimType.FACT, "Who is Jane?", True, 35),
    "a condition": ("Leave is paid if asked", ClaimType.FACT, "Who is Jane?", False, 15),
    "a definition": ("Leave means rest", ClaimType.DEFINITION, "Who is Jane?", False, 15),
    "a number": ("Leave is 5 days", ClaimType.NUMERIC, "Who is Jane?", False, 30),
    "a policy": ("Leave must be taken", ClaimType.POLICY, "Who is Jane?", False, 30),
}


@pytest.mark.parametrize(
    ("text", "kind", "query", "first", "wanted"), SPEC.values(), ids=SPEC.keys()
)
def test_score(text: str, kind: ClaimType, query: str | None, first: bool, wanted: int) -> None:
    assert importance_score(text, kind, query, first) == wanted


def test_plurals_and_small_words_do_not_count() -> None:
    words = content_words("What are the policies on leaves, bus, glass, gas and ties?")
    assert words == {"policy", "leave", "bus", "glass", "gas", "tie"}
