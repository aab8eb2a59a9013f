"""JSON out of a tool's file: one document, or one value on each line."""

import re
from collections.abc import Callable, Iterator
from io import BufferedReader
from typing import Final

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults.input import FILE_TOO_LARGE, JSON_NUMBER_DOMAIN
from affidavit.base.json_values import JsonLimits, JsonValue
from affidavit.base.strict_json import decode, read_lines

# JSON out of a tool's file: one document, or one value on each line.
#
# A document must fit in memory, lines need not. Both are read strictly, but for
# one habit of Python's. A byte order mark, which
# programs on Windows write, is passed over: it has no meaning in UTF-8.

# A document of promptfoo has 3.7 kB per row: this is a hundred thousand rows.
DOCUMENT_LIMITS: Final = JsonLimits(
    max_bytes=512 * 1024 * 1024, max_depth=128, max_string=64 * 1024 * 1024
)
# One line of OTLP holds a batch of spans, with every prompt in it.
JSON_LINE_LIMITS: Final = JsonLimits(
    max_bytes=64 * 1024 * 1024, max_depth=128, max_string=64 * 1024 * 1024
)
BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


# Texts are consumed whole, so that a word inside one is never taken for a number.
_TOKEN: Final = re.compile(rb'("[^"\\]*+(?:\\.[^"\\]*+)*+")|-?Infinity|NaN', re.DOTALL)


def decode_tool_json(raw: bytes, limits: JsonLimits, first_line: int = 1) -> JsonValue:
    """Return a JSON value as tools write it: what Python writes as NaN or Infinity is a null.

    That is what a metric that could not be computed gives, and it was not measured. Everything
    else is as strict as anywhere.
    """
    try:
        return decode(raw, limits, first_line)
    except AffidavitError as error:
        if error.fault is not JSON_NUMBER_DOMAIN:
            raise
    return decode(_TOKEN.sub(lambda token: token[1] or b"null", raw), limits, first_line)


def skip_byte_order_mark(stream: BufferedReader) -> None:
    """Move behind a byte order mark."""
    if stream.peek(len(BYTE_ORDER_MARK)).startswith(BYTE_ORDER_MARK):
        stream.read(len(BYTE_ORDER_MARK))


def has_lines(stream: BufferedReader) -> bool:
    """Tell whether the first line is a whole object and something follows it.

    A document on one line is not one: it may be longer than a line may be.
    """
    first = stream.readline(JSON_LINE_LIMITS.max_bytes).strip()
    while not first and stream.peek(1):
        first = stream.readline(JSON_LINE_LIMITS.max_bytes).strip()
    if not (first.startswith(b"{") and first.endswith(b"}")):
        return False
    return any(
        line.strip() for line in iter(lambda: stream.readline(JSON_LINE_LIMITS.max_bytes), b"")
    )


def json_document(stream: BufferedReader, file: str) -> JsonValue:
    """Return the value of a file that holds one."""
    raw = stream.read(DOCUMENT_LIMITS.max_bytes + 1)
    if len(raw) > DOCUMENT_LIMITS.max_bytes:
        raise AffidavitError(FILE_TOO_LARGE, Where(file), limit=DOCUMENT_LIMITS.max_bytes)
    try:
        return decode_tool_json(raw, DOCUMENT_LIMITS)
    except AffidavitError as error:
        raise error.at(file=file) from None


def json_lines(
    stream: BufferedReader, file: str, on_bad: Callable[[AffidavitError], None]
) -> Iterator[tuple[int, JsonValue]]:
    """Yield the value of each line that is not blank, with the line's number."""
    lines = read_lines(stream, JSON_LINE_LIMITS.max_bytes)
    number = 0
    while True:
        try:
            raw = next(lines, None)
        except AffidavitError as error:  # Too long: where the next line starts is not known.
            raise error.at(file=file) from None
        if raw is None:
            return
        number += 1
        text = raw.strip()
        if text:
            try:
                value = decode_tool_json(text, JSON_LINE_LIMITS, number)
            except AffidavitError as error:
                on_bad(error.at(file=file, line=number))
            else:
                yield number, value
