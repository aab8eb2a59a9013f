"""The HTTP client of a chat server: one connection, retries, response formats and a budget.

Retried: no connection, no answer in time, an answer that broke off or is not a chat completion, and
the statuses 408, 409, 429 and 5xx. The pause doubles from half a second, or is what `Retry-After`
asks for. Other refusals are not retried: the same request would be refused again. There is one
exception: a server that does not support a JSON schema refuses with 400 or 422, or with 5xx and a
message that names the field (llama-cpp-python does). It is then asked in the older way, then for
JSON without a schema, and then by the prompt alone.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection
from pathlib import Path
from typing import Final, NoReturn

import msgspec

from affidavit.base.canonical import jcs
from affidavit.base.digest import digest_of, sha256_hex
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence as faults
from affidavit.base.files import read_bounded, write_atomically
from affidavit.base.http_client import (
    Deadline,
    FailureKind,
    HttpFailure,
    HttpRequest,
    HttpResponse,
    connect,
    send_request,
)
from affidavit.base.strict_json import decode
from affidavit.base.text import excerpt
from affidavit.base.timestamps import Clock
from affidavit.base.validation import problem_and_field
from affidavit.judge.chat.reply import request_body
from affidavit.judge.chat.settings import (
    ApiKeySecret,
    ChatSettings,
    CostAccount,
    ResponseFormat,
    TokenUsage,
)

# Replies of a chat server, stored by the digest of everything that was asked.
#
# An entry is written atomically and carries the digest of its content; a damaged entry is ignored
# and asked for again. A reply costs money, so it is synced to the disk.

_MAX_ENTRY_BYTES: Final = 16 * 1024 * 1024


class CachedReply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a model wrote, why it stopped, and the format that was requested."""

    content: str
    ending: str
    format: ResponseFormat


class _CacheEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    key: str
    digest: str
    reply: CachedReply


def _digest(key: str, reply: CachedReply) -> str:
    return digest_of(jcs([key, reply.content, reply.ending, reply.format]))


