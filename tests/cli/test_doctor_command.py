"""`affidavit doctor` as it is shown; what it finds is tested in tests/app/."""

import json
from dataclasses import replace

import pytest
from tests.cli.running import REAL, run, run_process
from tests.golden_files import Golden

from affidavit.app.doctor import Examination, ExtraHealth, HealthState, PackageHealth, TrialResult
from affidavit.cli import doctor as command

CLICK = PackageHealth(
    name="click", needed=">=8.5", version="8.5.1", state=HealthState.OK, detail=None, next_step=None
)
LXML = PackageHealth(
    name="lxml",
    needed=">=5.3",
    version=None,
    state=HealthState.MISSING,
    detail=None,
    next_step="pip install 'lxml>=5.3'",
)
NUMPY = PackageHealth(
    name="numpy",
    needed=">=2.0",
    version=None,
    state=HealthState.MISSING,
    detail=None,
    next_step="pip install 'numpy>=2.0'",
)
TYPST = PackageHealth(
    name="typst",
    needed=">=0.13",
    version=None,
    state=HealthState.MISSING,
    detail=None,
    next_step="pip install 'typst>=0.13'",
)
FILES = TrialResult("files", HealthState.OK, "a file is replaced atomically and read back", None)
WELL = Examination(
    ok=True,
    version="1.2.3",
    python="CPython 3.11.7",
    platform="Linux",
    core=(CLICK,),
    extras=(
        ExtraHealth(
            "ledger", HealthState.MISSING, (LXML, NUMPY), "pip install 'affidavit[ledger]'"
        ),
        ExtraHealth("pdf", HealthState.MISSING, (TYPST,), "pip install 'affidavit[pdf]'"),
    ),
    trials=(FILES,),
)
AGAIN = "pip install --force-reinstall 'numpy>=2.0'"
UNWELL = replace(
    WELL,
    ok=False,
    core=(
        CLICK,
        PackageHealth(
            name="rich",
            needed=">=14",
            version=None,
            state=HealthState.MISSING,
            detail=None,
            next_step="pip install 'rich>=14'",
        ),
    ),
    extras=(
        ExtraHealth(
            "ledger",
            HealthState.BROKEN,
            (
                LXML,
                PackageHealth(
                    name="numpy",
                    needed=">=2.0",
                    version="2.1",
                    state=HealthState.BROKEN,
                    detail="ImportError: no libm",
                    next_step=AGAIN,
                ),
            ),
            "pip install 'affidavit[ledger]'",
        ),
        ExtraHealth(
            "pdf", HealthState.OK, (replace(TYPST, version="0.15", state=HealthState.OK),), None
        ),
    ),
    trials=(
        FILES,
        TrialResult("database", HealthState.BROKEN, "OSError: disk", "use another Python"),
    ),
)
CASES = {"well": (WELL, 0), "unwell": (UNWELL, 1)}


@pytest.mark.parametrize("case", CASES)
def test_doctor_on_the_terminal(case: str, golden: Golden, monkeypatch: pytest.MonkeyPatch) -> None:
    found, code = CASES[case]
    monkeypatch.setattr(command, "examine", lambda: found)
    result = run("doctor")
    assert (result.exit_code, result.stderr) == (code, "")
    golden.check(f"doctor-{case}.txt", result.stdout)


@pytest.mark.parametrize("case", CASES)
def test_doctor_as_json(case: str, golden: Golden, monkeypatch: pytest.MonkeyPatch) -> None:
    found, code = CASES[case]
    monkeypatch.setattr(command, "examine", lambda: found)
    result = run("doctor", "--json")
    assert (result.exit_code, result.stderr) == (code, "")
    golden.check(f"doctor-{case}.json", result.stdout)


def test_doctor_finds_this_environment_ok() -> None:
    done = run_process(REAL, "doctor", "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, done.stderr, found["ok"]) == (0, b"", True)
    assert {package["state"] for package in found["core"]} == {"ok"}
    # The encoder's weights may be missing from a checkout; its own tests report that.
    assert {trial["state"] for trial in found["trials"] if trial["name"] != "encoder"} == {"ok"}


def test_the_module_is_the_command() -> None:
    done = run_process(
        "import runpy; runpy.run_module('affidavit', run_name='__main__')", "-q", "doctor"
    )
    assert done.returncode == 0
    assert b"The core works." in done.stdout
