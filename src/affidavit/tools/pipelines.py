"""Pipelines under test: a command or an HTTP endpoint that is asked a question and answers."""

import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock, Thread
from typing import IO, Final, Protocol
from urllib.parse import SplitResult

import msgspec

from affidavit.base.http_client import Deadline, FailureKind, HttpFailure, HttpResponse, post
from affidavit.base.json_values import JsonValue
from affidavit.base.text import excerpt, is_worth_masking

# What every pipeline has in common: it is asked a question, and answers or does not.

MAX_ANSWER_BYTES: Final = 4 * 1024 * 1024
PLACEHOLDERS: Final = ("question", "qid", "seed", "jitter")
"""What a body or a command line may have in braces; other braces are its own."""
_PLACEHOLDER: Final = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True)
class PipelineQuestion:
    """A question as it is asked: with its jitter applied, under a seed."""

    qid: str
    text: str
    seed: int
    jitter: str

    @property
    def args(self) -> Mapping[str, JsonValue]:
        """The question by the names of its slots."""
        return dict(zip(PLACEHOLDERS, (self.text, self.qid, self.seed, self.jitter), strict=True))


class PipelineError(Exception):
    """No answer came. `in_transport` tells whether the way there failed, so that it may be retried.

    A pipeline that took too long or refused may have worked on the question: that was its run.
    """

    def __init__(self, problem: str, *, in_transport: bool = False) -> None:
        super().__init__(problem)
        self.problem = problem
        self.in_transport = in_transport


class Pipeline(Protocol):
    """Answers questions, from several threads at once."""

    @property
    def identity(self) -> str:
        """What decides over the answers besides the question; it holds no secret."""
        ...

    def ask(self, question: PipelineQuestion) -> bytes:
        """Return what was answered, or raise NoAnswerError."""
        ...

    def close(self) -> None:
        """End what is still running."""
        ...


def placeholders_of(setting: JsonValue) -> Iterator[str]:
    """Yield the words in braces of a setting, with those of its members."""
    if isinstance(setting, str):
        yield from _PLACEHOLDER.findall(setting)
    elif isinstance(setting, dict | list):
        for member in setting.values() if isinstance(setting, dict) else setting:
            yield from placeholders_of(member)


def fill_question(setting: JsonValue, question: PipelineQuestion) -> JsonValue:
    """Return a setting with its slots filled; one that is nothing but a slot keeps its kind."""
    if isinstance(setting, dict):
        return {key: fill_question(member, question) for key, member in setting.items()}
    if isinstance(setting, list):
        return [fill_question(member, question) for member in setting]
    if not isinstance(setting, str):
        return setting
    whole = _PLACEHOLDER.fullmatch(setting)
    if whole is not None and whole[1] in PLACEHOLDERS:
        return question.args[whole[1]]
    return fill_question_text(setting, question)


def fill_question_text(setting: str, question: PipelineQuestion) -> str:
    """Return a text with its slots filled."""
    args = question.args
    return _PLACEHOLDER.sub(lambda slot: str(args.get(slot[1], slot[0])), setting)


