"""Rows of claims and evidence: JSON lines, plain or gzip'd, read one at a time.

A row is `{id, claim, evidence}`: evidence is a text or a list of texts, each a source of its own.
`hypothesis` and `premise` are other names for the two, as data sets have them. A row without an id
is named by its line. A label is carried along; whatever else a row holds is passed over.
"""

import gzip
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import BufferedReader
from typing import Final, TypeVar, cast

import msgspec

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import input as input_faults
from affidavit.base.faults import judging as faults
from affidavit.base.json_limits import JsonLimits, JsonValue
from affidavit.base.json_lines import LineStream, read_lines
from affidavit.base.strict_json import decode
from affidavit.ledger.rules import placed_problem

ROW_LIMITS: Final = JsonLimits(max_bytes=64 * 1024 * 1024, max_string=64 * 1024 * 1024)
_GZIP: Final = b"\x1f\x8b"
_ROWS_AT_ONCE: Final = 32
_BYTES_AT_ONCE: Final = 1024 * 1024
"""A batch ends at either, so that rows with long evidence do not fill the memory."""

_Text = TypeVar("_Text")


@dataclass(frozen=True, slots=True)
class JudgeRow:
    """A claim, what it is read against, and the line on which it stands."""

    id: str
    line: int
    claim: str
    evidence: tuple[str, ...]
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """The bytes of a row that nobody has looked at yet."""

    number: int
    text: bytes


class RowV1(msgspec.Struct, frozen=True):
    """A row as it is written."""

    id: str | int | None = None
    claim: str | None = None
    hypothesis: str | None = None
    evidence: str | tuple[str, ...] | None = None
    premise: str | tuple[str, ...] | None = None
    label: str | bool | int | None = None


def lines_of(stream: BufferedReader) -> Iterator[Line]:
    """Yield the lines that hold something; gzip is known by its first bytes, not by a name."""
    plain: LineStream = stream
    if stream.peek(2)[:2] == _GZIP:
        plain = cast(LineStream, gzip.GzipFile(fileobj=stream))
    lines = read_lines(plain, ROW_LIMITS.max_bytes)
    number = 0
    while True:
        try:
            text = next(lines, None)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            reason = str(error).rstrip(".")
            raise AffidavitError(faults.GZIP_DAMAGED, Where(line=number), reason=reason) from None
        except OSError as error:
            reason = error.strerror or str(error)
            raise AffidavitError(input_faults.FILE_UNREADABLE, reason=reason) from None
        if text is None:
            return
        number += 1
        if text.strip():
            yield Line(number, text.removesuffix(b"\n"))


def batches(lines: Iterable[Line]) -> Iterator[tuple[Line, ...]]:
    """Yield the lines in pieces of work, each small enough to be sent to another process."""
    batch: list[Line] = []
    size = 0
    for line in lines:
        batch.append(line)
        size += len(line.text)
        if len(batch) >= _ROWS_AT_ONCE or size >= _BYTES_AT_ONCE:
            yield tuple(batch)
            batch, size = [], 0
    if batch:
        yield tuple(batch)


def name_of(value: JsonValue, line: Line) -> str:
    """Return how a row is called, also one that is not right: by its id, else by its line."""
    given = value.get("id") if isinstance(value, dict) else None
    return str(given if isinstance(given, str | int) else line.number)


def value_of(line: Line) -> JsonValue:
    """Return the JSON value of a line."""
    return decode(line.text, ROW_LIMITS, line.number)


def row_of(value: JsonValue, line: Line) -> JudgeRow:
    """Return the row that a line holds; what is wrong names the line and the field."""
    try:
        wire = msgspec.convert(value, RowV1)
    except msgspec.ValidationError as error:
        problem, field = placed_problem(error)
        raise _malformed(line, problem, field) from None
    evidence = _given(wire.evidence, wire.premise, "evidence", line)
    return JudgeRow(
        id=name_of(value, line),
        line=line.number,
        claim=_given(wire.claim, wire.hypothesis, "claim", line),
        evidence=(evidence,) if isinstance(evidence, str) else tuple(evidence),
        label=_label_text(wire.label),
    )


def _given(value: _Text | None, other: _Text | None, name: str, line: Line) -> _Text:
    given = other if value is None else value
    if given is None:
        raise _malformed(line, f"it has no {name}", name)
    return given


def _malformed(line: Line, problem: str, field: str | None) -> AffidavitError:
    return AffidavitError(
        faults.ROW_MALFORMED, Where(line=line.number, field=field), problem=problem
    )


def _label_text(label: str | bool | int | None) -> str | None:
    """Return a label as text: true is "true", 1 is "1"."""
    return str(label).lower() if isinstance(label, bool | int) else label
