"""Strict JSON and JSON lines: a text has exactly one meaning, or is refused with its position."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import orjson
from orjson import OPT_SORT_KEYS, OPT_STRICT_INTEGER, dumps, loads

from affidavit.base.errors import AffidavitError, Fault, Where
from affidavit.base.faults.input import (
    JSON_BLANK_LINE,
    JSON_DEPTH,
    JSON_DUPLICATE_KEY,
    JSON_ENCODING,
    JSON_LONG_LINE,
    JSON_LONG_STRING,
    JSON_NUMBER_DOMAIN,
    JSON_SYNTAX,
    JSON_TOO_LARGE,
    JSON_TOO_MANY_KEYS,
    JSON_TRAILING,
    JSON_UNICODE,
)
from affidavit.base.files import FilePath, read_bounded
from affidavit.base.json_values import (
    DOCUMENT_LIMITS,
    LINE_LIMITS,
    MAX_INTEGER,
    JsonLimits,
    JsonValue,
    iterate_containers,
)
from affidavit.base.text import excerpt, field_path, line_and_column

# A hand-written parser of the whole grammar finds the first fault. It is a hundred times slower
# than orjson (up to 1.5 s of CPU per megabyte before the fault, so a service has to set
# `max_scan_bytes`) and runs only after the fast decoder has refused a text. Tests check that the
# two agree.

_SPACE = re.compile(rb"[ \t\n\r]*+")
_TEXT_START = re.compile(
    rb'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+'
)
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*+)((?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?)")
_NUMBER_LIKE = re.compile(rb"[-+.0-9A-Za-z]++")
_LITERAL = re.compile(rb"true|false|null")
_NOT_FINITE = re.compile(rb"NaN|-?Infinity")
_INTEGER_DIGITS: Final = len(str(MAX_INTEGER))

_ENCODINGS: Final = (
    (b"\xef\xbb\xbf", "UTF-8 with a byte order mark"),
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)


def refusal_error(
    raw: bytes, limits: JsonLimits, first_line: int = 1, cause: "_Refusal | None" = None
) -> AffidavitError:
    """Return the error for a refused text: its first fault and the position.

    If the text is too long to be searched, it is what the decoder knows, the `cause`.
    """
    if len(raw) > limits.max_bytes:
        where = Where(line=first_line)
        return AffidavitError(JSON_TOO_LARGE, where, size=len(raw), limit=limits.max_bytes)
    if encoding := _foreign_encoding(raw):
        return AffidavitError(JSON_ENCODING, Where(line=first_line), encoding=encoding)
    reading = _JsonScanner(raw, limits, first_line)
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        return reading.refusal(JSON_UNICODE, error.start, problem="the bytes here are not UTF-8")
    if cause is not None and len(raw) > limits.max_scan_bytes:
        return cause.error(limits, first_line)
    try:
        reading.read_document()
    except AffidavitError as error:
        return error
    return reading.refusal(JSON_SYNTAX, 0, problem="the decoder does not accept it")


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Why the decoder refused a text: a fault that it does not locate, or its own error."""

    fault: Fault
    error_of_decoder: orjson.JSONDecodeError | None = None

    def error(self, limits: JsonLimits, first_line: int) -> AffidavitError:
        """Return the error without the exact position."""
        found, values = self.error_of_decoder, dict(_UNLOCATED_VALUES)
        where = Where()
        if found is not None:
            where = Where(line=first_line + found.lineno - 1)
            values |= {"problem": found.msg, "place": f"column {found.colno}"}
        elif self.fault in _LIMITED:
            values["limit"] = getattr(limits, _LIMITED[self.fault])
        return AffidavitError(self.fault, where, **values)


_UNLOCATED_VALUES: Final[dict[str, object]] = {
    "place": "the text is too long to say where",
    "key": "...",
    "number": "(an integer beyond 2^53 - 1)",
    "size": "too many",
}
_LIMITED: Final = {
    JSON_DEPTH: "max_depth",
    JSON_TOO_MANY_KEYS: "max_keys",
    JSON_LONG_STRING: "max_string",
}


def _foreign_encoding(raw: bytes) -> str | None:
    """Return the encoding if it is not plain UTF-8 (RFC 8259, section 8.1)."""
    for mark, name in _ENCODINGS:
        if raw.startswith(mark):
            return name
    # JSON starts with an ASCII character, which has null bytes beside it in wider encodings.
    if len(raw) % 4 == 0 and raw[:3] == b"\0\0\0":
        return "UTF-32"
    if len(raw) % 2 == 0 and (raw[:1] == b"\0") != (raw[1:2] == b"\0"):
        return "UTF-32" if raw[2:4] == b"\0\0" else "UTF-16"
    return None


