"""Pipelines under test: a URL, a command, and every reason for a missing answer."""

import os
import socket
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.tools.pipeline_server import asking

from affidavit.base.errors import AffidavitError
from affidavit.tools.pipelines import (
    Pipeline,
    PipelineError,
    PipelineQuestion,
    fill_question,
    pipeline_named,
    placeholders_of,
)

PYTHON = f"{sys.executable} -I -c "


def question(text: str = "Is it so?", seed: int = 3, jitter: str = "ws") -> PipelineQuestion:
    return PipelineQuestion("q1", text, seed, jitter)


def named(**settings: Any) -> Pipeline:
    given = {
        "url": None,
        "command": None,
        "body": None,
        "headers": (),
        "timeout_seconds": 20.0,
        "environment": {"TOKEN": "s3cret-token"},
        **settings,
    }
    return pipeline_named(**given)


def test_a_url_receives_only_the_question() -> None:
    with asking() as server:
        raw = named(url=server.url).ask(question())
        named(
            url=server.url,
            body='{"question": "Please: {question}", "n": ["{seed}", 1], "own": "{ }"}',
            headers=("X-Key: Bearer $TOKEN", "X-Other: ${TOKEN}!"),
        ).ask(question())
    assert b'"claim": "X rejects null keys."' in raw
    assert server.bodies == [
        {"question": "Is it so?", "qid": "q1", "seed": 3, "jitter": "ws"},
        {"question": "Please: Is it so?", "n": [3, 1], "own": "{ }"},
    ]
    assert server.headers[1]["x-key"] == "Bearer s3cret-token"
    assert server.headers[1]["x-other"] == "s3cret-token!"


SILENT = {
    "an error of the server is its answer, so it is not retried": ("Fail", "HTTP 500", False),
    "a redirect leads elsewhere": ("Redirect", "HTTP 302: a redirect, which is not", False),
    "an answer that is cut off": ("Cut", "the answer broke off", True),
    "an answer without end": ("Long", "the answer is longer than", False),
    "a secret that comes back": ("Secret", "the answer repeats a secret", False),
    "a server that is none": ("Garbage", "the connection broke (BadStatusLine)", True),
    "a connection that breaks": ("Once", "the connection broke", True),
}


@pytest.mark.parametrize(("word", "problem", "in_transport"), SILENT.values(), ids=SILENT.keys())
def test_no_answer_from_an_address(word: str, problem: str, in_transport: bool) -> None:
    with asking() as server:
        asked = named(url=server.url, headers=("X-Key: $TOKEN",))
        with pytest.raises(PipelineError) as caught:
            asked.ask(question(word))
    assert caught.value.problem.startswith(problem)
    assert caught.value.in_transport is in_transport


def test_a_server_that_drips_is_late() -> None:
    with asking() as server:
        started = time.monotonic()
        with pytest.raises(PipelineError, match=r"no answer within 0\.3 s") as caught:
            named(url=server.url, timeout_seconds=0.3).ask(question("Drip"))
    assert time.monotonic() - started < 4
    assert not caught.value.in_transport


def test_a_pipeline_that_does_not_listen_is_a_transport_error() -> None:
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{place.getsockname()[1]}/"
        with pytest.raises(PipelineError, match="no connection") as caught:
            named(url=url).ask(question())
    assert caught.value.in_transport
    with pytest.raises(PipelineError, match="no connection"):
        named(url=url.replace("http:", "https:")).ask(question())


ECHO = PYTHON + "'import sys; print(sys.stdin.read().upper(), sys.argv[1:])'"
COMMANDS = {
    "the question on standard input": (ECHO, b"IS IT SO? []\n"),
    "the question as an argument": (
        ECHO + " {question} {seed}-{jitter}",
        b" ['Is it so?', '3-ws']\n",
    ),
    "other braces stay": (ECHO + " '{a: 1}' {}", b"IS IT SO? ['{a: 1}', '{}']\n"),
    "no shell reads it": (ECHO + " '$HOME' ';' ls", b"IS IT SO? ['$HOME', ';', 'ls']\n"),
}


@pytest.mark.parametrize(("line", "wanted"), COMMANDS.values(), ids=COMMANDS.keys())
def test_a_command(line: str, wanted: bytes) -> None:
    assert named(command=line).ask(question()) == wanted


