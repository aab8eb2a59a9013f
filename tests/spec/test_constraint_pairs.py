"""The labelled pairs of constraints and claims, read by the rules and the judge of `gate rag`."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.gates.making import gold, profile, trace

from affidavit.app.gate_rag import CONSTRAINT_JUDGE
from affidavit.judge.lexical.contradiction import contradicts
from affidavit.judge.lexical.judge import LexicalJudge

Pair = dict[str, Any]
PAIRS: list[Pair] = yaml.safe_load(
    (Path(__file__).parent / "constraint_pairs.yaml").read_text("utf-8")
)
# They need knowledge that neither the rules nor the judge has.
NOT_SEEN = {
    "another size of an upload",
    "another approver",
    "an uncertain opposite is an opposite",
}
FALSE_ALARMS = {"a value inside the limit", "another product"}


def is_lost(pair: Pair) -> bool:
    """Tell whether `gate rag` says that the claim loses the constraint."""
    found = profile(
        gold(constraints=[pair["constraint"]]),
        trace({"claim": pair["claim"], "constraints_echo": [pair["constraint"]]}),
        constraint_judge=CONSTRAINT_JUDGE,
    )
    return found.keeps is False


def test_nine_in_ten_pairs_are_right() -> None:
    wrong = [pair["id"] for pair in PAIRS if is_lost(pair) != pair["contradicts"]]
    assert len(PAIRS) >= 60
    assert len(wrong) <= 0.1 * len(PAIRS), wrong


@pytest.mark.parametrize(
    "pair",
    [pair for pair in PAIRS if pair["id"] not in NOT_SEEN | FALSE_ALARMS],
    ids=lambda pair: pair["id"],
)
def test_pair(pair: Pair) -> None:
    assert is_lost(pair) == pair["contradicts"]


def test_the_report_names_the_judge_that_is_asked() -> None:
    identity = LexicalJudge().identity
    assert CONSTRAINT_JUDGE.name == f"{identity.name} {identity.version}"


SILENT = {
    "nothing is said": ("The map rejects null keys.", ""),
    "nothing is locked": ("", "Null keys are accepted."),
    "another language, which the rules do not read": (
        "Die Karte lehnt leere Schlüssel immer ab.",
        "Die Karte lehnt leere Schlüssel niemals ab.",
    ),
    "a long answer that repeats the constraint": (
        "All data is encrypted.",
        "All data is encrypted. " * 200,
    ),
}


@pytest.mark.parametrize(("constraint", "claim"), SILENT.values(), ids=SILENT)
def test_no_contradiction_is_made_up(constraint: str, claim: str) -> None:
    assert not contradicts(constraint, claim)
