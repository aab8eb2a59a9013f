"""`affidavit gate research`, as a user calls it."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cli.gate_files import code_of, lines, report_of
from tests.cli.running import run

GOLDEN = [
    {"objective": "find x", "required_evidence_ids": ["e1"], "evidence_sufficient": True},
    {"objective": "find y", "required_evidence_ids": [], "evidence_sufficient": False},
]
EVIDENCE = {
    "evidence_id": "e1",
    "chunk_id": "c1",
    "source_id": "s1",
    "quote": "X rejects null keys.",
    "span": {"start": 0, "end": 20},
}
FOUND: dict[str, Any] = {
    "schema_version": 1,
    "run_id": "r1",
    "objective": "find x",
    "stop_reason": "OBJECTIVE_ACHIEVED",
    "claims": [
        {"claim_id": "k1", "statement": "s", "status": "verified", "evidence_refs": ["e1"]},
        {"claim_id": "k2", "statement": "t", "status": "candidate", "evidence_refs": []},
    ],
    "evidence": [EVIDENCE],
}
ABSTAINED: dict[str, Any] = {
    "run_id": "r2",
    "objective": "find   y",
    "stop_reason": "NO_EVIDENCE",
    "claims": [],
    "evidence": [],
}


def stored(
    folder: Path,
    output: dict[str, Any] | None,
    events: str | None = "1 2",
    manifests: str | None = "1 2",
) -> None:
    """Store the artifacts of a run; None leaves a file out."""
    folder.mkdir(parents=True)
    if output is not None:
        (folder / "output.json").write_text(json.dumps(output))
    for name, steps in (("events.jsonl", events), ("manifests.jsonl", manifests)):
        if steps is not None:
            lines(folder / name, [{"step_id": int(step), "run_id": None} for step in steps.split()])


def project(folder: Path, *runs: tuple[Any, ...], golden: object = None) -> list[str]:
    """Write golden queries and runs; return the options that name them."""
    place = folder / "golden_queries.json"
    place.write_text(json.dumps(GOLDEN if golden is None else golden))
    (folder / "outputs").mkdir()
    for number, run_ in enumerate(runs):
        stored(folder / "outputs" / f"run_{number}", *run_)
    return ["--golden", str(place), "--outputs", str(folder / "outputs")]


GOOD = ((FOUND,), (ABSTAINED,))
DECIDED: dict[str, tuple[tuple[tuple[Any, ...], ...], list[str], int]] = {
    "all gates pass": (GOOD, [], 0),
    "a verified claim without evidence": (
        (({**FOUND, "evidence": [{**EVIDENCE, "quote": ""}]},), (ABSTAINED,)),
        [],
        1,
    ),
    "required evidence is missing": (
        (({**FOUND, "evidence": [{**EVIDENCE, "evidence_id": "e9"}], "claims": []},), (ABSTAINED,)),
        [],
        1,
    ),
    "a run that should have abstained": (
        ((FOUND,), ({**ABSTAINED, "stop_reason": "BUDGET_EXCEEDED"},)),
        [],
        1,
    ),
    "a step without a manifest": (((FOUND, "1 2 3", "1 2"), (ABSTAINED,)), [], 1),
    "no manifests at all": (((FOUND, "1 2", None), (ABSTAINED,)), [], 1),
    "no events: the steps are unknown": (((FOUND, None, "1"), (ABSTAINED,)), [], 3),
    "a query without a run": (GOOD[:1], [], 3),
    "which may be allowed": (
        GOOD[:1],
        ["--allow-missing", "--gates", "abstention_accuracy=off"],
        0,
    ),
    "no runs": ((), [], 3),
    "a custom gate": (
        ((FOUND, "1 2 3", "1 2"), (ABSTAINED,)),
        ["--gates", "manifest_integrity=0.7"],
        0,
    ),
}


@pytest.mark.parametrize(("runs", "options", "exit"), DECIDED.values(), ids=DECIDED.keys())
def test_decision_of_research_runs(
    tmp_path: Path, runs: tuple[tuple[Any, ...], ...], options: list[str], exit: int
) -> None:
    ended, report = report_of("research", *project(tmp_path, *runs), *options)
    assert ended == exit
    assert report["decision"] == ["ship", "no_ship", "", "inconclusive"][exit]
    assert [*report["metrics"]] == [
        "evidence_coverage_rate",
        "golden_recall",
        "abstention_accuracy",
        "manifest_integrity",
    ]
    assert all(gate["status"] in ("pass", "fail", "not_measured") for gate in report["gates"])


def test_each_run_is_listed_beside_the_total(tmp_path: Path) -> None:
    _, report = report_of("research", *project(tmp_path, *GOOD))
    assert [(run_["run_id"], run_["query"]) for run_ in report["details"]["runs"]] == [
        ("r1", "find x"),
        ("r2", "find y"),
    ]
    assert report["inputs"]["outputs"]["rows"] == 2
    assert report["inputs"]["outputs"]["digest"].startswith("sha256:")


SYSTEM_ERRORS: dict[str, tuple[bytes | None, str]] = {
    "missing": (None, "AF415"),
    "empty": (b"", "AF414"),
    "not JSON": (b"[", "AF414"),
    "not text": (b"\xff\xfe", "AF414"),
    "no queries": (b"[]", "AF414"),
    "not a list": (b'"x"', "AF414"),
    "a field is missing": (b'[{"objective": "x"}]', "AF414"),
    "a duplicate key": (b'[{"objective": "x", "objective": "y"}]', "AF414"),
}


@pytest.mark.parametrize(("raw", "code"), SYSTEM_ERRORS.values(), ids=SYSTEM_ERRORS.keys())
def test_golden_queries_that_cannot_be_used_are_a_system_error(
    tmp_path: Path, raw: bytes | None, code: str
) -> None:
    options = project(tmp_path, *GOOD)
    place = tmp_path / "golden_queries.json"
    place.unlink()
    if raw is not None:
        place.write_bytes(raw)
    out = tmp_path / "report.json"
    result = run("gate", "research", *options, "--report", str(out), "--json")
    assert (result.exit_code, code_of(result)) == (2, code)
    report = json.loads(out.read_text())
    assert report == json.loads(result.stdout)
    assert (report["stop_reason"], report["decision"]) == ("SYSTEM_ERROR", "inconclusive")
    assert report["error"]["code"] == code
    assert report["error"]["file"] == str(place)
    assert "SYSTEM_ERROR" in run("gate", "research", *options).stdout


def test_a_folder_instead_of_golden_queries(tmp_path: Path) -> None:
    result = run("gate", "research", "--golden", str(tmp_path), "--outputs", str(tmp_path))
    assert (result.exit_code, code_of(result)) == (2, "AF414")


BAD_RUNS: dict[str, tuple[dict[str, bytes], str]] = {
    "an output that is not JSON": ({"output.json": b"{"}, "AF020"),
    "an output that is none": ({"output.json": b"{}"}, "AF416"),
    "stored steps without an output": ({"events.jsonl": b'{"step_id": 1}\n'}, "AF416"),
    "a step that is none": (
        {"output.json": json.dumps(FOUND).encode(), "events.jsonl": b'{"step": 1}\n'},
        "AF416",
    ),
    "a run id that another run has": (
        {"output.json": json.dumps({**FOUND, "run_id": "r1"}).encode()},
        "AF416",
    ),
}


@pytest.mark.parametrize(("files", "code"), BAD_RUNS.values(), ids=BAD_RUNS.keys())
def test_a_run_that_cannot_be_read(tmp_path: Path, files: dict[str, bytes], code: str) -> None:
    options = project(tmp_path, *GOOD)
    folder = tmp_path / "outputs" / "zz" / "deeper"
    folder.mkdir(parents=True)
    for name, raw in files.items():
        (folder / name).write_bytes(raw)
    result = run("gate", "research", *options)
    assert (result.exit_code, code_of(result)) == (2, code)
    ended, report = report_of("research", *options, "--skip-bad")
    assert (ended, report["inputs"]["outputs"]["skipped"]) == (3, 1)
    assert report["reasons"] == ["runs that could not be read and were skipped: 1"]
    assert f"({code})" in report["inputs"]["outputs"]["skipped_lines"][0]


def test_a_missing_folder_is_reported(tmp_path: Path) -> None:
    options = project(tmp_path, *GOOD)
    result = run("gate", "research", *options[:2], "--outputs", str(tmp_path / "none"))
    assert (result.exit_code, code_of(result)) == (2, "AF016")
    file = run("gate", "research", *options[:2], "--outputs", options[1])
    assert (file.exit_code, code_of(file)) == (2, "AF016")


def test_an_unlistable_folder_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = project(tmp_path, *GOOD)

    def refuse(place: str) -> None:
        raise PermissionError(13, "Permission denied", place)

    monkeypatch.setattr("os.scandir", refuse)
    result = run("gate", "research", *options)
    assert (result.exit_code, code_of(result)) == (2, "AF011")


def test_against_an_earlier_report(tmp_path: Path) -> None:
    runs = [({**FOUND, "run_id": f"r{n}"},) for n in range(6)]
    last = tmp_path / "last.json"
    good = project(tmp_path, *runs, (ABSTAINED | {"run_id": "z"},))
    assert run("gate", "research", *good, "--report", str(last)).exit_code == 0
    worse = [({**FOUND, "run_id": f"r{n}"}, "1 2 3 4", "1 2 3") for n in range(6)]
    (tmp_path / "now").mkdir()
    now = project(tmp_path / "now", *worse, (ABSTAINED | {"run_id": "z"},))
    ended, report = report_of(
        *("research", *now, "--gates", "manifest_integrity=0.7"),
        *("--fail-on-regression", str(last)),
    )
    assert (ended, report["comparison"]["change"]) == (1, "regressed")
    assert report["comparison"]["broken"]["total"] == 6


@settings(max_examples=10)
@given(st.permutations(range(4)), st.permutations(range(3)))
def test_the_order_of_lines_and_folders_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, folders: list[int], steps: list[int]
) -> None:
    def made(order: list[int], step_order: list[int]) -> str:
        root = tmp_path_factory.mktemp("order")
        text = " ".join(map(str, step_order))
        runs = [({**FOUND, "run_id": f"r{n}"}, text, text) for n in order]
        nothing = ({**ABSTAINED, "run_id": "z"},)
        ended, report = report_of("research", *project(root, *runs, nothing))
        for given_ in report["inputs"].values():
            given_.pop("digest"), given_.pop("path")
        return json.dumps([ended, report])

    assert made(folders, steps) == made([0, 1, 2, 3], [0, 1, 2])