class ReplyCache:
    """A folder of replies. If it is deleted, the replies must be paid for again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def has(self, key: str) -> bool:
        """Tell whether there is a valid entry."""
        return self.find(key) is not None

    def find(self, key: str) -> CachedReply | None:
        """Return the reply with this key, if there is a valid one."""
        try:
            entry = msgspec.json.decode(
                read_bounded(self._place(key), _MAX_ENTRY_BYTES), type=_CacheEntry
            )
            is_valid = entry.key == key and entry.digest == _digest(key, entry.reply)
        except (AffidavitError, msgspec.DecodeError):
            return None
        return entry.reply if is_valid else None

    def keep(self, key: str, reply: CachedReply) -> None:
        """Store a reply. A failure is an error: the reply was paid for."""
        place = self._place(key)
        with suppress(OSError):  # Writing fails next, and raises the error.
            place.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(place, msgspec.json.encode(_CacheEntry(key, _digest(key, reply), reply)))

    def _place(self, key: str) -> Path:
        name = sha256_hex(key.encode())
        return self.folder / name[:2] / f"{name}.json"


MAX_REPLY_BYTES: Final = 4 * 1024 * 1024


class NoReplyError(Exception):
    """No complete answer. `sent`: the server may have processed the request, and may charge."""

    def __init__(self, problem: str, *, sent: bool, worth_retrying: bool = True) -> None:
        super().__init__(problem)
        self.problem = problem
        self.sent = sent
        self.worth_retrying = worth_retrying


class ChatEndpoint:
    """A chat server. Its connection stays open between requests until `close`."""

    def __init__(self, settings: ChatSettings, key: ApiKeySecret | None) -> None:
        self._settings = settings
        self._key = key
        self._connection: HTTPConnection | None = None

    def post(self, body: bytes) -> HttpResponse:
        """Send a request and return the answer, or raise NoReplyError."""
        was_open = self._connection is not None
        outcome = self._exchange(body)
        if was_open and isinstance(outcome, HttpFailure) and outcome.kind is FailureKind.DROPPED:
            # A server may drop an idle connection just when it is used again.
            outcome = self._exchange(body)
        if isinstance(outcome, HttpFailure):
            raise self._error_from(outcome)
        return outcome

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def hide(self, text: str) -> str:
        """Return a text from the server without the key."""
        return text if self._key is None else self._key.hide(text)

    def _exchange(self, body: bytes) -> HttpResponse | HttpFailure:
        deadline = Deadline(self._settings.timeout_s)
        connection = self._connection or connect(self._settings.address, deadline)
        if isinstance(connection, HttpFailure):
            return connection
        self._connection = connection
        target = f"{self._settings.address.path}/chat/completions"
        request = HttpRequest(
            method="POST",
            target=target,
            headers=self._headers(),
            max_bytes=MAX_REPLY_BYTES,
            body=body,
        )
        is_kept = False
        try:
            outcome = send_request(connection, request, deadline)
            # If the server wants to close the connection, there is no socket any more.
            is_kept = isinstance(outcome, HttpResponse) and connection.sock is not None
        finally:
            if not is_kept:
                self.close()
        return outcome

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key is not None:
            headers["Authorization"] = self._key.header()
        return headers

    def _error_from(self, failure: HttpFailure) -> NoReplyError:
        if not failure.was_sent:
            may_pass = failure.kind is not FailureKind.CERTIFICATE
            problem = f"no connection ({failure.message})"
            return NoReplyError(problem, sent=False, worth_retrying=may_pass)
        match failure.kind:
            case FailureKind.LATE:
                problem = f"no answer within {self._settings.timeout_s:g} s"
            case FailureKind.TOO_LONG:
                problem = f"the answer is longer than {MAX_REPLY_BYTES} bytes"
            case FailureKind.CUT:
                problem = "the answer broke off"
            case _:
                problem = failure.message
        is_final = failure.kind is FailureKind.TOO_LONG
        return NoReplyError(problem, sent=True, worth_retrying=not is_final)


_MAX_ERROR_CHARACTERS: Final = 300


class MalformedCompletionError(Exception):
    """The answer is not a chat completion."""


class MessageV1(msgspec.Struct, frozen=True):
    """The message of the model; a refusal has no content."""

    content: str | None = None
    refusal: str | None = None


class ChoiceV1(msgspec.Struct, frozen=True):
    """One of the answers; one is requested."""

    message: MessageV1
    finish_reason: str | None = None


class UsageV1(msgspec.Struct, frozen=True):
    """The tokens that the server counted."""

    prompt_tokens: int
    completion_tokens: int


class CompletionV1(msgspec.Struct, frozen=True):
    """The part of a chat completion that we read; other fields are ignored."""

    choices: tuple[ChoiceV1, ...]
    usage: UsageV1 | None = None


class Completion(msgspec.Struct, frozen=True):
    """What a model wrote, and why it stopped. `usage` is None if the server does not tell."""

    content: str
    ending: str
    usage: TokenUsage | None


def completion_from(reply: HttpResponse, hide: Callable[[str], str]) -> Completion:
    """Return the completion of an answer with status 200, or raise MalformedCompletionError."""
    kind = reply.headers.get("content-type", "none").partition(";")[0].strip().lower()
    if kind != "application/json" and not kind.endswith("+json"):
        raise MalformedCompletionError(
            f"the answer has the content type {excerpt(kind)!r}, not JSON"
        )
    try:
        wire = msgspec.convert(decode(reply.body), CompletionV1)
    except AffidavitError as error:
        raise MalformedCompletionError(f"the answer is not strict JSON: {error.message}") from None
    except msgspec.ValidationError as error:
        raise MalformedCompletionError(
            f"the answer is no chat completion: {': '.join(filter(None, problem_and_field(error)))}"
        ) from None
    if not wire.choices:
        raise MalformedCompletionError("the answer is no chat completion: it has no choices")
    choice = wire.choices[0]
    content = choice.message.content
    if content is None:
        content = choice.message.refusal or ""
    usage = None
    if wire.usage is not None and min(wire.usage.prompt_tokens, wire.usage.completion_tokens) >= 0:
        usage = TokenUsage(wire.usage.prompt_tokens, wire.usage.completion_tokens)
    return Completion(hide(content), choice.finish_reason or "unknown", usage)


def error_text(reply: HttpResponse) -> str:
    """Return the server's reason for a refusal: its message, or the start of its text."""
    try:
        value = decode(reply.body)
    except AffidavitError:
        text = reply.body[: 4 * _MAX_ERROR_CHARACTERS].decode("utf-8", "replace")
        return _shorten(text)
    if isinstance(value, dict):
        inner = value.get("error", value.get("detail", value.get("message")))
        if isinstance(inner, dict):
            inner = inner.get("message")
        if isinstance(inner, str):
            return _shorten(inner)
    return _shorten(str(value))


def _shorten(text: str) -> str:
    return excerpt(" ".join(text.split()), _MAX_ERROR_CHARACTERS).rstrip(".")


_RETRIED_STATUSES: Final = frozenset({408, 409, 429})
_FORMAT_REFUSED: Final = frozenset({400, 422})
_FIRST_PAUSE_SECONDS: Final = 0.5
_MAX_PAUSE_SECONDS: Final = 30.0
_MAX_RETRY_AFTER_SECONDS: Final = 300.0


