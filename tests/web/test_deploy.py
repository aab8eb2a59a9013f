"""What deploy/ starts exists: its commands and options are those of the program."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cli.running import run
from tests.repository import ROOT

DEPLOY = ROOT / "deploy"
UNIT = DEPLOY / "affidavit.service"
COMPOSE: Any = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))


def require_known(arguments: list[str]) -> None:
    """Fail unless the command has all of these options."""
    known = set(re.findall(r"(?<!\S)--[a-z-]+", run(arguments[0], "--help").stdout))
    given = {each.partition("=")[0] for each in arguments if each.startswith("--")}
    assert given, arguments
    assert given <= known


def test_the_unit_starts_a_command_that_exists() -> None:
    (line,) = re.findall(r"^ExecStart=(.+)$", UNIT.read_text("utf-8"), re.MULTILINE)
    program, *arguments = shlex.split(line)
    assert Path(program).name == "affidavit"
    require_known(arguments)


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not here")
    text = UNIT.read_text("utf-8").replace("/usr/local/affidavit/bin/affidavit", "/bin/true")
    unit = tmp_path / UNIT.name
    unit.write_text(text.replace("User=affidavit\nGroup=affidavit\n", ""), "utf-8")
    done = subprocess.run([program, "verify", unit], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_compose_file_starts_a_command_that_exists() -> None:
    service = COMPOSE["services"]["service"]
    require_known(service["command"])
    assert service["depends_on"]["database"] == {"condition": "service_healthy"}
    named = {
        volume.partition(":")[0]
        for each in COMPOSE["services"].values()
        for volume in each["volumes"]
    }
    assert named == set(COMPOSE["volumes"])


def test_no_password_is_written_down() -> None:
    text = (DEPLOY / "compose.yaml").read_text("utf-8")
    assert re.findall(r"POSTGRES_PASSWORD: *(\S+)", text) == ["${POSTGRES_PASSWORD:?set"]


def test_the_image_installs_what_is_locked_and_built() -> None:
    text = (DEPLOY / "Dockerfile").read_text("utf-8")
    assert "--require-hashes" in text
    assert (ROOT / "requirements" / "all.txt").is_file()
