"""Ctrl-C ends a command in one line, from its first import on."""

import os
import signal
import subprocess
import sys
import time

import pytest
from tests.cli.running import environment, run_process
from tests.repository import ROOT

from affidavit.base.errors import AffidavitError
from affidavit.base.faults.input import INTERRUPTED
from affidavit.cli import main
from affidavit.cli.errors import error_from

STOPPED = b"AF002: stopped by the user. Next: run the same command again\n"

# The signal arrives during the import of a module; `how` is the handler that is set first.
AT_AN_IMPORT = """
import os, signal, sys
name, how = sys.argv.pop(1), sys.argv.pop(1)
signal.signal(signal.SIGINT, getattr(signal, how))
class Stopping:
    def find_spec(self, found, path=None, target=None):
        if found == name:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Stopping())
from affidavit.cli.main import main
main()
"""

EARLY = {
    "before the program is there": ("affidavit.cli.program", "doctor"),
    "while the parser is imported": ("click.core", "doctor"),
    "while the table of commands is read": ("affidavit.cli.commands", "doctor"),
    "while a command is imported": ("affidavit.cli.doctor", "doctor"),
    "before an error is printed": ("affidavit.cli.errors", "doctr"),
}


@pytest.mark.parametrize(("module", "command"), EARLY.values(), ids=EARLY.keys())
def test_ctrl_c_at_an_import(module: str, command: str) -> None:
    done = run_process(AT_AN_IMPORT, module, "default_int_handler", command)
    assert (done.returncode, done.stdout, done.stderr) == (3, b"", STOPPED)


def test_a_command_in_the_background_is_not_stopped_by_the_signal_of_another() -> None:
    done = run_process(AT_AN_IMPORT, "click.core", "SIG_IGN", "--version")
    assert (done.returncode, done.stderr) == (0, b"")


def test_ctrl_c_that_python_wraps_in_an_error() -> None:
    wrapped = RuntimeError("Error calling __set_name__")
    wrapped.__cause__ = KeyboardInterrupt()
    assert error_from(wrapped).fault is INTERRUPTED


def test_the_line_is_that_of_the_catalog() -> None:
    told = AffidavitError(INTERRUPTED)
    assert main._INTERRUPTED_MESSAGE.decode() == f"{told}\n"
    assert told.fault.exit == main._EXIT_UNKNOWN


@pytest.mark.parametrize("milliseconds", [10, 30, 60, 100, 150, 200, 300, 400])
def test_ctrl_c_at_any_time(milliseconds: int) -> None:
    """Before our first line Python prints its own traceback; after it there is only our line."""
    with subprocess.Popen(
        [sys.executable, "-m", "affidavit", "doctor"],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        time.sleep(milliseconds / 1000)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert b"affidavit%ccli" % ord(os.sep) not in err
    assert process.returncode in ((3,) if err == STOPPED else (0, 1, -signal.SIGINT)), err


def test_a_second_ctrl_c_during_the_message(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Run in this process, so that an immediate exit can be observed."""

    def stopped() -> None:
        raise KeyboardInterrupt

    def ended(code: int) -> None:
        raise SystemExit(code)

    monkeypatch.setattr(main, "_run", stopped)
    monkeypatch.setattr(os, "_exit", ended)
    with pytest.raises(SystemExit) as found:
        main.main()
    assert (found.value.code, capfd.readouterr().err.encode()) == (3, STOPPED)
