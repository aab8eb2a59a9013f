"""`affidavit check --judge cascade.toml`: only uncertain claims are sent, counted and recorded."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.faulty_server import Faulty, serving
from tests.judge.chat_server import reply_of, says
from tests.judge.test_cascade import reading_of
from tests.repository import ROOT

from affidavit.judge.cascade import find_doubt
from affidavit.ledger.model import SupportLevel

MARGIN = 0.3
SOURCE = """# Leave policy

Employees receive 15 days of paid annual leave.

Requests are sent to the line manager two weeks in advance.

Visitors sign in at reception and wear a badge.
"""
ANSWER = """Employees receive 15 days of paid annual leave. Visitors sign in at reception.
Requests are approved by the line manager within two weeks. The office cat is called Bertram.
"""
QUOTE = "Requests are sent to the line manager"
WEAK = says(reply_of("weak", support=0.6, quote=QUOTE))
PRICES = "price_per_million_input = 1.0\nprice_per_million_output = 2.0"


def run(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "affidavit", *words, "--project", str(project)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def check(project: Path, judge: str, *more: str) -> subprocess.CompletedProcess[str]:
    answer, source = project / "answer.md", project / "policy.md"
    answer.write_text(ANSWER, "utf-8")
    source.write_text(SOURCE, "utf-8")
    words = ("check", str(answer), "--sources", str(source), "--judge", judge, "--json", *more)
    return run(project, *words, "--at", "2026-01-31T00:00:00Z")


def cascade(project: Path, server: Faulty, more: str = "") -> str:
    file = project / "cascade.toml"
    chat = f'[chat]\nbase_url = "{server.base_url}"\nmodel = "m"\nretries = 0\n{PRICES}\n{more}\n'
    file.write_text(f"[cascade]\nmargin = {MARGIN}\n\n{chat}", "utf-8")
    return str(file)


def uncertain_claims(ledger: dict[str, Any]) -> list[str]:
    """Return the claims that the built-in judge, alone, is not sure about."""
    return [
        entry["claim_text"]
        for entry in ledger["entries"]
        if find_doubt(
            [
                reading_of(
                    SupportLevel(each["support_level"]), each["similarity"], each["contradiction"]
                )
                for each in entry["readings"]
            ],
            MARGIN,
        )
    ]


def test_only_uncertain_claims_are_sent_and_the_run_can_be_repeated_offline(tmp_path: Path) -> None:
    alone = json.loads(check(tmp_path, "standard").stdout)
    uncertain = uncertain_claims(alone)
    assert 0 < len(uncertain) < len(alone["entries"])
    with serving(WEAK) as server:
        judge = cascade(tmp_path, server)
        first = check(tmp_path, judge)
    # One passage in the source, so one request for each uncertain claim.
    assert len(server.requests) == len(uncertain)
    sent = [request["messages"][1]["content"] for request in server.requests]
    assert all(any(claim in each for each in sent) for claim in uncertain)
    total, count = len(alone["entries"]), len(uncertain)
    assert f"{count} of {total} claims are uncertain; {server.base_url}" in first.stderr
    assert f"will be asked {count} times" in first.stderr
    assert f"{count} of {total} claims were uncertain and sent to chat" in first.stderr
    # 100 tokens in and 10 out for each reply of the stub.
    assert f"{count} requests, 0 replies from before, {count * 120e-6:.4f} USD" in first.stderr

    ledger = json.loads(first.stdout)
    assert ledger["judge"]["name"] == "standard+chat"
    assert ledger["judge"]["rederivable"] is False
    for before, after in zip(alone["entries"], ledger["entries"], strict=True):
        if before["claim_text"] in uncertain:
            (reading,), (old,) = after["readings"], before["readings"]
            assert (after["verdict"], reading["snippet"]) == ("weak", QUOTE)
            assert "standard was not sure" in reading["notes"]
            assert reading["scores"]["said_support"] == 0.6
            assert reading["scores"]["standard_similarity"] == old["similarity"]
        else:
            assert after["readings"] == before["readings"]

    # The server is gone: the replies are stored, and the stored ledger is replayed when shown.
    second = check(tmp_path, judge)
    assert json.loads(second.stdout) == ledger
    assert f"0 requests, {count} replies from before" in second.stderr
    shown = run(tmp_path, "sessions", "show", ledger["session_id"], "--json")
    assert json.loads(shown.stdout) == ledger


def test_a_budget_below_the_estimate_stops_the_run_before_anything_is_sent(tmp_path: Path) -> None:
    with serving(WEAK) as server:
        refused = check(tmp_path, cascade(tmp_path, server, "budget = 0.000001"))
        assert server.requests == []
    assert refused.returncode == 3
    assert "AF259" in refused.stderr


def test_rows_are_sent_only_if_they_are_uncertain(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    claims = ("Visitors sign in at reception.", "Quarterly dividends rose by a third.")
    lines = [json.dumps({"id": claim, "claim": claim, "evidence": SOURCE}) for claim in claims]
    rows.write_text("\n".join(lines), "utf-8")
    with serving(WEAK) as server:
        judge = cascade(tmp_path, server)
        command = [sys.executable, "-m", "affidavit", "judge", "score", str(rows), "--judge", judge]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert server.requests == []
    assert "0 of 2 claims are uncertain" in done.stderr
