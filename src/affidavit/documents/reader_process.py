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
    Highlights,
    PageImage,
    QuotedLine,
    ReadingOutcome,
    RefusedDocument,
    finding_from_error,
)

_LENGTH: Final = struct.Struct(">Q")


class ReadingTask(msgspec.Struct, frozen=True, tag="read"):
    """A file to read."""

    path: bytes
    """The bytes of the system: a file name need not be text."""
    filename: str
    named: bool
    digest: str
    """The digest of the file when its reading was planned. Changed files are refused."""


class RenderingTask(msgspec.Struct, frozen=True, tag="render"):
    """A page of a PDF to render, `width` pixels wide."""

    path: bytes
    filename: str
    page: int
    width: int


class HighlightingTask(msgspec.Struct, frozen=True, tag="highlight"):
    """Lines of a PDF whose quoted parts are to be found."""

    path: bytes
    filename: str
    lines: tuple[QuotedLine, ...]


PageTask = RenderingTask | HighlightingTask
PageOutcome = PageImage | Highlights | RefusedDocument
_TASK_DECODER: Final = msgspec.msgpack.Decoder(ReadingTask | RenderingTask | HighlightingTask)


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


def run_page_task(task: PageTask, settings: DocumentSettings) -> PageOutcome:
    """Render a page of a file, or find a quote on its pages."""
    from affidavit.documents import pdf_pages

    try:
        data = read_bounded(os.fsdecode(task.path), settings.limits.max_bytes)
        if isinstance(task, RenderingTask):
            return pdf_pages.render_page(data, task.page, task.width)
        return pdf_pages.highlights(data, task.lines)
    except AffidavitError as error:
        return RefusedDocument(finding_from_error(error, task.filename))


def main(tasks: IO[bytes], outcomes: IO[bytes]) -> None:
    """Serve until the input ends."""
    first = read_message(tasks)
    if first is None:
        return
    settings = msgspec.msgpack.decode(first, type=DocumentSettings)
    _limit_memory(settings.limits.max_memory_bytes)
    while (message := read_message(tasks)) is not None:
        task = _TASK_DECODER.decode(message)
        run = run_task if isinstance(task, ReadingTask) else run_page_task
        write_message(outcomes, msgspec.msgpack.encode(run(task, settings)))


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
