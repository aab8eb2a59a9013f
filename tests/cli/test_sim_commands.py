"""`affidavit sim soak|surface|merge`, through the real command line."""

import json
import os
import random
import signal
import sys
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from click.testing import Result
from jsonschema import Draft202012Validator
from samples.agent import policy_service
from tests.app.test_linting import drafts_of
from tests.cli.running import HANDLING_CTRL_C, REAL, run, start
from tests.packs.test_builtin_packs import GOOD
from tests.repository import ROOT
from tests.seal.bundle_making import sealed
from tests.tools.test_trial_targets import left_behind

from affidavit.base.exits import Exit
from affidavit.soak.trial import trial_seed

AGENT = f"{sys.executable} {ROOT}/samples/agent/agent.py"
LEAVE_SERVER = f"{sys.executable} {ROOT}/samples/agent/tools_server.py"
# Fails where its seed is divisible by five.
BY_SEED = "sh -c 'test $(({seed} % 5)) -ne 0'"
SHOWN_TIMES = ("generated_at", "duration_ms", "bundle_digest")


def soak(*arguments: object) -> Result:
    return run("sim", "soak", *map(str, arguments))


def read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def timeless(value: Any) -> Any:
    """Return a document without times, and without what holds times."""
    if isinstance(value, dict):
        return {key: timeless(each) for key, each in value.items() if key not in SHOWN_TIMES}
    return [timeless(each) for each in value] if isinstance(value, list) else value


def documents(report: Path) -> Any:
    names = (report.name, report.name.replace(".json", ".details.json"))
    text = json.dumps([timeless(read(report.with_name(name))) for name in names])
    return json.loads(text.replace(report.name.removesuffix(".json"), "R"))


def journal_of(details: Path, trials: int) -> str:
    """Return the record of the first trials of a soak, as a crash leaves it."""
    found = read(details)
    header = {"affidavit_soak": 1, "plan": found["plan_digest"]}
    return "".join(json.dumps(line) + "\n" for line in (header, *found["trials"][:trials]))


def failing(iterations: int) -> list[int]:
    return [at for at in range(1, iterations + 1) if trial_seed(1, at) % 5 == 0]


def test_a_soak_of_a_command(tmp_path: Path) -> None:
    report = tmp_path / "soak.json"
    result = soak("-n", 12, "--target", BY_SEED, "--report", report)
    assert result.exit_code == Exit.NO
    found = read(report)
    wanted = failing(12)
    assert found["results"]["first_failure_at"] == wanted[0]
    assert found["results"]["violations_by_rule"] == {"exit-status@1.0.0:EXIT-001": len(wanted)}
    assert [each["index"] for each in found["runs"] if each["status"] == "fail"] == wanted
    assert f"{12 - len(wanted)} passed, {len(wanted)} failed, 0 not judged" in result.stdout
    assert "pass^k is C(c,k)/C(n,k)" in result.stderr
    for name, schema in (("soak", "soak-report"), ("soak.details", "soak-details")):
        text = (ROOT / "docs" / "schemas" / f"{schema}.schema.json").read_text("utf-8")
        Draft202012Validator(json.loads(text)).validate(read(tmp_path / f"{name}.json"))
    assert len([*(tmp_path / "soak.bundles").iterdir()]) == 12


def test_the_same_seed_gives_the_same_documents_with_jobs_after_a_crash_and_in_shards(
    tmp_path: Path,
) -> None:
    common = ("-n", 8, "--target", BY_SEED, "--max-failures", 2)
    soak(*common, "--report", tmp_path / "x1x.json")
    wanted = documents(tmp_path / "x1x.json")
    soak(*common, "--report", tmp_path / "x2x.json", "-j", 2)
    assert documents(tmp_path / "x2x.json") == wanted

    # A crash after three trials, in the middle of a line.
    text = journal_of(tmp_path / "x1x.details.json", 3) + '{"index":4,"se'
    (tmp_path / "x3x.trials.jsonl").write_text(text.replace("x1x.bundles", "x3x.bundles"))
    (tmp_path / "x1x.bundles").rename(tmp_path / "x3x.bundles")
    soak(*common, "--report", tmp_path / "x3x.json", "--resume")
    assert documents(tmp_path / "x3x.json") == wanted

    for shard in (1, 2):
        name = tmp_path / f"part{shard}.json"
        soak(*common, "--report", name, "--shard", f"{shard}/2")
        assert read(tmp_path / f"part{shard}.details.json")["partial"]
    parts = [str(tmp_path / f"part{shard}.details.json") for shard in (2, 1)]
    merged = run("sim", "merge", *parts, "--report", str(tmp_path / "x4x.json"))
    assert merged.exit_code == Exit.NO
    found = documents(tmp_path / "x4x.json")
    # The bundles stay where the shards left them.
    for document in (found, wanted):
        for each in (*document[1]["trials"],):
            each.pop("bundle", None)
    assert found == wanted


