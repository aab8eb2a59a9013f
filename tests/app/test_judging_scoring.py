"""Rows of claims and evidence: how they are read, and that a score equals the ledger's verdict."""

import gzip
import json
import pickle
from io import BufferedReader, BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.app.stub_judge import StubJudge

from affidavit.app.judge_evaluation import MEANINGS, meaning_of
from affidavit.app.judge_scoring import (
    NO_EVIDENCE,
    JudgedRow,
    RowFault,
    RowLine,
    batches,
    judge_row,
    outcome_of_line,
    row_from_value,
    row_lines_of,
    row_name,
    row_value,
    score_line,
)
from affidavit.base.errors import AffidavitError
from affidavit.judge.lexical.judge import LexicalJudge
from affidavit.judge.thresholded import with_thresholds
from affidavit.ledger.model import Verdict
from affidavit.ledger.rules import DEFAULT_RULES, JudgeThresholds, LedgerRules


def line(number: int = 1, **row: Any) -> RowLine:
    return RowLine(number, json.dumps(row).encode())


def judged(**row: Any) -> JudgedRow:
    found = outcome_of_line(line(**row), StubJudge(), DEFAULT_RULES)
    assert isinstance(found, JudgedRow), found
    return found


def stream(data: bytes) -> BufferedReader:
    return BufferedReader(BytesIO(data))


def lines_in(data: bytes) -> list[tuple[int, bytes]]:
    return [(each.number, each.text) for each in row_lines_of(stream(data))]


# Lines.

LINES = {
    "plain": (b"a\nb\n", [(1, b"a"), (2, b"b")]),
    "no line end at the end": (b"a\nb", [(1, b"a"), (2, b"b")]),
    "blank lines are counted": (b"\n \na\n", [(3, b"a")]),
    "nothing": (b"", []),
    "gzip by its content": (gzip.compress(b"a\n\nb\n"), [(1, b"a"), (3, b"b")]),
    "two gzip members": (gzip.compress(b"a\n") + gzip.compress(b"b\n"), [(1, b"a"), (2, b"b")]),
}


@pytest.mark.parametrize(("data", "wanted"), LINES.values(), ids=LINES.keys())
def test_lines(data: bytes, wanted: list[tuple[int, bytes]]) -> None:
    assert lines_in(data) == wanted


DAMAGED = {
    "cut off": gzip.compress(b"a\n" * 5000)[:40],
    "garbage inside": gzip.compress(b"a\n")[:10] + b"\xff" * 30,
    "garbage behind": gzip.compress(b"a\n") + b"garbage",
}


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED.keys())
def test_damaged_gzip_is_reported(data: bytes) -> None:
    with pytest.raises(AffidavitError) as caught:
        lines_in(data)
    assert caught.value.fault.name == "judge_row.gzip"
    assert not caught.value.message.endswith(".")


def test_a_disk_error_is_reported() -> None:
    class Failing(BytesIO):
        def readinto(self, buffer: Any) -> int:
            raise OSError(5, "Input/output error")

        def read(self, size: int | None = -1) -> bytes:
            raise OSError(5, "Input/output error")

    class Opened(BufferedReader):
        def peek(self, size: int = 0, /) -> bytes:
            return b"{}"

    with pytest.raises(AffidavitError, match=r"AF011.*Input/output error"):
        list(row_lines_of(Opened(Failing())))


def test_batches_end_by_rows_and_by_bytes() -> None:
    small = [RowLine(number, b"x") for number in range(70)]
    assert [len(batch) for batch in batches(small)] == [32, 32, 6]
    large = [RowLine(number, b"x" * 700_000) for number in range(3)]
    assert [len(batch) for batch in batches(large)] == [2, 1]


# Rows.

ROWS = {
    "the product's names": (
        {"id": "a", "claim": "c", "evidence": "e"},
        ("a", "c", ("e",), None),
    ),
    "the names of data sets": (
        {"hypothesis": "c", "premise": ["e", "f"], "label": "supported"},
        ("1", "c", ("e", "f"), "supported"),
    ),
    "a number as the id, a truth as the label": (
        {"id": 7, "claim": "c", "evidence": [], "label": True},
        ("7", "c", (), "true"),
    ),
    "a number as the label": (
        {"claim": "c", "evidence": "", "label": 0},
        ("1", "c", ("",), "0"),
    ),
    "whatever else there is": (
        {"claim": "c", "evidence": "e", "meta": {"x": [1]}, "id": None},
        ("1", "c", ("e",), None),
    ),
}


@pytest.mark.parametrize(("row", "wanted"), ROWS.values(), ids=ROWS.keys())
def test_rows(row: dict[str, Any], wanted: tuple[Any, ...]) -> None:
    given = line(**row)
    found = row_from_value(row_value(given), given)
    assert (found.id, found.claim, found.evidence, found.label) == wanted


MALFORMED = {
    "not JSON": (b"{", "AF0", "9", None),
    "a list": (b"[1]", "AF285", "9", None),
    "a claim that is not text": (b'{"id":"x","claim":3,"evidence":"e"}', "AF285", "x", "claim"),
    "no claim": (b'{"id":"x","evidence":"e"}', "AF285", "x", "claim"),
    "no evidence": (b'{"id":"x","claim":"c"}', "AF285", "x", "evidence"),
    "evidence of numbers": (b'{"claim":"c","evidence":["e",1]}', "AF285", "9", "evidence[1]"),
    "two equal keys": (b'{"claim":"c","claim":"d","evidence":""}', "AF0", "9", None),
    "an empty claim": (b'{"id":"x","claim":" ","evidence":"e"}', "AF286", "x", "claim"),
}


