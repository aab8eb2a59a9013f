"""The server of a chat judge: one POST for each request, over a connection that is kept."""

from http.client import HTTPConnection
from typing import Final

from affidavit.http.exchange import Request, connected, exchanged
from affidavit.http.outcome import Answer, NoAnswer, Trouble
from affidavit.http.patience import Deadline
from affidavit.judge.chat.secret import Secret
from affidavit.judge.chat.settings import ChatV1

MAX_REPLY_BYTES: Final = 4 * 1024 * 1024


class NoReplyError(Exception):
    """No whole answer came. `sent` tells whether the server may have worked, and may charge."""

    def __init__(self, problem: str, *, sent: bool, worth_retrying: bool = True) -> None:
        super().__init__(problem)
        self.problem = problem
        self.sent = sent
        self.worth_retrying = worth_retrying


class Endpoint:
    """A chat server. Its connection is kept between requests until `close`."""

    def __init__(self, settings: ChatV1, key: Secret | None) -> None:
        self._settings = settings
        self._key = key
        self._connection: HTTPConnection | None = None

    def post(self, body: bytes) -> Answer:
        """Send a request and return the answer, or raise NoReplyError."""
        was_open = self._connection is not None
        outcome = self._exchange(body)
        if was_open and isinstance(outcome, NoAnswer) and outcome.trouble is Trouble.DROPPED:
            # A server may drop an idle connection at the moment that we use it again.
            outcome = self._exchange(body)
        if isinstance(outcome, NoAnswer):
            raise self._error_from(outcome)
        return outcome

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def hide(self, text: str) -> str:
        """Return a text of the server without the key."""
        return text if self._key is None else self._key.hide(text)

    def _exchange(self, body: bytes) -> Answer | NoAnswer:
        deadline = Deadline(self._settings.timeout_s)
        connection = self._connection or connected(self._settings.address, deadline)
        if isinstance(connection, NoAnswer):
            return connection
        self._connection = connection
        target = f"{self._settings.address.path}/chat/completions"
        request = Request("POST", target, self._headers(), MAX_REPLY_BYTES, body)
        is_kept = False
        try:
            outcome = exchanged(connection, request, deadline)
            # A connection that its server wants to close has no socket any more.
            is_kept = isinstance(outcome, Answer) and connection.sock is not None
        finally:
            if not is_kept:
                self.close()
        return outcome

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key is not None:
            headers["Authorization"] = self._key.header()
        return headers

    def _error_from(self, failure: NoAnswer) -> NoReplyError:
        if not failure.was_sent:
            may_pass = failure.trouble is not Trouble.CERTIFICATE
            problem = f"no connection ({failure.words})"
            return NoReplyError(problem, sent=False, worth_retrying=may_pass)
        match failure.trouble:
            case Trouble.LATE:
                problem = f"no answer within {self._settings.timeout_s:g} s"
            case Trouble.TOO_LONG:
                problem = f"the answer is longer than {MAX_REPLY_BYTES} bytes"
            case Trouble.CUT:
                problem = "the answer broke off"
            case _:
                problem = failure.words
        is_final = failure.trouble is Trouble.TOO_LONG
        return NoReplyError(problem, sent=True, worth_retrying=not is_final)
