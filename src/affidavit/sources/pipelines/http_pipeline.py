"""A pipeline behind an address: one POST of JSON for each question, and nowhere else.

A connection serves one question, so that a slow answer holds no other.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import SplitResult

import msgspec

from affidavit.base.json_limits import JsonValue
from affidavit.http.exchange import posted
from affidavit.http.outcome import Answer, NoAnswer, Trouble
from affidavit.http.patience import Deadline
from affidavit.http.secret import is_worth_hiding
from affidavit.sources.pipelines.pipeline import MAX_ANSWER_BYTES, NoAnswerError, Question, filled

_GOOD: Final = range(200, 300)
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

    def ask(self, question: Question) -> bytes:
        """Return the body of the answer."""
        answer = self._posted(msgspec.json.encode(filled(self.body, question)))
        if answer.status in _REDIRECTS:
            raise NoAnswerError(f"HTTP {answer.status}: a redirect, which is not followed")
        if answer.status not in _GOOD:
            raise NoAnswerError(f"HTTP {answer.status}")
        if any(is_worth_hiding(said) and said.encode() in answer.body for said in self.secrets):
            raise NoAnswerError("the answer repeats a secret that was sent with the question")
        return answer.body

    def close(self) -> None:
        """Nothing outlives its question."""

    def _posted(self, request: bytes) -> Answer:
        outcome = posted(
            self.address,
            {"Content-Type": "application/json", "Accept": "application/json", **self.headers},
            request,
            Deadline(self.timeout_seconds),
            max_bytes=MAX_ANSWER_BYTES,
            read=_GOOD,
        )
        if isinstance(outcome, NoAnswer):
            raise self._error_from(outcome)
        return outcome

    def _error_from(self, failure: NoAnswer) -> NoAnswerError:
        if not failure.was_sent:
            # A certificate that does not hold now will not hold in a second either.
            may_pass = failure.trouble is not Trouble.CERTIFICATE
            return NoAnswerError(f"no connection ({failure.words})", in_transport=may_pass)
        match failure.trouble:
            case Trouble.LATE:
                return NoAnswerError(f"no answer within {self.timeout_seconds:g} s")
            case Trouble.TOO_LONG:
                return NoAnswerError(f"the answer is longer than {MAX_ANSWER_BYTES} bytes")
            case Trouble.CUT:
                return NoAnswerError("the answer broke off", in_transport=True)
            case _:
                problem = f"the connection broke ({failure.words})"
                return NoAnswerError(problem, in_transport=True)
