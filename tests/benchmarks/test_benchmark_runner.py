"""The benchmark runner, end to end, with instant benchmarks. No times are asserted."""

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import pytest
from benchmarks.figure import Figure, best_cpu_seconds

from benchmarks import run, startup

MET = Figure("quick thing", "at most 3x the other", 2.00004, "lower", 3.0, "2 ms, other 1 ms")
MISSED = Figure("slow thing", "at least 5x faster", 4.9, "higher", 5.0, "1 ms, other 4.9 ms")


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Replace the benchmarks by two small ones; return the file for the figures."""
    for name, figures in {"good": [MET], "bad": [MISSED, MET]}.items():
        module = ModuleType(f"benchmarks.{name}")
        vars(module)["measure"] = lambda quick=False, figures=figures: figures
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(run, "BENCHMARKS", ("good", "bad"))
    # Another process would not know them.
    monkeypatch.setattr(run, "measured", lambda name, quick: run.figures_of(name, quick))
    return tmp_path / "results.jsonl"


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_all_are_run_printed_and_noted(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main([], results) == 1
    heading, *rows = capsys.readouterr().out.splitlines()
    assert heading.split() == ["what", "measured", "target", "detail"]
    assert [row.split("  ")[0] for row in rows] == ["quick thing", "slow thing", "quick thing"]
    assert "2.000" in rows[0]
    assert [("MISSED" in row, " met " in row) for row in rows] == [
        (False, True),
        (True, False),
        (False, True),
    ]
    (noted,) = lines_of(results)
    assert noted["benchmarks"] == ["good", "bad"]
    assert noted["quick"] is False


def test_one_is_run_and_its_line_is_appended(results: Path) -> None:
    assert run.main(["good"], results) == 0
    assert run.main(["good", "--quick"], results) == 0
    first, second = lines_of(results)
    assert (first["quick"], second["quick"]) == (False, True)
    assert first["figures"] == [
        {
            "name": "quick thing",
            "target": "at most 3x the other",
            "ratio": 2.0,
            "better": "lower",
            "limit": 3.0,
            "detail": "2 ms, other 1 ms",
            "met": True,
        }
    ]


def test_a_line_says_where_and_what_was_measured(results: Path) -> None:
    run.main(["good"], results)
    (noted,) = lines_of(results)
    assert set(noted) == {
        *("benchmarks", "commit", "dirty", "figures", "libraries", "machine", "measured_at"),
        "quick",
    }
    assert set(noted["machine"]) == {"cpu", "cores", "platform", "python"}
    assert all(noted["machine"].values())
    assert noted["libraries"]["orjson"]
    assert str(Path.home()) not in results.read_text("utf-8")


def test_an_unknown_name_is_refused_before_anything_runs(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        run.main(["good", "ugly"], results)
    assert ended.value.code == 2
    assert "ugly" in capsys.readouterr().err
    assert not results.exists()


def test_a_copy_without_git_has_no_commit(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "ROOT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    run.main(["good"], results)
    (noted,) = lines_of(results)
    assert (noted["commit"], noted["dirty"]) == (None, None)


def test_a_library_that_is_not_installed_has_no_version() -> None:
    assert run.installed_version("no-such-library-as-this") is None


@pytest.mark.parametrize("name", run.BENCHMARKS)
def test_every_benchmark_that_is_listed_can_be_run(name: str) -> None:
    assert callable(importlib.import_module(f"benchmarks.{name}").measure)
    assert f"`{name}`" in (run.ROOT / "benchmarks" / "README.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("better", "ratio", "met"),
    [("lower", 3.0, True), ("lower", 3.1, False), ("higher", 3.0, True), ("higher", 2.9, False)],
)
def test_the_limit_itself_is_met(
    better: Literal["lower", "higher"], ratio: float, met: bool
) -> None:
    assert Figure("", "", ratio, better, 3.0, "").met is met


def test_work_is_done_in_turns() -> None:
    done: list[str] = []
    best = best_cpu_seconds(2, lambda: done.append("a"), lambda: done.append("b"))
    assert done == ["a", "b", "a", "b"]
    assert all(0 <= seconds < float("inf") for seconds in best)


def test_children_are_measured() -> None:
    idle = (sys.executable, "-c", "pass")
    assert all(seconds > 0 for seconds in startup.best_child_cpu_seconds(1, idle, idle))


def test_a_benchmark_runs_in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(startup, "measure", None)  # What this process has loaded is not used.
    assert run.measured("startup", quick=True)[0].name == "affidavit --help"
