"""`affidavit --help` answers at once: it loads nothing that a command needs and the help does not.

Everything in the extras is heavy, and so is what only prints (rich) or signs (cryptography).
"""

import re
import subprocess
import sys
import tomllib

import pytest
from tests.repository import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

# Where a distribution's module has another name.
MODULE_OF = {"opentelemetry-proto": "opentelemetry", "pyyaml": "yaml"}
LIGHT = {"click"}

REPORT = """
import sys
from affidavit.cli.main import main
sys.argv = ["affidavit", *sys.argv[1:]]
try:
    main()
finally:
    print(*sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""


def heavy_modules() -> set[str]:
    """Return the top-level modules of every dependency, core or extra, but the light ones."""
    extras = (need for row in PROJECT["optional-dependencies"].values() for need in row)
    names = {re.split(r"[\[<>=!~ ;]", need)[0] for need in (*PROJECT["dependencies"], *extras)}
    modules = {MODULE_OF.get(name, name.replace("-", "_")) for name in names}
    return modules - LIGHT - {"affidavit"}


def loaded_by(*arguments: str) -> set[str]:
    """Return the top-level modules that a command line has loaded when it ends."""
    run = subprocess.run(
        [sys.executable, "-c", REPORT, *arguments], capture_output=True, text=True, check=True
    )
    return set(run.stderr.split())


def test_the_list_of_the_heavy_is_not_empty() -> None:
    assert {"rich", "cryptography", "numpy", "litestar", "yaml", "opentelemetry"} <= heavy_modules()


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_nothing_heavy_is_loaded(argument: str) -> None:
    loaded = loaded_by(argument)
    assert "click" in loaded
    assert loaded & heavy_modules() == set()
