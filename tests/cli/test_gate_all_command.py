"""`affidavit gate all`, as a user calls it: what a project configures, and one decision."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.cli.gate_files import GOLD, NONE, REFUSED, RIGHT, code_of, lines, report_of
from tests.cli.running import run
from tests.cli.test_gate_research_command import ABSTAINED, FOUND, GOLDEN, stored

from affidavit.reports.formats import format_names

TABLES = {
    "rag": 'gold = "gold.jsonl"\ntrace = ["trace.jsonl"]\n',
    "latency": 'rows = "latency.jsonl"\n',
    "agreement": 'pairs = "pairs.jsonl"\n',
    "stability": 'gold = "gold.jsonl"\nruns = "runs.jsonl"\n',
    "research": 'golden = "golden.json"\noutputs = "outputs"\n',
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose five gates pass."""
    lines(tmp_path / "gold.jsonl", [GOLD, NONE])
    lines(
        tmp_path / "trace.jsonl",
        [
            {"qid": "A1", "answer_json": RIGHT, "retrieved_ids": ["p1#2"]},
            {"qid": "U1", "answer_json": REFUSED, "retrieved_ids": []},
        ],
    )
    lines(tmp_path / "latency.jsonl", [{"e2e_ms": 100}])
    both = [("VALID", "VALID"), ("REJECT", "REJECT")]
    lines(
        tmp_path / "pairs.jsonl",
        [
            {"qid": n, "scholar": {"label": first}, "auditor": {"label": second}}
            for n, (first, second) in enumerate(both)
        ],
    )
    lines(
        tmp_path / "runs.jsonl",
        [
            {"qid": qid, "seed": seed, "answer_json": answer, "retrieved_ids": ["p1#2"]}
            for qid, answer in (("A1", RIGHT), ("U1", REFUSED))
            for seed in (0, 1)
        ],
    )
    (tmp_path / "golden.json").write_text(json.dumps(GOLDEN))
    stored(tmp_path / "outputs" / "one", FOUND)
    stored(tmp_path / "outputs" / "two", ABSTAINED)
    configure(tmp_path, **TABLES)
    return tmp_path


def configure(folder: Path, /, *, before: str = "", **tables: str) -> str:
    path = folder / "affidavit.toml"
    path.write_text(before + "".join(f"[gates.{name}]\n{text}" for name, text in tables.items()))
    return str(path)


def config(folder: Path) -> list[str]:
    return ["-c", str(folder / "affidavit.toml")]


def test_every_gate_passes(project: Path) -> None:
    ended, report = report_of("all", *config(project))
    assert (ended, report["kind"], report["decision"]) == (0, "all", "ship")
    assert [*report["parts"]] == [*TABLES]
    assert report["reasons"] == []
    assert report["parts"]["rag"]["decision"] == "ship"
    assert report["metrics"]["rag.precision"]["value"] == 1
    assert {gate["metric"] for gate in report["gates"]} > {"rag.chr", "latency.p95_ms"}
    assert report["inputs"]["stability.gold"]["rows"] == 2


WORSE: dict[str, tuple[dict[str, str], int, str]] = {
    "one says no": ({"latency": 'rows = "latency.jsonl"\ngates = ["p95=10"]\n'}, 1, "no_ship"),
    "gates as one text": ({"latency": 'rows = "latency.jsonl"\ngates = "p95=10"\n'}, 1, "no_ship"),
    "one cannot tell": (
        {"latency": 'rows = "latency.jsonl"\ngates = ["p95/5rps=10"]\n'},
        3,
        "inconclusive",
    ),
    "a file is missing": ({"latency": 'rows = "none.jsonl"\n'}, 2, "inconclusive"),
    "golden queries are missing": (
        {"research": 'golden = "none.json"\noutputs = "outputs"\n'},
        2,
        "inconclusive",
    ),
    "a file is malformed": ({"latency": 'rows = "gold.jsonl"\n'}, 2, "inconclusive"),
    "one says no, and a file of another is missing": (
        {
            "latency": 'rows = "latency.jsonl"\ngates = ["p95=10"]\n',
            "agreement": 'pairs = "none.jsonl"\n',
        },
        1,
        "no_ship",
    ),
    "a gold set that was changed": (
        {"rag": TABLES["rag"] + f'expect_gold_digest = "sha256:{"0" * 64}"\n'},
        4,
        "inconclusive",
    ),
}


