"""Reads JSON from a tool's file: one document, or one value per line.

A document must fit in memory; lines need not. Both are read strictly, except that NaN and Infinity
are null and a byte order mark is skipped.
"""

import re
from collections.abc import Callable, Iterator
from io import BufferedReader
from typing import Final

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults.input import FILE_TOO_LARGE, JSON_NUMBER_DOMAIN
from affidavit.base.json_values import JsonLimits, JsonValue
from affidavit.base.strict_json import decode, read_lines

# About a hundred thousand rows: a promptfoo document has 3.7 kB per row.
DOCUMENT_LIMITS: Final = JsonLimits(
    max_bytes=512 * 1024 * 1024, max_depth=128, max_string=64 * 1024 * 1024
)
# One line of OTLP is a batch of spans with all their prompts.
JSON_LINE_LIMITS: Final = JsonLimits(
    max_bytes=64 * 1024 * 1024, max_depth=128, max_string=64 * 1024 * 1024
)
BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


# Strings are consumed whole, so a word in a string is never taken for a number.
_TOKEN: Final = re.compile(rb'("[^"\\]*+(?:\\.[^"\\]*+)*+")|-?Infinity|NaN', re.DOTALL)


def decode_tool_json(raw: bytes, limits: JsonLimits, first_line: int = 1) -> JsonValue:
    """Return a JSON value as tools write it; NaN and Infinity are null.

    Python writes them for a metric that could not be computed. Everything else is decoded strictly.
    """
    try:
        return decode(raw, limits, first_line)
    except AffidavitError as error:
        if error.fault is not JSON_NUMBER_DOMAIN:
            raise
    return decode(_TOKEN.sub(lambda token: token[1] or b"null", raw), limits, first_line)


def skip_byte_order_mark(stream: BufferedReader) -> None:
    """Skip a byte order mark."""
    if stream.peek(len(BYTE_ORDER_MARK)).startswith(BYTE_ORDER_MARK):
        stream.read(len(BYTE_ORDER_MARK))


def has_lines(stream: BufferedReader) -> bool:
    """Say whether the first line is a whole object and another line follows.

    A single line counts as a document, because a document may be longer than a line may be.
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
    """Return the only value of a file."""
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
        except AffidavitError as error:  # Too long: the start of the next line is unknown.
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
