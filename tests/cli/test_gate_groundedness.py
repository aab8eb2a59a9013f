"""`affidavit gate rag` on rows of question, answer and contexts: no gold set is needed."""

import json
import re
import signal
import sqlite3
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from tests.cli.gate_files import lines, report_of
from tests.cli.running import REAL, command_line, environment, run
from tests.repository import ROOT

from affidavit.app.judges import DEFAULT_JUDGE, judge_for
from affidavit.app.project import Project

FILES = ROOT / "tests" / "importers" / "files"
POLICY = "Employees are entitled to 25 days of annual leave. Requests need two weeks' notice."
GUIDE = "Unused leave can be carried forward to the next year, up to 5 days."


def row(question: str, answer: str | None, *contexts: str, **more: Any) -> dict[str, Any]:
    return {
        "user_input": question,
        "response": answer,
        "retrieved_contexts": list(contexts) or [POLICY, GUIDE],
        **more,
    }


GROUNDED = row("How many days of leave are there?", "Employees are entitled to 25 days of leave.")
CHANGED = row("How much leave is there?", "Employees are entitled to 40 days of annual leave.")
INVENTED = row("What about gyms?", "Employees get a free gym membership at any branch.")


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command keeps what the judge read in the current folder."""
    monkeypatch.chdir(tmp_path)


def gate(rows: list[dict[str, Any]], *options: str) -> tuple[int, dict[str, Any]]:
    return report_of("rag", lines(Path("rows.jsonl"), rows), *options)


def test_grounded_answers_ship_without_a_gold_set() -> None:
    code, report = gate(
        [GROUNDED, row("And unused leave?", "Up to 5 days can be carried forward.")]
    )
    assert (code, report["decision"]) == (0, "ship")
    assert report["metrics"]["groundedness"]["value"] == 1
    assert report["metrics"]["groundedness"]["ci95"][0] < 1
    assert report["counts"]["judged_rows"] == 2
    assert "precision" not in report["metrics"]
    default = judge_for(DEFAULT_JUDGE, Project(Path())).identity
    assert report["settings"]["judge"] == f"{default.name} {default.version}"
    assert report["settings"]["judge_digest"] == default.digest


def test_a_changed_number_does_not_ship_and_is_shown_with_its_passage() -> None:
    code, report = gate([GROUNDED, CHANGED])
    assert (code, report["decision"]) == (1, "no_ship")
    (worst,) = report["offenders"]
    assert worst["why"] == "contradicts_contexts"
    (claim,) = worst["claims"]
    assert (claim["verdict"], claim["context"]) == ("contradicted", "context 1")
    assert "25 days" in claim["passage"]
    assert "40 days" in claim["reason"]
    assert report["inputs"]["trace"]["places"][worst["qid"]]["line"] == 2


def test_every_rendering_shows_the_claim_the_passage_and_the_reason(tmp_path: Path) -> None:
    file = lines(tmp_path / "rows.jsonl", [GROUNDED, CHANGED])
    formats = ("html", "markdown", "junit", "sarif", "report")
    options = [part for name in formats for part in (f"--{name}", f"out.{name}")]
    told = run("gate", "rag", file, *options)
    assert told.exit_code == 1, told.output
    for text in (told.stdout, *(Path(f"out.{name}").read_text("utf-8") for name in formats)):
        assert "40 days of annual leave" in text
        assert "25 days of annual leave" in text
        assert "contradicted" in text


def test_an_invented_claim_does_not_ship() -> None:
    code, report = gate([INVENTED])
    assert code == 1
    assert report["offenders"][0]["why"] == "not_grounded"
    assert report["metrics"]["unsupported"]["value"] == 1


def test_gates_of_a_gold_set_go_on() -> None:
    rows = [{**GROUNDED, "reference": "25 days"}, {**CHANGED, "reference": "25 days"}]
    _, report = gate(rows)
    gates = [each["metric"] for each in report["gates"]]
    assert gates[:4] == ["precision", "chr", "under_refusal", "over_refusal"]
    assert gates[4:] == ["groundedness", "contradicted"]
    (worst,) = report["offenders"]
    assert (worst["why"], worst["claims"][0]["verdict"]) == ("wrong_answer", "contradicted")
    checks = {name: group[name] for group in report["items"] for name in ("C", "G") if "G" in group}
    assert checks.keys() == {"C", "G"}


def test_judging_can_be_left_out() -> None:
    code, report = gate([{**CHANGED, "reference": "40 days"}], "--no-groundedness")
    assert "groundedness" not in report["metrics"]
    code, report = gate([CHANGED], "--no-groundedness")
    assert (code, report["reasons"][0]) == (3, "the gold set is empty")
    told = run("gate", "rag", "rows.jsonl", "--no-groundedness", "--judge", "lexical")
    assert told.exit_code == 2
    assert "--no-groundedness leaves out" in told.stderr


ON_SPARK = {
    "a gate": ("gate", "rag"),
    "a check of rows": ("check",),
    "scores": ("judge", "score"),
}


@pytest.mark.parametrize("command", ON_SPARK.values(), ids=ON_SPARK.keys())
def test_spark_is_an_extra(command: tuple[str, ...]) -> None:
    file = lines(Path("rows.jsonl"), [CHANGED])
    told = run(*command, file, "--engine", "spark", "--master", "local[2]")
    assert (told.exit_code, told.stderr[:5]) == (2, "AF003")
    assert "affidavit[spark]" in told.stderr


LACKING = {
    "no contexts": (
        {"question": "Why?", "answer": "Because of the rain."},
        "--map contexts=NAME, or give a gold set with --gold",
    ),
    "no answers": ({"user_input": "Why?", "retrieved_contexts": [POLICY]}, "--map answer=NAME"),
}


@pytest.mark.parametrize(("given", "said"), LACKING.values(), ids=LACKING.keys())
def test_the_message_says_what_a_file_lacks(given: dict[str, Any], said: str) -> None:
    code, report = gate([given])
    assert code == 3
    assert said in report["reasons"][0], report["reasons"]
    assert [gate["metric"] for gate in report["gates"]] == ["groundedness", "contradicted"]


def test_a_file_without_rows_says_so() -> None:
    Path("none.csv").write_text("question,answer,contexts\n")
    _, report = report_of("rag", "none.csv")
    assert report["reasons"][1] == "none.csv has no rows"


FILES_LACKING = {
    "right answers alone": ("langsmith_examples.jsonl", "right answers and no answers to judge"),
    "a table that never has contexts": ("trulens.csv", "export the events, which have them"),
    "spans without texts": ("gen_ai.jsonl", "record the documents of its retriever"),
}


@pytest.mark.parametrize(("name", "said"), FILES_LACKING.values(), ids=FILES_LACKING.keys())
def test_the_message_fits_the_tool(name: str, said: str) -> None:
    code, report = report_of("rag", str(FILES / name))
    assert (code, report["decision"]) == (3, "inconclusive")
    assert said in report["reasons"][0]
    assert not any("have no trace" in each or "--map" in each for each in report["reasons"])


def test_the_option_that_the_message_names_helps() -> None:
    gold, runs = (str(FILES / f"langsmith{name}.jsonl") for name in ("_examples", "_runs"))
    _, report = report_of("rag", gold)
    assert f"--gold {gold} --trace FILE" in report["reasons"][0]
    code, report = report_of("rag", "--gold", gold, "--trace", runs, "--judge", "lexical")
    assert (code, report["counts"]["gold"], report["counts"]["missing"]) == (1, 4, 0)
    assert report["metrics"]["groundedness"]["denominator"] == 3


def test_a_column_of_contexts_can_be_named() -> None:
    given = [{"question": "Leave?", "answer": CHANGED["response"], "found": [POLICY]}]
    code, report = gate(given, "--map", "contexts=found")
    assert (code, report["metrics"]["contradicted"]["value"]) == (1, 1)


def test_our_own_traces_may_have_contexts() -> None:
    trace = {
        "qid": "q1",
        "q": CHANGED["user_input"],
        "answer_json": {"claim": CHANGED["response"], "citations": ["p#1"]},
        "retrieved_ids": ["p#1", "p#2"],
        "contexts": [POLICY, GUIDE],
    }
    code, report = gate([trace, {**trace, "answer_json": {"claim": GROUNDED["response"]}}])
    assert (code, report["counts"]["judged_rows"]) == (0, 1)  # The last trace of a qid counts.
    gold = lines(Path("gold.jsonl"), [{"qid": "q1", "answerable": True}])
    code, report = report_of("rag", "--gold", gold, "--trace", lines(Path("t.jsonl"), [trace]))
    assert (code, report["metrics"]["contradicted"]["value"]) == (1, 1)


def test_citations_of_contexts_without_a_text_are_not_measured() -> None:
    trace = {
        "qid": "q1",
        "answer_json": {"claim": GROUNDED["response"], "citations": ["p#2"]},
        "retrieved_ids": ["p#1", "p#2", "p#3"],
        "contexts": [POLICY],
    }
    code, report = gate([trace])
    assert (code, report["metrics"]["groundedness"]["value"]) == (0, 1)
    assert report["metrics"]["citation_precision"]["value"] is None


def test_citations_by_marks_and_by_a_list() -> None:
    marked = row(
        "Both?",
        "Employees are entitled to 25 days of annual leave [1]. Unused leave can be carried"
        " forward up to 5 days [1]. Requests need two weeks' notice.",
    )
    _, report = gate([marked])
    metrics = report["metrics"]
    assert [metrics["citation_precision"][each] for each in ("numerator", "denominator")] == [1, 2]
    assert [metrics["citation_recall"][each] for each in ("numerator", "denominator")] == [1, 3]
    listed = {
        "qid": "q1",
        "question": "Leave?",
        "answer": "Employees are entitled to 25 days of annual leave.",
        "passages": [{"id": "a", "text": POLICY}, {"id": "b", "text": GUIDE}],
        "citations": ["a", "b", "z"],
    }
    _, report = gate([listed])
    metrics = report["metrics"]
    assert [metrics["citation_precision"][each] for each in ("numerator", "denominator")] == [1, 3]
    assert metrics["citation_recall"]["value"] == 1


def test_references_measure_what_was_retrieved() -> None:
    good = {**GROUNDED, "reference": "Employees are entitled to 25 days of annual leave."}
    poor = row("Gym?", "I do not know.", reference="Gym membership costs 20 euros a month.")
    _, report = gate([good, {**poor, "response": "Requests need two weeks' notice."}])
    figure = report["metrics"]["context_recall"]
    assert (figure["numerator"], figure["denominator"]) == (1, 2)


def test_an_answer_about_something_else_is_not_relevant() -> None:
    _, report = gate(
        [row("Who painted the ceiling of the chapel?", GROUNDED["response"]), GROUNDED]
    )
    assert report["metrics"]["relevance"]["value"] == 0.5


def test_rows_that_cannot_be_judged_are_counted() -> None:
    rows = [
        GROUNDED,
        row("Leer?", "Die Angestellten haben Anspruch auf dreißig Tage Urlaub im Jahr."),
        {**row("Nothing?", None), "response": None},
        {**row("No texts?", "There are 25 days of annual leave."), "retrieved_contexts": None},
        row("Refused?", "The documents do not mention a limit."),
        row("Empty?", GROUNDED["response"], "", POLICY),
    ]
    code, report = gate(rows)
    assert code == 3
    assert report["metrics"]["groundedness"]["denominator"] == 2
    assert report["metrics"]["groundedness"]["not_measured"] == 3
    assert report["counts"]["rows_without_contexts"] == 1
    assert report["metrics"]["refusals"]["numerator"] == 1


@pytest.mark.parametrize("answer", ["Yes.", "40", "```\nleave = 40\n```"])
def test_an_answer_without_a_claim_was_not_measured(answer: str) -> None:
    code, report = gate([GROUNDED, row("Are there 40 days of leave?", answer)])
    assert (code, report["decision"]) == (3, "inconclusive")
    assert report["metrics"]["groundedness"]["not_measured"] == 1
    assert report["counts"]["rows_without_claims"] == 1
    assert any("no claim was found" in each for each in report["warnings"])


def test_the_report_is_the_same_for_any_processes_order_and_store() -> None:
    rows = [{**GROUNDED, "user_input": f"{n}?"} for n in range(12)] + [CHANGED, INVENTED, CHANGED]
    file = lines(Path("rows.jsonl"), rows)
    turned = lines(Path("turned.jsonl"), rows[::-1])
    first = run("gate", "rag", file, "--json", "--no-cache").stdout
    assert not Path(".affidavit").exists()
    assert run("gate", "rag", file, "--json").stdout == first
    assert run("gate", "rag", file, "--json", "-j", "2").stdout == first
    assert run("gate", "rag", file, "--json", "-j", "2", "--no-cache").stdout == first
    again = json.loads(run("gate", "rag", turned, "--json").stdout)
    wanted = json.loads(first)
    assert again.pop("inputs") != wanted.pop("inputs")
    assert again == wanted


def test_nothing_is_judged_twice() -> None:
    file = lines(Path("rows.jsonl"), [GROUNDED, CHANGED, {**CHANGED, "user_input": "Again?"}])
    assert "3 rows were judged; 2 claims had to be read" in run("-v", "gate", "rag", file).stderr
    assert "3 rows were judged; 0 claims had to be read" in run("-v", "gate", "rag", file).stderr
    told = run("-v", "gate", "rag", file, "--judge", "lexical").stderr
    assert "2 claims had to be read" in told


def test_a_sample_is_chosen_by_its_seed_and_not_by_the_order() -> None:
    rows = [{**GROUNDED, "user_input": f"{n}?"} for n in range(20)] + [CHANGED]
    file = lines(Path("rows.jsonl"), rows)
    turned = lines(Path("turned.jsonl"), rows[::-1])
    options = ("--sample", "6", "--judge", "lexical", "--json")
    first = json.loads(run("gate", "rag", file, *options, "--seed", "1").stdout)
    second = json.loads(run("gate", "rag", turned, *options, "--seed", "1").stdout)
    other = json.loads(run("gate", "rag", file, *options, "--seed", "2").stdout)
    assert (first["counts"]["judged_rows"], first["counts"]["rows_left_out"]) == (6, 15)
    assert (first["settings"]["sample"], first["settings"]["seed"]) == (6, 1)
    assert first["items"] == second["items"] != other["items"]


def test_a_bad_line_is_skipped_and_counted() -> None:
    file = lines(Path("rows.jsonl"), [GROUNDED, '{"user_input": "half', CHANGED])
    assert run("gate", "rag", file).exit_code == 2
    code, report = report_of("rag", file, "--skip-bad")
    assert (code, report["inputs"]["trace"]["skipped"]) == (1, 1)
    assert report["counts"]["judged_rows"] == 2


ODD_ROWS = [
    '{"user_input": "half',
    row("An empty context?", "Employees get 25 days of leave.", ""),
    row("No context at all?", "Employees get 25 days of leave.") | {"retrieved_contexts": []},
    row(
        "A long context?", "Unused leave can be carried forward.", "Nobody asked. " * 150_000, GUIDE
    ),
    row("Wie viele Tage?", "Es gibt fünf Tage Urlaub.", "Es gibt fünf Tage Urlaub im Jahr."),
    row("何日ですか?", "休暇は五日です。", "休暇は年に五日です。"),
    row("Nothing?", None),
]
"""One line that is not JSON, and rows that are judged as far as they can be."""


def test_a_run_that_was_killed_goes_on_where_it_stopped() -> None:
    rows = [
        row(f"{n}?", f"Employees of branch {n} are entitled to 25 days of leave.", POLICY, GUIDE)
        for n in range(400)
    ]
    file = lines(Path("rows.jsonl"), [*rows[:200], *ODD_ROWS, *rows[200:]])
    options = ("gate", "rag", file, "--judge", "lexical", "--skip-bad", "--json")
    started = subprocess.Popen(
        command_line(REAL, options),
        env=environment({"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    store = Path(".affidavit/judge/readings.sqlite")
    try:
        while started.poll() is None and _stored(store) <= 20:
            time.sleep(0.05)
    finally:
        started.send_signal(signal.SIGKILL)
        started.wait()
    before = _stored(store)
    assert 20 < before < 400
    told = run("-v", *options)
    rows_judged, read = re.findall(r"(\d+) rows were judged; (\d+) claims", told.stderr)[0]
    assert (int(rows_judged), before + int(read)) == (406, _stored(store))
    assert run(*options, "--no-cache").stdout == told.stdout
    report = json.loads(told.stdout)
    assert report["inputs"]["trace"]["skipped"] == 1
    counts = report["counts"]
    # Every answer is one claim, and one row has no answer.
    assert (counts["traces"], counts["claims"] + counts["claims_not_judged"]) == (406, 405)
    assert counts["claims_not_judged"] > 0


def _stored(store: Path) -> int:
    if not store.exists():
        return 0
    try:
        with sqlite3.connect(f"{store.absolute().as_uri()}?mode=ro", uri=True) as opened:
            return int(opened.execute("SELECT count(*) FROM readings").fetchone()[0])
    except sqlite3.Error:  # The table is not there yet.
        return 0


TOOLS = {
    "DeepEval": "deepeval_cases.csv",
    "Inspect": "inspect.eval",
    "Langfuse": "langfuse.json",
    "Langfuse by OTLP": "langfuse_otlp.jsonl",
    "OpenInference": "openinference.jsonl",
    "promptfoo": "promptfoo.json",
    "Ragas 0.1": "ragas_0_1.csv",
    "Ragas": "ragas_result.parquet",
    "RAGChecker": "ragchecker.json",
}


@pytest.mark.parametrize("name", TOOLS.values(), ids=TOOLS.keys())
def test_files_that_tools_wrote_go_to_a_decision_in_one_command(name: str) -> None:
    code, report = report_of("rag", str(FILES / name), "--judge", "lexical")
    assert code == 1
    assert report["metrics"]["groundedness"]["denominator"] == 3
    assert report["metrics"]["refusals"]["numerator"] == 1


def test_the_sample_that_ragas_wrote_without_gold() -> None:
    sample = ROOT / "samples" / "gates" / "ragas_contexts.csv"
    code, report = report_of("rag", str(sample))
    assert code == 1
    assert [each["why"] for each in report["offenders"]] == ["contradicts_contexts", "not_grounded"]


def test_a_context_of_two_megabytes_is_searched() -> None:
    filler = "The weather on the coast was mild for most of that week. " * 18_000
    long = f"{filler}\n\n{POLICY}\n\n{filler}"
    assert len(long) > 2_000_000
    code, report = gate([row("Leave?", CHANGED["response"], long)], "--judge", "lexical")
    assert (code, report["metrics"]["contradicted"]["value"]) == (1, 1)


def test_it_is_the_same_from_python() -> None:
    import affidavit

    report = affidavit.gate("rag", trace=[GROUNDED, CHANGED])
    assert report.decision.value == "no_ship"
    assert not Path(".affidavit").exists()