class ChatClient:
    """Sends requests to one server, one at a time."""

    def __init__(
        self,
        settings: ChatSettings,
        endpoint: ChatEndpoint,
        spending: CostAccount,
        clock: Clock = time,
    ) -> None:
        self._settings = settings
        self._endpoint = endpoint
        self.spending = spending
        self._clock = clock
        self._formats = list(settings.formats)
        self._format_is_known = len(self._formats) == 1
        self._next_start = 0.0
        self._pause = 0.0

    def ask(self, messages: list[dict[str, str]]) -> CachedReply:
        """Return the server's answer, or raise the reason why there is none."""
        problem = ""
        for attempt in range(self._settings.retries + 1):
            if attempt:
                self._clock.sleep(self._pause)
            self._pause = min(_FIRST_PAUSE_SECONDS * 2**attempt, _MAX_PAUSE_SECONDS)
            try:
                return self._attempt(messages)
            except NoReplyError as error:
                problem = error.problem
                if not error.worth_retrying:
                    self._fail(problem, attempt + 1)
            except MalformedCompletionError as error:
                problem = str(error)
        self._fail(problem, self._settings.retries + 1)

    def close(self) -> None:
        """Close the connection."""
        self._endpoint.close()

    def _attempt(self, messages: list[dict[str, str]]) -> CachedReply:
        first_refusal: HttpResponse | None = None
        while True:
            response_format = self._formats[0]
            body = msgspec.json.encode(request_body(self._settings, messages, response_format))
            reply = self._send(body)
            if reply.status == 200:
                completion = self._completion(reply, len(body))
                return CachedReply(completion.content, completion.ending, response_format)
            may_be_format = not self._format_is_known and _mentions_response_format(reply)
            if not may_be_format and (reply.status in _RETRIED_STATUSES or reply.status >= 500):
                raise self._retry_error(reply)
            first_refusal = first_refusal or reply
            if not may_be_format or len(self._formats) == 1:
                # Refused in every format: the first answer tells the reason.
                self._refuse(first_refusal)
            self._formats.pop(0)

    def _send(self, body: bytes) -> HttpResponse:
        self.spending.require_budget(len(body))
        self._wait_for_rate()
        self.spending.requests += 1
        try:
            return self._endpoint.post(body)
        except NoReplyError as error:
            if error.sent:
                self.spending.count(len(body), None)
            raise

    def _completion(self, reply: HttpResponse, body_bytes: int) -> Completion:
        try:
            completion = completion_from(reply, self._endpoint.hide)
        except MalformedCompletionError:
            self.spending.count(body_bytes, None)
            raise
        self.spending.count(body_bytes, completion.usage)
        self._format_is_known = True
        return completion

    def _wait_for_rate(self) -> None:
        rate = self._settings.max_requests_per_minute
        if rate is None:
            return
        now = self._clock.monotonic()
        if now < self._next_start:
            self._clock.sleep(self._next_start - now)
            now = self._next_start
        self._next_start = now + 60.0 / rate

    def _retry_error(self, reply: HttpResponse) -> NoReplyError:
        """Return the error of a refusal that may pass; the next pause respects `Retry-After`."""
        asked, problem = retry_after_seconds(reply) or 0.0, self._refusal(reply)
        if asked > _MAX_RETRY_AFTER_SECONDS:
            problem = f"{problem}; it asks to wait {asked:g} s"
            return NoReplyError(problem, sent=False, worth_retrying=False)
        self._pause = max(self._pause, asked)
        return NoReplyError(problem, sent=False)

    def _refusal(self, reply: HttpResponse) -> str:
        reason = self._endpoint.hide(error_text(reply))
        return f"HTTP {reply.status}" + (f" ({reason})" if reason else "")

    def _refuse(self, reply: HttpResponse) -> NoReturn:
        endpoint = self._settings.endpoint
        if 300 <= reply.status < 400:
            target = excerpt(self._endpoint.hide(reply.headers.get("location", "nowhere")), 200)
            raise AffidavitError(faults.ENDPOINT_MOVED, endpoint=endpoint, target=target)
        problem = self._refusal(reply)
        raise AffidavitError(faults.ENDPOINT_REFUSED, endpoint=endpoint, problem=problem)

    def _fail(self, problem: str, attempts: int) -> NoReturn:
        raise AffidavitError(
            faults.ENDPOINT_FAILED,
            endpoint=self._settings.endpoint,
            attempts=attempts,
            problem=problem,
        )


def _mentions_response_format(reply: HttpResponse) -> bool:
    """Tell whether the requested format may be the reason of a refusal."""
    if reply.status in _FORMAT_REFUSED:
        return True
    return reply.status >= 500 and b"response_format" in reply.body


def retry_after_seconds(reply: HttpResponse) -> float | None:
    """Return the seconds that `Retry-After` asks for, as a number or as a date.

    A date is compared with the date of the reply, so that the two clocks need not agree.
    """
    asked = reply.headers.get("retry-after", "").strip()
    if asked.isascii() and asked.isdigit():
        return float(asked[:9])
    try:
        then = parsedate_to_datetime(asked)
        now = parsedate_to_datetime(reply.headers.get("date", ""))
        return max((then - now).total_seconds(), 0.0)
    except (ValueError, TypeError):
        return None