@pytest.mark.parametrize(("tables", "exit", "decision"), WORSE.values(), ids=WORSE.keys())
def test_the_worst_decides(project: Path, tables: dict[str, str], exit: int, decision: str) -> None:
    configure(project, **(TABLES | tables))
    ended, report = report_of("all", *config(project))
    assert (ended, report["decision"]) == (exit, decision)
    assert len(report["parts"]) == 5
    assert all(
        any(reason.startswith(f"{name}: ") for reason in report["reasons"]) for name in tables
    )


def test_a_gate_that_could_not_be_evaluated_is_named(project: Path) -> None:
    configure(project, latency='rows = "none.jsonl"\n')
    result = run("gate", "all", *config(project))
    assert (result.exit_code, code_of(result)) == (2, "AF010")
    assert result.stdout.startswith("Decision: could not tell\n  - latency: ")
    assert "none.jsonl: the file does not exist" in result.stdout


WRONG: dict[str, tuple[str, str, int | None]] = {
    "no gates": ("[tools.x]\n", "AF453", None),
    "nothing at all": ("", "AF453", None),
    "only a history": ('[gates]\nhistory = "h.jsonl"\n', "AF453", None),
    "gates that are no tables": ("gates = 7\n", "AF452", 1),
    "a gate that is not a table": ("[gates]\nrag = 7\n", "AF452", 2),
    "a gate that is none": ("[gates.rags]\n", "AF451", 1),
    "a key that is none": ('# \n[gates.rag]\ntrace = "t"\ngoldd = "g"\n', "AF451", 4),
    "a key that is missing": ("\n[gates.stability]\n", "AF452", 2),
    "a value of the wrong kind": ('[gates.rag]\ntrace = "t"\nk = "5"\n', "AF452", 3),
    "a value out of range": ('[gates.rag]\ntrace = "t"\nk = 0\n', "AF452", 3),
    "an empty name": ('[gates.latency]\nrows = ""\n', "AF452", 2),
    "a name in a list": ('[gates.latency]\nrows = ["a", 7]\n', "AF452", 2),
    "one agent alone": ('[gates.agreement]\nscholar = "s"\n', "AF452", 1),
    "an agent that agrees with itself": (
        '[gates.agreement]\nscholar = "s"\nauditor = "s"\n',
        "AF452",
        3,
    ),
    "a gate on nothing that is measured": (
        '[gates.latency]\nrows = "r"\ngates = ["p95=1", "p96=1"]\n',
        "AF401",
        3,
    ),
    "a gate that cannot be reached": (
        '[gates.rag]\ntrace = "t"\ngates = "precision=80"\n',
        "AF403",
        3,
    ),
    "a guard without end": ('[gates.latency]\nrows = "r"\nslower_by = inf\n', "AF452", 3),
    "both ways": ('[gates.agreement]\npairs = "p"\nscholar = "s"\nauditor = "a"\n', "AF452", 1),
    "a history that is none": (
        '[gates]\nhistory = 7\n[gates.latency]\nrows = "r"\n',
        "AF452",
        2,
    ),
    "not TOML": ("[gates.rag\n", "AF450", None),
}


@pytest.mark.parametrize(("text", "code", "line"), WRONG.values(), ids=WRONG.keys())
def test_a_config_that_is_wrong(tmp_path: Path, text: str, code: str, line: int | None) -> None:
    (tmp_path / "affidavit.toml").write_text(text)
    result = run("gate", "all", *config(tmp_path), "--json")
    error = json.loads(result.stdout)["error"]
    assert (result.exit_code, error["code"]) == (2, code)
    assert error["file"] == str(tmp_path / "affidavit.toml")
    assert line is None or error["line"] == line


def test_the_nearest_name_is_suggested(tmp_path: Path) -> None:
    (tmp_path / "affidavit.toml").write_text('[gates.rag]\ntrace = "t"\nexpect_gold_digets = "x"\n')
    result = run("gate", "all", *config(tmp_path))
    assert "did you mean expect_gold_digest?" in result.stderr


FILES: dict[str, tuple[bytes | None, str]] = {
    "missing": (None, "AF454"),
    "not text": (b"\xff\xfe", "AF450"),
}


