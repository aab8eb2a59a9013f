"""The log of the service: one JSON object per line, also for the messages of libraries."""

import logging
from collections import Counter
from collections.abc import Callable
from typing import Final, TextIO

import orjson

MAX_LOGGED_CHARACTERS = 300
REPEAT_SECONDS: Final = 10.0
"""The same message of a library is written once in this time, and then with its count."""
MAX_KNOWN_MESSAGES: Final = 64


class RequestLog:
    """Writes one JSON object per line. It never contains a secret or a body.

    `now` returns the time as text.
    """

    def __init__(self, stream: TextIO, now: Callable[[], str], *, requests: bool = True) -> None:
        self._stream = stream
        self._now = now
        self._requests = requests

    def request(self, **members: object) -> None:
        """Write a line about a request, unless the user turned these off."""
        if self._requests:
            self.write("request", **members)

    def write(self, event: str, **members: object) -> None:
        """Write one line. Members that are None are left out, and long strings are truncated."""
        known = {name: _truncate(value) for name, value in members.items() if value is not None}
        line = orjson.dumps({"at": self._now(), "event": event, **known}, default=str)
        self._stream.write(line.decode() + "\n")
        self._stream.flush()


class RequestLogHandler(logging.Handler):
    """Writes the log records of libraries to the request log, repeated ones at intervals only."""

    def __init__(self, log: RequestLog) -> None:
        super().__init__(logging.WARNING)
        self._log = log
        self._written: dict[str, float] = {}
        self._repeated: Counter[str] = Counter()

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record, or count it if the same message was written just now."""
        said = record.getMessage()
        if record.created - self._written.get(said, -REPEAT_SECONDS) < REPEAT_SECONDS:
            self._repeated[said] += 1
            return
        if len(self._written) >= MAX_KNOWN_MESSAGES:
            self._written.clear()
            self._repeated.clear()
        self._written[said] = record.created
        kind = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else None
        self._log.write(
            "library",
            level=record.levelname.lower(),
            name=record.name,
            said=said,
            error=kind,
            repeated=self._repeated.pop(said, None),
        )


def log_libraries(log: RequestLog) -> None:
    """Write the messages of libraries in this process to the log, and nowhere else."""
    logging.getLogger().handlers[:] = [RequestLogHandler(log)]
    # uvicorn warns of every malformed request, which has a line of ours already.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)


def _truncate(value: object) -> object:
    if isinstance(value, str):
        text = value.encode("utf-8", "backslashreplace").decode()
        return text if len(text) <= MAX_LOGGED_CHARACTERS else f"{text[:MAX_LOGGED_CHARACTERS]} ..."
    return value
