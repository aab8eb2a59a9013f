"""The gate language is one: `check`, `gate rag` and `evidence lint` read the same expressions."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.app.test_linting import drafts_of
from tests.cli.running import run
from tests.packs.test_builtin_packs import GOOD
from tests.seal.bundle_making import sealed
from tests.spec.gate_cases import GOLD, TRACE, write

# The metrics of each command that stand for the same kind of metric in the tables below.
NAMES = {
    "check": {"SHARE": "coverage", "RATE": "unsupported", "COUNT": "contradictions"},
    "rag": {"SHARE": "precision", "RATE": "under_refusal", "COUNT": "scu_violations"},
    "lint": {"SHARE": "completeness", "RATE": "errors", "COUNT": "warnings"},
}

ACCEPTED = {
    "an operator": ["SHARE>=0.5"],
    "a strict operator": ["SHARE>0.5"],
    "the metric's own direction": ["SHARE=0.5"],
    "two equals signs": ["SHARE==0.5"],
    "lower is better": ["COUNT<=3"],
    "lower is better, by its own direction": ["COUNT=3"],
    "a confidence": ["SHARE>=0.5@95"],
    "a confidence with a percent sign": ["SHARE>=0.5@95%"],
    "off": ["SHARE=off"],
    "a list with commas": ["SHARE>=0.5,COUNT<=3"],
    "a list with spaces in one word": ["SHARE>=0.5 COUNT<=3"],
    "several words": ["SHARE>=0.5", "COUNT<=3"],
    "spaces around an operator": ["SHARE >= 0.5"],
    "minus zero is zero": ["COUNT<=-0"],
}
REFUSED = {
    "no operator": ("SHARE", "AF400"),
    "no number": ("SHARE>=", "AF400"),
    "a word for a number": ("SHARE>=high", "AF400"),
    "not a number": ("SHARE>=nan", "AF400"),
    "an underscore between digits": ("COUNT<=1_000", "AF400"),
    "digits of another script": ("COUNT<=\u0663", "AF400"),
    "a confidence of a gate that is off": ("SHARE=off@95", "AF400"),
    "two confidences": ("SHARE>=0.5@95@99", "AF400"),
    "an unknown metric": ("speed>=1", "AF401"),
    "a part of a metric without parts": ("SHARE/5rps>=0.5", "AF401"),
    "the wrong direction": ("SHARE<=0.5", "AF402"),
    "the wrong direction of a count": ("COUNT>=1", "AF402"),
    "a share above 1": ("SHARE>=85", "AF403"),
    "a share below 0": ("SHARE>=-1", "AF403"),
    "half a finding": ("COUNT<=0.5", "AF403"),
    "an infinite number": ("COUNT<=1e999", "AF403"),
    "one metric twice": ("SHARE>=0.5,SHARE>=0.6", "AF404"),
    "a confidence of a count": ("COUNT<=3@95", "AF405"),
    "a confidence of 100": ("SHARE>=0.5@100", "AF405"),
}


def spelled(texts: Sequence[str], kind: str) -> list[str]:
    words = list(texts)
    for name, metric in NAMES[kind].items():
        words = [word.replace(name, metric) for word in words]
    return words


def command(kind: str, folder: Path) -> list[str]:
    if kind == "rag":
        write(folder, {"gold.jsonl": [GOLD], "trace.jsonl": [TRACE]})
        gold, traces = str(folder / "gold.jsonl"), str(folder / "trace.jsonl")
        return ["gate", "rag", "--gold", gold, "--trace", traces]
    if kind == "lint":
        bundle = folder / "run.tar.gz"
        bundle.write_bytes(sealed(drafts_of(GOOD)))
        return ["evidence", "lint", str(bundle), "--fail-on", "none"]
    sources = folder / "sources"
    sources.mkdir()
    (sources / "leave.txt").write_text("Leave is paid for 15 days a year.\n")
    (folder / "answer.md").write_text("Leave is paid for 15 days.\n")
    given = ["--judge", "lexical", "--project", str(folder / "project")]
    return ["check", str(folder / "answer.md"), "--sources", str(sources), *given]


def error_of(result: Any) -> dict[str, Any]:
    assert result.exit_code == 2, result.output
    error: dict[str, Any] = json.loads(result.stdout)["error"]
    return error


@pytest.mark.parametrize("option", ["--gate", "--gates"])
@pytest.mark.parametrize("kind", NAMES)
def test_both_options_take_lists_and_words(kind: str, option: str, tmp_path: Path) -> None:
    line = command(kind, tmp_path)
    for texts in ACCEPTED.values():
        result = run(*line, "--json", option, *spelled(texts, kind))
        assert result.exit_code in (0, 1, 3), (texts, result.output)


@pytest.mark.parametrize(("text", "code"), REFUSED.values(), ids=REFUSED.keys())
def test_refused_alike(text: str, code: str, tmp_path: Path) -> None:
    messages = set()
    for kind in NAMES:
        (word,) = spelled([text], kind)
        folder = tmp_path / kind
        folder.mkdir()
        error = error_of(run(*command(kind, folder), "--json", "--gate", word))
        assert error["code"] == code
        message = error["message"]
        for name, metric in NAMES[kind].items():
            message = message.replace(metric, name)
        messages.add(message)
    assert len(messages) == 1


LINT_EXITS = {
    "a gate that holds": ("completeness>=1,closure>=0.1,findings=0", 0, "ship"),
    "a gate that fails": ("closure>=1", 1, "no_ship"),
    "one holds and one fails": ("errors<=9,closure>=1", 1, "no_ship"),
    "too few signals for the confidence": ("completeness>=0.9@99", 3, "inconclusive"),
}


@pytest.mark.parametrize(("gates", "code", "decision"), LINT_EXITS.values(), ids=LINT_EXITS.keys())
def test_lint_gates_decide(gates: str, code: int, decision: str, tmp_path: Path) -> None:
    line = command("lint", tmp_path)
    result = run(*line, "--json", "--gates", gates)
    assert result.exit_code == code
    (entry,) = json.loads(result.stdout)["gates"]
    assert (entry["decision"], json.loads(result.stdout)["exit"]) == (decision, code)
    assert [each["status"] in run(*line, "--gates", gates).stdout for each in entry["results"]]


def test_lint_without_gates_reports_none(tmp_path: Path) -> None:
    result = run(*command("lint", tmp_path), "--json")
    assert (result.exit_code, "gates" in json.loads(result.stdout)) == (0, False)


def test_lint_gates_print_their_reasons(tmp_path: Path) -> None:
    result = run(*command("lint", tmp_path), "--gates", "closure>=1", "errors=0")
    assert "Gate: fail: closure is " in result.stdout
    assert "Gate: pass: errors is 0, as errors<=0 asks" in result.stdout
