"""docs/ledger.md is the specification: every example of its tables is run here."""

import re
from collections.abc import Callable
from functools import partial

import pytest
from tests.ledger import examples, small_ledgers
from tests.rule_tables import examples_in, page_named, require_test

from affidavit.base.errors import AffidavitError
from affidavit.ledger.citations import citation_index, resolve_reference
from affidavit.ledger.claims import parse_override, split_answer
from affidavit.ledger.kinds import claim_type
from affidavit.ledger.remarks import find_exemption
from affidavit.ledger.rules import rules_from_toml

PAGE = page_named("ledger.md")


def parts(text: str, mark: str = " \u2016 ") -> list[str]:
    return [part.strip() for part in text.split(mark)] if text.strip() else []


def check_split(answer: str, wanted: str) -> None:
    assert [claim.text for claim in split_answer(answer).claims] == parts(wanted)


def check_statements(answer: str, wanted: str) -> None:
    assert [claim.statement for claim in split_answer(answer).claims] == parts(wanted)


def check_exemption(sentence: str, wanted: str) -> None:
    found = find_exemption(sentence)
    assert (found.value if found else "claim") == wanted


def check_type(claim: str, wanted: str) -> None:
    assert claim_type(claim) == wanted


def check_importance(query: str, answer: str, wanted: str) -> None:
    said = re.search(r" (clm_\d+=\w+)$", answer)
    overrides = dict([parse_override(said[1])]) if said else {}
    text = answer[: said.start()] if said else answer
    split = split_answer(text, query or None, overrides=overrides)
    assert [claim.importance.value for claim in split.claims] == parts(wanted, ", ")


def check_cites(answer: str, wanted: str) -> None:
    found = [", ".join(claim.cites) for claim in split_answer(answer).claims]
    assert found == ([each.strip() for each in wanted.split("\u2016")] if wanted else [""])


def check_citation(reference: str, wanted: str) -> None:
    shelf = citation_index((examples.HR, examples.GUIDE), examples.CHUNKS)
    assert resolve_reference(reference, shelf).status == wanted


def check_verdict(readings: str, wanted: str) -> None:
    assert small_ledgers.ledger(f"material: {readings}").entries[0].verdict == wanted


def check_confidence(readings: str, wanted: str) -> None:
    entry = small_ledgers.ledger(f"material: {readings}").entries[0]
    assert entry.confidence_score == float(wanted)


def check_flags(claims: str, wanted: str) -> None:
    flags = small_ledgers.ledger(claims).risk_flags
    # These small ledgers are mostly of low confidence, which is rule K7's business alone.
    seen = [flag.type.value for flag in flags]
    assert [kind for kind in seen if kind != "low_confidence" or kind in wanted] == parts(
        wanted, ", "
    )


def check_actions(claims: str, wanted: str) -> None:
    assert list(small_ledgers.ledger(claims).recommended_actions) == parts(wanted)


def check_summary(claims: str, wanted: str) -> None:
    summary = small_ledgers.ledger(claims).summary
    rates = (summary.evidence_coverage, summary.unsupported_rate)
    assert ["none" if rate is None else f"{rate:g}" for rate in rates] == parts(wanted, ", ")


def check_order(claims: str, wanted: str) -> None:
    made = small_ledgers.ledger(claims)
    assert ", ".join(str(number) for number, _ in made.claims_in("review")) == wanted
    assert [number for number, _ in made.claims_in("answer")] == sorted(
        int(number) for number in wanted.split(", ")
    )


def check_gates(claims: str, gates: str, wanted: str) -> None:
    assert small_ledgers.ledger(claims, tuple(gates.split())).gates.decision == wanted


def check_rules_file(text: str, wanted: str) -> None:
    with pytest.raises(AffidavitError) as raised:
        rules_from_toml(text.encode(), "rules.toml")
    error = raised.value
    assert f"{error.fault.code} {str(error.where.field).lower()}" == wanted
    assert error.where.file == "rules.toml"


CHECKS: dict[str, Callable[..., None]] = {
    "S": check_split,
    "C": check_statements,
    "P": check_statements,
    "E": check_exemption,
    "T": check_type,
    "I": check_importance,
    "A": check_cites,
    "V": check_verdict,
    "F": check_confidence,
    "K": check_flags,
    "Q": check_actions,
    "U": check_summary,
    "G": check_gates,
    "O": check_order,
    "R": check_rules_file,
    "B": partial(require_test, "ledger"),
    "M": partial(require_test, "ledger"),
}
SPECIAL = dict.fromkeys(("A6", "A7", "A8", "A9", "A12"), check_citation)
ROWS = examples_in(PAGE)


@pytest.mark.parametrize(("name", "cells"), ROWS.items(), ids=ROWS.keys())
def test_the_example_of(name: str, cells: tuple[str, ...]) -> None:
    SPECIAL.get(name, partial(CHECKS[name[0]]))(*cells)


def test_every_kind_of_rule_has_examples() -> None:
    assert {name[0] for name in ROWS} == set(CHECKS)


def test_the_rules_file_of_the_page_is_the_default() -> None:
    from affidavit.ledger.rules import DEFAULT_RULES

    block = PAGE.split("```toml\n")[1].split("```")[0]
    assert rules_from_toml(block.encode()) == DEFAULT_RULES
