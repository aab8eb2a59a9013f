"""Many lines of one layout, decoded at once, with proof that no key stands twice in any of them.

Writers give every line the same fields, or leave a few of them out at times. Which there are is
learned from some lines; further lines are decoded into a row that must have those that all had.
Then the colons are counted: what is between a quote and a colon is the end of a key. A row has
each of its fields at least once, so if there are as many ends of keys as rows have fields, each
key stands exactly once. Whatever else is the case (a text that looks like the end of a key) is
left to a closer look.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, Final, Generic, NamedTuple, TypeVar

import msgspec

Row = TypeVar("Row", bound=msgspec.Struct)

_END_OF_KEY: Final = b'":'
_SPACED_COLONS: Final = (b" :", b"\t:", b"\r:")
_MOST_LAYOUTS: Final = 64
_MOST_NAMES: Final = 200
_ESCAPED: Final = re.compile(r'["\\\x00-\x1f]')
_ANY: Final = msgspec.json.Decoder()
_NONE: Final = frozenset[str]()
_CANNOT_BE_READ: Final = (msgspec.DecodeError, RecursionError, ValueError)


class _Names(NamedTuple):
    """The names in some objects: those that stand in all of them, and those in any."""

    always: frozenset[str]
    ever: frozenset[str]

    def are_plain(self) -> bool:
        """Tell whether the names are few, and none of them is written with escapes."""
        return len(self.ever) <= _MOST_NAMES and not any(map(_ESCAPED.search, self.ever))


def _names_in(objects: Iterable[dict[str, object]], known: _Names | None) -> _Names | None:
    """Return the names in some objects and in those that were known; of none nothing is."""
    alike = {frozenset(names) for names in set(map(tuple, objects))}
    if known is not None:
        alike |= {known.always, known.ever}
    return _Names(frozenset.intersection(*alike), frozenset.union(*alike)) if alike else None


class LayoutReader(Generic[Row]):
    """Reads lines of one kind of row; `within` names a field that all have and that is an
    object or null, and its kind.
    """

    def __init__(
        self, kind: type[Row], within: tuple[str, type[msgspec.Struct]] | None = None
    ) -> None:
        self._kind = kind
        self._within = within
        self._layout: _Layout[Row] | None = None
        self._tried = 0

    def rows(self, raw: bytes, lines: int) -> list[Row] | None:
        """Return one row for each of so many lines, or None if they need a closer look."""
        rows = None if self._layout is None else self._layout.rows(raw, lines)
        if rows is not None or self._tried >= _MOST_LAYOUTS:
            return rows
        # What lines teach that are no rows is not kept: one such line would slow all others.
        layout = self._layout_with(raw)
        rows = None if layout is None else layout.rows(raw, lines)
        self._layout = self._layout if rows is None else layout
        return rows

    def _layout_with(self, raw: bytes) -> "_Layout[Row] | None":
        """Return the layout of these lines and of those before, if it is another one."""
        try:
            values = _ANY.decode_lines(raw)
        except _CANNOT_BE_READ:
            return None
        if not all(isinstance(value, dict) for value in values):
            return None
        known = (None, None) if self._layout is None else self._layout.names
        names = (_names_in(values, known[0]), _names_in(self._inner_in(values), known[1]))
        if names == known or not all(each is None or each.are_plain() for each in names):
            return None
        self._tried += 1
        return _Layout(self._kind, self._within, names)

    def _inner_in(self, values: Iterable[dict[str, Any]]) -> Iterator[dict[str, object]]:
        if self._within is not None:
            for value in values:
                inner = value.get(self._within[0])
                if isinstance(inner, dict):
                    yield inner


class _Layout(Generic[Row]):
    """Lines with certain names."""

    def __init__(
        self,
        kind: type[Row],
        within: tuple[str, type[msgspec.Struct]] | None,
        names: tuple[_Names | None, _Names | None],
    ) -> None:
        self.names = names
        self._inner: _Fields | None = None
        replaced: dict[str, Any] = {}
        if within is not None:
            self._inner = _Fields(within[1], names[1], {})
            self._inner_of = attrgetter(within[0])
            replaced = {within[0]: self._inner.kind | None}
        self._outer = _Fields(kind, names[0], replaced)
        self._decode: Callable[[bytes], list[Any]]
        self._decode = msgspec.json.Decoder(self._outer.kind).decode_lines

    def rows(self, raw: bytes, lines: int) -> list[Row] | None:
        """Return the rows, if they have these names and each of them once."""
        try:
            rows = self._decode(raw)
        except _CANNOT_BE_READ:
            return None
        return rows if len(rows) == lines and self._has_each_key_once(raw, rows) else None

    def _has_each_key_once(self, raw: bytes, rows: list[Row]) -> bool:
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
    """The fields of a row with the names of a layout: those it knows, and the others as text.

    A row has those that always stand there; any other has its default if it is left out.
    """

    def __init__(
        self, kind: type[msgspec.Struct], names: _Names | None, replaced: dict[str, Any]
    ) -> None:
        always, ever = (names.always, names.ever) if names is not None else (_NONE, _NONE)
        fields = msgspec.structs.fields(kind)
        known = {field.name for field in fields}
        passed = {f"passed_over_{n}": name for n, name in enumerate(sorted(ever - known))}
        own: dict[str, Any] = {
            field.name: replaced.get(field.name, field.type)
            for field in fields
            if field.required or field.name in always
        }
        own |= {field: msgspec.Raw for field, name in passed.items() if name in always}
        left_out = {field.name: field.default for field in fields if field.name not in own}
        left_out |= {field: None for field in passed if field not in own}
        self.kind = msgspec.defstruct(
            kind.__name__,
            [*own.items(), *((field, msgspec.Raw, None) for field in left_out if field in passed)],
            bases=(kind,),
            frozen=True,
            gc=False,
            kw_only=True,
            rename=passed,
        )
        self._always = len(own)
        self._at_times = tuple((attrgetter(name), default) for name, default in left_out.items())
        self._passed = tuple(map(attrgetter, passed))

    def keys_in(self, rows: Sequence[msgspec.Struct]) -> int:
        """Return how many keys the rows have at least."""
        found = len(rows) * self._always
        for value_in, default in self._at_times:
            found += len(rows) - [*map(value_in, rows)].count(default)
        return found

    def ends_passed_over(self, rows: Sequence[msgspec.Struct]) -> int:
        """Return how many ends of keys stand in what is not read."""
        texts = (text for value_in in self._passed for text in map(value_in, rows))
        return sum(bytes(text).count(_END_OF_KEY) for text in texts if text is not None)