MISBEHAVING = """
case $AFFIDAVIT_TRIAL in
  1) exit 0;;
  2) setsid sleep 1000 & exit 0;;
  3) head -c 1000000000 /dev/zero;;
  4) kill -KILL $$;;
  5) echo garbage > $AFFIDAVIT_OUTPUT/run.tar.gz; exit 0;;
  6) i=0; while :; do head -c 900000 /dev/zero > $AFFIDAVIT_OUTPUT/$i; i=$((i+1)); done;;
  7) exit 9;;
  8) printf '{' > $AFFIDAVIT_OUTPUT/a.json; exit 0;;
  9) cd $AFFIDAVIT_OUTPUT; i=0
     while [ $i -lt 1500 ]; do mkdir d; cd -P d; i=$((i+1)); done; exit 0;;
  *) exit 0;;
esac
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc and subreapers are Linux's")
def test_whatever_a_target_does_costs_one_infra_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "target.sh"
    script.write_text(MISBEHAVING)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    report = tmp_path / "soak.json"
    result = soak("-n", 10, "--target", f"sh {script}", "--report", report, "--max-output", 16)
    assert result.exit_code == Exit.UNKNOWN, result.output
    found = read(report)["results"]
    assert (found["passes"], found["failures"], found["infra_errors"]) == (2, 0, 8)
    assert found["infra_errors_by_kind"] == {
        "invalid_output": 3,
        "limit_exceeded": 2,
        "subprocess_failed": 3,
    }
    assert found["pass_all"] is False
    assert found["pass_rate"] == 1.0
    assert left_behind(tmp_path) == []
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("affidavit-")] == []


ELSEWHERE = {
    "a Python function": (
        "agent:writes",
        "def writes():\n"
        "    try:\n"
        "        open('big', 'wb').write(bytes(200 << 20))\n"
        "    except OSError:\n"
        "        return False\n",
    ),
    "a command that ends with 1": (
        "sh agent.py",
        "dd if=/dev/zero of=big bs=1M count=200 2>&1; rm big; exit 1",
    ),
}


@pytest.mark.skipif(sys.platform != "linux", reason="Linux counts what a process writes")
@pytest.mark.parametrize(("target", "text"), ELSEWHERE.values(), ids=ELSEWHERE.keys())
def test_what_a_target_writes_outside_its_folder_is_limited(
    target: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "agent.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    result = soak("-n", 1, "--target", target, "--max-output", 64, "--report", "soak.json")
    assert result.exit_code == Exit.UNKNOWN, result.output
    details = read(tmp_path / "soak.details.json")
    assert details["infra_errors_by_kind"] == {"limit_exceeded": 1}
    (tmp_path / "big").unlink(missing_ok=True)


def test_a_target_may_write_to_a_file_that_is_larger_than_its_limit(tmp_path: Path) -> None:
    large = tmp_path / "database"
    with large.open("wb") as stream:
        stream.truncate(5 << 20)
    target = f"sh -c 'echo more >> {large}'"
    result = soak("-n", 1, "--target", target, "--max-output", 1)
    assert result.exit_code == Exit.YES, result.output


@pytest.mark.parametrize("target", ["true", "agent:fine"], ids=["a command", "a function"])
def test_modules_of_the_users_folder_do_not_replace_ours(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("signal", "select", "inspect", "traceback"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(1)")
    (tmp_path / "agent.py").write_text("def fine(): return {'days': 25}")
    result = soak("-n", 2, "--target", target, "--report", "soak.json")
    assert result.exit_code == Exit.YES, result.output


def test_nothing_judged_is_exit_3_and_only_the_second_document(tmp_path: Path) -> None:
    result = soak("-n", 2, "--target", "sh -c 'exit 7'", "--report", tmp_path / "soak.json")
    assert result.exit_code == Exit.UNKNOWN
    assert "AF762: none of 2 runs could be judged" in result.stderr
    assert not (tmp_path / "soak.json").exists()
    details = read(tmp_path / "soak.details.json")
    assert (details["pass_rate"], details["decision"]["decision"]) == (None, "inconclusive")


def test_ctrl_c_gives_a_partial_report(tmp_path: Path) -> None:
    report = tmp_path / "soak.json"
    target = f"sh -c 'test $AFFIDAVIT_TRIAL -lt 3 || (echo > {tmp_path}/on; sleep 1000)'"
    arguments = ("sim", "soak", "-n", "9", "--target", target, "--report", str(report))
    with start(HANDLING_CTRL_C + REAL, *arguments) as process:
        while not (tmp_path / "on").exists():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == Exit.UNKNOWN
    assert b"AF002: stopped by the user" in err
    assert b"This report is partial: it was interrupted." in out
    details = read(tmp_path / "soak.details.json")
    assert (details["partial"], details["stopped"]) == (True, "interrupted")
    assert (read(report)["results"]["runs"], read(report)["results"]["pass_all"]) == (2, False)
    assert left_behind(tmp_path) == []


def test_the_time_budget_ends_a_soak(tmp_path: Path) -> None:
    target = "sh -c 'test $AFFIDAVIT_TRIAL -lt 2 || sleep 1000'"
    report = tmp_path / "soak.json"
    result = soak("-n", 9, "--target", target, "--report", report, "--time-budget", 5)
    assert result.exit_code == Exit.UNKNOWN
    details = read(tmp_path / "soak.details.json")
    assert (details["partial"], details["stopped"]) == (True, "time_budget")
    assert details["infra_errors_by_kind"] == {"time_budget_exceeded": 1}


def bundles(folder: Path, count: int) -> Path:
    for at in range(count):
        place = folder / f"case-{at % 2}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{at}.tar.gz").write_bytes(sealed(drafts_of(GOOD if at else GOOD[:1])))
    return folder


def test_stored_bundles_count_once_each(tmp_path: Path) -> None:
    folder = bundles(tmp_path / "runs", 4)
    (folder / "broken.tar.gz").write_bytes(b"\x1f\x8bgarbage")
    report = tmp_path / "soak.json"
    result = soak("-n", 9, "--target", folder, "--pack", "cicd-starter", "--report", report)
    assert result.exit_code == Exit.NO
    assert "Note: 5 bundles were found for 9 iterations; each counts once." in result.stdout
    found = read(report)["results"]
    assert (found["runs"], found["passes"], found["failures"], found["infra_errors"]) == (
        5,
        3,
        1,
        1,
    )
    cases = {each["case"]: each["counts"] for each in read(tmp_path / "soak.details.json")["cases"]}
    assert cases == {
        "case-0": {"passes": 1, "failures": 1, "infra_errors": 0},
        "case-1": {"passes": 2, "failures": 0, "infra_errors": 0},
    }
    assert [pack["name"] for pack in read(report)["packs"]] == ["cicd-starter"]


def test_one_bundle_as_adr_025_writes_it(tmp_path: Path) -> None:
    """Acceptance gate I1: `sim soak` with a report that has schema_version, pass_rate, pass_all."""
    folder = bundles(tmp_path / "runs", 2)
    target = folder / "case-1" / "1.tar.gz"
    report = tmp_path / "out.json"
    result = soak(
        "--iterations", 1, "--pack", "cicd-starter", "--target", target, "--report", report
    )
    assert result.exit_code == Exit.YES
    found = read(report)
    assert found["schema_version"] == "soak-report-v1"
    assert (found["results"]["pass_rate"], found["results"]["pass_all"]) == (1.0, True)


def test_a_soak_stops_when_enough_is_known(tmp_path: Path) -> None:
    common = ("--target", "false", "--until", "0.9@95", "--report")
    result = soak("-n", 50, *common, tmp_path / "a.json")
    assert result.exit_code == Exit.NO
    assert "Until 0.9@95: below after 2 judged runs" in result.stdout
    assert read(tmp_path / "a.json")["results"]["runs"] == 2
    assert read(tmp_path / "a.details.json")["stopped"] == "decided"


def test_drift_from_a_baseline(tmp_path: Path) -> None:
    soak("-n", 8, "--target", "true", "--report", tmp_path / "old.json")
    result = soak(
        *("-n", 8, "--target", "false", "--report", tmp_path / "new.json"),
        *("--baseline", tmp_path / "old.json"),
    )
    assert "old.json: drifted: changed by more than chance: pass_rate" in result.stdout
    assert read(tmp_path / "new.details.json")["drift"]["verdict"] == "drifted"


def test_gates_of_the_soak_and_of_each_run(tmp_path: Path) -> None:
    result = soak("-n", 4, "--target", BY_SEED, "--gates", "pass_rate>=0.1", "failures<=4")
    assert result.exit_code == Exit.YES, result.output
    strict = soak("-n", 1, "--target", "true", "--trial-gates", "closure>=0.9")
    assert strict.exit_code == Exit.NO
    assert "gate:" in strict.stdout


def test_a_soak_is_sealed_linted_and_drawn(tmp_path: Path) -> None:
    report, bundle, page = (tmp_path / name for name in ("s.json", "s.tar.gz", "s.html"))
    target = "sh -c 'echo {\\\"seed\\\": {seed}}; test $(({seed} % 5)) -ne 0'"
    soak("-n", 8, "--target", target, "--report", report, "--seal", bundle, "--html", page)
    assert run("evidence", "verify", str(bundle)).exit_code == Exit.YES
    assert run("evidence", "lint", str(bundle)).exit_code == Exit.YES
    shown = run("evidence", "show", str(bundle)).stdout
    assert "affidavit.soak.trial" in shown
    text = page.read_text("utf-8")
    first = failing(8)[0]
    assert "Where failing runs first differ from a passing run" in text
    assert f'title="run {first}: fail"' in text
    divergence = read(tmp_path / "s.details.json")["divergences"][0]
    # Every run prints another seed, so that is not what sets the failing one apart.
    assert (divergence["index"], divergence["type"]) == (first, "affidavit.process.exited")
    assert (divergence["event"], divergence["places"]) == (2, ["/data/code"])


DAYS = """[
  {"id": "days", "tool": "soak.output", "args": {"of": "leave"},
   "expect": {"path": "days", "op": "eq", "value": 25}},
  {"id": "kind", "tool": "soak.output", "required": false,
   "expect": {"path": "of", "op": "eq", "value": "pay"}}
]"""
ANSWERS = 'sh -c \'echo {\\"of\\": \\"leave\\", \\"days\\": $((25 + ({seed} % 5 == 0)))}\''


def test_checks_of_each_run(tmp_path: Path) -> None:
    """The checks of answer-eval, over the events of a run instead of tools."""
    checks, report = tmp_path / "checks.json", tmp_path / "soak.json"
    checks.write_text(DAYS)
    options = ("-n", 8, "--trial-checks", checks)
    result = soak(*options, "--target", ANSWERS, "--report", report)
    assert result.exit_code == Exit.NO
    found = read(report)
    assert [each["index"] for each in found["runs"] if each["status"] == "fail"] == failing(8)
    # A check that is not required is reported, and decides nothing.
    counted = {"check:days": len(failing(8)), "check:kind": 8}
    assert found["results"]["violations_by_rule"] == counted
    assert len(read(tmp_path / "soak.details.json")["plan"]["trial_checks"]) == 2
    # The evidence alone decides: stored bundles are judged alike, also in processes.
    again = tmp_path / "again.json"
    soak(*options, "--target", tmp_path / "soak.bundles", "--report", again, "-j", 2)
    stored = [each["status"] for each in read(again)["runs"]]
    assert stored == [each["status"] for each in found["runs"]]
    # Other checks are another soak.
    journal = journal_of(tmp_path / "soak.details.json", 3)
    (tmp_path / "soak.trials.jsonl").write_text(journal)
    checks.write_text(DAYS.replace("25", "26"))
    other = soak(*options, "--target", ANSWERS, "--report", report, "--resume")
    assert (other.exit_code, "AF763" in other.stderr) == (Exit.INPUT, True)


def test_a_check_without_its_event_was_not_made(tmp_path: Path) -> None:
    (tmp_path / "checks.json").write_text(DAYS)
    result = soak("-n", 1, "--target", "true", "--trial-checks", tmp_path / "checks.json")
    assert result.exit_code == Exit.UNKNOWN
    assert "the check days could not be made: no evidence: the run has no such" in result.stderr


NO_CHECKS = {
    "a question": '{"question": "How many days?"}',
    "linked receipts": f'{{"checks": {DAYS}, "split": true}}',
    "none that is required": '[{"id": "a", "tool": "x", "observe": true, "required": false}]',
    "too many": json.dumps([{"id": f"c{n}", "tool": "x", "observe": True} for n in range(21)]),
}


@pytest.mark.parametrize("text", NO_CHECKS.values(), ids=NO_CHECKS.keys())
def test_checks_that_no_run_could_satisfy(text: str, tmp_path: Path) -> None:
    (tmp_path / "checks.json").write_text(text)
    result = soak("--target", "true", "--trial-checks", tmp_path / "checks.json")
    assert (result.exit_code, result.stderr.count("\n")) == (Exit.INPUT, 1)
    assert "AF775: " in result.stderr


def test_a_target_that_cannot_start_says_why(tmp_path: Path) -> None:
    page = tmp_path / "soak.html"
    target = "sh -c 'echo No module named agent >&2; exit 1'"
    result = soak("-n", 3, "--target", target, "--html", page)
    assert "No module named agent" in result.stdout
    assert "No module named agent" in page.read_text("utf-8")


REFUSED = {
    "no such program": (("--target", "affidavit-no-such-program"), 2, "AF760"),
    "a bound that is none": (("--target", "true", "--until", "often"), 2, "AF761"),
    "a shard that is none": (("--target", "true", "--shard", "3/2"), 2, "AF772"),
    "a fault without a service": (("--target", "true", "--fault", "reset=0.5"), 2, "AF770"),
    "a fault that is none": (("--target", "true", "--fault", "rest=0.5"), 2, "AF767"),
    "a service without a name": (("--target", "true", "--service", "http://x"), 2, "AF770"),
    "a service without an address": (("--target", "true", "--service", "A=x"), 2, "AF770"),
    "a server with an open quote": (("--target", "true", "--mcp-server", "A='x"), 2, "AF770"),
    "a data file that is missing": (("--target", "true", "--data-file", "A=nowhere"), 2, "AF010"),
    "resume without a report": (("--target", "true", "--resume"), 2, "--resume needs --report"),
    "an unknown gate": (("--target", "true", "--gates", "pas_rate>=1"), 2, "pass_rate"),
    "a baseline that is missing": (("--target", "true", "--baseline", "nowhere"), 2, "AF010"),
    "an unknown pack": (("--target", "true", "--pack", "nowhere"), 2, "AF657"),
    "no runs": (("--target", "true", "-n", "0"), 2, "-n"),
}


@pytest.mark.parametrize(("arguments", "code", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused(arguments: tuple[str, ...], code: int, said: str) -> None:
    result = soak(*arguments)
    assert (result.exit_code, said in result.stderr) == (code, True), result.output


def test_an_empty_folder_cannot_tell(tmp_path: Path) -> None:
    assert soak("--target", tmp_path).exit_code == Exit.UNKNOWN


def test_recorded_trials_are_not_overwritten_nor_mixed(tmp_path: Path) -> None:
    report, journal = tmp_path / "soak.json", tmp_path / "soak.trials.jsonl"
    common = ("-n", 2, "--target", "true", "--report", report)
    for _ in range(2):
        # A complete soak leaves no record, so it can be run again.
        assert soak(*common).exit_code == Exit.YES
        assert not journal.exists()
    journal.write_text(journal_of(tmp_path / "soak.details.json", 1))
    again = soak(*common)
    assert (again.exit_code, "AF764" in again.stderr) == (Exit.INPUT, True)
    other = soak(*common, "--seed", 2, "--resume")
    assert (other.exit_code, "AF763" in other.stderr) == (Exit.INPUT, True)
    assert soak(*common, "--resume").exit_code == Exit.YES
    journal.write_text("what?\n")
    broken = soak(*common, "--resume")
    assert (broken.exit_code, "AF765" in broken.stderr) == (Exit.INPUT, True)


def test_what_cannot_be_merged(tmp_path: Path) -> None:
    for seed in (1, 2):
        soak("-n", 1, "--target", "true", "--seed", seed, "--report", tmp_path / f"{seed}.json")
    one, two = (str(tmp_path / f"{seed}.details.json") for seed in (1, 2))
    for parts, said in (((one, two), "plans differ"), ((one, one), "trial 1 is in two")):
        result = run("sim", "merge", *parts)
        assert (result.exit_code, said in result.stderr) == (Exit.INPUT, True)
    wrong = run("sim", "merge", str(tmp_path / "1.json"))
    assert (wrong.exit_code, "AF771" in wrong.stderr) == (Exit.INPUT, True)


# The sample agent: a search over HTTP, a tool over MCP, and a fault in one run of ten.


def careless(iterations: int) -> list[int]:
    return [
        at for at in range(1, iterations + 1) if random.Random(trial_seed(1, at)).random() < 0.1
    ]


def test_the_sample_agent_is_as_reliable_as_it_is_written(tmp_path: Path) -> None:
    report = tmp_path / "soak.json"
    result = soak(
        "-n", 12, "-j", 2, "--target", AGENT, "--report", report, "--pack", "cicd-starter"
    )
    found = read(report)
    assert found["results"]["infra_errors"] == 0, result.output
    failed = [each["index"] for each in found["runs"] if each["status"] == "fail"]
    assert failed == careless(12)
    low, high = found["results"]["pass_rate_ci95"]
    assert low <= 0.9 <= high
    # The run that went wrong did not ask the tool.
    divergence = read(tmp_path / "soak.details.json")["divergences"][0]
    assert divergence["passing_type"] == "affidavit.tool.call"
    assert divergence["type"] == "affidavit.model.call"


def test_the_faults_show_in_the_right_cells(tmp_path: Path) -> None:
    page, report = tmp_path / "surface.html", tmp_path / "surface.json"
    server = policy_service.start()
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        result = run(
            *("sim", "surface", "-n", "2", "-j", "2", "--target", AGENT, "--html", str(page)),
            *("--service", f"POLICY_URL=http://127.0.0.1:{server.server_port}"),
            *("--mcp-server", f"LEAVE_SERVER={LEAVE_SERVER}", "--report", str(report)),
            *("--kinds", "rate-limit,reordered,latency", "--levels", "0,1"),
            *("--fault-delay-ms", "1"),
        )
    finally:
        server.shutdown()
        server.server_close()
    assert result.exit_code == Exit.YES, result.output
    cells = {(each["kind"], each["level"]): each for each in read(report)["cells"]}
    assert {key: cell["pass_rate"] for key, cell in cells.items()} == {
        ("rate-limit", 0): 1.0,
        ("rate-limit", 1): 0.0,
        ("reordered", 0): 1.0,
        ("reordered", 1): 0.0,
        ("latency", 0): 1.0,
        ("latency", 1): 1.0,
    }
    assert cells["rate-limit", 0]["injected"] == 0
    assert cells["latency", 1]["injected"] == 4  # A search and a tool call in each of two runs.
    assert "Fault surface" in page.read_text("utf-8")
    text = (ROOT / "docs" / "schemas" / "surface-report.schema.json").read_text("utf-8")
    Draft202012Validator(json.loads(text)).validate(read(report))


def test_a_surface_without_a_judged_run_is_empty(tmp_path: Path) -> None:
    data = tmp_path / "data.txt"
    data.write_text("a\nb\n")
    result = run(
        *("sim", "surface", "-n", "1", "--target", "sh -c 'exit 9'", "--levels", "1"),
        *("--data-file", f"DATA={data}", "--kinds", "truncated"),
    )
    assert (result.exit_code, "AF774" in result.stderr) == (Exit.UNKNOWN, True)
    assert "empty" in result.stdout


def test_a_file_with_a_fault_is_a_copy(tmp_path: Path) -> None:
    data = tmp_path / "data.txt"
    data.write_text("a\nb\n")
    target = "sh -c 'cmp -s $DATA " + str(data) + "'"
    common = ("-n", 1, "--target", target, "--data-file", f"DATA={data}")
    assert soak(*common).exit_code == Exit.YES
    assert soak(*common, "--fault", "truncated=1").exit_code == Exit.NO
    assert data.read_text() == "a\nb\n"
    assert os.environ.get("DATA") is None
