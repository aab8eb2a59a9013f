"""The rules file: rules R1 to R4 of docs/ledger.md."""

import pytest
from msgspec.structs import replace

from affidavit.base.errors import AffidavitError
from affidavit.ledger.gates import DEFAULT_GATES_1
from affidavit.ledger.importance import ImportanceThresholds
from affidavit.ledger.model import Verdict
from affidavit.ledger.rules import (
    DEFAULT_RULES,
    JudgeThresholds,
    LedgerRules,
    RiskThresholds,
    VerdictThresholds,
    checked_rules,
    rules_digest,
    rules_from_toml,
    with_gates,
)


def test_nothing_said_is_the_default() -> None:
    assert rules_from_toml(b"") == DEFAULT_RULES


def test_everything_can_be_said() -> None:
    text = b"""
gates = ["coverage>=0.9", "unsupported=off", "supported>=0.5"]
verdict = {supported_above = 0.9, match_from = 0.1, contradicted_from = 0.2}
importance = {critical_from = 60, material_from = 0}
[risk]
outdated_after_days = 30
low_confidence_below = 0.5
ambiguous_margin = 0.2
torn_from = 1
[judge]
supported_from = 0.6
weak_from = 0.3
contradicted_from = 0.7
prior = 0.8
"""
    rules = rules_from_toml(text)
    assert rules == replace(
        with_gates(DEFAULT_RULES, ("coverage>=0.9", "unsupported=off", "supported>=0.5")),
        verdict=VerdictThresholds(0.9, 0.1, 0.2),
        importance=ImportanceThresholds(60, 0),
        risk=RiskThresholds(30, 0.5, 0.2, 1.0),
        judge=JudgeThresholds(0.6, 0.3, 0.7, 0.8),
    )
    assert checked_rules(rules) == rules


def test_the_digest_names_the_rules() -> None:
    assert rules_digest(DEFAULT_RULES) == rules_digest(rules_from_toml(b"[verdict]\n"))
    assert rules_digest(DEFAULT_RULES).startswith("sha256:")
    assert rules_digest(LedgerRules(risk=RiskThresholds(torn_from=0.4))) != rules_digest(
        DEFAULT_RULES
    )
    assert rules_digest(with_gates(DEFAULT_RULES, ("coverage=off",))) != rules_digest(DEFAULT_RULES)


def test_rules_without_a_judge_keep_the_digest_that_stored_ledgers_have() -> None:
    known = "sha256:025f7be0b8f49508ff576ec93333e49b0d85e486045430fce65ecb7b632aa531"
    first = LedgerRules(gates=tuple(map(str, DEFAULT_GATES_1)))
    assert rules_digest(first) == known
    assert checked_rules(first, DEFAULT_GATES_1) == first
    tuned = LedgerRules(judge=JudgeThresholds())
    assert rules_digest(tuned) != rules_digest(DEFAULT_RULES) != known
    assert rules_from_toml(b"[judge]") == tuned


def test_a_gate_that_a_stored_ledger_does_not_have_is_not_added() -> None:
    first = LedgerRules(gates=tuple(map(str, DEFAULT_GATES_1)))
    assert [str(gate) for gate in first.active_gates] == list(first.gates)
    assert checked_rules(first).gates != first.gates


# Support (for a 50:50 prior), contradiction, thresholds.
DECIDED = {
    "enough support": (0.5, 0.0, JudgeThresholds(), Verdict.SUPPORTED),
    "some support": (0.4999, 0.0, JudgeThresholds(), Verdict.WEAK),
    "too little support": (0.2499, 0.4999, JudgeThresholds(), Verdict.NOT_FOUND),
    "a contradiction goes first": (0.9, 0.5, JudgeThresholds(), Verdict.CONTRADICTED),
    "the last bits decide nothing": (0.49999999, 0.0, JudgeThresholds(), Verdict.SUPPORTED),
    "where most claims hold, less is enough": (
        0.3,
        0.0,
        JudgeThresholds(prior=0.9),
        Verdict.SUPPORTED,
    ),
    "where few claims hold, more is needed": (
        0.6,
        0.0,
        JudgeThresholds(prior=0.1),
        Verdict.NOT_FOUND,
    ),
}


@pytest.mark.parametrize(
    ("support", "contradiction", "thresholds", "wanted"), DECIDED.values(), ids=DECIDED.keys()
)
def test_thresholds_decide(
    support: float, contradiction: float, thresholds: JudgeThresholds, wanted: Verdict
) -> None:
    assert thresholds.verdict(support, contradiction) is wanted


REFUSED = {
    "no room for weak": (
        b"[judge]\nweak_from = 0.6",
        r"AF231: r\.toml, line 2, column 1, field judge\.weak_from: ",
    ),
    "a prior that is certain": (
        b"[judge]\nprior = 1",
        r"AF231: r\.toml, line 2, column 1, field judge\.prior: ",
    ),
    "not UTF-8": (b"\xff", r"AF230: r\.toml, line 1, column 1: .*UTF-8"),
    "not TOML": (b"a = \n", r"AF230: r\.toml, line 1, column 5: .*Invalid value"),
    "an unknown table": (
        b"[verdicts]\n",
        r"AF231: r\.toml, line 1, column 1, field verdicts: .*did you mean verdict\?",
    ),
    "an unknown key": (
        b"[risk]\nx = 1",
        r"AF231: r\.toml, line 2, column 1, field risk\.x: unknown key 'x'",
    ),
    "the wrong kind": (
        b"[risk]\ntorn_from = 'x'",
        r"AF231: r\.toml, line 2, column 1, field risk\.torn_from: ",
    ),
    "a fraction of a day": (
        b"[risk]\noutdated_after_days = 0.5",
        r"field risk\.outdated_after_days",
    ),
    "out of range": (b"[verdict]\nsupported_above = 1.5", r"field verdict\.supported_above"),
    "not a number": (b"[verdict]\nsupported_above = nan", r"field verdict\.supported_above"),
    "a gate of the wrong kind": (
        b"gates = [1]",
        r"AF231: r\.toml, line 1, column 10, field gates\[0\]: ",
    ),
    "an unknown gate": (b"gates = ['x>=1']", r"AF401: r\.toml, line 1, column 1, field gates: "),
    "no room for material": (
        b"[importance]\nmaterial_from = 99",
        r"AF231: r\.toml, line 2, column 1, field importance\.material_from: ",
    ),
}


@pytest.mark.parametrize(("data", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_a_rules_file_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(AffidavitError, match=message) as raised:
        rules_from_toml(data, "r.toml")
    assert not raised.value.message.endswith(".")
