"""action.yml: every script is run, with the files and tools that GitHub provides."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.repository import ROOT

from affidavit.app.init_project import create_project_files
from affidavit.seal.keys import plain_pem

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS: dict[str, dict[str, Any]] = {step["name"]: step for step in ACTION["runs"]["steps"]}
SCRIPTS = {name: step["run"] for name, step in STEPS.items() if "run" in step}
DEFAULTS = {name: str(given.get("default", "")) for name, given in ACTION["inputs"].items()}

# Stands in for gh: records its arguments and answers with the contents of a file.
GH = """#!/bin/bash
printf '%s\\n' "$*" >> "$FAKE/asked"
case "$*" in
  *--jq*) [ -f "$FAKE/refuses-reading" ] && exit 1; cat "$FAKE/ids";;
  *) [ ! -f "$FAKE/refuses-writing" ];;
esac
"""
# Stands in for python3: makes an environment whose python records what it should install.
PYTHON = """#!/bin/bash
mkdir -p "$4/bin"
printf '#!/bin/bash\\nprintf "%%s\\\\n" "$*" >> "$FAKE/asked"\\n' > "$4/bin/python"
chmod +x "$4/bin/python"
"""


class Runner:
    """The folders, files and programs that a step of a workflow finds."""

    def __init__(self, folder: Path) -> None:
        self.work, self.fake = folder / "work", folder / "fake"
        self.work.mkdir()
        self.fake.mkdir()
        (self.fake / "ids").write_text("")
        self.files = {
            name: folder / name.lower()
            for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_PATH")
        }
        for path in self.files.values():
            path.write_text("")

    def tool(self, name: str, script: str) -> None:
        path = self.fake / name
        path.write_text(script)
        path.chmod(0o755)

    def run(self, step: str, **given: str) -> subprocess.CompletedProcess[str]:
        """Run the script of a step as GitHub does."""
        here = (str(self.fake), str(Path(sys.executable).parent), os.environ["PATH"])
        environment = {
            **os.environ,
            "PATH": os.pathsep.join(here),
            "FAKE": str(self.fake),
            "RUNNER_TEMP": str(self.fake),
            "GITHUB_REPOSITORY": "some/where",
            **{name: str(path) for name, path in self.files.items()},
            **dict.fromkeys(STEPS[step].get("env", {}), ""),
            "AFFIDAVIT": str(Path(sys.executable).parent / "affidavit"),
            **given,
        }
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", SCRIPTS[step]],
            cwd=self.work,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def outputs(self) -> dict[str, str]:
        pairs = (line.partition("=") for line in self.files["GITHUB_OUTPUT"].read_text().split())
        return {name: value for name, _, value in pairs}

    def asked(self) -> list[str]:
        return (self.fake / "asked").read_text().splitlines()


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


def test_the_shape() -> None:
    assert ACTION["runs"]["using"] == "composite"
    for name, step in STEPS.items():
        assert ("run" in step) != ("uses" in step), name
        assert "run" not in step or step["shell"] == "bash", name
    for given in ACTION["inputs"].values():
        assert given["description"]
    known = {f"steps.{step['id']}" for step in STEPS.values() if "id" in step}
    for output in ACTION["outputs"].values():
        assert output["value"].split(".outputs")[0].removeprefix("${{ ") in known


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS.keys())
def test_a_script_can_be_read_and_holds_nothing_of_the_user(script: str) -> None:
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)
    assert "${{" not in script


def decide(runner: Runner, **given: str) -> Mapping[str, str]:
    done = runner.run("Decide", OUTPUT="out", CONFIG=DEFAULTS["config"], **given)
    assert done.returncode == 0, done.stderr
    return runner.outputs()


def test_what_a_project_configures_is_decided(runner: Runner) -> None:
    create_project_files(runner.work)
    said = decide(runner)
    assert said == {"code": "0", "report": "out/report.json", "decision": "ship"}
    assert runner.files["GITHUB_STEP_SUMMARY"].read_text().startswith("<!-- affidavit:all -->")
    names = {path.name for path in (runner.work / "out").iterdir()}
    assert names == {"report.json", "comment.md", "junit.xml", "report.html"}


def test_the_decision_and_bundles_are_attested(runner: Runner) -> None:
    create_project_files(runner.work)
    decide(runner)
    key = plain_pem(bytes(range(32))).decode()
    given = {"SIGNING_KEY": key, "OUTPUT": "out", "REPORT": "out/report.json"}
    done = runner.run("Attest", **given)
    assert done.returncode == 0, done.stderr
    assert (runner.work / "out" / "report.json.dsse.json").exists()
    assert "<script>" in (runner.work / "out" / "verify.html").read_text("utf-8")
    bundle = ROOT / "samples" / "runs" / "support.jsonl"
    affidavit = Path(sys.executable).parent / "affidavit"
    seal = [str(affidavit), "evidence", "seal", str(bundle), "-o", "a b.tar.gz"]
    subprocess.run(seal, cwd=runner.work, check=True, capture_output=True)
    done = runner.run("Attest", **{**given, "REPORT": "", "BUNDLES": "a b.tar.gz\n\n"})
    assert done.returncode == 0, done.stderr
    assert (runner.work / "out" / "a b.tar.gz.dsse.json").exists()


def test_a_bundle_that_does_not_hold_is_not_attested(runner: Runner) -> None:
    (runner.work / "b.tar.gz").write_bytes(b"\x1f\x8b")
    key = plain_pem(bytes(range(32))).decode()
    done = runner.run("Attest", SIGNING_KEY=key, OUTPUT=".", BUNDLES="b.tar.gz")
    assert done.returncode in (2, 4)


def test_offenders_can_be_written_for_code_scanning(runner: Runner) -> None:
    create_project_files(runner.work)
    said = decide(runner, SARIF="out/offenders.sarif")
    assert said["sarif"] == "out/offenders.sarif"
    log = json.loads((runner.work / "out" / "offenders.sarif").read_text())
    assert log["version"] == "2.1.0"


def test_the_rag_gates_alone_with_thresholds(runner: Runner) -> None:
    create_project_files(runner.work)
    files = {"GOLD": "eval/gold.jsonl", "TRACE": "eval/trace.jsonl"}
    said = decide(runner, **files, GATES="precision=0.90 chr=0.75")
    assert (said["code"], said["decision"]) == ("1", "no_ship")
    report = json.loads((runner.work / "out" / "report.json").read_text())
    assert report["gates"][0]["threshold"] == 0.9
    same = str(runner.work / "out" / "report.json")
    before = runner.work / "before.json"
    before.write_bytes(Path(same).read_bytes())
    assert decide(runner, **files, BASELINE=str(before))["code"] == "0"


@pytest.mark.parametrize("name", ["GOLD", "GATES", "BASELINE"])
def test_what_would_be_ignored_is_refused(name: str, runner: Runner) -> None:
    create_project_files(runner.work)
    done = runner.run("Decide", OUTPUT="out", CONFIG=DEFAULTS["config"], **{name: "x=1"})
    assert done.returncode == 2
    assert done.stdout.startswith("::error::gold, gates and baseline go with trace")
    assert runner.outputs() == {}


def test_a_run_that_stops_leaves_no_old_report(runner: Runner) -> None:
    create_project_files(runner.work)
    decide(runner)
    runner.files["GITHUB_OUTPUT"].write_text("")
    (runner.work / "affidavit.toml").write_text("[gates")
    assert decide(runner) == {"code": "2"}
    assert not (runner.work / "out" / "report.json").exists()
    assert "stopped with code 2" in runner.files["GITHUB_STEP_SUMMARY"].read_text()


def test_hostile_inputs_are_values_and_not_code(runner: Runner) -> None:
    said = decide(runner, TRACE='"; touch hacked; $(touch hacked)', GATES="`touch hacked`")
    assert said["code"] == "2"
    assert not (runner.work / "hacked").exists()


def test_modules_of_the_checkout_are_not_imported(runner: Runner) -> None:
    """A pull request could bring a json.py, and write the decision by itself."""
    create_project_files(runner.work)
    for name in ("json", "venv", "pathlib", "affidavit"):
        (runner.work / f"{name}.py").write_text("open('hacked', 'w').close()")
    assert decide(runner)["decision"] == "ship"
    done = runner.run("Install", CHECKOUT=str(runner.work / "nothing"))
    assert done.returncode != 0  # There is nothing to install.
    assert not (runner.work / "hacked").exists()


INSTALLS = {
    "the checkout of the action": ({"CHECKOUT": "here"}, "here"),
    "a version": ({"CHECKOUT": "here", "VERSION": "1.2"}, "affidavit==1.2"),
    "extras of the checkout": ({"CHECKOUT": "here", "EXTRAS": "parquet,pdf"}, "here[parquet,pdf]"),
    "extras of a version": (
        {"CHECKOUT": "here", "VERSION": "1.2", "EXTRAS": "parquet"},
        "affidavit[parquet]==1.2",
    ),
    "the encoder of the checkout with the ledger": (
        {"CHECKOUT": "here", "EXTRAS": "ledger"},
        "here[ledger] here/encoder",
    ),
    "the encoder of a version": (
        {"CHECKOUT": "here", "VERSION": "1.2", "EXTRAS": "all,mcp"},
        "affidavit[all,mcp]==1.2 affidavit-encoder",
    ),
}


def test_what_is_installed_can_judge_what_init_writes(runner: Runner) -> None:
    """The starter has a constraint, which is judged: the core alone cannot."""
    runner.tool("python3", PYTHON)
    runner.run("Install", CHECKOUT="here", EXTRAS=DEFAULTS["extras"])
    assert runner.asked()[-1].endswith(" here[ledger] here/encoder")
    create_project_files(runner.work)
    workflow = (runner.work / ".github" / "workflows" / "affidavit.yml").read_text()
    assert 'install --quiet "$AFFIDAVIT[ledger]" "$ENCODER"' in workflow


@pytest.mark.parametrize(("given", "wanted"), INSTALLS.values(), ids=INSTALLS.keys())
def test_what_is_installed(given: dict[str, str], wanted: str, runner: Runner) -> None:
    runner.tool("python3", PYTHON)
    done = runner.run("Install", **given)
    assert done.returncode == 0, done.stderr
    assert runner.asked()[-1].endswith(f" {wanted}")
    assert runner.files["GITHUB_PATH"].read_text() == ""
    command = f"{runner.fake}/affidavit-environment/bin/affidavit"
    assert runner.outputs() == {"command": command}
    assert STEPS["Decide"]["env"]["AFFIDAVIT"] == "${{ steps.install.outputs.command }}"


def comment(runner: Runner) -> subprocess.CompletedProcess[str]:
    runner.tool("gh", GH)
    (runner.work / "out").mkdir(exist_ok=True)
    (runner.work / "out" / "comment.md").write_text("<!-- affidavit:rag -->\n## Ship\n")
    done = runner.run("Comment", OUTPUT="out", NUMBER="7")
    assert done.returncode == 0, done.stderr
    return done


def test_the_first_comment_is_new(runner: Runner) -> None:
    comment(runner)
    assert runner.asked()[-1] == (
        "api --silent repos/some/where/issues/7/comments -F body=@out/comment.md"
    )


def test_the_next_one_replaces_it(runner: Runner) -> None:
    (runner.fake / "ids").write_text("11\n12\n")
    comment(runner)
    assert runner.asked()[-1] == (
        "api --silent --method PATCH repos/some/where/issues/comments/11 -F body=@out/comment.md"
    )


@pytest.mark.parametrize("refusal", ["refuses-reading", "refuses-writing"])
def test_without_the_right_to_comment_the_decision_stands(refusal: str, runner: Runner) -> None:
    (runner.fake / refusal).write_text("")
    assert "::warning::" in comment(runner).stdout


def test_without_a_report_there_is_no_comment(runner: Runner) -> None:
    runner.tool("gh", GH)
    assert runner.run("Comment", OUTPUT="out", NUMBER="7").returncode == 0
    assert not (runner.fake / "asked").exists()


@pytest.mark.parametrize("code", ["0", "1", "2", "3", "4"])
def test_the_action_ends_as_the_gates_did(code: str, runner: Runner) -> None:
    assert runner.run("End as the gates did", CODE=code).returncode == int(code)


def test_without_a_code_it_does_not_pass(runner: Runner) -> None:
    assert runner.run("End as the gates did", CODE="").returncode != 0