@dataclass(slots=True)
class _OpenContainer:
    """A list or object that is not closed yet; `step` is the key or index being read."""

    closing: bytes
    keys: set[str] = field(default_factory=set)
    members: int = 0
    step: str | int | None = None


class _JsonScanner:
    """Parses one text from left to right with an explicit stack instead of recursion."""

    def __init__(self, raw: bytes, limits: JsonLimits, first_line: int) -> None:
        self._raw = raw
        self._limits = limits
        self._first_line = first_line
        self._at = 0
        self._open: list[_OpenContainer] = []

    def read_document(self) -> None:
        """Read the only value of the text, or raise the first fault."""
        self._read_value()
        while self._open:
            self._read_member(self._open[-1])
        if self._next_byte():
            raise self.refusal(JSON_TRAILING)

    def refusal(self, fault: Fault, at: int | None = None, **values: object) -> AffidavitError:
        """Return the error with its line, column and field."""
        at = self._at if at is None else at
        line, column = line_and_column(self._raw, at)
        path = field_path([container.step for container in self._open])
        return AffidavitError(
            fault,
            Where(line=self._first_line + line - 1, field=path),
            place=f"column {column}",
            **values,
        )

    def _syntax(self, problem: str, at: int | None = None) -> AffidavitError:
        end = self._at if at is None else at
        problem = problem if end < len(self._raw) else "it ends too early"
        return self.refusal(JSON_SYNTAX, at, problem=problem)

    def _next_byte(self) -> bytes:
        """Skip white space and return the next byte; b"" at the end."""
        match = _SPACE.match(self._raw, self._at)
        self._at = match.end() if match else self._at
        return self._raw[self._at : self._at + 1]

    def _read_member(self, container: _OpenContainer) -> None:
        """Read the next member of the innermost list or object, or its end."""
        byte = self._next_byte()
        if byte == container.closing:
            self._at += 1
            self._open.pop()
            return
        if container.members:
            if byte != b",":
                raise self._syntax(f"',' or {container.closing.decode()!r} is missing")
            self._at += 1
        container.step = container.members if container.closing == b"]" else None
        container.members += 1
        if container.closing == b"}":
            self._read_key(container)
        self._read_value()

    def _read_key(self, container: _OpenContainer) -> None:
        if self._next_byte() != b'"':
            raise self._syntax("a key in double quotes is missing")
        start = self._at
        key = self._read_text()
        container.step = key
        if key in container.keys:
            raise self.refusal(JSON_DUPLICATE_KEY, start, key=excerpt(key))
        container.keys.add(key)
        if len(container.keys) > self._limits.max_keys:
            raise self.refusal(JSON_TOO_MANY_KEYS, start, limit=self._limits.max_keys)
        if self._next_byte() != b":":
            raise self._syntax("':' is missing after a key")
        self._at += 1

    def _read_value(self) -> None:
        byte = self._next_byte()
        if byte == b"{":
            self._enter(b"}")
        elif byte == b"[":
            self._enter(b"]")
        elif byte == b'"':
            self._read_text()
        elif match := _LITERAL.match(self._raw, self._at):
            self._at = match.end()
        else:
            self._read_number()

    def _enter(self, closing: bytes) -> None:
        if len(self._open) == self._limits.max_depth:
            raise self.refusal(JSON_DEPTH, limit=self._limits.max_depth)
        self._at += 1
        self._open.append(_OpenContainer(closing))

    def _read_text(self) -> str:
        start = self._at
        match = _TEXT_START.match(self._raw, start)
        end = match.end() if match else start
        if self._raw[end : end + 1] != b'"':
            problem = (
                "unknown escape sequence"
                if self._raw[end : end + 1] == b"\\"
                else "control character in a string"
            )
            raise self._syntax(problem, end)
        self._at = end + 1
        try:
            text: str = orjson.loads(self._raw[start : self._at])
        except ValueError:
            problem = "lone surrogate in a string"
            raise self.refusal(JSON_UNICODE, start, problem=problem) from None
        if len(text) > self._limits.max_string:
            limit = self._limits.max_string
            raise self.refusal(JSON_LONG_STRING, start, size=len(text), limit=limit)
        return text

    def _read_number(self) -> None:
        like = _NUMBER_LIKE.match(self._raw, self._at)
        text = like[0] if like else b""
        number = _NUMBER.fullmatch(text)
        if number is None:
            if _NOT_FINITE.fullmatch(text):
                raise self.refusal(JSON_NUMBER_DOMAIN, number=text.decode())
            raise self._syntax(
                f"{excerpt(text.decode())!r} is not a value" if text else "a value is missing"
            )
        is_integer = not number[1]
        if not (_is_safe_integer(text) if is_integer else _is_finite(text)):
            raise self.refusal(JSON_NUMBER_DOMAIN, number=excerpt(text.decode()))
        self._at += len(text)


