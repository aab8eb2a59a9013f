"""`affidavit doctor`: what is installed, what works, and when everything is ok."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from affidavit.app import doctor as trial_module
from affidavit.app.doctor import (
    ATTEMPTS,
    Attempt,
    Examination,
    HealthState,
    Installed,
    Needs,
    PackageHealth,
    TrialFailed,
    examine,
    find_installed,
    is_older,
    make_trial,
    needs_from,
    problems_importing,
)
from affidavit.base.errors import AffidavitError, Fault
from affidavit.base.faults.evidence import ENCODER_MISSING
from affidavit.base.faults.input import FILE_MISSING

NEEDS = needs_from(["Click>=8.5", "lxml>=5.3; extra == 'ledger'", "numpy>=2; extra == 'ledger'"])
CLICK = Installed("8.5.1", ("click",))
LXML = Installed("6.0", ("lxml",))
NUMPY = Installed("2.1", ("numpy",))
FULL = {"click": CLICK, "lxml": LXML, "numpy": NUMPY}
FINE = Attempt(name="fine", run=lambda: "done", needs=(), next_step="nothing")


def broken() -> str:
    raise OSError("out of ink")


def examined(
    installed: Mapping[str, Installed],
    problems: Mapping[str, str] | None = None,
    attempts: Sequence[Attempt] = (FINE,),
    needs: Needs | None = NEEDS,
) -> Examination:
    return examine(lambda: needs, lambda: installed, lambda _: problems or {}, attempts)


FOUND = {
    "all is there": (FULL, {}, True, HealthState.OK),
    "an extra is a choice": ({"click": CLICK}, {}, True, HealthState.MISSING),
    "an extra in part": ({"click": CLICK, "lxml": LXML}, {}, True, HealthState.MISSING),
    "an extra that cannot be imported": (
        FULL,
        {"numpy": "ImportError: x"},
        False,
        HealthState.BROKEN,
    ),
    "an extra that is too old": (
        {**FULL, "numpy": Installed("1.26", ())},
        {},
        False,
        HealthState.BROKEN,
    ),
    "the core is not a choice": ({"lxml": LXML, "numpy": NUMPY}, {}, False, HealthState.OK),
    "the core cannot be imported": (FULL, {"click": "ImportError: x"}, False, HealthState.OK),
}


@pytest.mark.parametrize(("installed", "problems", "ok", "extra"), FOUND.values(), ids=FOUND.keys())
def test_installed_packages_are_listed(
    installed: dict[str, Installed], problems: dict[str, str], ok: bool, extra: HealthState
) -> None:
    found = examined(installed, problems)
    assert found.ok is ok
    assert [(part.name, part.state) for part in found.extras] == [("ledger", extra)]


def test_every_finding_says_what_to_do() -> None:
    found = examined({"lxml": LXML, "numpy": NUMPY}, {"lxml": "ImportError: no libxml2"})
    (click,) = found.core
    assert (click.state, click.next_step) == (HealthState.MISSING, "pip install 'Click>=8.5'")
    (ledger,) = found.extras
    lxml, numpy = ledger.packages
    assert lxml.detail == "ImportError: no libxml2"
    assert lxml.next_step == "pip install --force-reinstall 'lxml>=5.3'"
    assert (numpy.detail, numpy.next_step) == (None, None)
    assert ledger.next_step is None
    assert examined({"click": CLICK}).extras[0].next_step == "pip install 'affidavit[ledger]'"
    assert examined(FULL).extras[0].next_step is None


def test_a_failed_trial_makes_the_result_not_ok() -> None:
    found = examined(
        FULL, attempts=(FINE, Attempt(name="ink", run=broken, needs=(), next_step="buy ink"))
    )
    assert not found.ok
    assert found.trials[-1].detail == "OSError: out of ink"
    assert found.trials[-1].next_step == "buy ink"


def test_a_missing_installation_is_reported() -> None:
    found = examined(FULL, needs=None)
    assert not found.ok
    assert (found.core, found.extras) == ((), ())
    assert found.trials[0].state is HealthState.BROKEN


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda attempt: attempt.name)
def test_the_required_libraries_work(attempt: Attempt) -> None:
    trial = make_trial(attempt, {})
    if trial.state is HealthState.MISSING and not os.environ.get("CI"):
        pytest.skip(f"{trial.name}: {trial.detail}")
    assert (trial.state, trial.next_step) == (HealthState.OK, None), trial.detail


def lies() -> Mapping[str, tuple[str, str, object]]:
    return {
        "a good signature is refused": (
            "signatures",
            "seal.crypto.is_valid_signature",
            lambda *_: False,
        ),
        "a bad signature is accepted": (
            "signatures",
            "seal.crypto.is_valid_signature",
            lambda *_: True,
        ),
        "another canonical form": ("canonical JSON", "base.canonical.jcs", lambda _: b"{}"),
        "a file that keeps its old content": (
            "files",
            "base.files.write_atomically",
            lambda path, data: Path(path).write_bytes(b"old"),
        ),
        "an encoder of changing mind": (
            "encoder",
            "judge.encoder.load_encoder",
            lambda _: SimpleNamespace(read=lambda *_: object(), digest="sha256:0"),
        ),
    }


@pytest.mark.parametrize(("name", "target", "lie"), lies().values(), ids=lies().keys())
def test_a_trial_can_fail(
    name: str, target: str, lie: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"affidavit.{target}", lie)
    (attempt,) = (attempt for attempt in ATTEMPTS if attempt.name == name)
    with pytest.raises(TrialFailed):
        attempt.run()
    assert make_trial(attempt, {}).state is HealthState.BROKEN


def test_a_database_that_loses_a_row_fails_the_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    import sqlite3

    class Forgetful(sqlite3.Connection):
        def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
            return super().execute("select 1" if sql.startswith("insert") else sql)

    real = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda path: real(path, factory=Forgetful))
    with pytest.raises(TrialFailed, match="a row differs"):
        trial_module.ask_a_database()


def test_an_affidavit_error_is_reported_with_its_message() -> None:
    def miss() -> str:
        raise AffidavitError(FILE_MISSING)

    trial = make_trial(Attempt(name="x", run=miss, needs=(), next_step="look"), {})
    assert (trial.state, trial.detail) == (HealthState.BROKEN, "the file does not exist")


def test_a_broken_library_is_not_tried() -> None:
    found = examine(
        lambda: NEEDS,
        lambda: FULL,
        lambda _: {"click": "ends the process"},
        (Attempt(name="x", run=broken, needs=("Click",), next_step="reinstall"),),
    )
    assert found.trials[-1].detail == "not tried because it needs Click"


ABSENT = {
    "a library of an extra": (HealthState.MISSING, FILE_MISSING, True, HealthState.MISSING),
    "a library of the core": (HealthState.MISSING, FILE_MISSING, False, HealthState.BROKEN),
    "a library that is there and broken": (
        HealthState.BROKEN,
        FILE_MISSING,
        True,
        HealthState.BROKEN,
    ),
    "the encoder's files": (HealthState.OK, ENCODER_MISSING, True, HealthState.MISSING),
    "a file that is not a choice": (HealthState.OK, FILE_MISSING, True, HealthState.BROKEN),
}


@pytest.mark.parametrize(("library", "fault", "optional", "wanted"), ABSENT.values(), ids=ABSENT)
def test_optional_libraries_may_be_absent(
    library: HealthState, fault: Fault, optional: bool, wanted: HealthState
) -> None:
    def miss() -> str:
        raise AffidavitError(fault)

    packages = {
        "lib": PackageHealth(
            name="lib", needed="", version=None, state=library, detail=None, next_step=None
        )
    }
    attempt = Attempt(name="x", run=miss, needs=("lib",), next_step="install", optional=optional)
    assert make_trial(attempt, packages).state is wanted
    found = examined(
        FULL,
        attempts=(Attempt(name="x", run=miss, needs=(), next_step="install", optional=optional),),
    )
    assert found.ok is (optional and fault is ENCODER_MISSING)


# Imports, in a separate process.


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = {
        "bad_lines": "raise RuntimeError('first\\nsecond\\tthird')",
        "bad_exit": "raise SystemExit(3)",
        "bad_crash": "import os; os.abort()",
        "bad_silence": "import os; os._exit(0)",
        "loud": "import sys; print('x' * 100_000); print('y', file=sys.stderr); sys.stdin.read()",
    }
    for name, source in sources.items():
        (tmp_path / f"{name}.py").write_text(source)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")


@pytest.mark.usefixtures("modules")
def test_importable_and_broken_modules() -> None:
    names = ["json", "bad_lines", "bad_crash", "loud", "bad_silence", "no_such", "bad_exit", "re"]
    assert problems_importing(names) == {
        "bad_lines": "RuntimeError: first second\tthird",
        "bad_crash": "importing it ends the process (code -6)",
        "bad_silence": "importing it ends the process (code 0)",
        "no_such": "ModuleNotFoundError: No module named 'no_such'",
        "bad_exit": "SystemExit: 3",
    }


def test_an_endless_import_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "endless.py").write_text("import time; time.sleep(60)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    found = problems_importing(["json", "endless", "re"], timeout_seconds=2)
    assert found == {"endless": "importing it takes more than 2 seconds"}


def test_no_process_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    found = problems_importing(["json", "re"])
    said = "no process could be started to import it (No such file or directory)"
    assert found == {"json": said, "re": said}


def test_modules_in_the_current_folder_do_not_count_as_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "click.py").write_text("raise RuntimeError('not me')")
    monkeypatch.chdir(tmp_path)
    assert problems_importing(["click"]) == {}


def test_modules_are_found_by_the_name_of_their_package() -> None:
    found = find_installed()
    assert found["pyyaml"].modules == ("yaml",)
    assert found["rfc3161-client"].modules == ("rfc3161_client",)


AGES = {
    "older": ("1.9", ">=1.10", True),
    "the same": ("1.10", ">=1.10", False),
    "newer": ("2.0.1", ">=2.0", False),
    "the same with zeros": ("2", ">=2.0.0", False),
    "no bound": ("0.1", "", False),
    "another bound": ("0.1", "<2", False),
    "two bounds": ("0.1", "<2,>=1", True),
    "no number": ("unknown", ">=1", True),
}


@pytest.mark.parametrize(("version", "bound", "older"), AGES.values(), ids=AGES.keys())
def test_is_older(version: str, bound: str, older: bool) -> None:
    assert is_older(version, bound) is older
