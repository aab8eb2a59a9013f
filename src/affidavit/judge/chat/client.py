"""Asks the server until it has an answer or a reason to stop: retries, pauses, forms, money.

Retried: no connection, no answer in time, an answer that broke off or is no chat completion, 408,
409, 429 and 5xx. The pause doubles from half a second, or is what `Retry-After` asks for. Not
retried: everything else that a server refuses, since the same request would be refused again. One
refusal has a second meaning: a server that does not know an answer by schema refuses with 400 or
422, or with 5xx and a message that names the field (llama-cpp-python does). It is then asked in
the older way, then for JSON without a schema, and then by the prompt alone.
"""

import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Final, NoReturn

import msgspec

from affidavit.base.clock import Clock
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import judge as faults
from affidavit.base.places import excerpt
from affidavit.http.outcome import Answer
from affidavit.judge.chat.completion import Completion, MalformedError, completion_from, error_text
from affidavit.judge.chat.endpoint import Endpoint, NoReplyError
from affidavit.judge.chat.request import body_of
from affidavit.judge.chat.settings import ChatV1, Format
from affidavit.judge.chat.spending import Spending

_RETRIED: Final = frozenset({408, 409, 429})
_FORMAT_REFUSED: Final = frozenset({400, 422})
_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 30.0
_LONGEST_ASKED_PAUSE: Final = 300.0


@dataclass(frozen=True, slots=True)
class Answered:
    """A completion, and the form in which it was asked for."""

    completion: Completion
    format: Format


class ChatClient:
    """Asks one server, one request at a time."""

    def __init__(
        self, settings: ChatV1, endpoint: Endpoint, spending: Spending, clock: Clock = time
    ) -> None:
        self._settings = settings
        self._endpoint = endpoint
        self.spending = spending
        self._clock = clock
        self._formats = list(settings.formats)
        self._format_is_known = len(self._formats) == 1
        self._next_start = 0.0
        self._pause = 0.0

    def ask(self, messages: list[dict[str, str]]) -> Answered:
        """Return the server's answer, or raise why there is none."""
        problem = ""
        for attempt in range(self._settings.retries + 1):
            if attempt:
                self._clock.sleep(self._pause)
            self._pause = min(_FIRST_PAUSE * 2**attempt, _LONGEST_PAUSE)
            try:
                return self._attempt(messages)
            except NoReplyError as error:
                problem = error.problem
                if not error.worth_retrying:
                    self._fail(problem, attempt + 1)
            except MalformedError as error:
                problem = str(error)
        self._fail(problem, self._settings.retries + 1)

    def close(self) -> None:
        """Close the connection."""
        self._endpoint.close()

    def _attempt(self, messages: list[dict[str, str]]) -> Answered:
        first_refusal: Answer | None = None
        while True:
            form = self._formats[0]
            body = msgspec.json.encode(body_of(self._settings, messages, form))
            reply = self._send(body)
            if reply.status == 200:
                return Answered(self._completion(reply, len(body)), form)
            may_be_form = not self._format_is_known and _names_form(reply)
            if not may_be_form and (reply.status in _RETRIED or reply.status >= 500):
                raise self._put_off(reply)
            first_refusal = first_refusal or reply
            if not may_be_form or len(self._formats) == 1:
                # Refused in every form, the form was not the reason: the first answer tells more.
                self._refuse(first_refusal)
            self._formats.pop(0)

    def _send(self, body: bytes) -> Answer:
        self.spending.require_room(len(body))
        self._keep_rate()
        self.spending.requests += 1
        try:
            return self._endpoint.post(body)
        except NoReplyError as error:
            if error.sent:
                self.spending.count(len(body), None)
            raise

    def _completion(self, reply: Answer, body_bytes: int) -> Completion:
        try:
            completion = completion_from(reply, self._endpoint.hide)
        except MalformedError:
            self.spending.count(body_bytes, None)
            raise
        self.spending.count(body_bytes, completion.usage)
        self._format_is_known = True
        return completion

    def _keep_rate(self) -> None:
        rate = self._settings.max_requests_per_minute
        if rate is None:
            return
        now = self._clock.monotonic()
        if now < self._next_start:
            self._clock.sleep(self._next_start - now)
            now = self._next_start
        self._next_start = now + 60.0 / rate

    def _put_off(self, reply: Answer) -> NoReplyError:
        """Take the server's wish into the next pause; one that is too long ends the run."""
        asked, problem = asked_pause(reply) or 0.0, self._refusal(reply)
        if asked > _LONGEST_ASKED_PAUSE:
            problem = f"{problem}; it asks to wait {asked:g} s"
            return NoReplyError(problem, sent=False, worth_retrying=False)
        self._pause = max(self._pause, asked)
        return NoReplyError(problem, sent=False)

    def _refusal(self, reply: Answer) -> str:
        said = self._endpoint.hide(error_text(reply))
        return f"HTTP {reply.status}" + (f" ({said})" if said else "")

    def _refuse(self, reply: Answer) -> NoReturn:
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


def _names_form(reply: Answer) -> bool:
    """Tell whether the form of the answer may be why a server refuses."""
    if reply.status in _FORMAT_REFUSED:
        return True
    return reply.status >= 500 and b"response_format" in reply.body


def asked_pause(reply: Answer) -> float | None:
    """Return the seconds that `Retry-After` asks for, as a number or as a date.

    A date is compared with the server's own, so that two clocks need not agree.
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
