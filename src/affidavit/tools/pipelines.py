"""Pipelines under test: a command or an HTTP endpoint that answers questions."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock, Thread
from typing import IO, Final, Protocol
from urllib.parse import SplitResult

import msgspec

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import gates as faults
from affidavit.base.http_address import UrlProblem, parse_url
from affidavit.base.http_client import Deadline, FailureKind, HttpFailure, HttpResponse, post
from affidavit.base.json_values import JsonValue
from affidavit.base.strict_json import decode
from affidavit.base.text import excerpt, is_worth_masking

MAX_ANSWER_BYTES: Final = 4 * 1024 * 1024
PLACEHOLDERS: Final = ("question", "qid", "seed", "jitter")
"""The slots of a body or a command line. Other words in braces are left alone."""
_PLACEHOLDER: Final = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True)
class PipelineQuestion:
    """A question with its jitter applied, and its seed."""

    qid: str
    text: str
    seed: int
    jitter: str

    @property
    def args(self) -> Mapping[str, JsonValue]:
        """The question by the names of its slots."""
        return dict(zip(PLACEHOLDERS, (self.text, self.qid, self.seed, self.jitter), strict=True))


class PipelineError(Exception):
    """There is no answer. `in_transport` says that the connection failed, so a retry makes sense.

    A pipeline that timed out or refused may have processed the question, so that counts as a run.
    """

    def __init__(self, problem: str, *, in_transport: bool = False) -> None:
        super().__init__(problem)
        self.problem = problem
        self.in_transport = in_transport


class Pipeline(Protocol):
    """Answers questions. Several threads may use it at the same time."""

    @property
    def identity(self) -> str:
        """What the answers depend on besides the question. It contains no secret."""
        ...

    def ask(self, question: PipelineQuestion) -> bytes:
        """Return the answer, or raise PipelineError."""
        ...

    def close(self) -> None:
        """End all running work."""
        ...


def placeholders_of(setting: JsonValue) -> Iterator[str]:
    """Yield the words in braces of a setting and its members."""
    if isinstance(setting, str):
        yield from _PLACEHOLDER.findall(setting)
    elif isinstance(setting, dict | list):
        for member in setting.values() if isinstance(setting, dict) else setting:
            yield from placeholders_of(member)


def fill_question(setting: JsonValue, question: PipelineQuestion) -> JsonValue:
    """Return a setting with its slots filled. A setting that is only a slot keeps its type."""
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


_PIECE_BYTES: Final = 1 << 16
_TAIL_BYTES: Final = 2_000
_GRACE_SECONDS: Final = 2.0
"""How long to wait for the remaining output of a killed command."""


@dataclass(slots=True)
class CommandPipeline:
    """Runs `argv` with its slots filled for each question, without a shell.

    Without the slot `{question}`, the question comes on standard input. The output is the answer. A
    command that takes too long, prints too much or exits with another code than 0 has no answer; it
    is killed with all processes that it started.
    """

    argv: tuple[str, ...]
    timeout_seconds: float
    _running: set[subprocess.Popen[bytes]] = field(default_factory=set)
    _lock: Lock = field(default_factory=Lock)

    @property
    def identity(self) -> str:
        """The command."""
        return f"run {list(self.argv)!r}"

    def ask(self, question: PipelineQuestion) -> bytes:
        """Return the output of the command."""
        argv = [fill_question_text(part, question) for part in self.argv]
        has_slot = "question" in placeholders_of(list(self.argv))
        # A file, not a pipe: a command that does not read its input cannot block us.
        with tempfile.TemporaryFile() as stdin:
            stdin.write(b"" if has_slot else question.text.encode())
            stdin.seek(0)
            process = self._start(argv, stdin)
            try:
                return self._answer(process)
            finally:
                _kill_process_group(process)
                with self._lock:
                    self._running.discard(process)

    def close(self) -> None:
        """Kill all running commands."""
        with self._lock:
            left = [*self._running]
        for process in left:
            _kill_process_group(process)

    def _start(self, argv: list[str], stdin: IO[bytes]) -> subprocess.Popen[bytes]:
        try:
            process = subprocess.Popen(  # noqa: S603 - the user's own command, without a shell
                argv,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = excerpt(getattr(error, "strerror", None) or str(error), 120)
            raise PipelineError(f"the command could not be started ({reason})") from None
        with self._lock:
            self._running.add(process)
        return process

    def _answer(self, process: subprocess.Popen[bytes]) -> bytes:
        stdout = _StreamReader(process, process.stdout)
        stderr = _StreamReader(process, process.stderr)
        try:
            code = process.wait(self.timeout_seconds)
        except subprocess.TimeoutExpired:
            raise PipelineError(f"no answer within {self.timeout_seconds:g} s") from None
        answer, errors = stdout.finish(), stderr.finish()
        if stdout.is_too_long or stderr.is_too_long:
            raise PipelineError(f"the command printed more than {MAX_ANSWER_BYTES} bytes")
        if code:
            lines = errors[-_TAIL_BYTES:].decode(errors="replace").split("\n")
            last = next((line.strip() for line in reversed(lines) if line.strip()), "")
            reason = f" ({excerpt(last, 200)})" if last else ""
            raise PipelineError(f"the command ended with {code}{reason}")
        return answer


class _StreamReader(Thread):
    """Reads one stream to its end, and kills a command that prints too much."""

    def __init__(self, process: subprocess.Popen[bytes], stream: IO[bytes] | None) -> None:
        super().__init__(name="affidavit-command", daemon=True)
        self._process = process
        self._stream = stream
        self._pieces: list[bytes] = []
        self.is_too_long = False
        self.start()

    def run(self) -> None:
        left = MAX_ANSWER_BYTES
        with suppress(OSError, ValueError):  # The stream was closed: the command has ended.
            while self._stream and (piece := os.read(self._stream.fileno(), _PIECE_BYTES)):
                left -= len(piece)
                if left < 0:
                    self.is_too_long = True
                    _kill_process_group(self._process)
                    return
                self._pieces.append(piece)

    def finish(self) -> bytes:
        """Return the output. Processes that the command left running are not waited for."""
        self.join(_GRACE_SECONDS)
        return b"".join(self._pieces)


def _kill_process_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a command with all processes of its group, which may outlive the command."""
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


