"""The assertions: what passes, and what a failure says."""

from pathlib import Path
from typing import Any

import pytest
from tests.gates.making import GOLD, TRACE

from affidavit.ledger.gates import DEFAULT_GATES
from affidavit.pytest_plugin.assertions import assert_gate, assert_grounded

POLICY = "# Leave\n\nEmployees have 25 days of annual leave. Up to 5 days may be carried over.\n"


def failure_of(**settings: Any) -> str:
    with pytest.raises(AssertionError) as caught:
        assert_grounded(**{"judge": "lexical", "contexts": POLICY, **settings})
    return str(caught.value)


def test_an_answer_that_its_sources_hold() -> None:
    ledger = assert_grounded(
        "Employees have 25 days of annual leave.", POLICY, judge="lexical", at="2026-11-16"
    )
    assert [entry.verdict.value for entry in ledger.entries] == ["supported"]


def test_a_failure_names_the_claim_the_evidence_and_why() -> None:
    said = failure_of(answer="Employees have 40 days of annual leave.")
    lines = said.splitlines()
    assert lines[0] == "the answer is not grounded: do not ship"
    assert any(line.startswith("  because ") for line in lines)
    assert '  ✗ Contradicted: "Employees have 40 days of annual leave"' in lines
    assert any("evidence: " in line and "25 days of annual leave" in line for line in lines)
    assert any(line.startswith("      why: ") for line in lines)


def test_a_long_failure_is_cut_and_counted() -> None:
    claims = " ".join(f"Project number {n} costs {n}000 dollars in total." for n in range(14))
    assert "  and 4 more claims" in failure_of(answer=claims)


def test_gates_can_be_changed() -> None:
    answer = "Employees have 25 days of annual leave. The office is painted blue every summer."
    assert "not grounded" in failure_of(answer=answer)
    off = [f"{gate.key}=off" for gate in DEFAULT_GATES if gate.key != "contradictions"]
    assert_grounded(answer, POLICY, judge="lexical", gates=off)
    assert "not grounded" in failure_of(answer=answer, gates="supported>=0.99")


@pytest.mark.parametrize("as_text", [True, False], ids=["named by a text", "named by a path"])
def test_sources_may_be_files(as_text: bool, tmp_path: Path) -> None:
    path = tmp_path / "leave.md"
    path.write_text(POLICY)
    answer = "Employees have 25 days of annual leave."
    if as_text:
        ledger = assert_grounded(answer, sources=str(path), judge="lexical")
    else:
        ledger = assert_grounded(answer, path, judge="lexical")
    assert [document.filename for document in ledger.documents] == ["leave.md"]


def test_a_context_of_one_long_line_is_a_text() -> None:
    context = "Employees have 25 days of annual leave. " * 12
    assert 256 < len(context) < 999
    assert_grounded("Employees have 25 days of annual leave.", [context], judge="lexical")


def test_a_claim_without_support_shows_the_nearest_passage() -> None:
    said = failure_of(answer="Employees may bring their dogs on Fridays.").splitlines()
    nearest = next(line for line in said if "nearest passage: " in line)
    assert "(context 1" in nearest


ERRORS = {
    "nothing to check": {"answer": " "},
    "a source that is not there": {"answer": "A claim.", "sources": Path("none.md")},
    "a text among the paths": {"answer": "A claim.", "sources": POLICY},
    "a judge that is none": {"answer": "A claim.", "judge": "nobody"},
    "a gate that is none": {"answer": "A claim.", "gates": "colour>=1"},
    "no documents": {"answer": "A claim.", "contexts": []},
}


