"""A gate's report on the terminal."""

import re

import pytest
from tests.cli.running import run_on_terminal
from tests.golden_files import Golden
from tests.reports import gate_samples

from affidavit.cli.program import Flags
from affidavit.cli.terminal import Terminal
from affidavit.gates.report import parse_report
from affidavit.reports.gate_text import gate_text

PRINT = (
    "import sys; from tests.reports import gate_samples;"
    "from affidavit.cli.program import Flags;"
    "from affidavit.cli.terminal import Terminal;"
    "from affidavit.gates.report import parse_report;"
    "from affidavit.reports.gate_text import gate_text;"
    "wire = gate_samples.KINDS[sys.argv[1]]();"
    "terminal = Terminal(Flags());"
    "terminal.show(gate_text(parse_report(wire), on_screen=terminal.on_screen))"
)


def printed(wire: gate_samples.Wire, capsys: pytest.CaptureFixture[str]) -> str:
    Terminal(Flags()).show(gate_text(parse_report(wire)))
    return capsys.readouterr().out


@pytest.mark.parametrize("kind", gate_samples.KINDS)
def test_output_in_a_pipe_is_plain_and_complete(
    kind: str, golden: Golden, capsys: pytest.CaptureFixture[str]
) -> None:
    golden.check(f"gate_{kind}.txt", printed(gate_samples.KINDS[kind](), capsys))


@pytest.mark.parametrize("kind", ["rag", "research"])
def test_on_a_terminal_no_table_is_wider(kind: str, golden: Golden) -> None:
    code, shown = run_on_terminal(PRINT, kind, columns=80)
    text = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert code == 0
    assert text.startswith("Decision: ")
    tables = [line for line in text.splitlines() if re.match(r"[│┌] | {1,2}[^- \d]", line)]
    assert tables
    assert max(map(len, tables)) <= 80
    golden.check(f"gate_{kind}_on_terminal.txt", text)


def test_a_qid_of_the_user_is_never_changed() -> None:
    named = PRINT.replace(
        "wire = gate_samples.KINDS[sys.argv[1]]();",
        "wire = gate_samples.rag(5, 5); wire['offenders'][0]['qid'] = 'an_id_of_mine';",
    )
    _, shown = run_on_terminal(named, columns=200)
    assert "an_id_of_mine" in shown
    assert "under refusal" in shown


def test_no_color_is_respected() -> None:
    _, shown = run_on_terminal(PRINT, "rag", env={"NO_COLOR": "1"})
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", shown)
    _, shown = run_on_terminal(PRINT, "rag")
    assert re.search(r"\x1b\[[0-9;]*3[0-9]", shown)


def test_text_from_outside_cannot_control_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    wire = gate_samples.rag(5, 5, changes={"claim": "a\x1b[2Jb"})
    assert "\x1b" not in printed(wire, capsys)


def test_several_gates_have_an_overview(capsys: pytest.CaptureFixture[str]) -> None:
    whole = {
        "schema_version": "affidavit-gate/1",
        "kind": "all",
        "decision": "no_ship",
        "reasons": ["latency: p95_ms/20rps is 2897"],
        "parts": {"rag": gate_samples.rag(), "latency": gate_samples.latency()},
    }
    text = printed(whole, capsys)
    assert text.startswith("Decision: do not ship\n  - latency: p95_ms/20rps is 2897\n")
    assert re.search(r"RAG answers +Could not tell +scu_violations was not measured", text)
    assert "== Latency ==" in text


def test_listings_are_shortened(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(gate_samples.rag(8, 2, missing=12), capsys)
    assert "Missing traces (12): A0010, A0011, A0012" in text
    assert text.count("and 2 more") == 1
