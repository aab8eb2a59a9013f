"""`affidavit gate latency`, as a user calls it."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cli.gate_files import BAD_FILES, bad_files, code_of, lines, report_of
from tests.cli.running import run
from tests.repository import ROOT

CSV = (
    "ts,qid,e2e_ms,retrieval_ms,rerank_ms,llm_ms,guard_ms,knobs\n"
    '1,a,100,10,,60,,"{""k_lex"": 40, ""k_sem"": 8}"\n'
    "2,b,300,20,5,,,\n"
)


def rows(*values: float, **fields: object) -> list[dict[str, object]]:
    return [{"qid": f"q{n}", "e2e_ms": value, **fields} for n, value in enumerate(values)]


def rag_report(folder: Path, name: str, precision: float | None, decision: str = "ship") -> str:
    path = folder / name
    value = {
        "schema_version": "affidavit-gate/1",
        "kind": "rag",
        "decision": decision,
        "metrics": {"precision": {"value": precision}},
    }
    path.write_text(json.dumps(value))
    return str(path)


DECIDED: dict[str, tuple[list[dict[str, object]], list[str], int]] = {
    "P95 within 2000 ms": (rows(100, 200, 1900), [], 0),
    "P95 above": (rows(100, 200, 2500), [], 1),
    "nothing measured": ([], [], 3),
    "a service level for each load": (
        [*rows(1900, rps=1), *rows(2400, rps=5)],
        ["--gates", "p95=off", "p95_ms/1rps=2000", "p95/5rps<=2500"],
        0,
    ),
    "one of the loads is too slow": (
        [*rows(2100, rps=1), *rows(2400, rps=5)],
        ["--gates", "p95=off,p95_ms/1rps=2000,p95/5rps<=2500"],
        1,
    ),
    "a load that was not measured": (rows(10, rps=1), ["--gates", "p95/20rps=2500"], 3),
    "the load is given for all": (
        rows(2400),
        ["--rps", "5", "--gates", "p95=off", "p95/5rps=2500"],
        0,
    ),
    "the tail": (rows(10, 10, 10, 100), ["--gates", "tail_amplification<=2"], 1),
}


@pytest.mark.parametrize(("given", "options", "exit"), DECIDED.values(), ids=DECIDED.keys())
def test_decision_of_research_runs(
    tmp_path: Path, given: list[dict[str, object]], options: list[str], exit: int
) -> None:
    ended, report = report_of("latency", lines(tmp_path / "l.jsonl", given), *options)
    assert ended == exit
    assert report["decision"] == ["ship", "no_ship", "", "inconclusive"][exit]


def test_the_csv_of_the_latency_page(tmp_path: Path) -> None:
    path = tmp_path / "latency.csv"
    path.write_text(CSV + "\n" + CSV)  # Its writer repeats the head with every run that it appends.
    ended, report = report_of("latency", str(path))
    assert (ended, report["counts"]["answers"]) == (0, 4)
    assert report["details"]["config"]["k_lex=40 k_sem=8"]["n"] == 2
    assert report["details"]["stage"]["rerank_ms"]["p50_ms"] == 5
    assert report["metrics"]["p95_ms"]["value"] == 300
    assert report["inputs"]["latency"]["rows"] == 4


SPREADSHEETS = {
    "semicolons": "qid;e2e_ms;rps\na;100;5\nb;300;5\n",
    "tabs": "qid\te2e_ms\trps\na\t100\t5\nb\t300\t5\n",
    "spaces around the names": "qid, e2e_ms , rps\na,100,5\nb, 300,5\n",
    "a byte order mark": "\ufeffqid,e2e_ms,rps\r\na,100,5\r\nb,300,5\r\n",
}


@pytest.mark.parametrize("text", SPREADSHEETS.values(), ids=SPREADSHEETS.keys())
def test_csv_files_of_spreadsheets(tmp_path: Path, text: str) -> None:
    path = tmp_path / "latency.csv"
    path.write_bytes(text.encode())
    ended, report = report_of("latency", str(path))
    assert (ended, report["metrics"]["p50_ms"]["value"]) == (0, 200)
    assert report["details"]["load"]["5rps"]["n"] == 2


NOT_FINITE = ("--rps=nan", "--rps=inf", "--slower-by=nan", "--slower-by=inf", "--worse-by=nan")


@pytest.mark.parametrize("option", NOT_FINITE)
def test_an_option_is_a_finite_number(tmp_path: Path, option: str) -> None:
    ended = run("gate", "latency", lines(tmp_path / "l.jsonl", rows(1)), option)
    assert (ended.exit_code, code_of(ended)) == (2, "AF001")


BAD_CSV = {
    "no column e2e_ms": ("qid,ms\na,1\n", 1, None),
    "no number": (CSV + "3,c,fast,,,,,\n", 4, "e2e_ms"),
    "below 0": (CSV + "3,c,-1,,,,,\n", 4, "e2e_ms"),
    "no latency at all": (CSV + "3,c,,,,,,\n", 4, "e2e_ms"),
    "too few cells": (CSV + "3,c\n", 4, None),
    "knobs that are not JSON": (CSV + '3,c,1,,,,,"{k"\n', 4, "knobs"),
    "an open quote": (CSV + '3,c,1,,,,,"x\n', 4, None),
    "a load without end": ("e2e_ms,rps\n1,inf\n", 2, "rps"),
    "a column twice": ("e2e_ms,qid,e2e_ms\n1,a,2\n", 1, "e2e_ms"),
    "a NaN": (CSV + "3,c,nan,,,,,\n", 4, "e2e_ms"),
    "a mark between thousands": (CSV + "3,c,1_000,,,,,\n", 4, "e2e_ms"),
    "a list in one document": ('[{"e2e_ms": 1}, {"e2e_ms": 2}]\n', 1, None),
}


@pytest.mark.parametrize(("text", "line", "field"), BAD_CSV.values(), ids=BAD_CSV.keys())
def test_a_bad_line_of_csv(tmp_path: Path, text: str, line: int, field: str | None) -> None:
    path = tmp_path / "l.csv"
    path.write_text(text)
    result = run("gate", "latency", str(path), "--json")
    assert result.exit_code == 2
    error = json.loads(result.stdout)["error"]
    assert (error["code"], error["line"], error["field"]) == ("AF411", line, field)


def test_csv_rows_can_have_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_text("qid,e2e_ms,fault\na,12,\nb,,timeout\n")
    ended, report = report_of("latency", str(path))
    assert (ended, report["counts"]) == (3, {"answers": 1, "no_answer": 1})


def test_many_lines_and_several_files(tmp_path: Path) -> None:
    many = tmp_path / "many.csv"
    many.write_text("qid,e2e_ms\n" + "a-rather-long-name-of-a-question,12\n" * 20_000)
    other = lines(tmp_path / "l.jsonl", rows(5, 6))
    ended, report = report_of("latency", str(many), other)
    assert (ended, report["counts"]["answers"]) == (0, 20_002)
    assert report["inputs"]["latency"]["rows"] == 20_002


def test_bad_lines_can_be_skipped_and_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_bytes((CSV + "3,c,fast,,,,,\n").encode() + b"4,\xff,1,,,,,\n")
    ended, report = report_of("latency", str(path), "--skip-bad")
    assert ended == 3
    assert report["inputs"]["latency"]["skipped"] == 2
    assert report["reasons"] == ["lines that were not rows and were skipped: 2"]
    listed = report["inputs"]["latency"]["skipped_lines"]
    assert len(listed) == 2
    assert listed[0] == (
        f"{path}, line 4, field e2e_ms: this is not a latency measurement: 'fast' is not a"
        " number (AF411)"
    )


@pytest.mark.parametrize(("name", "code"), BAD_FILES.values(), ids=BAD_FILES.keys())
def test_a_file_that_cannot_be_used(tmp_path: Path, name: str, code: str) -> None:
    bad_files(tmp_path)
    result = run("gate", "latency", str(tmp_path / name))
    assert result.exit_code == 2
    assert code_of(result).startswith(code)


def test_the_configurations_on_the_frontier(tmp_path: Path) -> None:
    given = [
        *rows(100, config="small"),
        *rows(900, config="middle"),
        *rows(950, config="worse"),
        *rows(3000, config="big"),
        *rows(5, config="unknown"),
    ]
    known = {"small": 0.7, "middle": 0.85, "worse": 0.8, "big": 0.95}
    decided = {"small": "no_ship"}
    reports = {
        name: rag_report(tmp_path, name, precision, decided.get(name, "ship"))
        for name, precision in known.items()
    }
    options = [f"--accuracy={name}={path}" for name, path in reports.items()]
    ended, report = report_of("latency", lines(tmp_path / "l.jsonl", given), *options)
    tradeoff = report["details"]["tradeoff"]
    assert ended == 1
    assert [each["config"] for each in tradeoff["frontier"]] == ["small", "middle", "big"]
    assert tradeoff["dominated"] == ["worse"]
    assert tradeoff["not_measured"] == ["unknown"]
    assert (tradeoff["interactive"], tradeoff["batch"]) == ("middle", "big")
    assert report["inputs"]["accuracy of big"]["path"].endswith("big")


def test_a_configuration_is_corrected_for_the_number_of_gates_as_the_report_is(
    tmp_path: Path,
) -> None:
    # Of 100 answers the intervals at 90% end at 99 and 59; for two gates at 95%, further out.
    measured = lines(tmp_path / "l.jsonl", rows(*range(1, 101), config="one"))
    accuracy = f"--accuracy=one={rag_report(tmp_path, 'one', 0.95, 'ship')}"
    gates = ("--gate", "p95_ms<=99@90", "--gate", "p50_ms<=60@90")
    corrected = ("--correction", "holm")
    for options, status, config in (((), "pass", "one"), (corrected, "not_measured", None)):
        _, report = report_of("latency", measured, accuracy, *gates, *options)
        (p95,) = [gate["status"] for gate in report["gates"] if gate["metric"] == "p95_ms"]
        assert (p95, report["details"]["tradeoff"]["interactive"]) == (status, config)


ACCURACY = {
    "a release that answers rightly": (0.9, "ship", 0),
    "one that does not": (0.5, "no_ship", 1),
    "one that could not tell": (None, "inconclusive", 3),
}


def test_a_misspelt_configuration_is_reported(tmp_path: Path) -> None:
    file = lines(tmp_path / "l.jsonl", [{"e2e_ms": 5, "config": "small"}])
    accuracy = rag_report(tmp_path, "rag.json", 0.9)
    _, report = report_of("latency", file, f"--accuracy=smal={accuracy}")
    said = "no configuration has both a latency and a precision, of smal, small"
    assert report["warnings"] == [said]


def test_undecodable_names_are_escaped_in_the_report(tmp_path: Path) -> None:
    file = lines(tmp_path / "l.jsonl", rows(100))
    accuracy = rag_report(tmp_path, "rag\udcff.json", 0.9)
    _, report = report_of("latency", file, f"--accuracy=big\udcff={accuracy}")
    assert report["inputs"]["accuracy of big\\udcff"]["path"].endswith("rag\\udcff.json")


@pytest.mark.parametrize(("precision", "decision", "exit"), ACCURACY.values(), ids=ACCURACY.keys())
def test_the_accuracy_of_the_release(
    tmp_path: Path, precision: float | None, decision: str, exit: int
) -> None:
    report = rag_report(tmp_path, "rag.json", precision, decision)
    file = lines(tmp_path / "l.jsonl", rows(100))
    assert report_of("latency", file, "--accuracy", report)[0] == exit


def test_a_report_without_the_figure_is_refused_not_passed(tmp_path: Path) -> None:
    path = tmp_path / "rag.json"
    path.write_text(
        '{"schema_version": "affidavit-gate/1", "kind": "rag", "decision": "ship", "metrics": {}}'
    )
    file = lines(tmp_path / "l.jsonl", rows(100))
    result = run("gate", "latency", file, "--accuracy", str(path), "--json")
    error = json.loads(result.stdout)["error"]
    assert (result.exit_code, error["code"], error["field"]) == (2, "AF417", "metrics.precision")
    other = run("gate", "latency", file, "--accuracy", file)
    assert (other.exit_code, code_of(other)) == (2, "AF417")
    stranger = json.loads(Path(rag_report(tmp_path, "x.json", 0.9)).read_text())
    path.write_text(json.dumps({**stranger, "kind": "research"}))
    result = run("gate", "latency", file, "--accuracy", str(path), "--json")
    error = json.loads(result.stdout)["error"]
    assert (result.exit_code, error["code"], error["field"]) == (2, "AF417", "kind")


GUARDED: dict[str, tuple[float, float | None, list[str], int]] = {
    "as fast and as right": (1000, 0.9, [], 0),
    "15% slower": (1150, 0.9, [], 0),
    "more than that": (1151, 0.9, [], 1),
    "two points worse": (1000, 0.88, [], 0),
    "more than two": (1000, 0.87, [], 1),
    "a custom guard": (1151, 0.9, ["--slower-by", "0.2"], 0),
    "the same for precision": (1000, 0.89, ["--worse-by", "0.001"], 1),
    "no precision to compare": (1000, None, [], 3),
}


@pytest.mark.parametrize(("slow", "right", "options", "exit"), GUARDED.values(), ids=GUARDED.keys())
def test_the_rollback_guard(
    tmp_path: Path, slow: float, right: float | None, options: list[str], exit: int
) -> None:
    last = tmp_path / "last.json"
    first = run(
        *("gate", "latency", lines(tmp_path / "a.jsonl", rows(1000)), "--report", str(last)),
        *("--accuracy", rag_report(tmp_path, "last-rag.json", 0.9)),
    )
    assert first.exit_code == 0
    accuracy = [] if right is None else ["--accuracy", rag_report(tmp_path, "rag.json", right)]
    ended, _ = report_of(
        *("latency", lines(tmp_path / "b.jsonl", rows(slow)), "--fail-on-regression", str(last)),
        *accuracy,
        *options,
    )
    assert ended == exit


def test_wrong_command_lines(tmp_path: Path) -> None:
    file = lines(tmp_path / "l.jsonl", rows(1))
    assert run("gate", "latency").exit_code == 2
    twice = run("gate", "latency", file, "--accuracy", "a=x", "--accuracy", "a=y")
    assert (twice.exit_code, code_of(twice)) == (2, "AF001")
    assert code_of(run("gate", "latency", file, "--report", file)) != ""
    assert Path(file).read_text().startswith('{"qid"')
    assert code_of(run("gate", "latency", file, "--gates", "precision=0.8")) == "AF401"


def test_the_terminal_output(tmp_path: Path) -> None:
    result = run("gate", "latency", lines(tmp_path / "l.jsonl", rows(100, 3000, rps=5)))
    assert result.exit_code == 1
    assert result.stdout.startswith("Decision: do not ship\n")
    assert "By load" in result.stdout


measured = st.lists(
    st.fixed_dictionaries(
        {"e2e_ms": st.integers(0, 3000)},
        optional={"rps": st.sampled_from([1, 5]), "config": st.sampled_from(["a", "b"])},
    ),
    max_size=12,
)


@settings(max_examples=15)
@given(measured, st.randoms(use_true_random=False))
def test_the_order_of_lines_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, given: list[dict[str, Any]], chance: Any
) -> None:
    folder = tmp_path_factory.mktemp("order")
    shuffled = chance.sample(given, len(given))
    one = report_of("latency", lines(folder / "l.jsonl", given))
    two = report_of("latency", lines(folder / "l.jsonl", shuffled))
    for _, report in (one, two):
        report["inputs"]["latency"].pop("digest")  # Of the bytes, so it tells the order.
    assert json.dumps(one) == json.dumps(two)


TOOL_FILES = ROOT / "tests/importers/files"
P50_OF_TOOLS = {
    "promptfoo.json": 3,
    "promptfoo.jsonl": 3,
    "inspect.json": 11.5,
    "inspect.eval": 10.5,
    "langfuse.json": 1000,
    "langfuse_otlp.jsonl": 0.574887,
    "openinference.jsonl": 0.482585,
    "gen_ai.jsonl": 0.468063,
}


@pytest.mark.parametrize(("name", "median"), P50_OF_TOOLS.items(), ids=P50_OF_TOOLS.keys())
def test_latencies_in_the_file_of_another_tool(name: str, median: float) -> None:
    ended, report = report_of("latency", str(TOOL_FILES / name))
    assert (ended, report["counts"]) == (0, {"answers": 4, "no_answer": 0})
    assert report["metrics"]["p50_ms"]["value"] == median
    assert report["inputs"]["results"]["rows"] == 4


def test_a_configuration_with_better_citations_is_kept(tmp_path: Path) -> None:
    reports = []
    for name, precision, hits in (("a", 0.9, 0.8), ("b", 0.8, 0.9)):
        path = Path(rag_report(tmp_path, f"{name}.json", precision))
        value = json.loads(path.read_text())
        value["metrics"]["chr"] = {"value": hits}
        path.write_text(json.dumps(value))
        reports += ["--accuracy", f"{name}={path}"]
    timed = lines(tmp_path / "l.jsonl", [*rows(100, config="a"), *rows(200, config="b")])
    _, report = report_of("latency", timed, *reports)
    kept = report["details"]["tradeoff"]["frontier"]
    assert [(each["config"], each["p99_ms"], each["chr"]) for each in kept] == [
        ("a", 100, 0.8),
        ("b", 200, 0.9),
    ]
    assert "P99 MS" in run("gate", "latency", timed, *reports).stdout.upper()


def test_a_file_of_a_tool_beside_our_own(tmp_path: Path) -> None:
    own = lines(tmp_path / "own.jsonl", rows(5))
    _, report = report_of("latency", own, str(TOOL_FILES / "promptfoo.json"))
    assert report["counts"]["answers"] == 5
    assert [*report["inputs"]] == ["latency", "results"]


def test_a_row_of_a_tool_without_a_latency_or_an_answer(tmp_path: Path) -> None:
    value = json.loads((TOOL_FILES / "promptfoo.json").read_text())
    tested = value["results"]["results"]
    del tested[0]["latencyMs"]
    tested[1]["response"] = {"error": "timeout"}
    del tested[3]
    file = tmp_path / "results.json"
    file.write_text(json.dumps(value))
    assert code_of(run("gate", "latency", str(file))) == "AF411"
    ended, report = report_of("latency", str(file), "--skip-bad")
    assert (ended, report["counts"]) == (3, {"answers": 1, "no_answer": 1})
    assert report["inputs"]["results"]["skipped"] == 1
    assert any("3 of the 4 rows of its run" in reason for reason in report["reasons"])


def test_times_of_a_tool_that_are_none(tmp_path: Path) -> None:
    value = json.loads((TOOL_FILES / "langfuse.json").read_text())
    text = json.dumps(value).replace('"endTime"', '"ended"')
    file = tmp_path / "langfuse.json"
    file.write_text(text)
    assert code_of(run("gate", "latency", str(file))) == "AF411"
