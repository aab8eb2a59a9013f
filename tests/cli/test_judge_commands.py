"""`affidavit judge score`, `eval`, `calibrate` and `card`, through the real command line."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.cli.running import run

from affidavit.cli.program import cli

LEAVE = "Employees receive 15 days of paid annual leave."
ROWS: list[dict[str, Any]] = [
    {"id": "a", "claim": "Employees receive 15 days of paid annual leave", "evidence": LEAVE},
    {"id": "b", "claim": "Employees receive 20 days of annual leave", "evidence": ["", LEAVE]},
    {"claim": "The moon is made of basalt", "evidence": LEAVE, "label": "neutral"},
    {"id": 4, "claim": "Nothing was read for this", "evidence": []},
]
VERDICTS = ["supported", "contradicted", "not_found", "not_found"]


def write_rows(path: Path, rows: list[dict[str, Any]]) -> str:
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return str(path)


def scores(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def rows(tmp_path: Path) -> str:
    return write_rows(tmp_path / "rows.jsonl", ROWS)


def test_a_line_per_row_in_order(rows: str) -> None:
    result = run("judge", "score", rows)
    assert (result.exit_code, result.stderr) == (0, "")
    found = scores(result.stdout)
    assert [each["id"] for each in found] == ["a", "b", "3", "4"]
    assert [each["verdict"] for each in found] == VERDICTS
    assert list(found[0]) == [
        *("id", "verdict", "support", "contradiction", "confidence", "snippet", "notes")
    ]
    assert found[1]["snippet"] == LEAVE
    assert "20" in found[1]["notes"]
    assert found[2]["label"] == "neutral"


def test_gzip_a_pipe_and_more_processes_give_the_same_bytes(rows: str, tmp_path: Path) -> None:
    plain = run("judge", "score", rows).stdout_bytes
    zipped = write_rows(tmp_path / "rows.gz", ROWS)
    assert run("judge", "score", zipped).stdout_bytes == plain
    piped = CliRunner().invoke(cli, ["judge", "score", "-"], input=Path(zipped).read_bytes())
    assert (piped.exit_code, piped.stdout_bytes) == (0, plain)
    output = tmp_path / "scores.jsonl"
    result = run("judge", "score", rows, "-j", "2", "-o", str(output))
    assert (result.exit_code, result.stdout) == (0, "")
    assert output.read_bytes() == plain


def test_one_json_document_for_machines(rows: str, tmp_path: Path) -> None:
    result = run("judge", "score", rows, "--json")
    assert [each["verdict"] for each in json.loads(result.stdout)["scores"]] == VERDICTS
    output = str(tmp_path / "scores.jsonl")
    result = run("judge", "score", rows, "--json", "-o", output)
    assert json.loads(result.stdout) == {"rows": 4, "failed": 0, "output": output}


def test_a_failing_row_stops_the_run_or_is_reported(tmp_path: Path) -> None:
    mixed = write_rows(tmp_path / "mixed.jsonl", [ROWS[0], {"id": "x", "claim": 3}, ROWS[1]])
    output = tmp_path / "scores.jsonl"
    stopped = run("judge", "score", mixed, "-o", str(output))
    assert stopped.exit_code == 2
    assert stopped.stderr.startswith(f"AF285: {mixed}, line 2, field claim: ")
    assert not output.exists()
    went_on = run("judge", "score", mixed, "--keep-going")
    assert went_on.exit_code == 3
    first, failed, last = scores(went_on.stdout)
    assert (first["id"], failed["id"], last["id"]) == ("a", "x", "b")
    assert (failed["error"]["code"], failed["error"]["file"]) == ("AF285", mixed)
    assert went_on.stderr == "1 of 3 rows could not be scored\n"


def test_a_megabyte_of_evidence_is_read(tmp_path: Path) -> None:
    evidence = "Somebody went somewhere else that day. " * 26_000 + LEAVE
    assert len(evidence) > 1_000_000
    large = write_rows(tmp_path / "large.jsonl", [{**ROWS[0], "evidence": evidence}])
    (found,) = scores(run("judge", "score", large).stdout)
    assert (found["verdict"], found["snippet"]) == ("supported", LEAVE)


ODD_CLAIMS = {
    "another language": "Die Angestellten erhalten 15 Tage Urlaub.",
    "no letters": "!!! ??? ...",
    "emoji": "🙂🙃 15 🏖️",
    "code": "def leave(days=15): return days",
    "a table": "| a | b |\n|---|---|\n| 1 | 2 |",
    "a null": "a\0b",
    "right to left": "\u202e15 days\u202c",
}


def test_odd_rows_get_a_verdict(tmp_path: Path) -> None:
    odd = [
        {"id": name, "claim": claim, "evidence": evidence}
        for name, claim in ODD_CLAIMS.items()
        for evidence in (LEAVE, claim, "\0")
    ]
    result = run("judge", "score", write_rows(tmp_path / "odd.jsonl", odd))
    assert result.exit_code == 0
    assert {each["verdict"] for each in scores(result.stdout)} <= {*VERDICTS, "weak"}


BAD = {
    "no such file": (("score", "{here}/none"), 2, "AF010"),
    "a folder": (("score", "{here}"), 2, "AF012"),
    "nothing in it": (("score", "{here}/empty"), 3, "AF288"),
    "nothing in it, into a file": (("score", "{here}/empty", "-o", "{here}/new"), 3, "AF288"),
    "its own input": (("score", "{here}/rows.jsonl", "-o", "{here}/rows.jsonl"), 2, "AF281"),
    "rules that are none": (
        ("score", "{here}/rows.jsonl", "--rules", "{here}/empty.x"),
        2,
        "AF010",
    ),
    "no such judge": (("score", "{here}/rows.jsonl", "--judge", "nobody"), 2, "AF251"),
    "a claim that is too long": (("score", "{here}/long"), 2, "AF250"),
    "no label": (("eval", "{here}/rows.jsonl"), 2, "AF287"),
    "nothing to measure": (("eval", "{here}/empty"), 3, "AF292"),
    "too few labels": (("calibrate", "--labels", "{here}/few"), 3, "AF290"),
}


@pytest.mark.parametrize(("arguments", "exit_code", "code"), BAD.values(), ids=BAD.keys())
def test_bad_input_gets_one_clear_line(
    tmp_path: Path, rows: str, arguments: tuple[str, ...], exit_code: int, code: str
) -> None:
    (tmp_path / "empty").write_bytes(b"\n")
    write_rows(tmp_path / "long", [{"claim": "x" * 20_000, "evidence": "e"}])
    write_rows(tmp_path / "few", [{**row, "label": "supported"} for row in ROWS])
    result = run("judge", *(word.replace("{here}", str(tmp_path)) for word in arguments))
    assert result.exit_code == exit_code
    (line,) = result.stderr.strip().splitlines()
    assert line.startswith(code)
    assert ". Next: " in line
    assert not (tmp_path / "new").exists()


# Evaluating.

LABELLED = [
    {**ROWS[0], "label": "supported"},
    {**ROWS[1], "label": "refuted"},
    {**ROWS[2]},
    {"claim": "Employees receive 15 days of leave", "evidence": LEAVE, "label": True},
    {"claim": " ", "evidence": LEAVE, "label": "partial"},
]


def test_figures_for_people_and_machines(tmp_path: Path) -> None:
    labelled = write_rows(tmp_path / "mine.jsonl.gz", LABELLED)
    shown = run("judge", "eval", labelled)
    assert shown.exit_code == 0
    assert shown.stdout.startswith("mine: 5 rows, 1 of them could not be read\n")
    assert "Balanced accuracy" in shown.stdout
    assert "joined by MOVER" in shown.stdout
    (found,) = json.loads(run("judge", "eval", labelled, "--json").stdout)["sets"]
    assert (found["rows"], found["supported"]["n"], len(found["not_measured"])) == (5, 4, 1)
    assert found["not_measured"][0]["line"] == 5
    assert found["confusion"]["refuted"]["contradicted"] == 1


def test_a_page_with_a_diagram_per_set(tmp_path: Path) -> None:
    labelled = write_rows(tmp_path / "mine.jsonl", LABELLED)
    page = tmp_path / "page.html"
    result = run("judge", "eval", labelled, labelled, "--html", str(page), "-q")
    assert result.exit_code == 0
    text = page.read_text("utf-8")
    assert text.count("<h2>mine</h2>") == 2
    assert text.count("<svg") == 4


def test_nothing_measured_is_not_exit_0(tmp_path: Path) -> None:
    (tmp_path / "none.jsonl").write_bytes(b"")
    result = run("judge", "eval", str(tmp_path / "none.jsonl"))
    assert result.exit_code == 3
    assert "not measured" in result.stdout


# Calibrating. The judge's verdicts are weak or not found; the labels differ.


def labels(tmp_path: Path, *, wrong: bool) -> str:
    found = []
    for number in range(60):
        half = number % 2 == 0
        claim = f"Room {number + 3} opens at noon and has a blue door with a brass handle"
        evidence = f"Room {number + 3} opens at noon and has a blue door." if half else "No room."
        label = "supported" if half is wrong else "not_supported"
        found.append({"id": str(number), "claim": claim, "evidence": evidence, "label": label})
    return write_rows(tmp_path / "labels.jsonl", found)


def test_fitted_rules_are_written_and_applied(tmp_path: Path) -> None:
    file = labels(tmp_path, wrong=True)
    rules = tmp_path / "rules.toml"
    result = run("judge", "calibrate", "--judge", "lexical", "--labels", file, "-o", str(rules))
    assert result.exit_code == 0, result.output
    assert "Kappa with the labels" in result.stdout
    text = rules.read_text("utf-8")
    assert "[judge]\nsupported_from = " in text
    digest = next(line for line in text.splitlines() if line.startswith("# rules: "))[9:]
    assert f"Digest of the rules: {digest}\n" in result.stdout
    measured = json.loads(
        run("judge", "eval", file, "--judge", "lexical", "--rules", str(rules), "--json").stdout
    )
    assert measured["rules_digest"] == digest
    figures = measured["sets"][0]["supported"]["figures"]
    assert figures["balanced_accuracy"]["value"] == 1.0
    assert json.loads(run("judge", "eval", file, "--json").stdout)["rules_digest"] != digest
    scored = scores(run("judge", "score", file, "--judge", "lexical", "--rules", str(rules)).stdout)
    assert {each["verdict"] for each in scored[::2]} == {"supported"}


def test_a_check_obeys_the_same_rules(tmp_path: Path) -> None:
    (tmp_path / "answer.md").write_text("Employees receive 15 days of paid annual leave.")
    (tmp_path / "source.md").write_text(f"# Leave\n\n{LEAVE}\n")
    rules = tmp_path / "rules.toml"
    rules.write_text("[judge]\nsupported_from = 0.9\nweak_from = 0.9\nprior = 0.05\n")
    asked = ("check", str(tmp_path / "answer.md"), "-s", str(tmp_path / "source.md"), "--json")
    common = ("--project", str(tmp_path), "--at", "2026-01-03", "--judge", "lexical")
    own = json.loads(run(*asked, *common).stdout)
    strict = json.loads(run(*asked, *common, "--rules", str(rules)).stdout)
    # With a low prior, a sentence of the source is still supported, and a paraphrase is not.
    assert own["summary"]["by_verdict"]["supported"] == 1
    assert strict["summary"]["by_verdict"]["supported"] == 1
    assert strict["rules"]["judge"]["prior"] == 0.05
    (tmp_path / "answer.md").write_text("Employees get 15 days of paid annual leave.")
    own = json.loads(run(*asked, *common).stdout)
    strict = json.loads(run(*asked, *common, "--rules", str(rules)).stdout)
    assert own["summary"]["by_verdict"]["supported"] == 1
    assert strict["summary"]["by_verdict"]["not_found"] == 1
    kept = run("sessions", "show", strict["session_id"], "--json", "--project", str(tmp_path))
    assert json.loads(kept.stdout) == strict


def test_rules_that_are_not_better_are_refused_unless_forced(tmp_path: Path) -> None:
    file = labels(tmp_path, wrong=False)
    rules = tmp_path / "rules.toml"
    refused = run("judge", "calibrate", "--judge", "lexical", "--labels", file, "-o", str(rules))
    assert refused.exit_code == 3
    assert refused.stderr.startswith("AF291: ")
    assert not rules.exists()
    document = json.loads(
        run("judge", "calibrate", "--judge", "lexical", "--labels", file, "--json").stdout
    )
    assert (document["is_better"], document["error"]["code"]) == (False, "AF291")
    forced = run(
        "judge", "calibrate", "--judge", "lexical", "--labels", file, "-o", str(rules), "--force"
    )
    assert forced.exit_code == 0
    assert rules.exists()


# The card.


def test_the_card_is_printed_for_people_for_machines_and_as_a_page() -> None:
    shown = run("judge", "card")
    assert shown.exit_code == 0
    assert shown.stdout.startswith("# Model card of the judge\n")
    page = run("judge", "card", "--markdown").stdout
    assert page.startswith("# Model card of the judge\n")
    assert json.loads(run("judge", "card", "--json").stdout)["schema"] == "affidavit/judge-card/1"
