"""The log: a JSON object a line, on standard error. No secret and no body ever stands in it."""

import logging
from collections.abc import Callable
from typing import TextIO

import orjson

MAX_LETTERS = 300


class Journal:
    """Writes events. `now` gives the time as text."""

    def __init__(self, stream: TextIO, now: Callable[[], str], *, requests: bool = True) -> None:
        self._stream = stream
        self._now = now
        self._requests = requests

    def request(self, **said: object) -> None:
        """Write a line about a request, unless the user wants none."""
        if self._requests:
            self.write("request", **said)

    def write(self, event: str, **said: object) -> None:
        """Write one line; what is not known is left out, and long texts are cut."""
        known = {name: _cut(value) for name, value in said.items() if value is not None}
        line = orjson.dumps({"at": self._now(), "event": event, **known}, default=str)
        self._stream.write(line.decode() + "\n")
        self._stream.flush()


class JournalHandler(logging.Handler):
    """Turns what libraries log into lines of the journal."""

    def __init__(self, journal: Journal) -> None:
        super().__init__(logging.WARNING)
        self._journal = journal

    def emit(self, record: logging.LogRecord) -> None:
        """Write what a library says."""
        kind = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else None
        level = record.levelname.lower()
        self._journal.write(
            "library", level=level, name=record.name, said=record.getMessage(), error=kind
        )


def _cut(value: object) -> object:
    if isinstance(value, str):
        text = value.encode("utf-8", "backslashreplace").decode()
        return text if len(text) <= MAX_LETTERS else f"{text[:MAX_LETTERS]} ..."
    return value
