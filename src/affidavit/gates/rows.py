"""JSON lines and values into rows, strictly, with the line and the field of what is wrong.

A line is decoded straight into its row; that is as strict as `base.strict_json` because the few
texts that could hide a second meaning (a key that stands twice, a letter that is written as an
escape) are found by counting bytes and take the slow way. Fields that a row does not know are
passed over, as the documents' own readers do.
"""

import re
from typing import Final, Generic, TypeVar

import msgspec

from affidavit.base.errors import AffidavitError, Fault, Where
from affidavit.base.json_limits import LINE_LIMITS, JsonLimits
from affidavit.base.places import excerpt
from affidavit.base.strict_json import decode

Row = TypeVar("Row", bound=msgspec.Struct)

# A printable ASCII letter that is written as an escape: no writer does it, so a key may be hidden.
_HIDDEN_LETTER: Final = re.compile(rb"\\u00[2-7]")


class RowReader(Generic[Row]):
    """Reads one kind of row. `fault` has the value `problem`."""

    def __init__(self, kind: type[Row], fault: Fault, keys: tuple[str, ...]) -> None:
        self._kind = kind
        self._fault = fault
        self._decode = msgspec.json.Decoder(kind).decode
        # A text that is `"qid"` and nothing else: a quotation mark within a text is escaped.
        self._keys = tuple(f'"{key}"'.encode() for key in keys)

    def from_line(self, raw: bytes, line: int | None = None, file: str | None = None) -> Row:
        """Return the row of one line of JSON."""
        if self._has_one_meaning(raw):
            try:
                return self._decode(raw)
            except (msgspec.DecodeError, RecursionError):
                pass  # The slow way says what is wrong, and where.
        limits = JsonLimits(max_bytes=LINE_LIMITS.max_bytes, max_string=LINE_LIMITS.max_bytes)
        try:
            value = decode(raw, limits, line or 1)
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

    def _has_one_meaning(self, raw: bytes) -> bool:
        count = raw.count
        for key in self._keys:  # Runs for every line: a loop costs half of what `any` does.
            if count(key) > 1:
                return False
        return b"\\u00" not in raw or _HIDDEN_LETTER.search(raw) is None


def placed_problem(error: msgspec.ValidationError) -> tuple[str, str | None]:
    """Split msgspec's message into what is wrong and the field that it names, in our form."""
    problem, _, path = str(error).partition(" - at `$")
    field = path.strip("`.").removeprefix(".") or None
    missing = re.fullmatch(r"Object missing required field `(.+)`", problem)
    if missing is not None:
        field = missing[1] if field is None else f"{field}.{missing[1]}"
        problem = "the field is missing"
    return excerpt(problem.rstrip("."), 200), field
