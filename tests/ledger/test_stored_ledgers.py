"""Ledgers that earlier versions wrote are read, replayed and shown as they were made.

The files in `stored` were written by the version whose schema they name, and are never rewritten.
"""

from pathlib import Path

import pytest
from msgspec.structs import replace

from affidavit.base.errors import AffidavitError
from affidavit.decision.decision import Decision
from affidavit.ledger.adjudication import replay_ledger
from affidavit.ledger.record import EDITIONS, SCHEMA, Ledger, ledger_from_json, ledger_to_json
from affidavit.ledger.rules import rules_digest
from affidavit.reports.ledger_markdown import ledger_to_markdown
from affidavit.reports.ledger_text import ledger_text

STORED = sorted((Path(__file__).parent / "stored").glob("*.json"))
DECISIONS = {
    "every_verdict": Decision.NO_SHIP,
    "minor_not_found": Decision.SHIP,
    "no_claims": Decision.INCONCLUSIVE,
    "only_weak": Decision.SHIP,
    "other_gates": Decision.SHIP,
    "seed_example": Decision.NO_SHIP,
}


def stored(name: str) -> Ledger:
    return ledger_from_json((Path(__file__).parent / "stored" / f"{name}.json").read_bytes())


@pytest.mark.parametrize("file", STORED, ids=lambda file: file.stem)
def test_a_stored_ledger_of_an_earlier_schema_equals_its_replay(file: Path) -> None:
    ledger = ledger_from_json(file.read_bytes())
    assert ledger.schema_version == "affidavit.ledger/1"
    assert replay_ledger(ledger) == ledger
    assert ledger_from_json(ledger_to_json(ledger)) == ledger
    assert rules_digest(ledger.rules) == ledger.rules_digest
    assert ledger.gates.decision is DECISIONS[file.stem]


def test_the_gates_of_today_are_not_added_to_a_stored_ledger() -> None:
    gates = [result.gate for result in stored("minor_not_found").gates.results]
    assert gates == [
        "coverage>=0.85",
        "unsupported<=0.05",
        "critical_unsupported<=0",
        "contradictions<=0",
    ]


def test_a_stored_ledger_keeps_its_rate_and_is_shown_by_one_definition() -> None:
    ledger = stored("every_verdict")
    # Two of four critical and material claims are unsupported; version 1 counted only not_found.
    assert ledger.summary.unsupported_rate == 0.25
    text = "\n".join(part for part in ledger_text(ledger) if isinstance(part, str))
    assert "unsupported 50% (minor claims 67%): " in text
    assert "<!-- affidavit.ledger/1 led_" in ledger_to_markdown(ledger)


def test_a_ledger_cannot_choose_the_gates_of_an_earlier_schema_without_saying_so() -> None:
    """Rules that leave out a default gate of their schema, without `=off`, are refused."""
    old = stored("only_weak")
    assert ledger_from_json(ledger_to_json(old)) == old
    with pytest.raises(AffidavitError, match="AF240"):
        ledger_from_json(ledger_to_json(replace(old, schema_version=SCHEMA)))


def test_a_changed_stored_ledger_differs_from_its_replay() -> None:
    old = stored("only_weak")
    assert replay_ledger(replace(old, summary=replace(old.summary, unsupported_rate=0.5))) == old
    assert replay_ledger(replace(old, entries=old.entries[:1])) != old


def test_every_edition_but_the_last_has_stored_ledgers() -> None:
    assert {stored(name).schema_version for name in DECISIONS} == set(EDITIONS) - {SCHEMA}
    assert {file.stem for file in STORED} == set(DECISIONS)
