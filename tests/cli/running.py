"""Ways to run a command line: in this process, in another one, and on a terminal."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping, Sequence

from click.testing import CliRunner, Result
from tests.cli.sample_commands import SAMPLE
from tests.repository import ROOT

from affidavit.cli.program import Program, cli

# The real program, and the sample one as `affidavit.cli.main.main` would start it.
REAL = "from affidavit.cli.main import main; main()"
# A shell that starts a background process makes it ignore the signal; children inherit that.
HANDLING_CTRL_C = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
SAMPLED = (
    "import affidavit.cli.program as start; from tests.cli.sample_commands import SAMPLE;"
    "start.cli = SAMPLE; from affidavit.cli.main import main; main()"
)


def run(*arguments: str, program: Program = cli) -> Result:
    """Run in this process, at the width of the golden files, without color."""
    return CliRunner(env={"COLUMNS": "80"}).invoke(program, arguments, terminal_width=80)


def run_sample(*arguments: str) -> Result:
    """Run the sample program in this process."""
    return run(*arguments, program=SAMPLE)


def environment(changes: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return this process's environment without the variables that set color and width."""
    decide = {"COLUMNS", "LINES", "NO_COLOR"}
    kept = {name: value for name, value in os.environ.items() if name not in decide}
    return {**kept, "TERM": "xterm-256color", **(changes or {})}


def command_line(code: str, arguments: Sequence[str]) -> list[str]:
    """Return the command line of a Python process that runs a program."""
    return [sys.executable, "-c", code, *arguments]


def start(
    code: str, *arguments: str, env: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start a program in another process, with pipes."""
    return subprocess.Popen(
        command_line(code, arguments),
        cwd=ROOT,
        env=environment(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def run_process(
    code: str, *arguments: str, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a program in another process, with pipes."""
    with start(code, *arguments, env=env) as process:
        out, err = process.communicate(timeout=60)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def run_on_terminal(
    code: str, *arguments: str, columns: int = 80, env: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """Run a program on a terminal of this width; return its exit code and its output."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    with subprocess.Popen(
        command_line(code, arguments), cwd=ROOT, env=environment(env), stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        shown = b""
        while piece := read_terminal(ours):
            shown += piece
        os.close(ours)
    return process.returncode, shown.decode().replace("\r\n", "\n")


def read_terminal(handle: int) -> bytes:
    """Read the output of a terminal; empty when its last writer has exited."""
    try:
        return os.read(handle, 65536)
    except OSError:  # Linux says EIO where others say end of file.
        return b""
