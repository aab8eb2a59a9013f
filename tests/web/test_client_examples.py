"""The clients that the documentation shows, against a running service."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.repository import ROOT
from tests.web.service_client import make_project
from tools.demo_service import Client, demonstrate

HERE = "http://127.0.0.1:8320"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve on a free port, as a command and with its worker."""
    project = make_project(tmp_path_factory.mktemp("served"))
    command = [sys.executable, "-m", "affidavit", "serve", "-q", "--port", "0"]
    with subprocess.Popen(
        [*command, "--project", str(project)], stdout=subprocess.PIPE, text=True
    ) as service:
        assert service.stdout is not None
        yield service.stdout.readline().split()[2]
        service.terminate()


def test_the_client_in_python_uploads_checks_and_downloads(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    demonstrate(Client(url), tmp_path)
    said = capsys.readouterr().out
    assert said.count(": ready\n") == 2
    assert "checked 4 of 4 claims: no_ship" in said
    assert (tmp_path / "report-service.pdf").read_bytes().startswith(b"%PDF")


def test_the_requests_of_the_documentation_are_answered(url: str, tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    page = (ROOT / "docs" / "store.md").read_text("utf-8")
    block = re.search(r"```console\naffidavit serve\n(.*?)```", page, re.DOTALL)
    assert block is not None
    # Bytes behind the end of a PDF are not read; they make it another document.
    data = (ROOT / "samples" / "leave" / "sources" / "HR_Policy.pdf").read_bytes()
    (tmp_path / "policy.pdf").write_bytes(data + b"\n%% policy\n")
    commands = block[1].replace("\\\n", " ").strip().splitlines()
    assert len(commands) == 2
    answers = []
    for command in commands:
        words = shlex.split(command.replace(HERE, url))
        done = subprocess.run([*words, "-sS"], cwd=tmp_path, capture_output=True, check=True)
        answers.append(json.loads(done.stdout))
    assert answers[0]["filename"] == "policy.pdf"
    assert answers[1]["status"] == "queued"
