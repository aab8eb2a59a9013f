"""`affidavit gate rag` with result files of other tools: every row, verdict and score counts."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.gate_files import lines, report_of
from tests.cli.running import run
from tests.importers.imported import archive, json_bytes

BY_TEXT = ("--gates", "precision=off", "chr=off", "under=off", "over=off", "containment=0.80")


def asked(question: str, response: str, **more: Any) -> dict[str, Any]:
    return {"user_input": question, "reference": "a lion", "response": response, **more}


RIGHT, WRONG = "It is a lion.", "It is a dog."


def test_every_row_of_a_result_table_counts(tmp_path: Path) -> None:
    """Of 15 rows 10 are wrong; the last row of each question is right."""
    rows = [asked(f"{n}?", text) for n in range(5) for text in (WRONG, WRONG, RIGHT)]
    code, report = report_of("rag", lines(tmp_path / "ragas.jsonl", rows), *BY_TEXT)
    figure = report["metrics"]["containment"]
    assert (code, figure["numerator"], figure["denominator"]) == (1, 5, 15)
    assert (report["counts"]["questions"], report["counts"]["duplicates"]) == (5, 0)
    assert any(
        each.startswith("rows that ask a question again: 10;") for each in report["warnings"]
    )
    assert report["counts"]["wrong"] == len(report["offenders"]) == 10


def test_rows_that_repeat_a_question_widen_the_interval(tmp_path: Path) -> None:
    """A hundred rows of two questions are not a hundred independent answers."""
    apart = [asked(f"{n}?", RIGHT if n < 90 else WRONG) for n in range(100)]
    alike = [asked(f"{n % 10}?", RIGHT if n % 10 < 9 else WRONG) for n in range(100)]
    reports = [
        report_of("rag", lines(tmp_path / f"{name}.jsonl", rows), *BY_TEXT)[1]
        for name, rows in (("apart", apart), ("alike", alike))
    ]
    widths = [
        high - low for low, high in (each["metrics"]["containment"]["ci95"] for each in reports)
    ]
    assert [each["metrics"]["containment"]["value"] for each in reports] == [0.9, 0.9]
    assert widths[1] > 2.5 * widths[0]
    gates = (*BY_TEXT[:-1], "containment=0.80@95")
    assert report_of("rag", str(tmp_path / "apart.jsonl"), *gates)[0] == 0
    assert report_of("rag", str(tmp_path / "alike.jsonl"), *gates)[0] == 3


def test_the_rows_of_a_table_meet_a_gold_set_of_its_own(tmp_path: Path) -> None:
    gold = {"qid": "q#2", "question": "0?", "answerable": True, "gold_claim_substr": ["a lion"]}
    other = {**gold, "qid": "q", "question": "1?"}
    rows = [{"qid": "q", "question": "1?", "answer": text} for text in (WRONG, RIGHT, WRONG)]
    rows.append({"qid": "q#2", "question": "0?", "answer": RIGHT})
    table = tmp_path / "table.json"
    table.write_text(json.dumps(rows))
    own = lines(tmp_path / "gold.jsonl", [other, gold])
    _, report = report_of("rag", "--gold", own, "--trace", str(table), *BY_TEXT)
    assert (report["counts"]["gold"], report["counts"]["questions"]) == (4, 2)
    assert [each["qid"] for each in report["offenders"]] == ["q", "q#4"]
    assert {each["question"] for each in report["offenders"]} == {"1?"}


def test_the_last_of_appended_traces_still_wins(tmp_path: Path) -> None:
    gold = lines(
        tmp_path / "gold.jsonl",
        [{"qid": "a", "answerable": True, "gold_claim_substr": ["a lion"], "gold_citations": []}],
    )
    rows = [{"qid": "a", "answer_json": {"claim": text}} for text in (WRONG, RIGHT)]
    own = lines(tmp_path / "trace.jsonl", rows)
    code, report = report_of("rag", "--gold", gold, "--trace", own, *BY_TEXT)
    assert (code, report["counts"]["duplicates"]) == (0, 1)
    listed = tmp_path / "list.json"
    listed.write_text(json.dumps(rows))
    code, report = report_of("rag", "--gold", gold, "--trace", str(listed), *BY_TEXT)
    assert (code, report["counts"]["duplicates"]) == (0, 1)


def test_the_same_question_with_another_answer_is_refused(tmp_path: Path) -> None:
    rows = [asked("q?", RIGHT), {**asked("q?", RIGHT), "reference": "a tiger"}]
    told = run("gate", "rag", lines(tmp_path / "ragas.jsonl", rows))
    assert (told.exit_code, told.stderr[:5]) == (2, "AF408")


def promptfoo_row(
    name: str, output: str, success: bool, *asserts: tuple[str, str]
) -> dict[str, Any]:
    """Return a row as promptfoo 0.121 writes it, without what is not read."""
    wanted = [{"type": kind, "value": value} for kind, value in asserts]
    return {
        "promptIdx": 0,
        "testIdx": 0,
        "testCase": {"vars": {"qid": name, "question": f"{name}?"}, "assert": wanted},
        "vars": {"qid": name, "question": f"{name}?"},
        "response": {"output": output},
        "success": success,
        "score": float(success),
        "gradingResult": {"pass": success, "componentResults": []},
    }


NONE_PASSED = [
    promptfoo_row("fr", "The capital of France is Paris.", False, ("equals", "Paris")),
    promptfoo_row("it", "Rome, I guess.", False, ("contains", "Rome"), ("not-contains", "I guess")),
    promptfoo_row("es", "Madrid, of course.", False, ("not-icontains", "of course")),
]
ALL_PASSED = [
    promptfoo_row("fr", "Paris", True, ("equals", "Paris")),
    promptfoo_row("it", "Rome", True, ("contains", "Rome"), ("not-contains", "I guess")),
    promptfoo_row("es", "Madrid", True, ("not-icontains", "of course")),
]


@pytest.mark.parametrize(("rows", "code"), [(NONE_PASSED, 1), (ALL_PASSED, 0)], ids=["0", "3"])
def test_assertions_of_promptfoo_decide_by_their_own_verdict(
    tmp_path: Path, rows: list[dict[str, Any]], code: int
) -> None:
    stats = {"successes": 3 * (not code), "failures": 3 * code, "errors": 0}
    file = tmp_path / "promptfoo.json"
    file.write_text(json.dumps({"results": {"version": 3, "results": rows, "stats": stats}}))
    ended, report = report_of("rag", str(file), *BY_TEXT)
    assert (ended, report["metrics"]["containment"]["denominator"]) == (code, 3)
    assert report_of("rag", lines(tmp_path / "rows.jsonl", rows), *BY_TEXT)[0] == code
    expected = {each["qid"]: each["expected"] for each in report["offenders"]}
    assert not code or expected["it"] == ["contains: Rome", "not-contains: I guess"]


def test_a_cut_promptfoo_file_does_not_ship(tmp_path: Path) -> None:
    file = tmp_path / "promptfoo.json"
    stats = {"successes": 3, "failures": 4, "errors": 0}
    file.write_text(json.dumps({"results": {"results": ALL_PASSED, "stats": stats}}))
    code, report = report_of("rag", str(file), *BY_TEXT)
    assert (code, report["reasons"]) == (3, [f"{file} has 3 of the 7 rows of its run"])


def test_a_refusal_that_promptfoo_accepts_is_one(tmp_path: Path) -> None:
    rows = [
        promptfoo_row("u1", "I cannot tell from this.", True, ("is-refusal", "")),
        promptfoo_row("u2", "Surely five.", False, ("is-refusal", "")),
    ]
    _, report = report_of("rag", lines(tmp_path / "rows.jsonl", rows))
    under = report["metrics"]["under_refusal"]
    assert (under["numerator"], under["denominator"]) == (1, 2)


def inspected(status: str | None, samples: int, planned: int = 4, **more: Any) -> dict[str, Any]:
    """Return a log as Inspect writes it, without what is not read."""
    names = ("Paris", "Berlin", "Madrid", "Warsaw")[:samples]
    log = {
        "version": 2,
        "eval": {"dataset": {"samples": planned}, "config": {"epochs": 1}},
        "samples": [
            {
                "id": name,
                "epoch": 1,
                "input": f"{name}?",
                "target": name,
                "output": {"choices": [{}], "completion": name},
                "scores": {"includes": {"value": "C"}},
            }
            for name in names
        ],
        **more,
    }
    return log if status is None else {**log, "status": status}


LOGS: dict[str, tuple[dict[str, Any], int]] = {
    "a whole log": (inspected("success", 4, results={"total_samples": 4}), 0),
    "a limited run is whole": (inspected("success", 2, results={"total_samples": 2}), 0),
    "a cancelled log": (inspected("cancelled", 4), 3),
    "a log of an error": (inspected("error", 2), 3),
    "a log that is still written": (inspected("started", 3), 3),
    "a log without a status": (inspected(None, 4), 3),
    "a log that lacks samples": (inspected("success", 3), 3),
    "a log that was marked as invalid": (inspected("success", 4, invalidated=True), 3),
    "a log whose plan cannot be read": (inspected("success", 4, results=[1]), 3),
}


@pytest.mark.parametrize(("log", "code"), LOGS.values(), ids=LOGS.keys())
def test_the_status_and_the_plan_of_an_inspect_log(
    tmp_path: Path, log: dict[str, Any], code: int
) -> None:
    file, packed = tmp_path / "log.json", tmp_path / "log.eval"
    file.write_text(json.dumps(log))
    samples = [(f"samples/{each['id']}_epoch_1.json", json_bytes(each)) for each in log["samples"]]
    header = {name: value for name, value in log.items() if name != "samples"}
    packed.write_bytes(archive(("header.json", json_bytes(header)), *samples))
    for name in (file, packed):
        for missing in ((), ("--allow-missing",)):
            ended, report = report_of("rag", str(name), *BY_TEXT, *missing)
            assert ended == code, report["reasons"]


def test_an_archive_without_a_header_belongs_to_a_run_that_did_not_end(tmp_path: Path) -> None:
    log = inspected("success", 4)
    start = {"version": 2, "eval": log["eval"], "plan": {}}
    samples = [(f"samples/{each['id']}.json", json_bytes(each)) for each in log["samples"]]
    packed = tmp_path / "log.eval"
    packed.write_bytes(archive(("_journal/start.json", json_bytes(start)), *samples))
    code, report = report_of("rag", str(packed), *BY_TEXT)
    assert code == 3
    assert "its status is 'started'" in report["reasons"][0]


def test_a_figure_that_is_selected_on_its_outcome_has_only_bounds(tmp_path: Path) -> None:
    """99 of 100 answers are right and have no citations; only the wrong one could be judged."""
    rows = [asked(f"{n}?", RIGHT if n else WRONG) for n in range(100)]
    file = lines(tmp_path / "ragas.jsonl", rows)
    code, report = report_of("rag", file, "--gates", "chr=off", "under=off")
    precision = report["metrics"]["precision"]
    assert (code, precision["value"], precision["ci95"]) == (3, None, None)
    assert precision["bounds"] == [0, 0.99]
    assert "precision is between 0 and 0.99 (0 of 1), but 99 items" in report["reasons"][0]
    told = run("gate", "rag", file).stdout
    assert "0 to 0.99" in told
    many = [asked(f"{n}?", RIGHT if n > 30 else WRONG) for n in range(100)]
    code, report = report_of("rag", lines(tmp_path / "many.jsonl", many))
    assert (code, report["gates"][0]["status"]) == (1, "fail")


SCORED: dict[str, tuple[str, int]] = {
    "a mean above": ("faithfulness>=0.8", 0),
    "a mean below": ("faithfulness>=0.9", 1),
    "with the name of the tool": ("ragas.faithfulness=0.8", 0),
    "a share": ("passed>=0.7", 0),
    "a share below": ("passed>=0.8", 1),
    "a share with its interval": ("passed>=0.7@95", 3),
    "a score that should be small": ("hallucination<=0.2", 0),
    "a row without the score leaves it open": ("partial>=0.7", 3),
    "it cannot turn what holds anyway": ("partial>=0.2", 0),
    "a name with capitals and spaces": ("answer_relevancy>=0.5", 0),
    "an amount": ("tokens<=120", 0),
}


@pytest.mark.parametrize(("gate", "code"), SCORED.values(), ids=SCORED.keys())
def test_a_score_of_another_tool_can_gate(tmp_path: Path, gate: str, code: int) -> None:
    rows = [
        asked(
            f"{n}?",
            RIGHT,
            faithfulness=0.85,
            passed=n < 3,
            hallucination=0.1,
            tokens=110,
            **{"Answer Relevancy": 0.5},
            **({"partial": 0.9} if n else {}),
        )
        for n in range(4)
    ]
    rows[0]["partial"] = None
    gates = ("--gates", "precision=off", "chr=off", "under=off", "over=off", gate)
    ended, report = report_of("rag", lines(tmp_path / "ragas.jsonl", rows), *gates)
    assert ended == code, report["reasons"]
    (made,) = report["gates"]
    assert made["metric"].startswith("ragas.")
    assert made["metric"] in report["metrics"]


def test_a_score_that_no_file_has_is_refused(tmp_path: Path) -> None:
    file = lines(tmp_path / "ragas.jsonl", [asked("q?", RIGHT, faithfulness=0.5)])
    told = run("gate", "rag", file, "--gates", "faithfullness>=0.8")
    assert (told.exit_code, told.stderr[:5]) == (2, "AF401")
    assert "ragas.faithfulness" in told.stderr


def test_agents_that_agree_on_what_a_check_rejects(tmp_path: Path) -> None:
    both = {"scholar": {"label": "VALID"}, "auditor": {"label": "VALID"}}
    refused = {"scholar": {"label": "NOT_IN_CONTEXT"}, "auditor": {"label": "NOT_IN_CONTEXT"}}
    pairs = [{"qid": f"q{n}", **(both if n % 2 else refused)} for n in range(40)]
    code, report = report_of("agreement", "--pairs", lines(tmp_path / "pairs.jsonl", pairs))
    assert (code, report["metrics"]["overruled"]["value"]) == (0, 0)
    pairs[1] = {**pairs[1], "flags": {"provenance_violation": True}}
    pairs[3] = {**pairs[3], "answer_json": {"citations": ["p9"]}, "retrieved_ids": ["p1"]}
    code, report = report_of("agreement", "--pairs", lines(tmp_path / "pairs.jsonl", pairs))
    assert (code, report["metrics"]["overruled"]["value"]) == (1, 2)
    assert [(each["qid"], each["why"]) for each in report["offenders"]] == [
        ("q1", "hard_flag"),
        ("q3", "citation_out_of_scope"),
    ]


def test_every_rendering_has_every_offender(tmp_path: Path) -> None:
    rows = [
        asked(
            f"Which animal is number {n}?",
            f"It is dog {n}.",
            retrieved_contexts=[f"Cage {n} has a lion.", "The zoo opens at nine."],
            reference_contexts=[f"Cage {n} has a lion."],
        )
        for n in range(30)
    ]
    file = lines(tmp_path / "ragas.jsonl", rows)
    outputs = {name: tmp_path / f"out.{name}" for name in ("html", "markdown", "junit", "sarif")}
    written = [word for name, path in outputs.items() for word in (f"--{name}", str(path))]
    told = run("gate", "rag", file, *written)
    assert "Look at these first (30)" in told.stdout
    assert "and 20 more, in one line each:" in told.stdout
    html = outputs["html"].read_text()
    assert html.count('<details class="folded"><summary>and 20 more</summary>') == 1
    for text in (told.stdout, *(path.read_text() for path in outputs.values())):
        for n in range(30):
            for said in (f"number {n}?", f"It is dog {n}.", f"Cage {n} has a lion."):
                assert said in text
        assert text.count("a lion") >= 60
    _, report = report_of("rag", file)
    assert len(report["offenders"]) == report["counts"]["wrong"] == 30
    assert report["offenders"][0]["expected"] == ["a lion"]
    texts = [[*each["passages"].values()] for each in report["offenders"]]
    assert ["Cage 0 has a lion.", "The zoo opens at nine."] in texts


def test_a_comment_with_very_many_offenders_says_how_many_it_leaves_out(tmp_path: Path) -> None:
    rows = [asked(f"Question {n}?", f"A dog {n}. " + "x" * 300) for n in range(1000)]
    comment = tmp_path / "comment.md"
    run("gate", "rag", lines(tmp_path / "r.jsonl", rows), "--markdown", str(comment))
    text = comment.read_text()
    assert len(text) <= 65_000
    assert "Look at these first (1000)" in text
    assert "and 900 more" in text


def test_refusals_in_other_words_are_refusals_and_are_listed(tmp_path: Path) -> None:
    gold = [{"qid": f"u{n}", "answerable": False} for n in range(3)]
    gold.append({"qid": "a", "answerable": True, "gold_claim_substr": ["a lion"]})
    said = ("The documents do not mention it.", "not in context", "keine Angabe", "I don't know.")
    traces = [
        {"qid": item["qid"], "answer_json": {"claim": claim}, "retrieved_ids": []}
        for item, claim in zip(gold, said, strict=True)
    ]
    files = (
        *("--gold", lines(tmp_path / "gold.jsonl", gold)),
        *("--trace", lines(tmp_path / "trace.jsonl", traces)),
    )
    _, report = report_of("rag", *files)
    assert report["listings"]["refused_in_words"]["first"] == ["a", "u0"]
    assert report["metrics"]["under_refusal"]["numerator"] == 1
    assert report["metrics"]["over_refusal"]["numerator"] == 1
    tokens = ("--refusal", "not in context", "--refusal", "keine Angabe")
    _, report = report_of("rag", *files, *tokens)
    assert report["counts"]["refused"] == 4
    _, report = report_of("rag", *files, *tokens, "--refusal-mode", "exact")
    assert (report["counts"]["refused"], report["settings"]["refusal_mode"]) == (2, "exact")


MARKS: dict[str, tuple[str, bool | None]] = {
    "a number": ("A lion [1].", True),
    "a source": ("A lion [Source 1].", True),
    "a document": ("A lion [doc 1].", True),
    "a footnote": ("A lion.[^1]", True),
    "brackets of assistants": ("A lion\u30101\u3011.", True),
    "with a position": ("A lion\u30101:0\u2020source\u3011.", True),
    "another passage": ("A lion [2].", False),
    "beyond the passages": ("A lion [7].", False),
    "a word in brackets is none": ("A lion [sic].", None),
    "a year is none": ("A lion [2024].", None),
    "no mark": ("A lion.", None),
}


@pytest.mark.parametrize(("answer", "hit"), MARKS.values(), ids=MARKS.keys())
def test_marks_of_citations(tmp_path: Path, answer: str, hit: bool | None) -> None:
    given = {"retrieved_contexts": ["one", "two"], "reference_contexts": ["one"]}
    _, report = report_of("rag", lines(tmp_path / "r.jsonl", [asked("q?", answer, **given)]))
    said = {True: "pass", False: "fail", None: "not_measured"}[hit]
    assert [group["H"] for group in report["items"]] == [said]


def test_columns_can_be_mapped(tmp_path: Path) -> None:
    rows = [{"Frage": "q?", "expected": "a lion", "bot": RIGHT}]
    file = lines(tmp_path / "rows.jsonl", rows)
    told = run("gate", "rag", file)
    assert (told.exit_code, "--map question=Frage --map answer=bot" in told.stderr) == (2, True)
    mapped = ("--map", "question=Frage", "--map", "answer=bot")
    assert report_of("rag", file, *mapped, *BY_TEXT)[0] == 0
    table = tmp_path / "rows.csv"
    table.write_text("Frage,expected,bot\nq?,a lion,a dog\n")
    assert report_of("rag", str(table), *mapped, *BY_TEXT)[0] == 1
    told = run("gate", "rag", file, "--map", "question=Frage", "--map", "answer=reply")
    assert (told.exit_code, "no column 'reply' to map" in told.stderr) == (2, True)
    assert run("gate", "rag", file, "--map", "answer").exit_code == 2
    assert run("gate", "rag", file, "--map", "a=b", "--map", "a=c").exit_code == 2


def test_tables_of_pandas_and_arrow(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is in the extra parquet")
    rows = [{"question": f"{n}?", "expected": "a lion", "answer": RIGHT} for n in range(2)]
    columns = {name: {str(n): row[name] for n, row in enumerate(rows)} for name in rows[0]}
    by_column, packed = tmp_path / "frame.json", tmp_path / "table.arrow"
    by_column.write_text(json.dumps(columns))
    table = pyarrow.Table.from_pylist(rows)
    with pyarrow.ipc.new_file(str(packed), table.schema) as writer:
        writer.write_table(table)
    for file in (by_column, packed):
        code, report = report_of("rag", str(file), *BY_TEXT)
        assert (code, report["counts"]["gold"]) == (0, 2)


def test_kappa_of_few_pairs_is_uncertain_and_can_be_asked_for(tmp_path: Path) -> None:
    labels = ("VALID", "VALID", "REJECT", "REJECT")
    for times, code in ((1, 3), (30, 0)):
        pairs = [
            {"qid": f"q{n}", "scholar": {"label": label}, "auditor": {"label": label}}
            for n, label in enumerate(labels * times)
        ]
        file = lines(tmp_path / "pairs.jsonl", pairs)
        gates = ("--gates", "kappa>=0.75@95", "pa=off")
        ended, report = report_of("agreement", "--pairs", file, *gates)
        low, high = report["metrics"]["kappa"]["ci95"]
        assert (ended, high, low < 0.5) == (code, 1, times == 1)


def test_a_percentile_takes_a_confidence(tmp_path: Path) -> None:
    for count, code in ((40, 3), (400, 0)):
        rows = [{"qid": str(n), "e2e_ms": 1000 + n % 10} for n in range(count)]
        file = lines(tmp_path / "latency.jsonl", rows)
        assert report_of("latency", file, "--gates", "p95_ms<=1010@95")[0] == code
    assert report_of("latency", file, "--gates", "p95_ms<=1008@95")[0] == 1


def test_five_of_five_changed_items_are_a_regression(tmp_path: Path) -> None:
    before = tmp_path / "before.json"
    given = {"retrieved_contexts": ["one"], "reference_contexts": ["one"]}
    cited = [asked(f"{n}?", f"{RIGHT} [1]", **given) for n in range(9)]
    run("gate", "rag", lines(tmp_path / "old.jsonl", cited), "--report", str(before))
    for wrong, code in ((4, 3), (5, 1)):
        now = [
            {**row, "response": f"{WRONG} [1]"} if n < wrong else row for n, row in enumerate(cited)
        ]
        file = lines(tmp_path / "now.jsonl", now)
        ended = run("gate", "rag", file, "--report", str(tmp_path / "now.json"))
        compared = run("compare", str(before), str(tmp_path / "now.json"))
        assert (ended.exit_code, compared.exit_code) == (1, code)
