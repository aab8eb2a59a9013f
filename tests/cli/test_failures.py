"""Every failure ends with a documented exit code and one line."""

import errno
import json
import signal

import click
import pytest
from tests.cli.running import HANDLING_CTRL_C, SAMPLED, run_process, run_sample, start

from affidavit.base.errors import AffidavitError, Fault
from affidavit.base.faults import input as faults
from affidavit.cli.errors import MAX_DETAIL_CHARACTERS, error_from

ENDINGS = {
    "a yes": (["tell", "x"], 0, "a note"),
    "a no is not an error": (["refuse"], 1, ""),
    "an error of the catalog": (
        ["miss"],
        2,
        "AF010: a b\\x1b[31m.json: the file does not exist. Next: check the path",
    ),
    "a defect": (
        ["crash"],
        3,
        "AF004: unexpected error in Affidavit"
        " (KeyError: 'the cupboard\\nwas bare'). Next: this is a bug in Affidavit;"
        " run again with -v and report the output",
    ),
    "a command that does not say how it ended is not a yes": (
        ["forget"],
        3,
        "AF004: unexpected error in Affidavit"
        " (ValueError: None is not a valid Exit). Next: this is a bug in Affidavit;"
        " run again with -v and report the output",
    ),
    "a library that exits is not a yes": (
        ["leave"],
        3,
        "AF004: unexpected error in Affidavit (SystemExit: 0)."
        " Next: this is a bug in Affidavit; run again with -v and report the output",
    ),
    "a library of an extra": (
        ["lack"],
        2,
        "AF003: this command needs the package 'pyspark', which is not installed."
        " Next: pip install 'affidavit[spark]'",
    ),
}


@pytest.mark.parametrize(("arguments", "code", "said"), ENDINGS.values(), ids=ENDINGS.keys())
def test_exit_codes_and_messages(arguments: list[str], code: int, said: str) -> None:
    result = run_sample(*arguments)
    assert (result.exit_code, result.stderr.rstrip("\n")) == (code, said)


@pytest.mark.parametrize("arguments", [["--json", "miss"], ["miss", "--json"]])
def test_an_error_as_json(arguments: list[str]) -> None:
    result = run_sample(*arguments)
    assert result.exit_code == 2
    assert json.loads(result.stdout) == {
        "error": {
            "code": "AF010",
            "name": "file.missing",
            "message": "the file does not exist",
            "next": "check the path",
            "file": "a\nb\x1b[31m.json",
            "line": None,
            "field": None,
        }
    }
    assert result.stderr.startswith("AF010: ")


def test_the_traceback_of_a_defect_needs_verbose() -> None:
    assert "Traceback" not in run_sample("crash").stderr
    for arguments in (["-v", "crash"], ["crash", "--verbose"]):
        said = run_sample(*arguments).stderr
        assert said.startswith("Traceback")
        assert "in crash" in said
        assert "\nAF004: " in said


def test_a_user_error_has_no_traceback_even_with_verbose() -> None:
    assert "Traceback" not in run_sample("miss", "-v").stderr


OTHERS = {
    "the user stops at a prompt": (click.Abort(), faults.INTERRUPTED),
    "the user presses ctrl-c": (KeyboardInterrupt(), faults.INTERRUPTED),
    "the input ends at a prompt": (EOFError(), faults.INTERRUPTED),
    "click cannot open a file": (click.FileError("x", "gone"), faults.USAGE),
    "a usage error without a context": (click.UsageError("Wrong."), faults.USAGE),
    "an unknown command without a context": (click.NoSuchCommand("x"), faults.USAGE),
    "an unknown option without a context": (click.NoSuchOption("-x"), faults.USAGE),
    "the disk is full": (OSError(errno.ENOSPC, "full"), faults.FILE_UNWRITABLE),
    "an unexpected file error": (OSError(errno.EACCES, "no", "x"), faults.DEFECT),
    "a module of no extra": (ModuleNotFoundError("no", name="nowhere"), faults.DEFECT),
    "a module without a name": (ModuleNotFoundError("no"), faults.DEFECT),
    "no memory": (MemoryError(), faults.DEFECT),
    "no end": (RecursionError("deep"), faults.DEFECT),
}


@pytest.mark.parametrize(("error", "fault"), OTHERS.values(), ids=OTHERS.keys())
def test_every_exception_has_a_fault(error: BaseException, fault: Fault) -> None:
    found = error_from(error)
    assert found.fault is fault
    assert str(found)


def test_an_unknown_command_of_a_foreign_group() -> None:
    context = click.Context(click.Group("other"), info_name="other")
    said = str(error_from(click.NoSuchCommand("x", ctx=context)))
    assert said == "AF001: unknown command `other x`. Next: run `other --help`"


def test_the_message_of_a_defect_is_bounded() -> None:
    found = error_from(ValueError("x" * 10_000))
    assert isinstance(found, AffidavitError)
    assert found.values["detail"] == "x" * MAX_DETAIL_CHARACTERS + " ..."
    assert "x ...)" in found.message


# Cases that need a separate process.


def test_ctrl_c() -> None:
    with start(HANDLING_CTRL_C + SAMPLED, "wait") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"waiting\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 3
    assert out == b""
    assert err == b"AF002: stopped by the user. Next: run the same command again\n"


def test_an_error_with_a_closed_standard_output() -> None:
    with start(SAMPLED, "--json", "miss") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        err = process.stderr.read()
    assert process.returncode == 2
    assert err.startswith(b"AF010: ")
    assert err.count(b"\n") == 1


@pytest.mark.parametrize("times", ["1", "20000"], ids=["little output", "much output"])
def test_a_closed_standard_output_during_output(times: str) -> None:
    with start(SAMPLED, "-q", "tell", "x" * 50, "--times", times) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        err = process.stderr.read()
    assert (process.returncode, err) == (3, b"")


def test_no_warning_of_python_reaches_the_user() -> None:
    done = run_process(SAMPLED, "warn")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_developer_who_asks_for_warnings_gets_them() -> None:
    done = run_process(SAMPLED, "warn", env={"PYTHONWARNINGS": "default"})
    assert b"an inner matter" in done.stderr


def test_a_stream_that_cannot_show_a_letter() -> None:
    done = run_process(SAMPLED, "tell", "5 € → naïve", env={"PYTHONIOENCODING": "latin-1"})
    assert (done.returncode, done.stdout) == (0, b"5 \\u20ac \\u2192 na\xefve\n")
    # click assumes that an ASCII stream is a wrong system setting, and writes UTF-8.
    done = run_process(SAMPLED, "tell", "5 € → naïve", env={"PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stdout) == (0, "5 € → naïve\n".encode())


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_json_is_utf_8_whatever_the_locale(encoding: str) -> None:
    done = run_process(SAMPLED, "refuse", "--json", env={"PYTHONIOENCODING": encoding})
    assert done.returncode == 1
    assert json.loads(done.stdout.decode("utf-8")) == {"said": "no", "name": "é\udc80"}


def test_the_locale_c() -> None:
    done = run_process(SAMPLED, "tell", "5 €", env={"LC_ALL": "C", "LANG": "C"})
    assert (done.returncode, done.stdout) == (0, "5 €\n".encode())
