"""Try imports in a process of their own: a native library that crashes must not end the doctor."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Final

TIMEOUT_SECONDS: Final = 120.0

# One line per module on the original standard output: its name, a tab, and what went wrong. What a
# library itself prints goes where nobody reads it.
_PROGRAM: Final = """
import importlib, os, sys
answers = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace")
os.dup2(2, 1)
for name in sys.argv[1:]:
    problem = ""
    try:
        importlib.import_module(name)
    except BaseException as error:
        problem = f"{type(error).__name__}: {error}".replace("\\n", " ")
    answers.write(f"{name}\\t{problem}\\n")
    answers.flush()
os._exit(0)
"""


def problems_importing(
    modules: Sequence[str], timeout_seconds: float = TIMEOUT_SECONDS
) -> Mapping[str, str]:
    """Import each module, and return what went wrong by module; no entry means that it works."""
    problems: dict[str, str] = {}
    left = list(modules)
    while left:
        answers, ended = _import_all(left, timeout_seconds)
        problems |= {name: problem for name, problem in answers.items() if problem}
        left = [name for name in left if name not in answers]
        if left:
            # The first without an answer is the one that ended the process; the rest get another.
            problems[left.pop(0)] = ended
    return problems


def _import_all(modules: list[str], timeout_seconds: float) -> tuple[dict[str, str], str]:
    """Return the answers that came, and why there are no more of them."""
    # -P: what lies in the current folder is not what is installed.
    command = [sys.executable, "-P", "-W", "ignore", "-c", _PROGRAM, *modules]
    try:
        child = subprocess.run(  # noqa: S603 - our own interpreter and program, installed modules
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=timeout_seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        said, ended = error.stdout, f"importing it takes more than {timeout_seconds:g} seconds"
    except OSError as error:
        said, ended = b"", f"no process could be started to import it ({error.strerror})"
    else:
        said, ended = child.stdout, f"importing it ends the process (code {child.returncode})"
    # A last line without its end is no answer.
    lines = (said or b"").decode("utf-8").split("\n")[:-1]
    pairs = (line.partition("\t") for line in lines)
    return {name: problem for name, _, problem in pairs}, ended
