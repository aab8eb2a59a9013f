"""JSON lines: one strict JSON value per line, and the line's number in every error.

A line ends at a line feed; a carriage return before it is white space. The last line may do
without. A blank line holds no value: it is counted and passed over (as ndjson allows), or refused
where every line must be a record.
"""

from collections.abc import Iterable, Iterator
from typing import Protocol

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults.input import JSON_BLANK_LINE, JSON_LONG_LINE
from affidavit.base.json_diagnosis import explain_refusal
from affidavit.base.json_limits import LINE_LIMITS, JsonLimits, JsonValue
from affidavit.base.strict_json import decode

_WHITE_SPACE = b" \t\r\n"


class LineStream(Protocol):
    """An open binary file, or anything else that reads lines of a bounded length."""

    def readline(self, size: int, /) -> bytes:
        """Return the next line, or the first `size` bytes of it; nothing at the end."""
        ...


def decode_lines(
    lines: Iterable[bytes], limits: JsonLimits = LINE_LIMITS, *, refuse_blank: bool = False
) -> Iterator[tuple[int, JsonValue]]:
    """Yield each value with the number of its line, counted from 1.

    `limits.max_bytes` is the longest line, its line feed not counted.
    """
    for number, line in enumerate(lines, 1):
        text = line.removesuffix(b"\n")
        if len(text) > limits.max_bytes:
            raise _long_line(number, limits.max_bytes)
        if text and not text.isspace():
            yield number, decode(text, limits, number)
        elif text.strip(_WHITE_SPACE):
            raise explain_refusal(
                text, limits, number
            )  # A form feed: a space to Python, not to JSON.
        elif refuse_blank:
            raise AffidavitError(JSON_BLANK_LINE, Where(line=number))


def split_lines(raw: bytes) -> list[bytes]:
    """Return the lines of a text, without their line feeds."""
    lines = raw.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return lines


def read_lines(stream: LineStream, max_bytes: int = LINE_LIMITS.max_bytes) -> Iterator[bytes]:
    """Yield the lines of a stream; one that is too long is refused before it is read whole."""
    number = 0
    while line := stream.readline(max_bytes + 1):
        number += 1
        if len(line) > max_bytes and not line.endswith(b"\n"):
            raise _long_line(number, max_bytes)
        yield line


def _long_line(number: int, limit: int) -> AffidavitError:
    return AffidavitError(JSON_LONG_LINE, Where(line=number), limit=limit)
