"""The protocol of a source that can be queried, and the size limit of its result.

A source that fails is an outcome, not a defect: the failure has a reason from a closed set and ends
in a signed receipt. So its text only has our own words, numbers and names, never the message of a
server, a driver or a user's function.
"""

import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from threading import Lock
from typing import Any, Final, Protocol, TypeAlias

from affidavit.base.canonical import sorted_compact
from affidavit.base.errors import AffidavitError
from affidavit.base.json_values import DOCUMENT_LIMITS, JsonValue
from affidavit.checks.facts import EvidenceSource, SourceAnswer

CheckArguments: TypeAlias = Mapping[str, JsonValue]

MAX_SOURCE_BYTES: Final = DOCUMENT_LIMITS.max_bytes
"""The limit of a file, of an answer and of a result as JSON: what `verify` reads of a receipt."""


class FailureReason(StrEnum):
    """Why a source has no answer. docs/tools.md explains each; none is ever renamed."""

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

    def __init__(self, reason: FailureReason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason


@dataclass(slots=True)
class SourceRequest:
    """One query of one source: when it was made, and until when an answer counts.

    `deadline` is a reading of the monotonic clock. When it has passed, the waiting thread calls
    `abandon`, and the callbacks of the feed end its wait, so that its thread does not hang.
    """

    asked_at: str
    deadline: float
    _abandoned: bool = False
    _callbacks: list[Callable[[], None]] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def seconds_left(self) -> float:
        """Return how long an answer still counts, or raise if the deadline has passed."""
        left = self.deadline - time.monotonic()
        if left <= 0 or self._abandoned:
            raise SourceFailedError(
                FailureReason.LATE, "the time was over before the source could answer"
            )
        return left

    def on_abandon(self, callback: Callable[[], None]) -> None:
        """Register a function that ends the feed's wait. Another thread calls it."""
        with self._lock:
            if not self._abandoned:
                self._callbacks.append(callback)
                return
        callback()

    def abandon(self) -> None:
        """End the query. Errors of the callbacks are ignored: the query has failed already."""
        with self._lock:
            self._abandoned = True
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            with suppress(Exception):
                callback()


class Feed(Protocol):
    """A source that can be queried by several threads at the same time."""

    @property
    def source(self) -> EvidenceSource:
        """The source, as a fact records it."""
        ...

    def ask(self, args: CheckArguments, request: SourceRequest) -> SourceAnswer:
        """Return the answer of the source, or raise SourceFailedError."""
        ...


def file_identity(status: os.stat_result) -> str:
    """Return what a file is, whatever path, link or hard link led to it."""
    return f"file:{status.st_dev}:{status.st_ino}"


def require_json(value: Any, max_bytes: int) -> JsonValue:
    """Return a value if it can be written as JSON of at most `max_bytes`, or raise why not."""
    try:
        size = len(sorted_compact(value))
    except AffidavitError as error:
        raise SourceFailedError(FailureReason.MALFORMED, located_message(error)) from None
    except RecursionError:
        raise SourceFailedError(
            FailureReason.MALFORMED, "the result is nested too deeply"
        ) from None
    if size > max_bytes:
        problem = f"the result has {size} bytes, and {max_bytes} are allowed"
        raise SourceFailedError(FailureReason.TOO_LARGE, problem)
    checked: JsonValue = value
    return checked


def located_message(error: AffidavitError) -> str:
    """Return the message of an error in a result, with the path and the line that it names."""
    where = error.where
    path = f" at {where.field}" if where.field else ""
    line = f" (line {where.line})" if where.line else ""
    return f"{error.message}{path}{line}"


def rows_as_result(rows: list[JsonValue]) -> JsonValue:
    """Return rows as the result that every feed with rows gives."""
    return {"results": rows}