# A pipeline that is a command: it is started for each question, without a shell.
#
# The question stands where `{question}` does, or comes on standard input if it stands nowhere. What
# the command prints is the answer. A command that takes too long, prints too much or ends with
# another code than 0 has none; it is killed with all that it started.

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

    def ask(self, question: PipelineQuestion) -> bytes:
        """Return what the command printed."""
        argv = [fill_question_text(part, question) for part in self.argv]
        takes_it = "question" in placeholders_of(list(self.argv))
        # A file, not a pipe: a command that does not read its input cannot hold us.
        with tempfile.TemporaryFile() as given:
            given.write(b"" if takes_it else question.text.encode())
            given.seek(0)
            process = self._started(argv, given)
            try:
                return self._answer(process)
            finally:
                _kill_process_group(process)
                with self._turn:
                    self._running.discard(process)

    def close(self) -> None:
        """Kill what is still running."""
        with self._turn:
            left = [*self._running]
        for process in left:
            _kill_process_group(process)

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
            raise PipelineError(f"the command could not be started ({reason})") from None
        with self._turn:
            self._running.add(process)
        return process

    def _answer(self, process: subprocess.Popen[bytes]) -> bytes:
        said, complained = (
            _StreamReader(process, process.stdout),
            _StreamReader(process, process.stderr),
        )
        try:
            code = process.wait(self.timeout_seconds)
        except subprocess.TimeoutExpired:
            raise PipelineError(f"no answer within {self.timeout_seconds:g} s") from None
        answer, errors = said.finished(), complained.finished()
        if said.is_too_long or complained.is_too_long:
            raise PipelineError(f"the command printed more than {MAX_ANSWER_BYTES} bytes")
        if code:
            lines = errors[-_TAIL_BYTES:].decode(errors="replace").split("\n")
            last = next((line.strip() for line in reversed(lines) if line.strip()), "")
            said_why = f" ({excerpt(last, 200)})" if last else ""
            raise PipelineError(f"the command ended with {code}{said_why}")
        return answer


class _StreamReader(Thread):
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
                    _kill_process_group(self._process)
                    return
                self._pieces.append(piece)

    def finished(self) -> bytes:
        """Return all that was printed; nobody waits for what a command has left running."""
        self.join(_GRACE_SECONDS)
        return b"".join(self._pieces)


def _kill_process_group(process: subprocess.Popen[bytes]) -> None:
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


# A pipeline behind an address: one POST of JSON for each question, and nowhere else.
#
# A connection serves one question, so that a slow answer holds no other.

_SUCCESS: Final = range(200, 300)
_REDIRECTS: Final = range(300, 400)


@dataclass(frozen=True, slots=True)
class HttpPipeline:
    """Posts `body` with its slots filled. `secrets` are those parts of the headers to be hidden."""

    address: SplitResult
    body: JsonValue
    timeout_seconds: float
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def identity(self) -> str:
        """The address and the body, not the headers."""
        return f"POST {self.address.geturl()} {msgspec.json.encode(self.body).decode()}"

    def ask(self, question: PipelineQuestion) -> bytes:
        """Return the body of the answer."""
        answer = self._posted(msgspec.json.encode(fill_question(self.body, question)))
        if answer.status in _REDIRECTS:
            raise PipelineError(f"HTTP {answer.status}: a redirect, which is not followed")
        if answer.status not in _SUCCESS:
            raise PipelineError(f"HTTP {answer.status}")
        if any(is_worth_masking(said) and said.encode() in answer.body for said in self.secrets):
            raise PipelineError("the answer repeats a secret that was sent with the question")
        return answer.body

    def close(self) -> None:
        """Nothing outlives its question."""

    def _posted(self, request: bytes) -> HttpResponse:
        outcome = post(
            self.address,
            {"Content-Type": "application/json", "Accept": "application/json", **self.headers},
            request,
            Deadline(self.timeout_seconds),
            max_bytes=MAX_ANSWER_BYTES,
            read=_SUCCESS,
        )
        if isinstance(outcome, HttpFailure):
            raise self._error_from(outcome)
        return outcome

    def _error_from(self, failure: HttpFailure) -> PipelineError:
        if not failure.was_sent:
            # A certificate that does not hold now will not hold in a second either.
            may_pass = failure.trouble is not FailureKind.CERTIFICATE
            return PipelineError(f"no connection ({failure.words})", in_transport=may_pass)
        match failure.trouble:
            case FailureKind.LATE:
                return PipelineError(f"no answer within {self.timeout_seconds:g} s")
            case FailureKind.TOO_LONG:
                return PipelineError(f"the answer is longer than {MAX_ANSWER_BYTES} bytes")
            case FailureKind.CUT:
                return PipelineError("the answer broke off", in_transport=True)
            case _:
                problem = f"the connection broke ({failure.words})"
                return PipelineError(problem, in_transport=True)
