"""Many lines of one layout, decoded at once, with proof that no key stands twice in any of them.

Writers give every line the same fields. So the first line tells which there are; the lines are
decoded into a row that must have all of them, and then the colons are counted: what is between a
quote and a colon is the end of a key. A row has each of its fields at least once, so if there are
as many ends of keys as rows have fields, each key stands exactly once. Whatever else is the case
(another layout, a text that looks like the end of a key) is left to a closer look.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Any, Final, Generic, TypeVar

import msgspec

Row = TypeVar("Row", bound=msgspec.Struct)

_END_OF_KEY: Final = b'":'
_SPACED_COLONS: Final = (b" :", b"\t:", b"\r:")
_MOST_LAYOUTS: Final = 64
_MOST_NAMES: Final = 200
_ESCAPED: Final = re.compile(r'["\\\x00-\x1f]')
_Names = tuple[str, ...]


class LayoutReader(Generic[Row]):
    """Reads lines of one kind of row; `within` names a field that is an object, and its kind."""

    def __init__(
        self, kind: type[Row], within: tuple[str, type[msgspec.Struct]] | None = None
    ) -> None:
        self._kind = kind
        self._within = within
        self._layouts: dict[tuple[_Names, _Names], _Layout[Row]] = {}

    def rows(self, raw: bytes, lines: int) -> list[Row] | None:
        """Return one row for each of so many lines, or None if they need a closer look."""
        layout = self._layout_of(raw[: raw.find(b"\n") if b"\n" in raw else None])
        return None if layout is None else layout.rows(raw, lines)

    def _layout_of(self, first: bytes) -> "_Layout[Row] | None":
        try:
            value = msgspec.json.decode(first)
        except (msgspec.DecodeError, RecursionError, ValueError):
            return None
        if not isinstance(value, dict):
            return None
        inner = value.get(self._within[0]) if self._within is not None else None
        names = (tuple(value), tuple(inner) if isinstance(inner, dict) else ())
        if names not in self._layouts:
            if len(self._layouts) >= _MOST_LAYOUTS or not _are_plain(*names):
                return None
            self._layouts[names] = _Layout(self._kind, self._within, *names)
        return self._layouts[names]


def _are_plain(*names: _Names) -> bool:
    """Tell whether names are few, and none of them is written with escapes."""
    return all(len(each) <= _MOST_NAMES and not any(map(_ESCAPED.search, each)) for each in names)


class _Layout(Generic[Row]):
    """Lines with the same names."""

    def __init__(
        self,
        kind: type[Row],
        within: tuple[str, type[msgspec.Struct]] | None,
        names: _Names,
        inner_names: _Names,
    ) -> None:
        self._ways = [
            _Way(kind, within, names, inner_names, at_times=at_times) for at_times in (False, True)
        ]

    def rows(self, raw: bytes, lines: int) -> list[Row] | None:
        """Return the rows; the quicker way is given up at the first line that lacks a field."""
        for way in tuple(self._ways):
            try:
                rows = way.decode(raw)
            except (msgspec.DecodeError, RecursionError, ValueError):
                # The other one reads whatever this one reads.
                self._ways = self._ways[-1:]
            else:
                return rows if len(rows) == lines and way.has_each_key_once(raw, rows) else None
        return None


class _Way(Generic[Row]):
    """A way to read lines: all known fields of the first are in each, or some only at times."""

    def __init__(
        self,
        kind: type[Row],
        within: tuple[str, type[msgspec.Struct]] | None,
        names: _Names,
        inner_names: _Names,
        *,
        at_times: bool,
    ) -> None:
        self._inner: _Fields | None = None
        replaced: dict[str, Any] = {}
        if within is not None:
            self._inner = _Fields(within[1], inner_names, {}, at_times=at_times)
            self._inner_of = attrgetter(within[0])
            replaced = {within[0]: self._inner.kind | None}
        self._outer = _Fields(kind, names, replaced, at_times=at_times)
        self.decode: Callable[[bytes], list[Any]]
        self.decode = msgspec.json.Decoder(self._outer.kind).decode_lines

    def has_each_key_once(self, raw: bytes, rows: list[Row]) -> bool:
        """Tell whether there are as many keys as the rows have at least."""
        keys = self._outer.keys_in(rows)
        inner: list[msgspec.Struct] = []
        if self._inner is not None:
            inner = [found for found in map(self._inner_of, rows) if found is not None]
            keys += self._inner.keys_in(inner)
        colons = raw.count(b":")
        if colons == keys:
            return True
        if any(colon in raw for colon in _SPACED_COLONS):
            return False
        ends = raw.count(_END_OF_KEY)
        if ends == keys:
            return True
        # What is passed over may hold objects, or texts that look like the end of a key.
        keys += self._outer.ends_passed_over(rows)
        keys += self._inner.ends_passed_over(inner) if self._inner is not None else 0
        return ends == keys


class _Fields:
    """The fields of a row that has all names of a layout: those it knows, and the others as text.

    A field that the row knows and may leave out has its default; with `at_times` any of them may
    be left out that the first line has.
    """

    def __init__(
        self,
        kind: type[msgspec.Struct],
        names: _Names,
        replaced: dict[str, Any],
        *,
        at_times: bool,
    ) -> None:
        known = msgspec.structs.fields(kind)
        own = {field.encode_name: field for field in known}
        passed = {
            f"passed_over_{number}": name
            for number, name in enumerate(name for name in names if name not in own)
        }
        always = {
            name: own[name].type
            for name in names
            if name in own and not at_times and not own[name].required
        }
        self.kind = msgspec.defstruct(
            kind.__name__,
            [*{**always, **replaced}.items(), *((name, msgspec.Raw) for name in passed)],
            bases=(kind,),
            frozen=True,
            gc=False,
            kw_only=True,
            rename=passed,
        )
        left_out = [field for field in known if not field.required and field.name not in always]
        self._always = len(passed) + len(known) - len(left_out)
        self._at_times = tuple((attrgetter(field.name), field.default) for field in left_out)
        self._passed = tuple(map(attrgetter, passed))

    def keys_in(self, rows: Sequence[msgspec.Struct]) -> int:
        """Return how many keys the rows have at least."""
        found = len(rows) * self._always
        for value_in, default in self._at_times:
            found += len(rows) - [*map(value_in, rows)].count(default)
        return found

    def ends_passed_over(self, rows: Sequence[msgspec.Struct]) -> int:
        """Return how many ends of keys stand in what is not read."""
        return sum(bytes(text).count(_END_OF_KEY) for text in self._texts(rows))

    def _texts(self, rows: Sequence[msgspec.Struct]) -> Iterator[msgspec.Raw]:
        for value_in in self._passed:
            yield from map(value_in, rows)