def _is_safe_integer(digits: bytes) -> bool:
    # The length is checked first, because Python refuses to convert thousands of digits.
    return len(digits.lstrip(b"-")) <= _INTEGER_DIGITS and abs(int(digits)) <= MAX_INTEGER


def _is_finite(number: bytes) -> bool:
    try:
        orjson.loads(number)
    except ValueError:
        return False
    return True


# Refused: duplicate keys (also if written with escapes), NaN, infinities, numbers that overflow,
# integers beyond 2^53 - 1, lone surrogates, invalid UTF-8, a byte order mark, UTF-16 and UTF-32,
# text after the value, and anything beyond the limits. Origin: RFC 8259 with the advice of RFC 7493
# (I-JSON) as rules. A float too small for a double is read as zero, as every reader does.
# orjson decides what is JSON, but silently keeps the last of two equal keys and turns large
# integers into floats. `decode` proves by counting single bytes that neither has happened, which
# costs about as much as decoding.

_PLUS, _BACKSLASH = b"+\\"
# `replace` copies the text, which must not double the memory of a large document.
_COPIED_TO_COUNT: Final = 1 << 20

_CONTAINERS: Final = frozenset({dict, list})
_ESCAPED_COLON: Final = re.compile(rb"\\u003[aA]")
# Escapes are matched from the left, so the second backslash of a pair never starts one.
_ESCAPE: Final = re.compile(rb"\\(?:(u003[aA])|.)", re.DOTALL)
_LONG_DIGITS: Final = re.compile(rb"[0-9]{19}")
# Strings and numbers are consumed whole, so digits in a string are never taken for a number.
_TOKEN: Final = re.compile(
    rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|-?([0-9]{19,}+)(?![.eE])|[-+.eE0-9]++', re.DOTALL
)


def decode(raw: bytes, limits: JsonLimits = DOCUMENT_LIMITS, first_line: int = 1) -> JsonValue:
    """Return the value of a JSON text, or raise a coded error with its position.

    `first_line` is the number of the line on which `raw` starts, for the error.
    """
    return _decoded(raw, limits, first_line, OPT_STRICT_INTEGER)[0]


def read_json_file(path: FilePath, max_bytes: int = DOCUMENT_LIMITS.max_bytes) -> JsonValue:
    """Return the one JSON value of a file; an error names the file."""
    raw = read_bounded(path, max_bytes)
    try:
        return decode(raw, JsonLimits(max_bytes=max_bytes))
    except AffidavitError as error:
        raise error.at(file=str(path)) from None


def decode_and_write(raw: bytes, limits: JsonLimits = DOCUMENT_LIMITS) -> tuple[JsonValue, bytes]:
    """Return the value, and its text as orjson writes it with sorted keys.

    Decoding writes the value once anyway, so this saves a second writing.
    """
    return _decoded(raw, limits, 1, OPT_STRICT_INTEGER | OPT_SORT_KEYS)


def _decoded(
    raw: bytes, limits: JsonLimits, first_line: int, writing: int
) -> tuple[JsonValue, bytes]:
    size = len(raw)
    if size > limits.max_bytes:
        raise refusal_error(raw, limits, first_line)
    try:
        value: JsonValue = loads(raw)
        written = dumps(value, option=writing)
    except orjson.JSONDecodeError as error:
        raise refusal_error(raw, limits, first_line, _Refusal(JSON_SYNTAX, error)) from None
    except (ValueError, TypeError) as error:
        # An integer beyond 53 bits, or more levels than can be written.
        fault = JSON_NUMBER_DOMAIN if "53-bit" in str(error) else JSON_DEPTH
        raise refusal_error(raw, limits, first_line, _Refusal(fault)) from None
    fault_found = _find_fault(raw, value, written, limits)
    if fault_found is None:
        return value, written
    raise refusal_error(raw, limits, first_line, _Refusal(fault_found))


