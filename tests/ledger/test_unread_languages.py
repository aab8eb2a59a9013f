"""A claim in a language that the judge does not read is not judged, and never ships."""

import pytest
from msgspec.structs import replace
from tests.ledger.examples import CHUNKS, HR, JUDGE, REQUEST, reading

from affidavit.decision.decision import Decision
from affidavit.ledger.adjudication import adjudicate, replay_ledger
from affidavit.ledger.claims import split_answer
from affidavit.ledger.model import FindingKind, SupportLevel, Verdict
from affidavit.ledger.record import Ledger, ledger_from_json, ledger_to_json

ENGLISH = "Employees are entitled to 15 days of annual leave."
GERMAN = "Der Vertrag kann nicht vor dem Ende der Frist gekündigt werden."


def ledger_on(answer: str, level: SupportLevel = SupportLevel.FULL) -> Ledger:
    """The ledger of an answer whose English claims have this support."""
    split = split_answer(answer, None)
    unread = {claim.id for claim in split.claims if not claim.is_in_english}
    return adjudicate(
        split,
        {
            claim.id: (reading(CHUNKS[0].id, level, 0.95),)
            for claim in split.claims
            if claim.id not in unread
        },
        chunks=CHUNKS,
        documents=(HR,),
        request=replace(REQUEST, answer=answer),
        judge=JUDGE,
        unread=unread,
    )


DECISIONS = {
    "only a claim that was not judged": (GERMAN, SupportLevel.FULL, Decision.INCONCLUSIVE),
    "beside a supported claim": (f"{ENGLISH} {GERMAN}", SupportLevel.FULL, Decision.INCONCLUSIVE),
    "beside a claim that fails a gate": (
        f"{ENGLISH} {GERMAN}",
        SupportLevel.NONE,
        Decision.NO_SHIP,
    ),
    "all claims were judged": (ENGLISH, SupportLevel.FULL, Decision.SHIP),
}


@pytest.mark.parametrize(("answer", "level", "wanted"), DECISIONS.values(), ids=DECISIONS.keys())
def test_decision(answer: str, level: SupportLevel, wanted: Decision) -> None:
    assert ledger_on(answer, level).gates.decision is wanted


def test_the_claim_says_that_it_was_not_judged_and_is_a_finding() -> None:
    made = ledger_on(f"{ENGLISH} {GERMAN}")
    entry = made.entries[1]
    assert (entry.verdict, entry.unread_language) == (Verdict.NOT_FOUND, "de")
    assert "does not read the language of the claim (de)" in entry.notes
    (found,) = made.findings
    assert (found.kind, found.claim_id) == (FindingKind.UNREAD_LANGUAGE, entry.claim_id)


def test_the_rates_of_the_summary_are_those_of_the_judged_claims() -> None:
    summary = ledger_on(f"{ENGLISH} {GERMAN}").summary
    assert (summary.evidence_coverage, summary.unsupported_rate) == (1.0, 0.0)
    assert ledger_on(GERMAN).summary.evidence_coverage is None


def test_the_stored_ledger_replays() -> None:
    made = ledger_on(f"{ENGLISH} {GERMAN}")
    stored = ledger_from_json(ledger_to_json(made))
    assert stored == made
    assert replay_ledger(stored) == made
