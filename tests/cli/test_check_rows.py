"""`affidavit check` of rows with inline contexts: a ledger per row, and one summary."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.cli.gate_files import code_of, lines
from tests.cli.running import run

POLICY = "Employees are entitled to 25 days of annual leave. Requests need two weeks' notice."
RIGHT = "Employees are entitled to 25 days of annual leave."
WRONG = "Employees are entitled to 40 days of annual leave."
AT = ("--at", "2026-01-05")


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def checked(file: str, *options: str) -> tuple[int, dict[str, Any]]:
    result = run("check", file, *AT, *options, "--json")
    return result.exit_code, json.loads(result.stdout)


@pytest.mark.parametrize("name", ["contexts", "retrieved_contexts", "documents"])
def test_contexts_under_their_usual_names(name: str) -> None:
    rows = [
        {"id": "a", "answer": RIGHT, name: [POLICY]},
        {"id": "b", "answer": WRONG, name: [{"text": POLICY, "id": "hr"}]},
    ]
    code, made = checked(lines(Path("rows.jsonl"), rows))
    assert (code, [each["decision"] for each in made["answers"]]) == (1, ["ship", "no_ship"])
    assert made["summary"]["contradicted"] == 1
    assert made["summary"]["worst"] == ["b"]
    assert made["summary"]["risks"] == {"contradiction": 1}
    shown = run("sessions", "show", made["answers"][1]["session_id"])
    assert "40 days" in shown.stdout


def test_sources_are_paths_if_strings_and_texts_if_objects() -> None:
    Path("policy.md").write_text(POLICY)
    rows = [
        {"id": "path", "answer": RIGHT, "sources": ["policy.md"]},
        {"id": "text", "answer": RIGHT, "sources": [{"text": POLICY}]},
        {"id": "neither", "answer": RIGHT, "sources": [POLICY * 5]},
    ]
    code, made = checked(lines(Path("rows.jsonl"), rows))
    assert code == 3
    assert [each["decision"] for each in made["answers"]] == ["ship", "ship", "inconclusive"]
    assert made["summary"]["errors"] == 1
    assert made["answers"][2]["error"].startswith("AF216")


def test_a_table_of_another_tool() -> None:
    Path("rows.csv").write_text(
        f'question,answer,contexts\nLeave?,{RIGHT},"[""{POLICY}""]"\nLeave?,{WRONG},"[""{POLICY}""]"\n'
    )
    code, made = checked("rows.csv")
    assert (code, made["summary"]["ship"], made["summary"]["no_ship"]) == (1, 1, 1)
    first, second = (each["id"] for each in made["answers"])
    assert second == f"{first}#2"


def test_parquet() -> None:
    import pyarrow
    from pyarrow import parquet

    table = pyarrow.table({"question": ["Leave?"], "answer": [WRONG], "contexts": [[POLICY]]})
    parquet.write_table(table, "rows.parquet")
    assert checked("rows.parquet")[0] == 1


def test_a_column_can_be_named() -> None:
    rows = [{"question": "Leave?", "answer": WRONG, "found": [POLICY]}]
    code, made = checked(lines(Path("rows.jsonl"), rows), "--map", "contexts=found")
    assert (code, made["summary"]["contradicted"]) == (1, 1)


REFUSED = {
    "texts and paths in one row": {"sources": ["x.md"], "contexts": [POLICY]},
    "two lists of texts": {"documents": [POLICY], "contexts": [POLICY]},
    "a text that is no list": {"contexts": POLICY},
    "an element without a text": {"contexts": [{"id": "a"}]},
    "an element that is nothing": {"contexts": [{}]},
    "texts and paths in one list": {"sources": [{"text": POLICY}, "x.md"]},
}


@pytest.mark.parametrize("more", REFUSED.values(), ids=REFUSED.keys())
def test_texts_and_paths_are_never_guessed(more: dict[str, Any]) -> None:
    file = lines(Path("rows.jsonl"), [{"id": "a", "answer": RIGHT, **more}])
    result = run("check", file, *AT)
    assert (result.exit_code, code_of(result)) == (2, "AF273")


def test_a_row_without_any_source_is_an_error_of_that_row() -> None:
    rows = [{"id": "a", "answer": RIGHT}, {"id": "b", "answer": RIGHT, "contexts": [POLICY]}]
    code, made = checked(lines(Path("rows.jsonl"), rows))
    assert code == 3
    assert "AF246" in made["answers"][0]["error"]
    assert made["answers"][1]["decision"] == "ship"


def test_a_bad_line_is_skipped_counted_and_never_a_yes() -> None:
    good = {"id": "a", "answer": RIGHT, "contexts": [POLICY]}
    file = lines(Path("rows.jsonl"), [good, '{"id": "b", "answer', {**good, "id": "c"}])
    assert run("check", file, *AT).exit_code == 2
    code, made = checked(file, "--skip-bad")
    assert (code, made["summary"]["answers"], made["summary"]["skipped"]) == (3, 2, 1)
    told = run("check", file, *AT, "--skip-bad")
    assert "were skipped: 1" in told.stdout
    assert "rows.jsonl, line 2" in told.stderr
    Path("rows.csv").write_text(f'question,answer,contexts\nLeave?,,"[""{POLICY}""]"\n')
    assert code_of(run("check", "rows.csv", *AT)) == "AF273"


def test_findings_about_sources_are_told_once(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "policy.md").write_text(POLICY)
    (docs / "odd.bin").write_bytes(b"\x00\x01\x02" * 50)
    file = lines(Path("rows.jsonl"), [{"id": name, "answer": RIGHT} for name in "abc"])
    told = run("check", file, "--sources", "docs", *AT).stdout
    assert told.count("odd.bin") == 1


def test_of_very_many_answers_the_worst_are_listed() -> None:
    rows = [
        {"id": f"r{n:03}", "answer": WRONG if n == 7 else RIGHT, "contexts": [POLICY]}
        for n in range(210)
    ]
    told = run("check", lines(Path("rows.jsonl"), rows), *AT, "--judge", "lexical").stdout
    assert "r007" in told
    assert "r008" not in told
    assert "210 answers: 209 ship, 1 do not ship" in told


def test_a_second_run_resumes_and_processes_do_not_matter() -> None:
    rows = [{"id": f"r{n}", "answer": RIGHT, "contexts": [POLICY]} for n in range(6)]
    file = lines(Path("rows.jsonl"), rows)
    first = checked(file, "--output", "one.jsonl")
    half = Path("one.jsonl").read_bytes().splitlines(keepends=True)[:3]
    Path("two.jsonl").write_bytes(b"".join(half) + b'{"id":"r3","ke')
    assert checked(file, "--output", "two.jsonl", "-j", "2") == first


def test_one_answer_needs_sources_and_has_no_columns() -> None:
    Path("answer.md").write_text(RIGHT)
    told = run("check", "answer.md")
    assert told.exit_code == 2
    assert "--sources" in told.stderr
    told = run("check", "answer.md", "--sources", ".", "--map", "answer=x")
    assert told.exit_code == 2
    assert "is for a file of many answers" in told.stderr


def test_a_row_without_contexts_says_how_to_name_them() -> None:
    rows = [{"question": "Leave?", "answer": RIGHT, "found": [POLICY]}]
    file = lines(Path("rows.jsonl"), rows)
    code, made = checked(file)
    assert code == 3
    assert made["answers"][0]["error"].startswith("AF246")
    assert "--map contexts=NAME" in made["answers"][0]["error"]
    assert checked(file, "--map", "contexts=found")[0] == 0


ROW = {"question": "Leave?", "answer": WRONG, "contexts": [POLICY]}
DOCUMENTS: dict[str, Any] = {
    "a list": [ROW],
    "rows within an object": {"thresholds": {"faithfulness": 0.8}, "test_cases": [ROW]},
    "a run of DeepEval": {
        "testCases": [{"input": "q", "actualOutput": WRONG, "retrievalContext": [POLICY]}]
    },
}


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_a_json_document_of_rows_needs_no_sources(document: object) -> None:
    Path("rows.json").write_text(json.dumps(document))
    code, made = checked("rows.json")
    assert (code, made["summary"]["contradicted"]) == (1, 1)


def test_an_answer_in_json_is_checked_against_documents() -> None:
    Path("policy.md").write_text(POLICY)
    Path("answer.json").write_text(json.dumps([WRONG]))
    told = run("check", "answer.json", "--sources", "policy.md", *AT, "--json")
    assert json.loads(told.stdout)["summary"]["by_verdict"]["contradicted"] == 1


def test_rows_need_neither_an_id_nor_a_question() -> None:
    code, made = checked(lines(Path("rows.jsonl"), [{"answer": WRONG, "contexts": [POLICY]}]))
    assert (code, made["answers"][0]["id"][:2]) == (1, "a_")


def test_the_columns_to_map_are_named() -> None:
    rows = [{"userAsks": "Leave?", "botReply": WRONG, "chunksFound": [POLICY]}]
    file = lines(Path("rows.jsonl"), rows)
    told = run("check", file)
    (option,) = re.findall(r"map its columns: (.*?);", told.stderr)
    assert (told.exit_code, told.stderr[:5]) == (2, "AF420")
    assert checked(file, *option.split())[0] == 1


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + json.dumps({"question": "Leave?", "answer": WRONG, "contexts": [POLICY]}),
        json.dumps(
            {"question": "Leave?", "answer": WRONG, "contexts": [POLICY], "s": float("nan")}
        ),
        json.dumps([{"question": "Leave?", "answer": WRONG, "contexts": [POLICY]}]),
    ],
    ids=["a byte order mark", "a score that is NaN", "a list of rows"],
)
def test_rows_that_gate_rag_reads_are_read(text: str) -> None:
    Path("rows.jsonl").write_text(text + "\n", encoding="utf-8")
    code, made = checked("rows.jsonl")
    assert (code, made["summary"]["contradicted"]) == (1, 1)
