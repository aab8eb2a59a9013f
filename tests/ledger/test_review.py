"""What people decided, replayed on top of the judge's ledger."""

from typing import Any

import pytest
from tests.ledger.examples import seed_ledger
from tests.ledger.small_ledgers import ledger

from affidavit.base.errors import AffidavitError
from affidavit.decision.decision import Decision
from affidavit.ledger.adjudication import find_ledger_problem
from affidavit.ledger.model import ClaimType, Importance, Verdict
from affidavit.ledger.review import (
    Approval,
    DecidedField,
    HumanDecision,
    approval_of,
    require_decision,
    reviewed_ledger,
)


def decision(claim: str | None = "clm_004", **changes: Any) -> HumanDecision:
    values = {
        "number": 1,
        "field": DecidedField.VERDICT,
        "from_value": "not_found",
        "to_value": "supported",
        "reason": "the annex says so",
        "decided_by": "ana",
        "decided_at": "2026-01-04T09:00:00Z",
        **changes,
    }
    return HumanDecision(claim_id=claim, **values)


def test_without_decisions_about_claims_the_ledger_is_the_same() -> None:
    made = seed_ledger()
    approved = decision(None, field=DecidedField.APPROVAL, to_value="approved")
    assert reviewed_ledger(made, ()) is made
    assert reviewed_ledger(made, (approved,)) is made


def test_the_last_decision_about_a_field_counts_and_the_others_stay_visible() -> None:
    made = seed_ledger()
    decisions = (
        decision(),
        decision(to_value="weak", from_value="supported", reason="only in part", decided_by="bo"),
        decision(field=DecidedField.IMPORTANCE, from_value="material", to_value="minor"),
        decision(field=DecidedField.CLAIM_TYPE, from_value="numeric", to_value="fact"),
    )
    seen = reviewed_ledger(made, decisions)
    entry = seen.entries[3]
    assert (entry.verdict, entry.importance, entry.claim_type) == (
        Verdict.WEAK,
        Importance.MINOR,
        ClaimType.FACT,
    )
    assert entry.notes.startswith(
        "ana on 2026-01-04 changed verdict from not_found to supported: the annex says so; bo on"
    )
    assert entry.notes.endswith(f"the judge: {made.entries[3].notes}")
    assert seen.entries[:3] == made.entries[:3]
    assert seen.summary.by_verdict.weak == 2
    assert seen.summary.by_importance.minor == made.summary.by_importance.minor + 1
    assert not find_ledger_problem(made)
    assert find_ledger_problem(seen)


def test_gates_are_decided_again_over_the_effective_verdicts() -> None:
    made = ledger("critical:")
    assert made.gates.decision is Decision.NO_SHIP
    seen = reviewed_ledger(made, (decision("clm_001"),))
    assert seen.gates.decision is Decision.SHIP
    assert seen.summary.evidence_coverage == 1.0
    assert [flag.type.value for flag in seen.risk_flags] == ["low_confidence"]
    assert seen.follow_up_questions == ()


def test_a_person_can_contradict_the_judge() -> None:
    made = ledger("critical: A full 0.9")
    seen = reviewed_ledger(made, (decision("clm_001", to_value="contradicted"),))
    assert made.gates.decision is Decision.SHIP
    assert seen.gates.decision is Decision.NO_SHIP


def test_the_last_word_on_the_answer_counts() -> None:
    approved = decision(None, field=DecidedField.APPROVAL, to_value="approved")
    rejected = decision(None, field=DecidedField.APPROVAL, to_value="rejected")
    assert approval_of(()) is Approval.OPEN
    assert approval_of((approved, decision(), rejected)) is Approval.REJECTED
    assert approved.what == "the answer"
    assert str(decision()) == (
        "2026-01-04T09:00:00Z ana decided clm_004: verdict not_found -> supported:"
        " the annex says so"
    )


REFUSED = {
    "a verdict that does not exist": (DecidedField.VERDICT, "true", "why", "verdict"),
    "an approval cannot be opened again": (DecidedField.APPROVAL, "open", "why", "approval"),
    "no reason": (DecidedField.VERDICT, "weak", "  ", "reason"),
    "a reason that no database keeps": (DecidedField.VERDICT, "weak", "a\0b", "reason"),
    "a very long reason": (DecidedField.VERDICT, "weak", "x" * 2001, "reason"),
}


@pytest.mark.parametrize(
    ("field", "value", "reason", "place"), REFUSED.values(), ids=REFUSED.keys()
)
def test_what_cannot_be_decided_is_refused(
    field: DecidedField, value: str, reason: str, place: str
) -> None:
    with pytest.raises(AffidavitError, match=f"^AF861: field {place}: "):
        require_decision(field, value, reason)


def test_what_can_be_decided_is_accepted() -> None:
    for field, value in (("verdict", "weak"), ("claim_type", "fact"), ("approval", "rejected")):
        require_decision(DecidedField(field), value, "why")
