"""`affidavit check`, `cite` and `sessions`, on the sample documents and through the real CLI."""

import json
import random
import re
import signal
import sys
import time
from pathlib import Path

import pytest
from click.testing import Result
from pypdfium2 import PdfDocument
from tests.cli.running import REAL, run, run_on_terminal, start
from tests.golden_files import Golden
from tests.repository import ROOT

from affidavit.base.errors import AffidavitError
from affidavit.cli.check import read_answer

LEAVE = ROOT / "samples" / "leave"
QUERY = (LEAVE / "query.txt").read_text(encoding="utf-8").strip()
AT = "2026-01-03T14:30:00Z"


def check(project: Path, *more: str, answer: str | None = None) -> Result:
    common = ("--sources", str(LEAVE / "sources"), "--project", str(project), "--at", AT)
    if answer is not None:
        return run("check", answer, *common, *more)
    return run("check", str(LEAVE / "answer.md"), *common, "--query", QUERY, *more)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project in which the sample was checked once."""
    folder = tmp_path_factory.mktemp("project")
    assert check(folder).exit_code == 1
    return folder


@pytest.fixture(scope="module")
def exported(project: Path) -> dict[str, object]:
    result = check(project, "--json")
    loaded: dict[str, object] = json.loads(result.stdout)
    return loaded


GERMAN = "Der Vertrag kann nicht vor dem Ende der Frist gekündigt werden."
LANGUAGES = {
    "a claim in another language is not judged": ("The term may be ended at any time.", 3),
    "a repetition needs no language": (f"Es gilt: {GERMAN}", 0),
}


@pytest.mark.parametrize(("source", "ended"), LANGUAGES.values(), ids=LANGUAGES.keys())
def test_an_answer_in_another_language(source: str, ended: int, tmp_path: Path) -> None:
    (tmp_path / "answer.md").write_text(GERMAN, encoding="utf-8")
    (tmp_path / "source.txt").write_text(source, encoding="utf-8")
    answer, sources, project = (str(tmp_path / n) for n in ("answer.md", "source.txt", "project"))
    where = ("--sources", sources, "--project", project, "--at", AT)
    result = run("check", answer, *where, "--claim", "clm_001=material")
    assert result.exit_code == ended, result.output


def test_the_example_of_section_8_1(project: Path, golden: Golden) -> None:
    result = check(project, "-q")
    assert result.exit_code == 1
    golden.check("check-leave.txt", result.stdout)


def test_the_four_claims_have_the_verdicts_types_and_sources_of_the_seed(
    exported: dict[str, object],
) -> None:
    entries = exported["entries"]
    assert isinstance(entries, list)
    seen = [
        (
            entry["claim_text"],
            entry["claim_type"],
            entry["verdict"],
            (entry["evidence"]["source"] or {}).get("filename"),
            (entry["evidence"]["source"] or {}).get("page_number"),
        )
        for entry in entries
    ]
    assert seen == [
        (
            "Employees are entitled to 15 days of annual leave",
            "policy",
            "supported",
            "HR_Policy.pdf",
            12,
        ),
        (
            "Leave requests must be submitted 2 weeks in advance",
            "policy",
            "supported",
            "Leave_Guidelines.docx",
            None,
        ),
        (
            "Unused leave can be carried forward to next year",
            "policy",
            "weak",
            "HR_Policy.pdf",
            15,
        ),
        ("Maximum carryover is 5 days", "numeric", "not_found", None, None),
    ]
    summary = exported["summary"]
    assert isinstance(summary, dict)
    assert summary["evidence_coverage"] == 0.75
    assert entries[1]["evidence"]["source"]["heading_path"][-1].startswith("3.2")


def test_the_same_check_gives_the_same_bytes(project: Path) -> None:
    assert check(project, "--json").stdout == check(project, "--json").stdout


def test_the_table_on_a_terminal(project: Path, golden: Golden) -> None:
    arguments = (
        *("check", str(LEAVE / "answer.md"), "--sources", str(LEAVE / "sources"), "-q"),
        *("--project", str(project), "--at", AT, "--query", QUERY, "--expand", "3", "--no-color"),
    )
    code, shown = run_on_terminal(REAL, *arguments, columns=100)
    assert code == 1
    golden.check("check-leave-terminal.txt", shown.replace("\r\n", "\n"))


def test_markdown_has_the_shape_of_section_9_1(project: Path, golden: Golden) -> None:
    result = check(project, "-q", "--format", "markdown")
    assert result.exit_code == 1
    # The id depends on the judge's tables, which this golden file does not test.
    golden.check(
        "check-leave.md", re.sub("led_[0-9a-f]{16}", "led_0000000000000000", result.stdout)
    )


def test_reports_are_written_by_the_name_of_the_file(project: Path, tmp_path: Path) -> None:
    for name in ("r.html", "r.pdf", "r.md", "r.json"):
        assert check(project, "-o", str(tmp_path / name)).exit_code == 1
    assert (tmp_path / "r.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    with PdfDocument(tmp_path / "r.pdf") as pdf:
        assert len(pdf) >= 3
    assert (tmp_path / "r.md").read_text(encoding="utf-8").startswith("## Evidence Ledger")
    assert json.loads((tmp_path / "r.json").read_bytes())["ledger_id"].startswith("led_")


GATED = {
    "gates that this answer meets": (("coverage>=0.7", "unsupported<=0.3", "weak<=0.5"), 0),
    "a gate that it does not": (("coverage>=0.8", "unsupported<=0.3", "weak<=0.5"), 1),
    "no gate decides nothing": (
        (
            "coverage=off",
            "unsupported=off",
            "minor_unsupported=off",
            "weak=off",
            "critical_unsupported=off",
            "contradictions=off",
        ),
        3,
    ),
}


@pytest.mark.parametrize(("gates", "wanted"), GATED.values(), ids=GATED.keys())
def test_gates(project: Path, gates: tuple[str, ...], wanted: int) -> None:
    given = [word for gate in gates for word in ("--gate", gate)]
    assert check(project, *given).exit_code == wanted


def test_a_rules_file_is_in_the_ledger_by_its_digest(project: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text("[verdict]\nsupported_above = 0.99\n")
    plain = json.loads(check(project, "--json").stdout)
    tuned = json.loads(check(project, "--json", "--rules", str(rules)).stdout)
    assert tuned["rules_digest"] != plain["rules_digest"]
    assert tuned["summary"]["by_verdict"] != plain["summary"]["by_verdict"]


def test_a_claim_set_to_minor_still_counts(project: Path) -> None:
    result = check(project, "--json", "--claim", "clm_004=minor")
    made = json.loads(result.stdout)
    assert made["summary"]["evidence_coverage"] == 1.0
    assert result.exit_code == 1
    failed = [gate["gate"] for gate in made["gates"]["results"] if gate["status"] == "fail"]
    assert failed == ["minor_unsupported<=0.1", "weak<=0.35"]


ORDERS = {
    "claims to review come first": ((), ["4", "3", "1", "2"]),
    "the order of the answer": (("--order", "answer"), ["1", "2", "3", "4"]),
}


@pytest.mark.parametrize(("options", "wanted"), ORDERS.values(), ids=ORDERS.keys())
def test_the_order_of_the_claims(
    project: Path, tmp_path: Path, options: tuple[str, ...], wanted: list[str]
) -> None:
    table = check(project, *options).stdout
    assert re.findall(r"^(\d)  ", table, re.MULTILINE) == wanted
    assert ("--order answer" in table) is not bool(options)
    report = tmp_path / "r.md"
    session = ("sessions", "show", "last", "--project", str(project))
    assert run(*session, "-o", str(report), *options).exit_code == 0
    headings = re.findall(r"^#### (\d)\.", report.read_text(encoding="utf-8"), re.MULTILINE)
    assert headings == wanted
    page = run(*session, "--format", "html", *options).stdout
    assert re.findall(r'class="entry" id="clm_00(\d)"', page) == wanted


def test_a_ledger_of_an_earlier_version_is_shown_as_it_was_decided(tmp_path: Path) -> None:
    stored = ROOT / "tests" / "ledger" / "stored" / "minor_not_found.json"
    session = json.loads(stored.read_bytes())["session_id"]
    folder = tmp_path / ".affidavit" / "sessions"
    folder.mkdir(parents=True)
    (folder / f"{session}.json").write_bytes(stored.read_bytes())
    assert run("sessions", "list", "--project", str(tmp_path)).exit_code == 0
    shown = run("sessions", "show", session, "--project", str(tmp_path))
    assert shown.exit_code == 0, shown.stderr
    assert "Decision: ship" in shown.stdout
    assert "unsupported 0% (minor claims 100%): " in shown.stdout
    again = run("sessions", "show", session, "--project", str(tmp_path), "--json")
    assert json.loads(again.stdout) == json.loads(stored.read_bytes())
    page = tmp_path / "old.html"
    assert (
        run(*("sessions", "show", session, "--project", str(tmp_path), "-o", str(page))).exit_code
        == 0
    )
    assert "affidavit.ledger/1" in page.read_text(encoding="utf-8")


SOURCES = ("--sources", str(LEAVE / "sources"))
ANSWER = str(LEAVE / "answer.md")
# {here} is a folder with empty.md, binary.md and an empty folder.
BAD_INPUTS: dict[str, tuple[tuple[str, ...], int, str]] = {
    "no such answer": (("{here}/none.md", *SOURCES), 2, "AF010"),
    "an empty answer": (("{here}/empty.md", *SOURCES), 3, "AF276"),
    "a binary answer": (("{here}/binary.md", *SOURCES), 2, "AF277"),
    "a folder as the answer": (("{here}/folder", *SOURCES), 2, "AF012"),
    "no sources named": ((ANSWER,), 2, "AF001"),
    "an empty folder of sources": ((ANSWER, "--sources", "{here}/folder"), 3, "AF215"),
    "sources that are not there": ((ANSWER, "--sources", "{here}/none"), 2, "AF216"),
    "a claim that is not there": ((ANSWER, *SOURCES, "--expand", "9"), 2, "AF272"),
    "a claim that is not there, for machines": (
        (ANSWER, *SOURCES, "--expand", "9", "--json"),
        2,
        "AF001",
    ),
    "an unknown file ending": ((ANSWER, *SOURCES, "-o", "{here}/report.xyz"), 2, "AF001"),
    "the answer would be replaced": (
        ("{here}/own.md", *SOURCES, "-o", "{here}/own.md"),
        2,
        "AF281",
    ),
    "the answer would prove itself": (("{here}/own.md", "-s", "{here}/own.md"), 2, "AF280"),
    "an option that a batch would ignore": (
        ("{here}/rows.jsonl", *SOURCES, "--format", "pdf"),
        2,
        "AF001",
    ),
    "rules too deep to read": ((ANSWER, *SOURCES, "--rules", "{here}/deep.toml"), 2, "AF23"),
    "a time that is none": ((ANSWER, *SOURCES, "--at", "soon"), 2, "AF278"),
    "a table into a file": ((ANSWER, *SOURCES, "--format", "table", "-o", "x"), 2, "AF001"),
    "a gate that is none": ((ANSWER, *SOURCES, "--gate", "luck>=1"), 2, "AF401"),
    "rules that are none": ((ANSWER, *SOURCES, "--rules", "{here}/binary.md"), 2, "AF23"),
}


@pytest.mark.parametrize(
    ("arguments", "wanted", "code"), BAD_INPUTS.values(), ids=BAD_INPUTS.keys()
)
def test_bad_input_gets_one_clear_line(
    tmp_path: Path, arguments: tuple[str, ...], wanted: int, code: str
) -> None:
    (tmp_path / "empty.md").write_bytes(b" \n")
    (tmp_path / "binary.md").write_bytes(b"\x00\xff\xfe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "own.md").write_text("The moon weighs 14 tons.")
    (tmp_path / "deep.toml").write_text("a=" + "[" * 100_000)
    (tmp_path / "rows.jsonl").write_text('{"id":"a","answer":"The moon weighs 14 tons."}')
    given = [word.replace("{here}", str(tmp_path)) for word in arguments]
    result = run("check", *given, "--project", str(tmp_path / "project"), "-q")
    assert result.exit_code == wanted
    (line,) = result.stderr.strip().splitlines()
    assert line.startswith(code)
    assert ". Next: " in line


def test_an_unreadable_document_is_reported_and_stops_nothing(tmp_path: Path) -> None:
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "good.md").write_text(
        "# Leave\n\nEvery employee receives 15 days of leave a year.\n"
    )
    (sources / "torn.pdf").write_bytes(b"%PDF-1.7\n%%EOF")
    (tmp_path / "a.md").write_text("Every employee receives 15 days of leave a year.")
    result = run(
        *("check", str(tmp_path / "a.md"), "--sources", str(sources), "--at", AT),
        *("--project", str(tmp_path)),
    )
    assert result.exit_code == 0, result.output
    assert result.stdout.count("torn.pdf") == 1
    kept = next((tmp_path / ".affidavit" / "sessions").iterdir())
    kinds = [finding["kind"] for finding in json.loads(kept.read_bytes())["findings"]]
    assert kinds == ["source"]


def test_a_citation_is_resolved(project: Path, exported: dict[str, object], tmp_path: Path) -> None:
    entries = exported["entries"]
    assert isinstance(entries, list)
    cited = entries[0]["evidence"]["chunk_ids"][0]
    shown = run("cite", f"[cite:{cited.upper()}]", "--project", str(project))
    assert shown.exit_code == 0
    assert "HR_Policy.pdf, Page 12" in shown.stdout
    again = run("cite", cited, "--sources", str(LEAVE / "sources"), "--json")
    assert json.loads(again.stdout)["resolved"] is True
    assert run("cite", "zzzz", "--project", str(project)).exit_code == 2
    nowhere = run("cite", cited, "--project", str(tmp_path))
    assert (nowhere.exit_code, nowhere.stderr[:5]) == (3, "AF284")
    missing = run("cite", "00000000", "--project", str(project))
    assert missing.exit_code == 1
    assert "deleted or unavailable" in missing.stdout


def test_sessions_are_listed_shown_opened_and_deleted(tmp_path: Path) -> None:
    assert run("sessions", "list", "--project", str(tmp_path)).exit_code == 0
    made = json.loads(check(tmp_path, "--json").stdout)
    session = made["session_id"]
    listed = run("sessions", "list", "--project", str(tmp_path))
    assert session in listed.stdout
    (line,) = json.loads(run("sessions", "list", "--json", "--project", str(tmp_path)).stdout)[
        "sessions"
    ]
    assert line["decision"] == "no_ship"
    shown = run("sessions", "show", session[:9], "--json", "--project", str(tmp_path))
    assert json.loads(shown.stdout) == made
    opened = run("sessions", "open", "last", "--no-browser", "--project", str(tmp_path))
    assert Path(opened.stdout.strip()).read_text(encoding="utf-8").startswith("<!doctype html>")
    assert run("sessions", "delete", session, "--project", str(tmp_path)).exit_code == 0
    unknown = run("sessions", "show", session, "--project", str(tmp_path))
    assert unknown.exit_code == 2
    assert unknown.stderr.startswith("AF270")


def test_a_ledger_that_was_changed_is_refused(tmp_path: Path) -> None:
    session = json.loads(check(tmp_path, "--json").stdout)["session_id"]
    file = tmp_path / ".affidavit" / "sessions" / f"{session}.json"
    original = file.read_bytes()
    ledger = json.loads(original)
    note = ledger["entries"][0]["notes"]
    changes = {
        original.replace(b"no_ship", b"ship"): "its verdicts, figures or decision do not follow",
        original.replace(json.dumps(note).encode(), b'"All is well."'): "its id is of another text",
        original.replace(ledger["ledger_id"].encode(), b"led_" + b"0" * 16): "its id is of another",
    }
    for changed, problem in changes.items():
        assert changed != original
        file.write_bytes(changed)
        shown = run("sessions", "show", session, "--project", str(tmp_path))
        assert (shown.exit_code, shown.stderr[:5], problem in shown.stderr) == (4, "AF279", True)
    damaged = tmp_path / ".affidavit" / "sessions" / "ses_0000000000000000.json"
    damaged.write_bytes(b"")
    listed = run("sessions", "list", "--project", str(tmp_path))
    assert listed.exit_code == 4
    assert str(file) in listed.stdout
    assert str(damaged) in listed.stdout


def test_other_rules_are_another_session(tmp_path: Path) -> None:
    strict = json.loads(check(tmp_path, "--json").stdout)
    loose = json.loads(check(tmp_path, "--json", "--gate", "coverage>=0.1").stdout)
    assert strict["session_id"] != loose["session_id"]


def test_a_closed_standard_input_is_an_empty_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(AffidavitError) as caught:
        read_answer(Path("-"))
    assert caught.value.fault.name == "answer.empty"


def test_a_batch_reports_sources_that_were_not_read(tmp_path: Path) -> None:
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "good.md").write_text("Every employee receives 15 days of leave a year.\n")
    (sources / "torn.pdf").write_bytes(b"%PDF-1.7\n%%EOF")
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"id":"a","answer":"Every employee receives 15 days of leave a year."}')
    result = run("check", str(rows), "-s", str(sources), "--project", str(tmp_path), "-q")
    assert result.exit_code == 0, result.output
    assert "torn.pdf" in result.stdout


def batch_file(folder: Path, count: int) -> Path:
    rows = [
        {"id": f"q{number}", "query": QUERY, "answer": f"Version {number}. {ANSWERS[number % 2]}"}
        for number in range(count)
    ]
    file = folder / "answers.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


ANSWERS = (
    "Leave requests must be submitted 2 weeks in advance.",
    "Leave requests must be submitted 6 weeks in advance.",
)


def test_a_batch_is_the_same_with_two_processes(project: Path, tmp_path: Path) -> None:
    file = batch_file(tmp_path, 4)
    outputs = []
    for jobs in ("1", "2"):
        results = tmp_path / f"results{jobs}.jsonl"
        result = check(project, "-j", jobs, "-o", str(results), "-q", answer=str(file))
        assert result.exit_code == 1, result.output
        outputs.append(results.read_bytes())
    assert outputs[0] == outputs[1]
    assert len(outputs[0].splitlines()) == 4


def test_a_row_with_sources_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "own.md").write_text("The office in Bern opens at 8 in the morning.\n")
    rows = [
        {
            "id": "a",
            "answer": "The office in Bern opens at 8 in the morning.",
            "sources": ["own.md"],
        },
        {
            "id": "b",
            "answer": "The office in Bern opens at 8 in the morning.",
            "sources": ["no.md"],
        },
    ]
    file = tmp_path / "answers.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = check(tmp_path, "--json", answer=str(file))
    first, second = json.loads(result.stdout)["answers"]
    assert first["decision"] == "ship"
    assert second["decision"] == "inconclusive"
    assert second["error"].startswith("AF216")
    assert result.exit_code == 3


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_killed_at_any_moment_nothing_finished_is_lost(tmp_path: Path) -> None:
    """Kill ingest and batch twenty times at random moments; then the work completes."""
    file = batch_file(tmp_path, 12)
    results = tmp_path / "results.jsonl"
    arguments = (
        *("check", str(file), "--sources", str(LEAVE / "sources"), "--at", AT, "-q"),
        *("--project", str(tmp_path), "-o", str(results)),
    )
    moments = random.Random(20)
    done_before: set[str] = set()
    for _ in range(20):
        process = start(REAL, *arguments)
        time.sleep(moments.uniform(0.05, 1.6))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        lines = results.read_bytes().split(b"\n")[:-1] if results.exists() else []
        done = {json.loads(line)["id"] for line in lines if line.endswith(b"}")}
        assert done_before <= done
        done_before = done
    final = start(REAL, *arguments)
    final.communicate(timeout=1800)
    assert final.returncode == 1
    outcomes = [
        json.loads(line) for line in results.read_bytes().splitlines() if line.endswith(b"}")
    ]
    assert {outcome["id"] for outcome in outcomes} == {f"q{number}" for number in range(12)}
    for outcome in outcomes:
        kept = tmp_path / ".affidavit" / "sessions" / f"{outcome['session_id']}.json"
        assert json.loads(kept.read_bytes())["ledger_id"] == outcome["ledger_id"]


def test_progress_goes_to_the_screen_only(tmp_path: Path) -> None:
    code, shown = run_on_terminal(
        REAL,
        *("check", str(LEAVE / "answer.md"), "--sources", str(LEAVE / "sources"), "--at", AT),
        *("--project", str(tmp_path)),
    )
    assert code == 1
    assert "Reading sources" in shown


def test_a_stricter_risk_leaves_what_is_less_sure_weak(project: Path) -> None:
    usual = json.loads(check(project, "--json").stdout)
    strict = json.loads(check(project, "--json", "--risk", "0.01").stdout)
    before, after = (
        {entry["claim_id"]: entry["verdict"] for entry in each["entries"]}
        for each in (usual, strict)
    )
    assert (before["clm_001"], after["clm_001"]) == ("supported", "weak")
    assert strict["rules"]["judge"]["supported_from"] > 0.9, "a replay uses the same bound"


RISKS = {
    "stricter than was ever measured": (("--risk", "0.002"), "AF267"),
    "a judge that nobody measured": (("--risk", "0.05", "--judge", "lexical"), "AF266"),
    "a share above all": (("--risk", "2"), "AF001"),
}


@pytest.mark.parametrize(("options", "code"), RISKS.values(), ids=RISKS.keys())
def test_a_risk_that_cannot_be_kept_is_refused(
    project: Path, options: tuple[str, ...], code: str
) -> None:
    result = check(project, *options)
    assert (result.exit_code, result.stderr.startswith(f"{code}: ")) == (2, True), result.stderr


def test_a_risk_beside_bounds_of_a_file_is_refused(project: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text("[judge]\nsupported_from = 0.9\n")
    result = check(project, "--risk", "0.05", "--rules", str(rules))
    assert (result.exit_code, result.stderr.startswith("AF268: ")) == (2, True)
