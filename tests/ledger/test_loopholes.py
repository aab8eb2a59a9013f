"""Answers that must not ship, by the ways in which the gates could once be slipped."""

import pytest
from msgspec.structs import replace
from tests.ledger.examples import CHUNKS, QUERY, REQUEST, ledger_with, reading

from affidavit.decision.decision import Decision
from affidavit.ledger.claims import parse_override, split_answer
from affidavit.ledger.model import Importance, SupportLevel
from affidavit.ledger.record import Ledger

FULL, PARTIAL = SupportLevel.FULL, SupportLevel.PARTIAL
NO, UNSURE = Decision.NO_SHIP, Decision.INCONCLUSIVE
LEAVE = "Employees are entitled to 15 days of annual leave."
PARIS = "Paris is large."
MANY = " ".join(f"Leave in year {year} must be requested in writing." for year in range(2000, 2019))


def ledger_on(answer: str, backing: dict[str, SupportLevel], *overrides: str) -> Ledger:
    """The ledger of an answer in which the claims with these words have this support."""
    split = split_answer(answer, QUERY, overrides=dict(map(parse_override, overrides)))
    readings = {
        claim.id: tuple(
            reading(CHUNKS[0].id, level, 0.95)
            for words, level in backing.items()
            if words in claim.text
        )
        for claim in split.claims
    }
    return ledger_with(split, readings, replace(REQUEST, answer=answer))


LOOPHOLES = {
    "an invented claim that is rated minor": (f"{LEAVE} {PARIS}", {"15 days": FULL}, (), NO),
    "an invented claim that the user calls minor": (
        f"{LEAVE} Unused leave is paid out in gold.",
        {"15 days": FULL},
        ("clm_002=minor",),
        NO,
    ),
    "an invented claim with a condition": (
        f"{LEAVE} Visitors must sign in if they stay.",
        {"15 days": FULL},
        (),
        NO,
    ),
    "an invented claim among nineteen true ones": (
        f"{MANY} Unused leave must be paid out in gold.",
        {"in writing": FULL},
        (),
        NO,
    ),
    "only weak claims": (
        f"{LEAVE} Leave requests must be submitted 2 weeks in advance.",
        {"15 days": PARTIAL, "2 weeks": PARTIAL},
        (),
        NO,
    ),
    "a single weak claim": (LEAVE, {"15 days": PARTIAL}, (), NO),
    "a weak claim that is rated minor": (
        f"{LEAVE} {PARIS}",
        {"15 days": FULL, "Paris": PARTIAL},
        (),
        NO,
    ),
    "a weak claim behind a supported minor one": (
        f"{LEAVE} {PARIS}",
        {"15 days": PARTIAL, "Paris": FULL},
        (),
        NO,
    ),
    "only minor claims": (
        f"{LEAVE} {PARIS}",
        {"15 days": FULL, "Paris": FULL},
        ("clm_001=minor",),
        UNSURE,
    ),
    "only minor claims, one of them invented": (
        f"{LEAVE} {PARIS}",
        {"15 days": FULL},
        ("clm_001=minor",),
        NO,
    ),
    "only remarks": ("Hello! Let me know if you need more details.", {}, (), UNSURE),
    "only a statement that nothing was found": (
        "The documents do not mention sick leave.",
        {},
        (),
        UNSURE,
    ),
}


@pytest.mark.parametrize(
    ("answer", "backing", "overrides", "wanted"), LOOPHOLES.values(), ids=LOOPHOLES.keys()
)
def test_it_does_not_ship(
    answer: str, backing: dict[str, SupportLevel], overrides: tuple[str, ...], wanted: Decision
) -> None:
    assert ledger_on(answer, backing, *overrides).gates.decision is wanted


@pytest.mark.parametrize("opening", ["I think", "I believe", "I hope", "In my opinion,"])
def test_an_opinion_that_asserts_something_does_not_ship(opening: str) -> None:
    """Whether it is split as a claim or set aside, nothing supports it."""
    answer = f"{opening} all employees get 90 days of annual leave."
    assert ledger_on(answer, {}).gates.decision is not Decision.SHIP


def test_the_answers_of_the_table_are_what_they_are_called() -> None:
    """The claim whose loophole is tried is minor by the rule, not by luck."""
    for answer in (f"{LEAVE} {PARIS}", f"{LEAVE} Visitors must sign in if they stay."):
        assert ledger_on(answer, {}).entries[1].importance is Importance.MINOR


def test_a_sound_answer_ships() -> None:
    made = ledger_on(f"{LEAVE} {PARIS}", {"15 days": FULL, "Paris": FULL})
    assert made.gates.decision is Decision.SHIP


def test_one_weak_claim_of_three_ships() -> None:
    answer = f"{LEAVE} Leave requests must be submitted 2 weeks in advance. {PARIS}"
    made = ledger_on(answer, {"15 days": FULL, "2 weeks": PARTIAL, "Paris": FULL})
    assert made.gates.decision is Decision.SHIP