@pytest.mark.parametrize("settings", ERRORS.values(), ids=ERRORS.keys())
def test_what_cannot_be_checked_fails_in_one_line(settings: dict[str, Any]) -> None:
    with pytest.raises(pytest.fail.Exception) as caught:
        assert_grounded(**{"judge": "lexical", "contexts": POLICY, **settings})
    assert str(caught.value).startswith("AF")
    assert "\n" not in str(caught.value)
    assert caught.value.pytrace is False


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise ModuleNotFoundError("No module named 'tantivy'", name="tantivy")

    monkeypatch.setattr("affidavit.app.check.judge_for", missing)
    with pytest.raises(pytest.fail.Exception) as caught:
        assert_grounded("A claim.", POLICY, judge="lexical")
    assert str(caught.value).startswith("AF003")
    assert "affidavit[ledger]" in str(caught.value)


def test_another_missing_module_is_a_defect_and_shown_as_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(*_: object) -> None:
        raise ModuleNotFoundError("No module named 'ours'", name="ours")

    monkeypatch.setattr("affidavit.app.check.judge_for", missing)
    with pytest.raises(ModuleNotFoundError):
        assert_grounded("A claim.", POLICY, judge="lexical")


FREE: dict[str, Any] = {name: value for name, value in GOLD.items() if name != "constraints"}
NONE: dict[str, Any] = {**FREE, "qid": "U1", "answerable": False, "gold_claim_substr": []}
REFUSED: dict[str, Any] = {**TRACE, "qid": "U1", "answer_json": {"claim": "not in context"}}
WRONG: dict[str, Any] = {**TRACE, "answer_json": {"claim": "It depends.", "citations": ["p9"]}}


def test_a_gate_over_rows() -> None:
    report = assert_gate(gold=[FREE, NONE], trace=[TRACE, REFUSED], gates="precision>=1")
    assert report.decision.value == "ship"


def test_a_gate_over_files(tmp_path: Path) -> None:
    import msgspec

    for name, rows in (("gold", [FREE, NONE]), ("trace", [TRACE, REFUSED])):
        lines = b"".join(msgspec.json.encode(row) + b"\n" for row in rows)
        (tmp_path / f"{name}.jsonl").write_bytes(lines)
    assert_gate(gold=str(tmp_path / "gold.jsonl"), trace=[tmp_path / "trace.jsonl"])


def test_a_gate_that_fails_says_which_question_and_why() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_gate(gold=[FREE, NONE], trace=[WRONG, REFUSED])
    lines = str(caught.value).splitlines()
    assert lines[0] == "the gate does not pass: do not ship: 2 passed, 2 failed"
    assert "  because precision is 0 (0 of 1), but precision>=0.8 is asked" in lines
    assert "  A0001 (line 1): Does X support null keys?" in lines
    assert '      wrong answer (fails C, H): "It depends."' in lines
    assert any(line.startswith("  next: ") for line in lines)


def test_nothing_to_measure_is_no_pass() -> None:
    with pytest.raises(AssertionError, match="could not tell"):
        assert_gate(gold=[FREE], trace=[])


def test_rows_that_are_none_fail_in_one_line() -> None:
    with pytest.raises(pytest.fail.Exception, match=r"^AF4.*: the rows of trace") as caught:
        assert_gate(gold=[FREE], trace=[{"qid": "A0001"}])
    assert "affidavit-pytest" not in str(caught.value)


@pytest.mark.parametrize(
    "claim", ["half a letter \udc80", object()], ids=["half a letter", "no value of JSON"]
)
def test_rows_that_cannot_be_written_fail_in_one_line(claim: object) -> None:
    rows: list[dict[str, Any]] = [
        {"qid": "A0001", "answer_json": None},
        {"qid": "b", "answer_json": {"claim": claim}},
    ]
    with pytest.raises(pytest.fail.Exception, match=r"^AF407: the rows of trace, line 2: "):
        assert_gate(gold=[FREE], trace=rows)


def test_a_file_that_is_missing_keeps_its_name() -> None:
    with pytest.raises(pytest.fail.Exception, match=r"^AF010: none\.jsonl: "):
        assert_gate(gold=[FREE], trace="none.jsonl")