_SUCCESS: Final = range(200, 300)
_REDIRECTS: Final = range(300, 400)


@dataclass(frozen=True, slots=True)
class HttpPipeline:
    """Posts `body` with its slots filled, over one connection for each question.

    `secrets` are the parts of the headers that an answer must not repeat.
    """

    address: SplitResult
    body: JsonValue
    timeout_seconds: float
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def identity(self) -> str:
        """The URL and the body, without the headers."""
        return f"POST {self.address.geturl()} {msgspec.json.encode(self.body).decode()}"

    def ask(self, question: PipelineQuestion) -> bytes:
        """Return the body of the answer."""
        answer = self._post(msgspec.json.encode(fill_question(self.body, question)))
        if answer.status in _REDIRECTS:
            raise PipelineError(f"HTTP {answer.status}: a redirect, which is not followed")
        if answer.status not in _SUCCESS:
            raise PipelineError(f"HTTP {answer.status}")
        if any(is_worth_masking(part) and part.encode() in answer.body for part in self.secrets):
            raise PipelineError("the answer repeats a secret that was sent with the question")
        return answer.body

    def close(self) -> None:
        """Do nothing: each connection is closed after its question."""

    def _post(self, request: bytes) -> HttpResponse:
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
            # An invalid certificate does not become valid by a retry.
            may_pass = failure.kind is not FailureKind.CERTIFICATE
            return PipelineError(f"no connection ({failure.message})", in_transport=may_pass)
        match failure.kind:
            case FailureKind.LATE:
                return PipelineError(f"no answer within {self.timeout_seconds:g} s")
            case FailureKind.TOO_LONG:
                return PipelineError(f"the answer is longer than {MAX_ANSWER_BYTES} bytes")
            case FailureKind.CUT:
                return PipelineError("the answer broke off", in_transport=True)
            case _:
                problem = f"the connection broke ({failure.message})"
                return PipelineError(problem, in_transport=True)


