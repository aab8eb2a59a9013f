"""JSON lines and values into rows, strictly, with the line and the field of what is wrong.

Lines are decoded straight into their rows; that is as strict as `base.strict_json` because the few
texts that could hide a second meaning (a key that stands twice, a letter that is written as an
escape) are found by counting bytes and take the slow way. Fields that a row does not know are
passed over, as the documents' own readers do.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Final, Generic, TypeVar

import msgspec

from affidavit.base.errors import AffidavitError, Fault, Where
from affidavit.base.json_limits import LINE_LIMITS, JsonLimits
from affidavit.base.json_lines import split_lines
from affidavit.base.places import excerpt
from affidavit.base.strict_json import decode
from affidavit.gates.row_layout import LayoutReader

Row = TypeVar("Row", bound=msgspec.Struct)
Key = TypeVar("Key", bound=Hashable)

# A line feed that stands elsewhere than between the end of one object and the start of another.
_WITHIN_A_ROW: Final = re.compile(rb"\n(?:[^{]|(?<!\}\n)(?<!\}\r\n))")
# A printable ASCII letter that is written as an escape: no writer does it, so a key may be hidden.
_HIDDEN_LETTER: Final = re.compile(rb"\\u00[2-7]")
_LIMITS: Final = JsonLimits(max_bytes=LINE_LIMITS.max_bytes, max_string=LINE_LIMITS.max_bytes)


def refuse(error: AffidavitError) -> None:
    """Stop at the first line that is no row."""
    raise error


class RowReader(Generic[Row]):
    """Reads one kind of row. `fault` has the value `problem`; `keys` are those that count.

    `within` names a field that is an object, and its keys. `layouts` knows a quicker way for
    lines that look alike.
    """

    def __init__(
        self,
        kind: type[Row],
        fault: Fault,
        keys: tuple[str, ...],
        within: tuple[str, tuple[str, ...]] | None = None,
        layouts: LayoutReader[Row] | None = None,
    ) -> None:
        self._layouts = layouts
        self._kind = kind
        self._fault = fault
        self._decoder = msgspec.json.Decoder(kind)
        self._keys = tuple((_quoted(key), attrgetter(key)) for key in keys)
        self._inner = attrgetter(within[0]) if within is not None else None
        names = within[1] if within is not None else ()
        self._inner_keys = tuple((_quoted(key), attrgetter(key)) for key in names)

    def from_chunk(
        self,
        raw: bytes,
        first_line: int = 1,
        file: str | None = None,
        on_bad: Callable[[AffidavitError], None] = refuse,
        lines: int | None = None,
    ) -> Iterator[tuple[int, Row]]:
        """Return the rows of many whole lines, each with the number of its line.

        Blank lines are passed over. Whatever keeps the lines from being read at once is found by
        reading them one by one; `on_bad` is told of each that is no row. `lines` is how many there
        are, if the caller has counted them.
        """
        rows = None
        # Decoders pass over blank lines, and take two values on one line and one on two: as many
        # rows as lines are a row on each only if every line feed stands between two of them.
        if raw.startswith(b"{") and _WITHIN_A_ROW.search(raw) is None:
            count = lines_in(raw) if lines is None else lines
            rows = self._layouts.rows(raw, count) if self._layouts is not None else None
            if rows is None:
                rows = self._rows_at_once(raw, count)
        if rows is not None:
            return enumerate(rows, first_line)
        return self._one_by_one(raw, first_line, file, on_bad)

    def _one_by_one(
        self,
        raw: bytes,
        first_line: int,
        file: str | None,
        on_bad: Callable[[AffidavitError], None],
    ) -> Iterator[tuple[int, Row]]:
        for line, text in enumerate(split_lines(raw), first_line):
            if text.strip():
                try:
                    row = self.from_line(text, line, file)
                except AffidavitError as error:
                    on_bad(error)
                else:
                    yield line, row

    def from_line(self, raw: bytes, line: int | None = None, file: str | None = None) -> Row:
        """Return the row of one line of JSON."""
        rows = self._rows_at_once(raw, 1)
        if rows is not None:
            return rows[0]
        try:
            value = decode(raw, _LIMITS, line or 1)
        except AffidavitError as error:
            raise error.at(file=file, line=line) from None
        return self.from_value(value, line, file)

    def from_value(self, value: object, line: int | None = None, file: str | None = None) -> Row:
        """Return the row of a decoded value."""
        try:
            return msgspec.convert(value, self._kind)
        except msgspec.ValidationError as error:
            problem, field = placed_problem(error)
            where = Where(file=file, line=line, field=field)
            raise AffidavitError(self._fault, where, problem=problem) from None

    def _rows_at_once(self, raw: bytes, lines: int) -> list[Row] | None:
        """Return one row for each line, or None if any of them needs a closer look.

        A row that has a field has its key at least once. So if a key stands in all of the lines as
        often as rows have the field, it stands in no line twice.
        """
        try:
            rows = self._decoder.decode_lines(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        if len(rows) != lines:
            return None
        if not _stand_once(raw, rows, self._keys):
            return None
        if self._inner is not None:
            inner = [found for found in map(self._inner, rows) if found is not None]
            if not _stand_once(raw, inner, self._inner_keys):
                return None
        return None if b"\\u00" in raw and _HIDDEN_LETTER.search(raw) else rows


def lines_in(raw: bytes) -> int:
    """Return how many lines there are; the last one need not have an end."""
    # To leave line feeds out is to search for them; `count` looks at every byte by itself, which
    # takes three times as long (Python 3.11).
    return len(raw) - len(raw.replace(b"\n", b"")) + (not raw.endswith(b"\n"))


def _quoted(key: str) -> bytes:
    """Return a key as a line has it: nothing else can be it, as texts escape their quotes."""
    return f'"{key}"'.encode()


def _stand_once(
    raw: bytes, rows: Sequence[object], keys: tuple[tuple[bytes, Callable[[object], object]], ...]
) -> bool:
    return all(
        raw.count(key) == len(rows) - [*map(value_in, rows)].count(None) for key, value_in in keys
    )


def last_by(rows: Iterable[Row], key_of: Callable[[Row], Key]) -> tuple[dict[Key, Row], int]:
    """Return the last row of each key, and how many gave way to a later one."""
    last: dict[Key, Row] = {}
    count = 0
    for row in rows:
        count += 1
        last[key_of(row)] = row
    return last, count - len(last)


def placed_problem(error: msgspec.ValidationError) -> tuple[str, str | None]:
    """Split msgspec's message into what is wrong and the field that it names, in our form."""
    problem, _, path = str(error).partition(" - at `$")
    field = path.strip("`.").removeprefix(".") or None
    missing = re.fullmatch(r"Object missing required field `(.+)`", problem)
    if missing is not None:
        field = missing[1] if field is None else f"{field}.{missing[1]}"
        problem = "the field is missing"
    return excerpt(problem.rstrip("."), 200), field