@pytest.mark.parametrize(("raw", "code"), FILES.values(), ids=FILES.keys())
def test_a_config_that_cannot_be_read(tmp_path: Path, raw: bytes | None, code: str) -> None:
    if raw is not None:
        (tmp_path / "affidavit.toml").write_bytes(raw)
    result = run("gate", "all", *config(tmp_path))
    assert (result.exit_code, code_of(result)) == (2, code)
    folder = run("gate", "all", "-c", str(tmp_path))
    assert (folder.exit_code, code_of(folder)) == (2, "AF012")


def test_all_that_a_config_can_say(project: Path) -> None:
    (project / "scu.json").write_text("[]")
    first = run("gate", "all", *config(project), "--json")
    last: dict[str, Any] = json.loads(first.stdout)["parts"]
    for name, part in last.items():
        (project / f"last-{name}.json").write_text(json.dumps(part))
    baseline = {name: f'fail_on_regression = "last-{name}.json"\n' for name in last}
    for name in ("s.jsonl", "a.jsonl"):
        lines(project / name, [{"qid": n, "label": "VALID"} for n in range(3)])
    configure(
        project,
        before='[gates]\nhistory = "history.jsonl"\n',
        rag=TABLES["rag"]
        + baseline["rag"]
        + 'gates = ["precision>=0.5", "chr=off"]\nk = 3\nrefusal = "not in context"\n'
        'scu_enforced = false\nscu_rules = "scu.json"\nallow_missing = true\nskip_bad = true\n'
        "jobs = 1\n",
        latency=TABLES["latency"]
        + baseline["latency"]
        + 'rps = 5\naccuracy = "last-rag.json"\nslower_by = 0.5\nworse_by = 0.1\n',
        agreement='scholar = "s.jsonl"\nauditor = "a.jsonl"\ngates = ["kappa=off"]\n',
        stability=TABLES["stability"] + baseline["stability"],
        research=TABLES["research"] + baseline["research"],
    )
    ended, report = report_of("all", *config(project))
    # The last release had no precision, so the latency guard is not measured.
    assert (ended, report["decision"]) == (3, "inconclusive")
    assert [reason.partition(":")[0] for reason in report["reasons"]] == ["latency"]
    assert report["parts"]["stability"]["comparison"]["change"] == "held"
    assert report["parts"]["latency"]["details"]["load"]["5rps"]["n"] == 1
    assert (project / "history.jsonl").exists()


def test_accuracies_of_configurations(project: Path) -> None:
    _, report = report_of("all", *config(project))
    (project / "rag.json").write_text(json.dumps(report["parts"]["rag"]))
    lines(project / "latency.jsonl", [{"e2e_ms": 5, "config": "small"}])
    configure(project, latency='rows = "latency.jsonl"\naccuracy = {small = "rag.json"}\n')
    ended, report = report_of("all", *config(project))
    tradeoff = report["parts"]["latency"]["details"]["tradeoff"]
    assert (ended, tradeoff["interactive"]) == (0, "small")


def test_the_config_of_this_folder(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    ended, report = report_of("all")
    assert (ended, report["inputs"]["rag.gold"]["path"]) == (0, "gold.jsonl")
    assert os.path.sep not in report["inputs"]["latency.latency"]["path"]


def test_reports_of_every_form(project: Path) -> None:
    forms = ["report" if name == "json" else name for name in format_names("gate")]
    options = [word for form in forms for word in (f"--{form}", str(project / f"out.{form}"))]
    result = run("gate", "all", *config(project), *options)
    assert result.exit_code == 0, result.output
    assert all((project / f"out.{form}").stat().st_size for form in forms)


def test_an_input_is_not_overwritten(project: Path) -> None:
    result = run("gate", "all", *config(project), "--report", str(project / "gold.jsonl"))
    assert result.exit_code == 2
    assert "A1" in (project / "gold.jsonl").read_text()


def test_two_reports_of_all_gates_can_be_compared(project: Path) -> None:
    first, second = project / "one.json", project / "two.json"
    assert run("gate", "all", *config(project), "--report", str(first)).exit_code == 0
    assert run("gate", "all", *config(project), "--report", str(second)).exit_code == 0
    assert first.read_bytes() == second.read_bytes()
    result = run("compare", str(first), str(second), "--json")
    made = json.loads(result.stdout)
    assert (result.exit_code, made["change"]) == (0, "held")
    assert [*made["parts"]] == [*TABLES]
