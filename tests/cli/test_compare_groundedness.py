"""`affidavit compare` on groundedness: which questions lost support, claims side by side."""

import json
from pathlib import Path

import pytest
from tests.cli.gate_files import lines
from tests.cli.running import run

POLICY = "Employees are entitled to 25 days of annual leave. Requests need two weeks' notice."
RIGHT = "Employees are entitled to 25 days of annual leave."
WRONG = "Employees are entitled to 40 days of annual leave."


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def report(name: str, answers: list[str], **more: str) -> str:
    rows = [
        {"qid": f"q{n}", "question": f"{n}?", "answer": answer, "contexts": [POLICY], **more}
        for n, answer in enumerate(answers)
    ]
    file = lines(Path(f"{name}.jsonl"), rows)
    run("gate", "rag", file, "--judge", "lexical", "--report", f"{name}.json")
    return f"{name}.json"


def test_questions_that_lost_support_are_shown_side_by_side() -> None:
    before = report("before", [RIGHT] * 6)
    now = report("now", [WRONG] * 5 + [RIGHT])
    told = run("compare", before, now)
    assert told.exit_code == 1
    assert "of 6 items 0 became right and 5 wrong (p = 0.0312)" in told.stdout
    assert "q0 lost its support:" in told.stdout
    assert "gold set" not in told.stdout
    assert "40 days of annual leave (contradicted; context 1:" in told.stdout
    assert "25 days of annual leave (supported)" in told.stdout
    made = json.loads(run("compare", before, now, "--json").stdout)
    assert [each["qid"] for each in made["lost_support"]] == [f"q{n}" for n in range(5)]
    assert made["lost_support"][0]["before"][0]["verdict"] == "supported"
    assert made["lost_support"][0]["now"][0]["verdict"] == "contradicted"
    assert made["checks"]["G"]["compared"] == 6
    assert made["metrics"]["groundedness"]["difference"] < 0


def test_a_few_more_claims_and_many_more_questions() -> None:
    told = run("compare", report("a", [RIGHT] * 12), report("b", [f"{WRONG} {RIGHT}"] * 12))
    assert "and 2 more, which --json has" in told.stdout


def test_answers_that_a_gold_set_accepts_can_lose_support() -> None:
    gold = {"reference": "annual leave"}
    before = report("before", [RIGHT] * 5, **gold)
    now = report("now", [WRONG] * 5, **gold)
    made = json.loads(run("compare", before, now, "--json").stdout)
    assert made["checks"]["C"]["change"] == "held"
    assert made["change"] == "regressed"
    assert made["why"].startswith("answers lost the support of their contexts: of 5 items")


def test_a_baseline_holds_without_a_gold_set() -> None:
    before = report("before", [RIGHT] * 5)
    file = lines(Path("now.jsonl"), [json.loads(line) for line in open_lines("before.jsonl")])
    options = ("--judge", "lexical", "--fail-on-regression", before)
    assert run("gate", "rag", file, *options).exit_code == 0
    report("worse", [WRONG] * 5)
    told = run("gate", "rag", "worse.jsonl", *options)
    assert "worse than the baseline" in told.stdout


def open_lines(name: str) -> list[str]:
    return Path(name).read_text("utf-8").splitlines()