@pytest.mark.parametrize(
    ("text", "code", "name", "field"), MALFORMED.values(), ids=MALFORMED.keys()
)
def test_a_row_that_cannot_be_judged_is_reported_with_its_line(
    text: bytes, code: str, name: str, field: str | None
) -> None:
    found = outcome_of_line(RowLine(9, text), StubJudge(), DEFAULT_RULES)
    assert isinstance(found, RowFault)
    assert (found.id, found.line, found.error.where.line) == (name, 9, 9)
    assert found.error.fault.code.startswith(code)
    if code == "AF285" or code == "AF286":
        assert found.error.where.field == field
    said = json.loads(score_line(found))
    assert said["id"] == name
    assert said["error"]["line"] == 9
    # An error keeps its code and place when another process raises it.
    assert pickle.loads(pickle.dumps(found)).error.as_wire() == found.error.as_wire()  # noqa: S301 - our own bytes


def test_an_invalid_row_is_named_by_its_line() -> None:
    assert row_name({"id": [1]}, RowLine(4, b"")) == "4"
    assert row_name("text", RowLine(4, b"")) == "4"


# Scores.


def test_a_score_names_what_it_rests_on() -> None:
    found = judged(id="a", claim="c", evidence=["0.8 0.1", " "], label="weak")
    assert found.support == 0.8
    assert found.score.confidence == pytest.approx(0.6 * 0.9 + 0.15 + 0.05)
    assert json.loads(score_line(found)) == {
        "id": "a",
        "verdict": "supported",
        "support": 0.8,
        "contradiction": 0.1,
        "confidence": 0.74,
        "snippet": "0.8 0.1",
        "notes": "it says 0.8 0.1",
        "label": "weak",
    }


def test_a_contradiction_goes_first_and_is_named() -> None:
    found = judged(claim="c", evidence="0.9 0.7")
    assert (found.score.verdict, found.score.confidence) == (Verdict.CONTRADICTED, 0.7)
    assert found.score.snippet == "0.9 0.7"
    assert b"label" not in score_line(found)


def test_a_claim_that_is_not_found_names_the_closest_passage() -> None:
    found = judged(claim="c", evidence="0.4 0.0").score
    assert (found.verdict, found.confidence, found.snippet) == (Verdict.NOT_FOUND, 0.0, "0.4 0.0")


@pytest.mark.parametrize("evidence", ["", " \n", [], ["", " "]])
def test_without_evidence_the_verdict_is_not_found(evidence: object) -> None:
    found = judged(claim="c", evidence=evidence).score
    assert (found.verdict, found.support, found.notes) == (Verdict.NOT_FOUND, 0.0, NO_EVIDENCE)


@pytest.mark.parametrize("support", ["1.5", "nan", "-0.1"])
def test_a_support_outside_0_to_1_is_a_defect_of_the_judge(support: str) -> None:
    given = line(claim="c", evidence=f"{support} 0.0")
    found = outcome_of_line(given, StubJudge(), DEFAULT_RULES)
    assert isinstance(found, RowFault)
    assert found.error.fault.name == "reading.score"


SCORES = st.floats(0, 1).map(lambda value: round(value, 3))
THRESHOLDS = st.builds(
    lambda bounds, contradicted, prior: JudgeThresholds(
        max(bounds), min(bounds), contradicted, prior
    ),
    st.tuples(SCORES, SCORES),
    SCORES,
    st.floats(0.05, 0.95),
)


def test_a_claim_may_rest_on_two_texts() -> None:
    claim = "The pump has two stages. The motor was built in Turin."
    texts = ["The pump has two stages.", "The motor was built in Turin."]
    given = line(claim=claim, evidence=texts)
    row = row_from_value(row_value(given), given)
    assert judge_row(row, LexicalJudge(), DEFAULT_RULES).score.verdict is Verdict.SUPPORTED


@given(SCORES, SCORES, THRESHOLDS)
def test_with_thresholds_the_thresholds_decide(
    support: float, against: float, thresholds: JudgeThresholds
) -> None:
    rules = LedgerRules(judge=thresholds)
    given = line(claim="c", evidence=f"{support} {against}")
    row = row_from_value(row_value(given), given)
    found = judge_row(row, with_thresholds(StubJudge(), thresholds), rules).score
    assert found.verdict is thresholds.verdict(support, against)
    assert found.support == thresholds.shifted(support)


def test_without_thresholds_the_judge_decides() -> None:
    own = StubJudge()
    assert with_thresholds(own, None) is own
    assert with_thresholds(own, JudgeThresholds()).identity == own.identity


# Labels.

LABELS = {
    "supported": ("supported", True, False),
    "Entailment": ("supported", True, False),
    "true": ("supported", True, False),
    "1": ("supported", True, False),
    "partial": ("partial", False, None),
    "weak": ("partial", False, None),
    "REFUTES": ("refuted", False, True),
    "contradicted": ("refuted", False, True),
    "neutral": ("neutral", False, False),
    "NOT ENOUGH INFO": ("neutral", False, False),
    "not-found": ("neutral", False, False),
    "not_supported": ("not_supported", False, None),
    "false": ("not_supported", False, None),
    "0": ("not_supported", False, None),
}


@pytest.mark.parametrize(("label", "wanted"), LABELS.items(), ids=LABELS.keys())
def test_labels(label: str, wanted: tuple[str, bool, bool | None]) -> None:
    found = meaning_of(label, 1)
    assert (found.name, found.is_supported, found.is_contradicted) == wanted
    assert found in MEANINGS


@pytest.mark.parametrize(
    ("label", "said"), [("maybe", "no label is spelled 'maybe'"), (None, "no label")]
)
def test_an_unknown_label_is_reported_with_its_line(label: str | None, said: str) -> None:
    with pytest.raises(AffidavitError, match=f"AF287: line 3, field label: .*{said}"):
        meaning_of(label, 3)
