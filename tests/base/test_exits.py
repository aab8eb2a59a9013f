"""The exit code of several results together: docs/adr/0005."""

import pytest

from affidavit.base.exits import Exit, worst_exit
from affidavit.decision.decision import Decision

GRAVE = {
    "nothing verified is not a yes": ((), Exit.UNKNOWN),
    "all verified": ((Exit.YES, Exit.YES), Exit.YES),
    "one is inconclusive": ((Exit.YES, Exit.UNKNOWN), Exit.UNKNOWN),
    "one that could not be read": ((Exit.UNKNOWN, Exit.INPUT), Exit.INPUT),
    "one key that is not believed": ((Exit.INPUT, Exit.NO), Exit.NO),
    "one that was tampered with": ((Exit.NO, Exit.TAMPERED, Exit.INPUT), Exit.TAMPERED),
}


@pytest.mark.parametrize(("ends", "wanted"), GRAVE.values(), ids=GRAVE.keys())
def test_the_worst_exit_code_decides(ends: tuple[Exit, ...], wanted: Exit) -> None:
    assert worst_exit(ends) is wanted


DECISIONS = {
    "what may ship": (Decision.SHIP, Exit.YES),
    "what may not": (Decision.NO_SHIP, Exit.NO),
    "inconclusive is not a yes": (Decision.INCONCLUSIVE, Exit.UNKNOWN),
}


@pytest.mark.parametrize(("decision", "wanted"), DECISIONS.values(), ids=DECISIONS.keys())
def test_a_decision_has_its_exit_code(decision: Decision, wanted: Exit) -> None:
    assert decision.exit is wanted


def test_every_decision_has_an_exit_code() -> None:
    assert {decision for decision, _ in DECISIONS.values()} == set(Decision)
