"""A pipeline that is a command: it is started for each question, without a shell.

The question stands where `{question}` does, or comes on standard input if it stands nowhere. What
the command prints is the answer. A command that takes too long, prints too much or ends with
another code than 0 has none; it is killed with all that it started.
"""

import os
import signal
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock, Thread
from typing import IO, Final

from affidavit.base.places import excerpt
from affidavit.sources.pipelines.pipeline import (
    MAX_ANSWER_BYTES,
    NoAnswerError,
    Question,
    filled_text,
    slots_in,
)

_PIECE_BYTES: Final = 1 << 16
_TAIL_BYTES: Final = 2_000
_GRACE_SECONDS: Final = 2.0
"""How long what a dead command printed may still be on its way."""


@dataclass(slots=True)
class CommandPipeline:
    """Starts `argv` with its slots filled, in the folder and the environment of this process."""

    argv: tuple[str, ...]
    timeout_seconds: float
    _running: set[subprocess.Popen[bytes]] = field(default_factory=set)
    _turn: Lock = field(default_factory=Lock)

    @property
    def identity(self) -> str:
        """The command as it was given."""
        return f"run {list(self.argv)!r}"

    def ask(self, question: Question) -> bytes:
        """Return what the command printed."""
        argv = [filled_text(part, question) for part in self.argv]
        takes_it = "question" in slots_in(list(self.argv))
        # A file, not a pipe: a command that does not read its input cannot hold us.
        with tempfile.TemporaryFile() as given:
            given.write(b"" if takes_it else question.text.encode())
            given.seek(0)
            process = self._started(argv, given)
            try:
                return self._answer(process)
            finally:
                _kill(process)
                with self._turn:
                    self._running.discard(process)

    def close(self) -> None:
        """Kill what is still running."""
        with self._turn:
            left = [*self._running]
        for process in left:
            _kill(process)

    def _started(self, argv: list[str], given: IO[bytes]) -> subprocess.Popen[bytes]:
        try:
            # The argument list is the user's own, and no shell reads it.
            process = subprocess.Popen(  # noqa: S603 - running this command is what was asked for
                argv,
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = excerpt(getattr(error, "strerror", None) or str(error), 120)
            raise NoAnswerError(f"the command could not be started ({reason})") from None
        with self._turn:
            self._running.add(process)
        return process

    def _answer(self, process: subprocess.Popen[bytes]) -> bytes:
        said, complained = _Reader(process, process.stdout), _Reader(process, process.stderr)
        try:
            code = process.wait(self.timeout_seconds)
        except subprocess.TimeoutExpired:
            raise NoAnswerError(f"no answer within {self.timeout_seconds:g} s") from None
        answer, errors = said.finished(), complained.finished()
        if said.is_too_long or complained.is_too_long:
            raise NoAnswerError(f"the command printed more than {MAX_ANSWER_BYTES} bytes")
        if code:
            lines = errors[-_TAIL_BYTES:].decode(errors="replace").split("\n")
            last = next((line.strip() for line in reversed(lines) if line.strip()), "")
            said_why = f" ({excerpt(last, 200)})" if last else ""
            raise NoAnswerError(f"the command ended with {code}{said_why}")
        return answer


class _Reader(Thread):
    """Reads one stream to its end, and ends a command that prints without end."""

    def __init__(self, process: subprocess.Popen[bytes], stream: IO[bytes] | None) -> None:
        super().__init__(name="affidavit-command", daemon=True)
        self._process = process
        self._stream = stream
        self._pieces: list[bytes] = []
        self.is_too_long = False
        self.start()

    def run(self) -> None:
        left = MAX_ANSWER_BYTES
        with suppress(OSError, ValueError):  # Closed under our hands: the command is over.
            while self._stream and (piece := os.read(self._stream.fileno(), _PIECE_BYTES)):
                left -= len(piece)
                if left < 0:
                    self.is_too_long = True
                    _kill(self._process)
                    return
                self._pieces.append(piece)

    def finished(self) -> bytes:
        """Return all that was printed; nobody waits for what a command has left running."""
        self.join(_GRACE_SECONDS)
        return b"".join(self._pieces)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a command with all that it started; one that has ended leaves its group behind."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE_SECONDS)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