DEFAULT_BODY: Final[Mapping[str, JsonValue]] = {name: f"{{{name}}}" for name in PLACEHOLDERS}
_HEADER: Final = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):\s*(.*)")
_VARIABLE: Final = re.compile(r"\$(?:(\w+)|\{(\w+)\})")
_SENDABLE: Final = re.compile(r"[ -~]+")


def pipeline_named(
    *,
    url: str | None,
    command: str | None,
    body: str | None,
    headers: Iterable[str],
    timeout_seconds: float,
    environment: Mapping[str, str],
) -> Pipeline:
    """Return the pipeline. Exactly one of `url` and `command` must be given."""
    header_texts = tuple(headers)
    if url is not None and command is None:
        return _http(url, body, header_texts, timeout_seconds, environment)
    if url is not None:
        problem = "an address and a command are both given"
        raise AffidavitError(faults.PIPELINE_NONE, problem=problem)
    if command is None:
        problem = "neither an address nor a command is given"
        raise AffidavitError(faults.PIPELINE_NONE, problem=problem)
    if body is not None or header_texts:
        problem = "a body and headers go to an address, not to a command"
        raise AffidavitError(faults.PIPELINE_NONE, problem=problem)
    return _command(command, timeout_seconds)


def _http(
    url: str,
    body: str | None,
    headers: tuple[str, ...],
    timeout_seconds: float,
    environment: Mapping[str, str],
) -> HttpPipeline:
    address = parse_url(url)
    if isinstance(address, UrlProblem):
        raise AffidavitError(faults.PIPELINE_URL, url=excerpt(url), problem=address)
    resolved, secrets = {}, []
    for header in headers:
        name, text, hidden = _header_from(header, environment)
        resolved[name] = text
        secrets.extend(hidden)
    return HttpPipeline(address, _body(body), timeout_seconds, resolved, tuple(secrets))


def _body(text: str | None) -> JsonValue:
    if text is None:
        return dict(DEFAULT_BODY)
    try:
        body = decode(text.encode("utf-8", "surrogatepass"))
    except AffidavitError as error:
        raise AffidavitError(faults.PIPELINE_BODY, problem=error.message) from None
    _require_slots(body)
    if "question" not in placeholders_of(body):
        raise AffidavitError(faults.PIPELINE_SLOT, problem="the body has no place for the question")
    return body


def _header_from(header: str, environment: Mapping[str, str]) -> tuple[str, str, list[str]]:
    """Return the name and text of a header, and the secrets from the environment in it."""
    found = _HEADER.fullmatch(header)
    if found is None:
        raise _bad_header(header.partition(":")[0], "it has no name and text with a colon between")
    secrets: list[str] = []

    def value_of(variable: re.Match[str]) -> str:
        name = variable[1] or variable[2]
        value = environment.get(name, "").strip()
        if not value:
            raise _bad_header(found[1], f"the environment variable {name} is not set")
        secrets.append(value)
        return value

    text = _VARIABLE.sub(value_of, found[2])
    if not _SENDABLE.fullmatch(text):
        raise _bad_header(found[1], "its text is empty or has letters that a header cannot hold")
    return found[1], text, secrets


def _bad_header(name: str, problem: str) -> AffidavitError:
    return AffidavitError(faults.PIPELINE_HEADER, name=excerpt(name), problem=problem)


def _command(line: str, timeout_seconds: float) -> CommandPipeline:
    try:
        argv = tuple(shlex.split(line))
    except ValueError as error:
        problem = str(error).rstrip(".").lower()
        raise AffidavitError(
            faults.PIPELINE_COMMAND, command=excerpt(line), problem=problem
        ) from None
    _require_slots(list(argv))
    if not argv or shutil.which(argv[0]) is None:
        problem = f"there is no program {argv[0]!r}" if argv else "it is empty"
        raise AffidavitError(faults.PIPELINE_COMMAND, command=excerpt(line), problem=problem)
    return CommandPipeline(argv, timeout_seconds)


def _require_slots(setting: JsonValue) -> None:
    for name in placeholders_of(setting):
        if name not in PLACEHOLDERS:
            raise AffidavitError(faults.PIPELINE_SLOT, problem=f"{{{name}}} is no slot of a run")