FAILING = {
    "it ends with another code": (
        "'import sys; sys.exit(\"no key\\n\")'",
        "the command ended with 1 (no key)",
    ),
    "without a word": ("'import sys; sys.exit(3)'", "the command ended with 3"),
    "it prints without end": (
        "'while True: print(\"x\" * 99999)'",
        "the command printed more than",
    ),
}


@pytest.mark.parametrize(("code", "problem"), FAILING.values(), ids=FAILING.keys())
def test_no_answer_from_a_command(code: str, problem: str) -> None:
    with pytest.raises(PipelineError) as caught:
        named(command=PYTHON + code).ask(question())
    assert caught.value.problem.startswith(problem)
    assert not caught.value.in_transport


def test_a_command_that_times_out_is_killed_with_its_children(tmp_path: Path) -> None:
    script = tmp_path / "slow.py"
    script.write_text(
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-I', '-c', 'import time; time.sleep(60)'])\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(child.pid))\n"
        "time.sleep(60)\n"
    )
    asked = named(command=f"{sys.executable} {script}", timeout_seconds=1.5)
    with pytest.raises(PipelineError, match=r"no answer within 1\.5 s"):
        asked.ask(question())
    pid = int((tmp_path / "pid").read_text())
    for _ in range(100):
        if not is_running(pid):
            break
        time.sleep(0.05)
    assert not is_running(pid)
    asked.close()


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except (ProcessLookupError, FileNotFoundError):
        return False


def test_a_program_that_exits_early_gives_no_answer(tmp_path: Path) -> None:
    program = tmp_path / "ask"
    program.write_text("#!/bin/sh\necho hi\n")
    program.chmod(0o755)
    asked = named(command=str(program))
    assert asked.ask(question()) == b"hi\n"
    program.unlink()
    with pytest.raises(PipelineError, match="could not be started"):
        asked.ask(question())


WRONG = {
    "nothing to ask": ({}, "AF440"),
    "two things to ask": ({"url": "http://127.0.0.1/", "command": "true"}, "AF440"),
    "a body for a command": ({"command": "true", "body": "{}"}, "AF440"),
    "a header for a command": ({"command": "true", "headers": ("A: b",)}, "AF440"),
    "no address": ({"url": "ftp://x"}, "AF441"),
    "an address with a password": ({"url": "http://u:p@x/"}, "AF441"),
    "an open quote": ({"command": "ask 'me"}, "AF442"),
    "no such program": ({"command": "no-such-program-here"}, "AF442"),
    "an empty command": ({"command": " "}, "AF442"),
    "a slot that is none": ({"command": "true {sed}"}, "AF443"),
    "the same in a body": ({"url": "http://x/", "body": '{"q": "{question}{x}"}'}, "AF443"),
    "a body without the question": ({"url": "http://x/", "body": '{"q": "{qid}"}'}, "AF443"),
    "a body that is not JSON": ({"url": "http://x/", "body": "{question}"}, "AF444"),
    "a header without a colon": ({"url": "http://x/", "headers": ("Key",)}, "AF445"),
    "a variable that is not set": ({"url": "http://x/", "headers": ("K: $NONE",)}, "AF445"),
    "an empty header": ({"url": "http://x/", "headers": ("K:",)}, "AF445"),
    "a header with a line break": ({"url": "http://x/", "headers": ("K: a\nb",)}, "AF445"),
}


@pytest.mark.parametrize(("settings", "code"), WRONG.values(), ids=WRONG.keys())
def test_invalid_settings_are_refused_before_the_first_question(
    settings: dict[str, object], code: str
) -> None:
    with pytest.raises(AffidavitError) as caught:
        named(**settings)
    assert caught.value.fault.code == code
    assert "s3cret" not in str(caught.value)


def test_the_identity_has_no_secret() -> None:
    asked = named(url="http://127.0.0.1/a", headers=("K: $TOKEN",))
    assert "s3cret" not in asked.identity + repr(asked)
    assert asked.identity.startswith("POST http://127.0.0.1/a {")
    assert named(command="true x").identity == "run ['true', 'x']"


def test_slots() -> None:
    assert [*placeholders_of({"a": ["{question}", {"b": "{x} {y}"}], "c": 1})] == [
        "question",
        "x",
        "y",
    ]
    assert fill_question(["{qid}/{other}", 7, "{other}"], question()) == [
        "q1/{other}",
        7,
        "{other}",
    ]
