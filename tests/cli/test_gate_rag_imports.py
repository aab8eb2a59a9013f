"""`affidavit gate rag` with files of other tools: joined by name or by question, and decided."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.gate_files import lines, report_of
from tests.cli.running import run

FILES = Path(__file__).parent.parent / "importers" / "files"
LEAVE = "How many days of annual leave do I get?"
NOTICE = 'How early must I ask, and what does "in advance" mean?'
KEEP = "Can I keep what I don't use?"
QUIZ = "Who won the staff quiz, and with how many points?"


def gold_item(qid: str, question: str, claim: str, citation: str) -> dict[str, Any]:
    claims, citations = [claim], [citation]
    fields = {"gold_claim_substr": claims, "gold_citations": citations}
    return {"qid": qid, "question": question, "answerable": True, **fields}


GOLD = [
    gold_item("leave-days", LEAVE, "15 days", "policy#4.1"),
    gold_item("notice", f"  {NOTICE.upper()}\n", "2 weeks", "guide#2"),
    gold_item("carryover", KEEP, "5 days at most", "policy#4.2"),
    {"qid": "quiz", "question": QUIZ, "answerable": False},
]


@pytest.mark.parametrize(
    "file", ["gen_ai.jsonl", "openinference.jsonl", "langfuse.json", "langfuse_otlp.jsonl"]
)
def test_recorded_traces_meet_our_own_gold_set(tmp_path: Path, file: str) -> None:
    gold = lines(tmp_path / "gold.jsonl", GOLD)
    code, report = report_of("rag", "--gold", gold, "--trace", str(FILES / file))
    assert (code, report["decision"]) == (1, "no_ship")
    assert report["counts"]["missing"] == report["listings"]["traces_without_gold"]["total"] == 0
    precision = report["metrics"]["precision"]
    assert (precision["numerator"], precision["denominator"]) == (2, 3)
    assert report["metrics"]["under_refusal"]["value"] == 0
    assert report["offenders"][0]["qid"] == "carryover"
    assert report["offenders"][0]["claim"] == "All of it can be carried forward."


def test_a_question_of_several_gold_items_joins_none_and_is_listed(tmp_path: Path) -> None:
    gold = lines(tmp_path / "gold.jsonl", [*GOLD, {**GOLD[0], "qid": "leave-again"}])
    _, report = report_of("rag", "--gold", gold, "--trace", str(FILES / "gen_ai.jsonl"))
    same = {"total": 2, "first": ["leave-again", "leave-days"]}
    assert report["listings"]["same_question"] == same
    assert report["listings"]["missing_traces"] == same
    assert report["listings"]["traces_without_gold"]["total"] == 1
    assert any("their question in common" in warning for warning in report["warnings"])


def test_traces_with_a_qid_need_no_question(tmp_path: Path) -> None:
    gold = lines(tmp_path / "gold.jsonl", [*GOLD, {**GOLD[0], "qid": "leave-again"}])
    _, report = report_of("rag", "--gold", gold, "--trace", str(FILES / "langfuse.json"))
    assert "same_question" not in report["listings"]
    assert report["listings"]["missing_traces"]["first"] == ["leave-again"]


def test_a_gold_set_of_another_tool_has_the_same_names(tmp_path: Path) -> None:
    named = [{"user_input": each["question"], "reference": "15 days"} for each in GOLD]
    gold = lines(tmp_path / "gold.jsonl", named)
    _, report = report_of("rag", "--gold", gold, "--trace", str(FILES / "gen_ai.jsonl"))
    assert (report["counts"]["missing"], report["counts"]["shipped"]) == (0, 3)


def test_gold_items_without_a_question_are_not_matched(tmp_path: Path) -> None:
    gold = lines(tmp_path / "gold.jsonl", [{**each, "question": " "} for each in GOLD])
    code, report = report_of("rag", "--gold", gold, "--trace", str(FILES / "gen_ai.jsonl"))
    assert (code, report["counts"]["missing"]) == (3, 4)
    assert "same_question" not in report["listings"]


def test_the_refusal_token_is_the_reference_of_what_has_no_answer(tmp_path: Path) -> None:
    rows = [
        {"user_input": "one?", "response": "nil", "reference": "nil", "retrieved_contexts": ["x"]},
        {"user_input": "two?", "response": "a lion", "reference": "a lion"},
    ]
    file = lines(tmp_path / "ragas.jsonl", rows)
    _, report = report_of("rag", file, "--refusal", " nil ")
    assert (report["counts"]["unanswerable"], report["counts"]["refused"]) == (1, 1)
    assert report["metrics"]["under_refusal"]["value"] == 0
    _, report = report_of("rag", file)
    assert (report["counts"]["unanswerable"], report["counts"]["refused"]) == (0, 0)
    _, report = report_of("rag", "--gold", file, "--trace", file, "--refusal", "nil")
    assert report["counts"]["unanswerable"] == 1


def test_scores_of_the_file_are_reported_and_decide_nothing(tmp_path: Path) -> None:
    row = {"user_input": "two?", "response": "a lion", "reference": "a lion"}
    scored = [
        {**row, "user_input": f"{n}?", "faithfulness": score, "grade": "C"}
        for n, score in enumerate([0.1, 0.2, 0.3, None])
    ]
    outcomes = []
    for name, rows in (("one", scored), ("other", scored[::-1]), ("none", [row] * 4)):
        file = lines(tmp_path / f"{name}.jsonl", rows)
        _, report = report_of("rag", file)
        outcomes.append((report["decision"], report["details"]))
    summed = {"n": 3, "mean": 0.2, "min": 0.1, "max": 0.3, "not_measured": 1, "labels": 0}
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][1]["other_scores"]["ragas.faithfulness"] == summed
    assert outcomes[0][1]["other_scores"]["ragas.grade"]["labels"] == 4
    assert outcomes[2] == (outcomes[0][0], {})
    told = run("gate", "rag", str(tmp_path / "one.jsonl")).stdout
    said = "scores that the file brings: ragas.faithfulness 0.2 (n 3); not used for the decision"
    assert told.count(said) == 1


def test_the_worst_of_several_kinds_of_files(tmp_path: Path) -> None:
    """Rows are located in each file, even after blank lines and rows of another tool."""
    gold = lines(tmp_path / "gold.jsonl", [*GOLD, {**GOLD[0], "qid": "own", "question": ""}])
    wrong = {"qid": "own", "answer_json": {"claim": "It depends."}, "retrieved_ids": []}
    stray = {**wrong, "qid": "stray"}
    own = lines(tmp_path / "own.jsonl", ["", json.dumps(stray), "", json.dumps(wrong), ""])
    tool = str(FILES / "gen_ai.jsonl")
    for traces in ((own, tool), (tool, own)):
        named = [word for trace in traces for word in ("--trace", trace)]
        _, report = report_of("rag", "--gold", gold, *named)
        assert report["inputs"]["trace"]["places"] == {
            "own": {"file": own, "line": 4},
            "carryover": {"file": tool, "line": 7},
        }


def test_a_number_out_of_range_is_reported_with_its_line(tmp_path: Path) -> None:
    row = '{"user_input": "q", "response": "r", "reference": "r", "score": ' + "9" * 60 + "}"
    result = run("gate", "rag", lines(tmp_path / "rows.jsonl", [row]))
    assert result.exit_code == 2
    assert "line 1" in result.stderr
    assert "AF419" not in result.stderr


def test_a_compressed_file_is_read_whatever_its_name(tmp_path: Path) -> None:
    trace = {"qid": "leave-days", "answer_json": {"claim": "15 days"}, "retrieved_ids": []}
    plain = lines(tmp_path / "plain.jsonl", [trace, {**trace, "qid": "notice"}])
    packed = tmp_path / "trace.jsonl"
    packed.write_bytes(gzip.compress(Path(plain).read_bytes()))
    gold = lines(tmp_path / "gold.jsonl", GOLD)
    _, wanted = report_of("rag", "--gold", gold, "--trace", plain)
    _, report = report_of("rag", "--gold", gold, "--trace", str(packed))
    assert report["counts"] == wanted["counts"]
    assert report["metrics"] == wanted["metrics"]
    packed.write_bytes(packed.read_bytes()[:-9])
    result = run("gate", "rag", "--gold", gold, "--trace", str(packed), "--skip-bad")
    assert (result.exit_code, result.stderr[:5]) == (2, "AF423")


def test_a_folder_of_a_saved_data_set_is_read() -> None:
    _, report = report_of("rag", str(FILES / "huggingface"))
    _, wanted = report_of("rag", str(FILES / "huggingface.parquet"))
    assert report["counts"] == wanted["counts"]
    assert report["counts"]["unanswerable"] == 1
    result = run("gate", "rag", str(FILES))
    assert (result.exit_code, result.stderr[:5]) == (2, "AF296")


def test_a_reference_that_refuses_in_other_words_marks_an_unanswerable_question(
    tmp_path: Path,
) -> None:
    words = "The provided documents do not mention this."
    rows = [
        {"user_input": "one?", "response": words, "reference": words},
        {"user_input": "two?", "response": "a lion", "reference": "not just a lion"},
    ]
    file = lines(tmp_path / "ragas.jsonl", rows)
    for options, wanted in (((), 1), (("--refusal-mode", "exact"), 0)):
        _, report = report_of("rag", file, *options)
        assert report["counts"]["unanswerable"] == wanted
        _, report = report_of("rag", "--gold", file, "--trace", file, *options)
        assert report["counts"]["unanswerable"] == wanted


def test_invalid_rows_are_reported_or_skipped(tmp_path: Path) -> None:
    """A list has no lines, so the place is the number of the row."""
    file = tmp_path / "rows.json"
    trace = {"qid": "leave-days", "answer_json": {"claim": "It is 15 days."}, "retrieved_ids": []}
    bad = [{**GOLD[1], "gold_citations": "p"}, {"qid": "notice", "answer_json": {"claim": 7}}]
    file.write_text(json.dumps([GOLD[0], trace, *bad]))
    code, report = report_of("rag", "--skip-bad", str(file))
    assert (code, report["counts"]["gold"], report["counts"]["traces"]) == (1, 1, 1)
    assert [report["inputs"][role]["skipped"] for role in ("gold", "trace")] == [0, 2]
    result = run("gate", "rag", str(file))
    assert result.exit_code == 2
    assert "AF406" in result.stderr


@pytest.mark.parametrize("raw", [b"", b"\n \n"], ids=["no byte", "blank lines"])
@pytest.mark.parametrize("name", ["rows.jsonl", "rows.csv"])
def test_an_empty_file_decides_nothing(tmp_path: Path, name: str, raw: bytes) -> None:
    """An empty file could be of any tool; the error only says that it is empty."""
    file = tmp_path / name
    file.write_bytes(raw)
    code, report = report_of("rag", str(file))
    assert (code, report["decision"]) == (3, "inconclusive")
    assert report["reasons"][0] == "the gold set is empty"


def test_an_empty_file_beside_one_with_rows(tmp_path: Path) -> None:
    empty = lines(tmp_path / "empty.jsonl", [])
    row = {"user_input": "one?", "response": "a lion", "reference": "a lion"}
    _, alone = report_of("rag", lines(tmp_path / "ragas.jsonl", [row]))
    _, both = report_of("rag", empty, str(tmp_path / "ragas.jsonl"))
    assert both["counts"] == alone["counts"]


SAID_OTHERWISE = {
    "user_input": "What is the capital of France?",
    "reference": "Paris is the capital of the whole country of France.",
    "response": "The capital of France is Paris.",
}
ENOUGH = ("--gates", "precision=off", "chr=off", "containment=0.80", "under_refusal=off")


def test_a_note_says_that_sentence_references_must_match_literally(
    tmp_path: Path,
) -> None:
    rows = [SAID_OTHERWISE, {"user_input": "Who?", "reference": "Victor Hugo", "response": "Hugo"}]
    code, report = report_of("rag", lines(tmp_path / "ragas.jsonl", rows))
    (said,) = (each for each in report["warnings"] if each.startswith("references of more"))
    assert (code, said[:36]) == (1, "references of more than 8 words: 1; ")
    held = {**SAID_OTHERWISE, "response": SAID_OTHERWISE["reference"]}
    _, report = report_of("rag", lines(tmp_path / "ragas.jsonl", [held]))
    assert report["warnings"] == []


def test_a_file_without_citations_can_be_decided_by_containment(
    tmp_path: Path,
) -> None:
    """By default it is inconclusive, and the advice says how to decide without citations."""
    row = {"user_input": "What is it?", "reference": "a lion", "response": "It is a lion."}
    file = lines(tmp_path / "ragas.jsonl", [row])
    code, report = report_of("rag", file)
    assert (code, report["metrics"]["precision"]["not_measured"]) == (3, 1)
    assert any("containment=0.80" in step["do"] for step in report["next_steps"])
    code, report = report_of("rag", file, *ENOUGH)
    assert (code, report["decision"], report["metrics"]["containment"]["value"]) == (0, "ship", 1)
    wrong = lines(tmp_path / "wrong.jsonl", [{**row, "response": "It is a dog."}])
    assert report_of("rag", wrong, *ENOUGH)[0] == 1


def test_citations_of_an_offender_are_null_if_not_recorded(tmp_path: Path) -> None:
    """A missing list does not mean that nothing was cited."""
    row = {"user_input": "What is it?", "reference": "a lion", "response": "It is a dog."}
    _, report = report_of("rag", lines(tmp_path / "ragas.jsonl", [row]))
    (offender,) = report["offenders"]
    assert (offender["citations"], offender["retrieved_ids"]) == (None, None)
    told = run("gate", "rag", str(tmp_path / "ragas.jsonl")).stdout
    assert "cited not recorded; gold –; retrieved not recorded" in told


def test_a_refusal_token_without_a_letter_is_refused() -> None:
    ended = run("gate", "rag", "results.csv", "--refusal", " ")
    assert (ended.exit_code, ended.stderr[:6]) == (2, "AF001:")
