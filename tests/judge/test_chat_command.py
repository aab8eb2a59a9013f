"""`affidavit check --judge`: names, files, the estimate, the budget, the cache, and the reports."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.faulty_server import Faulty, serving
from tests.judge.chat_server import reply_of, says
from tests.repository import ROOT

from affidavit.app.judges import DEFAULT_JUDGE, BuiltIn, judge_named
from affidavit.base.errors import AffidavitError
from affidavit.judge.chat.settings import ChatSettings
from affidavit.judge.huggingface_settings import HfSettings

LEAVE = ROOT / "samples" / "leave"
NOTHING = says(reply_of("not_found", support=0.1, quote=""))


def check(project: Path, *more: str) -> subprocess.CompletedProcess[str]:
    command = [
        *(sys.executable, "-m", "affidavit", "check", str(LEAVE / "answer.md")),
        *("--sources", str(LEAVE / "sources"), "--project", str(project), "--top-k", "1"),
        *("--judge", str(project / "judge.toml"), *more),
    ]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def write_settings(project: Path, server: Faulty, more: str = "") -> None:
    text = f'[chat]\nbase_url = "{server.base_url}"\nmodel = "m"\nretries = 0\n{more}\n'
    (project / "judge.toml").write_text(text, "utf-8")


def test_a_check_by_a_model_is_estimated_kept_and_marked(tmp_path: Path) -> None:
    with serving(NOTHING) as server:
        write_settings(tmp_path, server)
        first = check(tmp_path)
        asked = len(server.requests)
        second = check(tmp_path, "--json")
        markdown = check(tmp_path, "-q", "--format", "markdown")
        assert len(server.requests) == asked
    assert first.returncode == second.returncode == 1
    assert f"will be asked {asked} times" in first.stderr
    assert f"judge: {asked} requests" in first.stderr
    assert "Judge: chat 1 (signed only, not re-derivable)" in first.stdout
    assert "judge: 0 requests" in second.stderr
    ledger = json.loads(second.stdout)
    assert ledger["judge"]["name"] == "chat"
    assert ledger["judge"]["rederivable"] is False
    assert "**Judge:** chat 1 (signed only, not re-derivable)" in markdown.stdout
    assert all(entry["verdict"] == "not_found" for entry in ledger["entries"])


def test_a_budget_that_cannot_suffice_is_refused_unless_the_user_says_yes(tmp_path: Path) -> None:
    prices = "price_per_million_input = 1.0\nprice_per_million_output = 1.0\nbudget = 0.001"
    with serving(NOTHING) as server:
        write_settings(tmp_path, server, prices)
        refused = check(tmp_path)
        assert server.requests == []
        stopped = check(tmp_path, "--yes")
    assert (refused.returncode, stopped.returncode) == (3, 3)
    assert "AF259" in refused.stderr
    assert "AF258" in stopped.stderr


def gate(project: Path, *more: str) -> subprocess.CompletedProcess[str]:
    rows = [
        {"question": f"{number}?", "answer": "Leave is 5 days.", "contexts": [f"{number} days."]}
        for number in (1, 2, 2)
    ]
    (project / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    command = [
        *(sys.executable, "-m", "affidavit", "gate", "rag", "rows.jsonl"),
        *("--judge", "judge.toml", *more),
    ]
    return subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)


def test_a_gate_by_a_model_is_estimated_and_nothing_is_asked_twice(tmp_path: Path) -> None:
    with serving(NOTHING) as server:
        write_settings(tmp_path, server)
        one = gate(tmp_path, "--sample", "1", "--no-cache")
        assert len(server.requests) == 1
        first = gate(tmp_path, "-j", "2")
        assert len(server.requests) == 2
        second = gate(tmp_path)
        assert len(server.requests) == 2
    assert [each.returncode for each in (one, first, second)] == [1, 1, 1]
    assert "will be asked 1 times (1 pairs, 0 answered before)" in one.stderr
    assert "will be asked 1 times (2 pairs, 1 answered before)" in first.stderr
    assert "judge: 1 requests, 1 replies from before" in first.stderr
    assert "will be asked 0 times (0 pairs" in second.stderr
    assert first.stdout == second.stdout


def test_a_gate_above_its_budget_is_refused_unless_the_user_says_yes(tmp_path: Path) -> None:
    prices = "price_per_million_input = 1.0\nprice_per_million_output = 1.0\nbudget = 0.0001"
    with serving(NOTHING) as server:
        write_settings(tmp_path, server, prices)
        refused = gate(tmp_path)
        assert server.requests == []
        stopped = gate(tmp_path, "--yes")
    assert (refused.returncode, stopped.returncode) == (3, 3)
    assert "AF259" in refused.stderr
    assert "AF258" in stopped.stderr


def score(project: Path, *more: str, rows: str = "rows.jsonl") -> subprocess.CompletedProcess[str]:
    command = [
        *(sys.executable, "-m", "affidavit", "judge", "score", rows),
        *("--judge", str(project / "judge.toml"), *more),
    ]
    lines = "".join(
        json.dumps({"id": str(number), "claim": f"Leave is {number} days.", "evidence": "No."})
        + "\n"
        for number in range(3)
    )
    (project / "rows.jsonl").write_text(lines, "utf-8")
    return subprocess.run(
        command, cwd=project, input=lines, capture_output=True, text=True, check=False
    )


def test_rows_scored_by_a_model_are_estimated_before_and_accounted_after(tmp_path: Path) -> None:
    with serving(NOTHING) as server:
        write_settings(tmp_path, server)
        said = score(tmp_path).stderr
        piped = score(tmp_path, rows="-").stderr
    assert said.index("will be asked 3 times") < said.index("judge: 3 requests")
    assert "not known in advance" in piped
    assert "judge: 0 requests, 3 replies from before" in piped


def test_rows_that_the_budget_does_not_cover_are_not_sent(tmp_path: Path) -> None:
    prices = "price_per_million_input = 9.0\nprice_per_million_output = 9.0\nbudget = 0.001"
    with serving(NOTHING) as server:
        write_settings(tmp_path, server, prices)
        refused = score(tmp_path)
        assert server.requests == []
        stopped = score(tmp_path, "--yes")
    assert (refused.returncode, stopped.returncode) == (3, 3)
    assert "AF259" in refused.stderr
    assert "AF258" in stopped.stderr


FILES = {
    "no TOML": ("[chat", "AF252"),
    "no table": ("", "AF253"),
    "both tables": ('[chat]\nbase_url="https://h"\nmodel="m"\n[hf]\nmodel="m"', "AF253"),
    "a key in the file": ('[chat]\nbase_url="https://h"\nmodel="m"\napi_key="s"', "AF253"),
    "an unknown table": ("[chats]\n", "AF253"),
    "a wrong type": ('[chat]\nbase_url="https://h"\nmodel="m"\nretries="many"', "AF253"),
    "a meaning that is none": ('[hf]\nmodel="m"\nlabels={a="good"}', "AF253"),
}


@pytest.mark.parametrize(("text", "code"), FILES.values(), ids=FILES.keys())
def test_a_file_that_cannot_be_used(text: str, code: str, tmp_path: Path) -> None:
    file = tmp_path / "judge.toml"
    file.write_text(text, "utf-8")
    with pytest.raises(AffidavitError, match=code) as caught:
        judge_named(str(file))
    assert caught.value.where.file == str(file)


def test_who_is_named() -> None:
    assert judge_named(None) is DEFAULT_JUDGE
    assert judge_named("lexical") is BuiltIn.LEXICAL
    with pytest.raises(AffidavitError, match=r"AF251.*lexical"):
        judge_named("nobody")


def test_a_file_of_each_kind(tmp_path: Path) -> None:
    file = tmp_path / "judge.toml"
    file.write_text('[chat]\nbase_url="https://h/v1"\nmodel="m"', "utf-8")
    assert judge_named(str(file)) == ChatSettings(base_url="https://h/v1", model="m")
    (tmp_path / "weights").mkdir()
    file.write_text('[hf]\nmodel="weights"\nlabels={LABEL_0="supports"}', "utf-8")
    choice = judge_named(str(file))
    assert isinstance(choice, HfSettings)
    assert choice.model == str(tmp_path / "weights")
    assert hash(choice) == hash(judge_named(str(file)))
