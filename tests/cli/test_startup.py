"""Start-up is fast: help and completion import no library except click."""

import json
import sys

import pytest
from tests.cli.running import run_process

# The modules that are imported between the first line and the end, by top-level name. Coverage and
# the network guard of the tests are imported before, and do not count.
LISTING = """
import atexit, json, sys
before = set(sys.modules)
atexit.register(lambda: sys.stderr.write(json.dumps(sorted(set(sys.modules) - before))))
from affidavit.cli.main import main
main()
"""

CHEAP = {
    "help": (["--help"], {}),
    "version": (["--version"], {}),
    "help of completion": (["completion", "--help"], {}),
    "help of doctor": (["doctor", "--help"], {}),
    "completing a name": (
        [],
        {"_AFFIDAVIT_COMPLETE": "bash_complete", "COMP_WORDS": "affidavit d", "COMP_CWORD": "1"},
    ),
    "completing an option": (
        [],
        {
            "_AFFIDAVIT_COMPLETE": "bash_complete",
            "COMP_WORDS": "affidavit doctor --j",
            "COMP_CWORD": "2",
        },
    ),
}
IMPORT_NO_COMMAND = ("help", "version", "completing a name")


def imported(case: str) -> set[str]:
    arguments, env = CHEAP[case]
    done = run_process(LISTING, *arguments, env=env)
    assert done.returncode == 0
    assert done.stdout
    return set(json.loads(done.stderr))


@pytest.mark.parametrize("case", CHEAP)
def test_no_library_but_click_is_imported_for(case: str) -> None:
    outside = {name.partition(".")[0] for name in imported(case)} - sys.stdlib_module_names
    assert outside == {"affidavit", "click"}


@pytest.mark.parametrize("case", IMPORT_NO_COMMAND)
def test_no_command_is_imported_for(case: str) -> None:
    ours = {name for name in imported(case) if name.startswith("affidavit.")}
    assert not any(name.startswith("affidavit.app") for name in ours)
    assert ours.isdisjoint({"affidavit.cli.doctor", "affidavit.cli.setup"})


def test_a_heavy_import_is_detected() -> None:
    done = run_process(LISTING.replace("main()", "import rich"), env={})
    assert "rich" in json.loads(done.stderr)
