"""A process that reads documents, so that a parser may crash or hang without harm to others.

Run as `python -m affidavit.documents.reader_process`. It reads the settings and then tasks from
standard input, and writes one outcome per task to standard output. A message is its length in 8
bytes, followed by msgpack.
"""

import os
import struct
import sys
from contextlib import suppress
from typing import IO, Final

import msgspec

from affidavit.base.digest import digest_of
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence as faults
from affidavit.base.files import read_bounded
from affidavit.documents.model import (
    DocumentSettings,
    ReadingOutcome,
    RefusedDocument,
    finding_from_error,
)

_LENGTH: Final = struct.Struct(">Q")


class ReadingTask(msgspec.Struct, frozen=True):
    """A file to read."""

    path: bytes
    """The bytes of the system: a file name need not be text."""
    filename: str
    named: bool
    digest: str
    """The digest of the file when its reading was planned. Changed files are refused."""


def write_message(stream: IO[bytes], body: bytes) -> None:
    """Send one message."""
    stream.write(_LENGTH.pack(len(body)) + body)
    stream.flush()


def read_message(stream: IO[bytes]) -> bytes | None:
    """Receive one message, or None if the other side is gone, even in the middle of a message."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    body = stream.read(length)
    return body if len(body) == length else None


def run_task(task: ReadingTask, settings: DocumentSettings) -> ReadingOutcome:
    """Read one file. The parsers are imported here: a parent process does without them."""
    from affidavit.documents.reading import read_chunks

    try:
        data = read_bounded(os.fsdecode(task.path), settings.limits.max_bytes)
        if digest_of(data) != task.digest:
            raise AffidavitError(faults.DOCUMENT_CHANGED)
    except AffidavitError as error:
        return RefusedDocument(finding_from_error(error, task.filename))
    return read_chunks(data, task.filename, settings, named=task.named)


def main(tasks: IO[bytes], outcomes: IO[bytes]) -> None:
    """Serve until the input ends."""
    first = read_message(tasks)
    if first is None:
        return
    settings = msgspec.msgpack.decode(first, type=DocumentSettings)
    _limit_memory(settings.limits.max_memory_bytes)
    while (message := read_message(tasks)) is not None:
        outcome = run_task(msgspec.msgpack.decode(message, type=ReadingTask), settings)
        write_message(outcomes, msgspec.msgpack.encode(outcome))


def _limit_memory(max_bytes: int) -> None:
    # Windows has no such limit.
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (max_bytes, max_bytes))


def _redirect_stdout() -> IO[bytes]:
    """Reserve standard output for outcomes: output of a library must not be mixed with them."""
    outcomes = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    return outcomes


if __name__ == "__main__":
    with suppress(KeyboardInterrupt, BrokenPipeError):
        main(sys.stdin.buffer, _redirect_stdout())