def _find_fault(raw: bytes, value: JsonValue, written: bytes, limits: JsonLimits) -> Fault | None:
    """Return why a text that orjson accepts is refused, or None."""
    # Every member of an object has a colon. A colon within a string is the same in `raw` and
    # `written`, unless it is escaped in `raw`; those are counted separately. A member that orjson
    # dropped for a later one with the same key took its colon with it. So the counts are equal
    # exactly if nothing was dropped.
    colons = _count(raw, b":")
    if _BACKSLASH in raw and _ESCAPED_COLON.search(raw):
        colons += sum(map(bool, _ESCAPE.findall(raw)))
    if colons != _count(written, b":"):
        return JSON_DUPLICATE_KEY
    # An integer beyond 64 bits has become a float of 2^63 or more, and orjson writes every float
    # from 1e16 on with "e+".
    if _PLUS in written and b"e+" in written and _has_long_integer(raw):
        return JSON_NUMBER_DOMAIN
    # If the whole document is within a limit, so is each of its parts.
    levels = _count(raw, b"[") + _count(raw, b"{")
    if levels > limits.max_depth and _is_deeper(value, limits.max_depth):
        return JSON_DEPTH
    if colons > limits.max_keys or len(raw) > limits.max_string:
        return _find_large_part(value, limits)
    return None


def _count(text: bytes, byte: bytes) -> int:
    """Return how often a byte occurs."""
    if len(text) > _COPIED_TO_COUNT:
        return text.count(byte)
    return len(text) - len(text.replace(byte, b""))  # Three times faster (Python 3.11).


def _has_long_integer(raw: bytes) -> bool:
    return _LONG_DIGITS.search(raw) is not None and any(_TOKEN.findall(raw))


def _is_deeper(value: JsonValue, max_depth: int) -> bool:
    level: list[Any] = [value] if type(value) in _CONTAINERS else []
    for _ in range(max_depth):
        below: list[Any] = []
        for container in level:
            members = container.values() if type(container) is dict else container
            below += [member for member in members if type(member) in _CONTAINERS]
        level = below
    return bool(level)


def _find_large_part(value: JsonValue, limits: JsonLimits) -> Fault | None:
    for container in iterate_containers([value]):
        texts = container
        if isinstance(container, dict):
            if len(container) > limits.max_keys:
                return JSON_TOO_MANY_KEYS
            texts = [*container, *container.values()]
        if any(isinstance(text, str) and len(text) > limits.max_string for text in texts):
            return JSON_LONG_STRING
    return None


# JSON lines: one strict JSON value per line.
# A line ends with a line feed, which the last line may lack; a carriage return before it is white
# space. Blank lines are counted and ignored (as ndjson allows), or refused if every line must be a
# record.

_WHITE_SPACE = b" \t\r\n"


class LineStream(Protocol):
    """An open binary file, or anything else with a bounded `readline`."""

    def readline(self, size: int, /) -> bytes:
        """Return the next line or its first `size` bytes; b"" at the end."""
        ...


def decode_lines(
    lines: Iterable[bytes], limits: JsonLimits = LINE_LIMITS, *, refuse_blank: bool = False
) -> Iterator[tuple[int, JsonValue]]:
    """Yield each value with the number of its line, counted from 1.

    `limits.max_bytes` is the length of the longest line without its line feed.
    """
    for number, line in enumerate(lines, 1):
        text = line.removesuffix(b"\n")
        if len(text) > limits.max_bytes:
            raise _long_line(number, limits.max_bytes)
        if text and not text.isspace():
            yield number, decode(text, limits, number)
        elif text.strip(_WHITE_SPACE):
            # A form feed is white space in Python but not in JSON.
            raise refusal_error(text, limits, number)
        elif refuse_blank:
            raise AffidavitError(JSON_BLANK_LINE, Where(line=number))


def split_lines(raw: bytes) -> list[bytes]:
    """Return the lines of a text, without their line feeds."""
    lines = raw.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return lines


def read_lines(stream: LineStream, max_bytes: int = LINE_LIMITS.max_bytes) -> Iterator[bytes]:
    """Yield the lines of a stream; a line that is too long is refused before it is read whole."""
    number = 0
    while line := stream.readline(max_bytes + 1):
        number += 1
        if len(line) > max_bytes and not line.endswith(b"\n"):
            raise _long_line(number, max_bytes)
        yield line


def _long_line(number: int, limit: int) -> AffidavitError:
    return AffidavitError(JSON_LONG_LINE, Where(line=number), limit=limit)
