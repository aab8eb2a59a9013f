"""The workflow of this repository: valid YAML that calls make targets and nothing else."""

import re
import subprocess
from typing import Any

import pytest
import yaml
from tests.repository import ROOT

WORKFLOW: dict[Any, Any] = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text("utf-8"))
JOBS: dict[str, dict[str, Any]] = WORKFLOW["jobs"]
STEPS = [step for job in JOBS.values() for step in job["steps"]]
TARGETS = set(re.findall(r"^([a-z][a-z-]*):(?!=)", (ROOT / "Makefile").read_text("utf-8"), re.M))


def test_every_script_is_one_make_target_that_exists() -> None:
    scripts = [step["run"] for step in STEPS if "run" in step]
    called = [re.fullmatch(r"make ([a-z-]+)(?: PYTHON=python)?", script) for script in scripts]
    assert scripts
    assert [script for script, match in zip(scripts, called, strict=True) if match is None] == []
    assert {match[1] for match in called if match} - TARGETS == set()


def test_every_supported_python_is_tested() -> None:
    assert JOBS["test"]["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13", "3.14"]


@pytest.mark.parametrize("name", JOBS)
def test_a_job_may_write_only_where_it_publishes(name: str) -> None:
    rights = JOBS[name].get("permissions", WORKFLOW["permissions"])
    written = {right for right, level in rights.items() if level == "write"}
    assert written == ({"id-token", "attestations"} if name == "release" else set())


def test_a_release_needs_everything_else_and_a_tag() -> None:
    release = JOBS["release"]
    assert set(release["needs"]) == JOBS.keys() - {"release"}
    assert "refs/tags/v" in release["if"]
    assert [step["uses"].partition("@")[0] for step in release["steps"]] == [
        "actions/download-artifact",
        "actions/attest-build-provenance",
        "pypa/gh-action-pypi-publish",
    ]


def test_no_expression_reaches_a_script() -> None:
    # What a pull request controls must not become a part of a script.
    assert [step["run"] for step in STEPS if "${{" in step.get("run", "")] == []


def test_make_says_what_it_installs_before_it_does() -> None:
    dry_run = ["make", "--dry-run", "--no-print-directory", "browser"]
    script = subprocess.run(dry_run, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert 0 < script.index("Installing the package chromium") < script.index("apt-get update")
    assert "will be skipped" in script
