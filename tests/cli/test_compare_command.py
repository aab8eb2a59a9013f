"""`affidavit compare`, as a user calls it."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.gate_files import code_of
from tests.cli.running import run

MARKS = {"+": "pass", "-": "fail", "?": "not_measured"}


def report(marks: str, kind: str = "rag", **changes: Any) -> dict[str, Any]:
    """Return a report with items from a text of + - ?; a blank is no item."""
    groups: dict[str, list[str]] = {}
    for number, mark in enumerate(marks):
        if mark in MARKS:
            groups.setdefault(MARKS[mark], []).append(f"i{number:02}")
    return {
        "schema_version": "affidavit-gate/1",
        "kind": kind,
        "decision": "ship",
        "metrics": {"precision": {"value": marks.count("+") / max(len(marks), 1)}},
        "items": [{"outcome": name, "H": name, "qids": names} for name, names in groups.items()],
        **changes,
    }


def latency(p95: float | None, precision: float | None = None) -> dict[str, Any]:
    release = {"p95_ms": p95, "precision": precision}
    metrics = {"p95_ms/5rps": {"value": p95}, "other": {"value": 1}}
    return report("", "latency", items=None, details={"release": release}, metrics=metrics)


def several(**parts: dict[str, Any]) -> dict[str, Any]:
    return report("", "all", items=None, metrics={}, parts=parts)


def compared(folder: Path, before: object, now: object) -> tuple[int, dict[str, Any]]:
    for name, value in (("before.json", before), ("now.json", now)):
        (folder / name).write_text(json.dumps(value))
    result = run("compare", str(folder / "before.json"), str(folder / "now.json"), "--json")
    return result.exit_code, json.loads(result.stdout)


OTHERWISE: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "the same gold set": ({"inputs": {"gold": {"digest": "a"}}}, {}, ""),
    "another gold set": (
        {"inputs": {"gold": {"digest": "a"}}},
        {"inputs": {"gold": {"digest": "b"}}},
        "the gold set is another one, so items may ask for something else",
    ),
    "other golden queries": (
        {"inputs": {"golden": {"digest": "a"}}},
        {"inputs": {"golden": {"digest": ["b"]}}},
        "the gold set is another one, so items may ask for something else",
    ),
    "answers in the file of the gold items": (
        {"inputs": {"gold": {"digest": "a"}, "trace": {"digest": "a"}}},
        {"inputs": {"gold": {"digest": "b"}, "trace": {"digest": "b"}}},
        "gold items are in the files of their answers, so it is open whether they changed",
    ),
    "another k": (
        {"settings": {"k": 5, "refusal": "no"}},
        {"settings": {"k": 9, "refusal": "no", "new": 1}},
        "the settings differ: k",
    ),
}


@pytest.mark.parametrize(("before", "now", "said"), OTHERWISE.values(), ids=OTHERWISE.keys())
def test_a_changed_measurement_is_reported(
    before: dict[str, Any], now: dict[str, Any], said: str, tmp_path: Path
) -> None:
    ended, made = compared(tmp_path, report("+", **before), report("+", **{**before, **now}))
    why = "none of 1 items became wrong, and 0 became right"
    assert (ended, made["why"]) == (0, f"{why}; but {said}" if said else why)


COMPARED: dict[str, tuple[dict[str, Any], dict[str, Any], int, str]] = {
    "better": (report("------"), report("++++++"), 0, "improved"),
    "worse": (report("++++++"), report("------"), 1, "regressed"),
    "the same": (report("++-"), report("++-"), 0, "held"),
    "one became wrong, which chance explains": (report("++-"), report("+--"), 3, "cannot_tell"),
    "one that was right is not measured now": (report("++-"), report("+?-"), 3, "cannot_tell"),
    "one that was right is gone": (report("++-"), report("+ -"), 3, "cannot_tell"),
    "no items at all": (report("+", items=None), report("+"), 3, "cannot_tell"),
    "no item in common": (report("+ "), report(" +"), 3, "cannot_tell"),
    "latencies within the guard": (latency(1000), latency(1100), 0, "held"),
    "latencies beyond it": (latency(1000), latency(1200), 1, "regressed"),
    "precision beyond it": (latency(1000, 0.9), latency(1000, 0.8), 1, "regressed"),
    "a latency that was not measured": (latency(1000), latency(None), 3, "cannot_tell"),
    "a precision that was not measured": (latency(9, 0.9), latency(9), 3, "cannot_tell"),
    "all parts held": (several(rag=report("+")), several(rag=report("+")), 0, "held"),
    "the worst part decides": (
        several(rag=report("++++++"), latency=latency(10)),
        several(rag=report("------"), latency=latency(10)),
        1,
        "regressed",
    ),
    "a part that is gone": (
        several(rag=report("+"), latency=latency(10)),
        several(rag=report("+")),
        3,
        "cannot_tell",
    ),
    "no part in common": (several(rag=report("+")), several(latency=latency(1)), 3, "cannot_tell"),
}


@pytest.mark.parametrize(
    ("before", "now", "exit", "change"), COMPARED.values(), ids=COMPARED.keys()
)
def test_comparison_of_two_reports(
    tmp_path: Path, before: dict[str, Any], now: dict[str, Any], exit: int, change: str
) -> None:
    ended, made = compared(tmp_path, before, now)
    assert (ended, made["change"]) == (exit, change)
    assert made["why"]
    shown = run("compare", str(tmp_path / "before.json"), str(tmp_path / "now.json"))
    assert shown.exit_code == exit
    assert shown.stdout.lower().startswith(change.replace("_", " "))


def test_changed_items_are_listed(tmp_path: Path) -> None:
    _, made = compared(tmp_path, report("+-++"), report("-++ +"))
    assert made["checks"]["outcome"]["broken"] == {"total": 1, "first": ["i00"]}
    assert made["checks"]["H"]["mended"] == {"total": 1, "first": ["i01"]}
    assert made["metrics"]["precision"] == {"before": 0.75, "now": 0.6, "difference": -0.15}
    shown = run("compare", str(tmp_path / "before.json"), str(tmp_path / "now.json")).stdout
    assert "Now wrong (1): i00\nNow right (1): i01\n" in shown
    assert "Right before and not measured now (1): i03\n" in shown
    assert "Items that only the later report has: 1\n" in shown


def test_many_flips_are_counted(tmp_path: Path) -> None:
    compared(tmp_path, report("+" * 150), report("-" * 150))
    shown = run("compare", str(tmp_path / "before.json"), str(tmp_path / "now.json")).stdout
    assert "Now wrong (150): i00, " in shown
    assert " and 50 more\n" in shown


GOOD = report("+")
BAD: dict[str, tuple[object, str, str | None]] = {
    "not a report": ({"a": 1}, "AF417", "schema_version"),
    "of another version": (
        {**GOOD, "schema_version": "affidavit-gate/2"},
        "AF417",
        "schema_version",
    ),
    "of another gate": ({**GOOD, "kind": "latency"}, "AF417", "kind"),
    "a list": ([], "AF417", None),
    "an outcome that is none": ({**GOOD, "items": [{"outcome": "ok"}]}, "AF417", "items[0][...]"),
    "a group without names": ({**GOOD, "items": [{"outcome": "pass"}]}, "AF417", "items[0]"),
    "a group without an outcome": ({**GOOD, "items": [{"qids": ["a"]}]}, "AF417", "items[0]"),
}


@pytest.mark.parametrize(("value", "code", "field"), BAD.values(), ids=BAD.keys())
def test_a_file_that_is_not_a_report_is_refused(
    tmp_path: Path, value: object, code: str, field: str | None
) -> None:
    ended, made = compared(tmp_path, GOOD, value)
    assert (ended, made["error"]["code"], made["error"]["field"]) == (2, code, field)
    assert made["error"]["file"].endswith("now.json")


def test_a_latency_report_without_its_release(tmp_path: Path) -> None:
    ended, made = compared(tmp_path, latency(1), {**latency(1), "details": {}})
    assert (ended, made["error"]["field"]) == (2, "details.release")


FILES = {
    "missing": (None, "AF010"),
    "empty": (b"", "AF020"),
    "not JSON": (b"{", "AF020"),
    "binary": (b"\xff\xfe\x00", "AF02"),
}


@pytest.mark.parametrize(("raw", "code"), FILES.values(), ids=FILES.keys())
def test_a_file_that_cannot_be_read(tmp_path: Path, raw: bytes | None, code: str) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps(GOOD))
    if raw is not None:
        bad.write_bytes(raw)
    result = run("compare", str(good), str(bad))
    assert result.exit_code == 2
    assert code_of(result).startswith(code)


def test_the_table_has_the_p_value_that_decided(tmp_path: Path) -> None:
    """Two-sided it is 0.0625, beside which "regressed" would look like a mistake."""
    for name, marks in (("before.json", "+++++"), ("now.json", "-----")):
        (tmp_path / name).write_text(json.dumps(report(marks)))
    result = run("compare", str(tmp_path / "before.json"), str(tmp_path / "now.json"))
    assert result.exit_code == 1
    assert "(p = 0.0312)" in result.stdout
    assert "0.0312" in next(line for line in result.stdout.splitlines() if line[:4] == "item")
    assert "0.0625" not in result.stdout
