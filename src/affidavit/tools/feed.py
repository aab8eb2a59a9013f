"""The protocol of a source that can be asked: request, reply, failure reason, and the size limit
of a result.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from threading import Lock
from typing import Any, Final, Protocol, TypeAlias

from affidavit.base.canonical import sorted_compact
from affidavit.base.errors import AffidavitError
from affidavit.base.json_values import JsonValue
from affidavit.checks.facts import EvidenceSource

# What every kind of source has in common: it is sent on an errand, and replies or stays silent.
#
# A silence is an outcome, not a defect: it says in a closed set of words what went wrong, and ends
# in a signed receipt. So its text never holds what a server, a driver or a user's function wrote
# into an error: only our own words, numbers and names.

CheckArguments: TypeAlias = Mapping[str, JsonValue]

MAX_RAW_BYTES: Final = 1024 * 1024
"""What one source may put into a receipt, as JSON, unless its settings say otherwise."""


class FailureReason(StrEnum):
    """Why a source has no answer. docs/tools.md explains each word; none is ever renamed."""

    LATE = "late"
    BUSY = "busy"
    ARGUMENT = "argument"
    MISSING = "missing"
    UNREACHABLE = "unreachable"
    FORBIDDEN = "forbidden"
    STATUS = "status"
    REDIRECT = "redirect"
    CONTENT = "content"
    MALFORMED = "malformed"
    TOO_LARGE = "too-large"
    BROKEN_OFF = "broken-off"
    REFUSED = "refused"
    SECRET = "secret"  # noqa: S105 - a word for people, not a password
    NOT_INSTALLED = "not-installed"
    FAILED = "failed"


class SourceFailedError(Exception):
    """Raised by a feed that has no answer."""

    def __init__(self, silence: FailureReason, detail: str) -> None:
        super().__init__(f"{silence}: {detail}")
        self.silence = silence


@dataclass(frozen=True, slots=True)
class SourceReply:
    """What a source returned, and when that was observed (RFC 3339 with Z), if it says so."""

    raw: JsonValue
    observed_at: str | None = None


@dataclass(slots=True)
class SourceRequest:
    """One question to one source: when it was asked, and until when an answer counts.

    `until` is a reading of the monotonic clock. Whoever waits calls `abandon` when the time is
    over; what the feed has registered then ends its wait, so that no thread hangs on needlessly.
    """

    asked_at: str
    until: float
    _ended: bool = False
    _endings: list[Callable[[], None]] = field(default_factory=list)
    _turn: Lock = field(default_factory=Lock)

    def seconds_left(self) -> float:
        """Return how long an answer still counts, or raise if it does not any more."""
        left = self.until - time.monotonic()
        if left <= 0 or self._ended:
            raise SourceFailedError(
                FailureReason.LATE, "the time was over before the source could answer"
            )
        return left

    def on_abandon(self, ending: Callable[[], None]) -> None:
        """Register what ends the feed's wait; it is called from another thread."""
        with self._turn:
            if not self._ended:
                self._endings.append(ending)
                return
        ending()

    def abandon(self) -> None:
        """End the errand. What fails here has failed already."""
        with self._turn:
            self._ended = True
            endings, self._endings = self._endings, []
        for ending in endings:
            with suppress(Exception):
                ending()


class Feed(Protocol):
    """A source that can be asked. Many threads may ask it at the same time."""

    @property
    def source(self) -> EvidenceSource:
        """Where its evidence comes from, as a fact records it."""
        ...

    def ask(self, args: CheckArguments, errand: SourceRequest) -> SourceReply:
        """Return the reply, or raise SilentError."""
        ...


# What may go into a fact: JSON of a bounded size. Rows are `{"results": [row, ...]}`.


def require_json(value: Any, max_bytes: int) -> JsonValue:
    """Return a value if it has a form in JSON of at most so many bytes, or raise the silence."""
    try:
        size = len(sorted_compact(value))
    except AffidavitError as error:
        raise SourceFailedError(FailureReason.MALFORMED, error.message) from None
    except RecursionError:
        raise SourceFailedError(
            FailureReason.MALFORMED, "the result is nested too deeply"
        ) from None
    if size > max_bytes:
        problem = f"the result has {size} bytes, and {max_bytes} are allowed"
        raise SourceFailedError(FailureReason.TOO_LARGE, problem)
    checked: JsonValue = value
    return checked


def rows_as_result(rows: list[JsonValue]) -> JsonValue:
    """Return rows in the form in which every feed with rows gives them."""
    return {"results": rows}
