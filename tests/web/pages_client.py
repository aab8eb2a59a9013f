"""The pages of a real service, as `affidavit ui` starts it, with the sample documents."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.chromium import Page
from tests.web.ledger_client import ANSWER, SOURCES

QUESTION = "How much leave do I get?"


@contextmanager
def served(project: Path) -> Iterator[str]:
    """Run `affidavit ui` in a folder, and yield its address."""
    command = [sys.executable, "-m", "affidavit", "--json", "ui", "--no-browser"]
    with (
        (project / "log").open("wb") as log,
        subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE, stderr=log) as process,
    ):
        assert process.stdout is not None
        said = b""
        while not said.rstrip().endswith(b"}"):
            line = process.stdout.readline()
            assert line, (project / "log").read_text("utf-8")
            said += line
        try:
            yield json.loads(said)["url"].rstrip("/")
        finally:
            process.terminate()
            assert process.wait(60) == 0
            shutil.rmtree(project / ".affidavit")


def check_an_answer(page: Page, address: str) -> str:
    """Upload the samples, check their answer, and return the address of the ledger."""
    page.visit(f"{address}/new")
    page.call("DOM.enable")
    page.choose_files("#files", *SOURCES)
    page.wait("document.querySelectorAll('#uploads .state.ready').length === 2")
    page.evaluate(f"document.getElementById('question').value = {json.dumps(QUESTION)}")
    page.evaluate(f"document.getElementById('answer').value = {json.dumps(ANSWER)}")
    page.evaluate("document.getElementById('judge').value = 'lexical'")
    page.evaluate("document.getElementById('run').click()")
    page.wait("location.pathname.startsWith('/sessions/')")
    page.wait("!!document.getElementById('ledger')", 240)
    return str(page.evaluate("location.origin + location.pathname"))


def open_claim(page: Page, key: str) -> None:
    """Expand a claim and wait for its details."""
    page.evaluate(f"location.hash = '{key}'")
    page.wait(f"!!document.querySelector('#detail-{key} .claim-detail')")
