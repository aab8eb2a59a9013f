"""The one reader of TOML and YAML configuration files."""

import math
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar, cast

import msgspec

from affidavit.base.errors import AffidavitError, Fault, Where
from affidavit.base.faults import receipts as faults
from affidavit.base.files import FilePath, read_bounded
from affidavit.base.json_values import DOCUMENT_LIMITS, MAX_INTEGER, JsonLimits, JsonValue
from affidavit.base.text import excerpt, line_and_column
from affidavit.base.validation import join_field, problem_and_field, suggestion_for

# Strict YAML: the values that JSON has, with the position of every field.
# Plain scalars follow YAML 1.2: only `true`, `false`, `null` and decimal numbers are special, so
# `no`, `1:30` and `2026-01-31` are strings. Refused: duplicate keys, keys that are not strings,
# aliases (a few of them can expand to gigabytes), tags, NaN, infinities and multiple documents.

_TAGS: Final = {kind: f"tag:yaml.org,2002:{kind}" for kind in ("str", "seq", "map")}
Positions: TypeAlias = dict[str, tuple[int, int]]
"""Line and column, counted from 1, of each field such as `tools.leave.sources[1]`."""
_SURROGATE: Final = re.compile("[\ud800-\udfff]")  # PyYAML's pure Python parser accepts them.


def decode_yaml(
    raw: bytes, limits: JsonLimits = DOCUMENT_LIMITS, positions: Positions | None = None
) -> JsonValue:
    """Return the value of the one document in `raw`, or raise AF350 with its position.

    `positions` is filled with the position of every field, if it is given.
    """
    import yaml

    if len(raw) > limits.max_bytes:
        raise _syntax_error(f"the document has more than {limits.max_bytes} bytes")
    places: Positions = {} if positions is None else positions
    try:
        text = raw.decode("utf-8-sig")
        # Events instead of PyYAML's node tree, which C code builds by unbounded recursion.
        events = yaml.parse(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        return _only_document(events, limits.max_depth, places)
    except UnicodeDecodeError as error:
        position = line_and_column(raw, error.start)
        raise _syntax_error("the text is not UTF-8", position) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = str(error.problem or error.context or "it cannot be parsed")
        place = (mark.line + 1, mark.column + 1) if mark else None
        raise _syntax_error(problem, place) from None
    except yaml.YAMLError:
        raise _syntax_error("it contains a character that YAML does not allow") from None


def _only_document(events: Iterator[Any], depth: int, places: Positions) -> JsonValue:
    import yaml

    next(events)  # stream start
    if isinstance(next(events), yaml.StreamEndEvent):
        return None
    value = _value(next(events), events, "", depth, places)
    next(events)  # document end
    after = next(events)
    if not isinstance(after, yaml.StreamEndEvent):
        raise _syntax_error("a second document begins; only one is allowed", _place(after))
    return value


def _value(
    event: Any, events: Iterator[Any], field: str, depth: int, places: Positions
) -> JsonValue:
    import yaml

    place = places.setdefault(field, _place(event))
    if isinstance(event, yaml.AliasEvent):
        raise _syntax_error("aliases are not supported; repeat the value", place)
    if isinstance(event, yaml.ScalarEvent):
        return _scalar(event)
    if depth == 0:
        raise _syntax_error("lists and objects are nested too deeply", place)
    is_list = isinstance(event, yaml.SequenceStartEvent)
    if event.tag not in (None, _TAGS["seq" if is_list else "map"]):
        raise _syntax_error(f"unknown tag {excerpt(event.tag)}", place)
    if is_list:
        return [
            _value(member, events, f"{field}[{number}]", depth - 1, places)
            for number, member in enumerate(_until_end(events))
        ]
    return _members(events, field, depth - 1, places)


def _until_end(events: Iterator[Any]) -> Iterator[Any]:
    """Yield the first event of each member of a collection; the caller reads the rest of it."""
    import yaml

    return iter(
        lambda: None if isinstance(event := next(events), yaml.CollectionEndEvent) else event, None
    )


def _members(
    events: Iterator[Any], field: str, depth: int, places: Positions
) -> dict[str, JsonValue]:
    import yaml

    members: dict[str, JsonValue] = {}
    for event in _until_end(events):
        place = _place(event)
        key = _scalar(event) if isinstance(event, yaml.ScalarEvent) else None
        if not isinstance(key, str):
            raise _syntax_error("a key is not a string; put it in quotes", place)
        if key == "<<":
            raise _syntax_error("merge keys are not supported; repeat the members", place)
        if key in members:
            raise _syntax_error(f"duplicate key {excerpt(key)!r}", place)
        below = f"{field}.{key}" if field else key
        places[below] = place
        members[key] = _value(next(events), events, below, depth, places)
    return members


def _scalar(event: Any) -> JsonValue:
    text: str = event.value
    if event.tag not in (None, _TAGS["str"]):
        raise _syntax_error(f"unknown tag {excerpt(event.tag)}", _place(event))
    if not text.isascii() and _SURROGATE.search(text):
        raise _syntax_error("the text contains a lone surrogate", _place(event))
    # A quoted scalar is always a string.
    if event.tag or not event.implicit[0]:
        return text
    read = next(read for form, read in _PLAIN if form.fullmatch(text))
    try:
        return read(text)
    except ValueError:
        problem = f"the number {excerpt(text)} cannot be represented exactly; put it in quotes"
        raise _syntax_error(problem, _place(event)) from None


def _integer(text: str) -> int:
    number = int(text)
    if abs(number) > MAX_INTEGER:
        raise ValueError
    return number


def _decimal(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError
    return number


def _not_a_number(text: str) -> None:
    raise ValueError


# How to read an unquoted scalar; the first pattern that matches decides.
_PLAIN: Final[tuple[tuple[re.Pattern[str], Callable[[str], JsonValue]], ...]] = (
    (re.compile(r"~|null|Null|NULL|"), lambda text: None),
    (re.compile(r"true|True|TRUE"), lambda text: True),
    (re.compile(r"false|False|FALSE"), lambda text: False),
    (re.compile(r"[-+]?[0-9]+"), _integer),
    (re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"), _decimal),
    (re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"), _not_a_number),
    (re.compile(r".*", re.DOTALL), str),
)


def _place(event: Any) -> tuple[int, int]:
    return event.start_mark.line + 1, event.start_mark.column + 1


def _syntax_error(problem: str, place: tuple[int, int] | None = None) -> AffidavitError:
    line, column = place or (None, None)
    where = Where(line=line, column=column)
    return AffidavitError(faults.TOOLS_SYNTAX, where, kind="YAML", problem=problem)


# The one reader of configuration files: TOML or YAML, decoded strictly into frozen Structs.
# Every error carries the file, the line, the column and the field. An unknown key is refused with
# the most similar known key. A UTF-8 byte order mark and CRLF line ends are accepted.

MAX_CONFIG_BYTES: Final = 1024 * 1024
YAML_SUFFIXES: Final = (".yaml", ".yml")
_YAML_LIMITS: Final = JsonLimits(max_bytes=MAX_CONFIG_BYTES)
_TOML_POSITION: Final = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$")

Decoded = TypeVar("Decoded")


class ConfigFaults(NamedTuple):
    """The faults that one kind of file raises.

    `syntax` and `value` name a {problem}. `key` names an unknown {key} and gives {advice}; without
    it an unknown key is a `value` fault.
    """

    syntax: Fault
    value: Fault
    key: Fault | None = None


@dataclass(frozen=True, slots=True)
class ConfigDocument:
    """A parsed configuration file that knows the position of each of its fields."""

    value: Any
    file: str | None
    faults: ConfigFaults
    positions: Callable[[], Positions]

    def where(self, field: str) -> Where:
        """Return the position of a field, or of its nearest parent that the file contains."""
        positions = self.positions()
        parent = field
        while parent and parent not in positions:
            parent = re.sub(r"(?:\.[^.\[\]]*|\[[^\[\]]*\]|^[^.\[\]]+)\Z", "", parent)
        line, column = positions.get(parent, (None, None))
        return Where(file=self.file, line=line, column=column, field=field or None)

    def error(self, problem: str, field: str = "") -> AffidavitError:
        """Return the error that a value of the file is wrong."""
        return AffidavitError(self.faults.value, self.where(field), problem=problem)

    def locate(self, error: AffidavitError, field: str = "") -> AffidavitError:
        """Return an error of a field within `field` with its position in this file."""
        where = self.where(join_field(field, error.where.field or ""))
        return AffidavitError(error.fault, where, **error.values)

    def decode(self, kind: type[Decoded], value: object, field: str = "") -> Decoded:
        """Return `value`, which is at `field`, as the Struct `kind`; refuse what it does not fit.

        The Struct has to forbid unknown fields.
        """
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            problem, inner = problem_and_field(error)
        unknown = find_unknown_key(value, kind) if "unknown field" in problem else None
        if unknown is None:
            raise self.error(problem, join_field(field, (inner or "").replace("[...]", "")))
        where = self.where(join_field(field, unknown.field))
        key, advice = excerpt(unknown.key), suggestion_for(unknown.key, unknown.known)
        if self.faults.key is not None:
            raise AffidavitError(self.faults.key, where, key=key, advice=advice)
        raise AffidavitError(self.faults.value, where, problem=f"unknown key {key!r}: {advice}")


def read_config(path: FilePath, faults: ConfigFaults) -> ConfigDocument:
    """Read a file of at most 1 MiB: YAML if its name ends in .yaml or .yml, else TOML."""
    raw, file = read_bounded(path, MAX_CONFIG_BYTES), str(path)
    parse = parse_yaml if file.lower().endswith(YAML_SUFFIXES) else parse_toml
    return parse(raw, file, faults)


def parse_yaml(
    raw: bytes, file: str | None, faults: ConfigFaults, limits: JsonLimits = _YAML_LIMITS
) -> ConfigDocument:
    """Parse YAML (or JSON, which is YAML)."""
    positions: Positions = {}
    try:
        value = decode_yaml(raw, limits, positions)
    except AffidavitError as error:
        where = Where(file, error.where.line, None, error.where.column)
        raise AffidavitError(faults.syntax, where, **error.values) from None
    return ConfigDocument(value, file, faults, lambda: positions)


def parse_toml(raw: bytes, file: str | None, faults: ConfigFaults) -> ConfigDocument:
    """Parse TOML."""
    try:
        text = raw.decode("utf-8-sig").replace("\r\n", "\n")
        value = tomllib.loads(text)
    except UnicodeDecodeError as error:
        line, column = line_and_column(raw, error.start)
        problem = "the text is not UTF-8"
    except RecursionError:
        line, column, problem = None, None, "lists and tables are nested too deeply"
    except ValueError as error:  # TOMLDecodeError, or an integer of more than 4,300 digits.
        line, column, problem = _toml_problem(error, text)
    else:
        return ConfigDocument(value, file, faults, lambda: dict(_TomlScanner(text).scan()))
    where = Where(file=file, line=line, column=column)
    raise AffidavitError(faults.syntax, where, kind="TOML", problem=problem)


def _toml_problem(error: ValueError, text: str) -> tuple[int | None, int | None, str]:
    """Return line, column and problem. tomllib before 3.14 only has them in its message."""
    message = str(error)
    position = _TOML_POSITION.search(message)
    if position is None:
        return None, None, message.rstrip(".")
    problem = message[: position.start()]
    if position[1] is None:
        return text.count("\n") + 1, len(text) - text.rfind("\n"), f"{problem} at the end"
    line, column = int(position[1]), int(position[2])
    found = text.split("\n")[line - 1][column - 1 : column]
    if found.isalpha() and not found.isascii():
        problem += "; put a key with non-ASCII letters in quotes"
    return line, column, problem


class UnknownKey(NamedTuple):
    """A key that its object may not have, the field it is, and the keys that are allowed."""

    field: str
    key: str
    known: tuple[str, ...]


def find_unknown_key(value: object, kind: Any) -> UnknownKey | None:
    """Return the first key of `value` that `kind` does not know, at any depth."""
    from msgspec import inspect

    return next(_unknown_keys(value, inspect.type_info(kind), ""), None)


def _unknown_keys(value: object, kind: Any, field: str) -> Iterator[UnknownKey]:
    from msgspec.inspect import StructType

    if isinstance(value, dict) and isinstance(kind, StructType):
        known = (*filter(None, [kind.tag_field]), *(each.encode_name for each in kind.fields))
        for key in value:
            if key not in known:
                yield UnknownKey(join_field(field, key), key, known)
    for inner, inner_kind, path in _parts(value, kind, field):
        yield from _unknown_keys(inner, inner_kind, path)


def _parts(value: object, kind: Any, field: str) -> list[tuple[object, Any, str]]:
    """Return the values within a value, each with its type and field."""
    from msgspec import inspect

    match value, kind:
        case _, inspect.Metadata():
            return [(value, kind.type, field)]
        case _, inspect.UnionType():
            return [(value, choice, field) for choice in kind.types if _has_tag(value, choice)]
        case dict(), inspect.StructType():
            types = {member.encode_name: member.type for member in kind.fields}
            names = [name for name in value if name in types]
            return [(value[name], types[name], join_field(field, name)) for name in names]
        case dict(), inspect.DictType():
            return [(value[key], kind.value_type, join_field(field, key)) for key in value]
        case list(), inspect.VarTupleType() | inspect.ListType():
            return [(item, kind.item_type, f"{field}[{at}]") for at, item in enumerate(value)]
    return []


def _has_tag(value: object, kind: Any) -> bool:
    """Say whether `value` can be this member of a union, by its tag if it has one."""
    tag_field = getattr(kind, "tag_field", None)
    return tag_field is None or (isinstance(value, dict) and value.get(tag_field) == kind.tag)


class _TomlScanner:
    """Finds the position of every key in a TOML text that tomllib has accepted.

    tomllib reports no positions. Since the text is valid, the scanner needs to know only where
    keys, strings, arrays and inline tables begin and end.
    """

    _SPACE: Final = re.compile(r"(?:[ \t\n]+|#[^\n]*)*")
    _KEY: Final = re.compile(r"""[ \t]*(?:"((?:\\.|[^"\\])*)"|'([^']*)'|([A-Za-z0-9_-]+))[ \t]*""")
    _STRING: Final = re.compile(
        r'"""(?:\\.|[^\\])*?"""{1,3}|\'\'\'.*?\'\'\'{1,3}'
        r"""|"(?:\\.|[^"\\])*"|'[^']*'""",
        re.DOTALL,
    )
    _SCALAR: Final = re.compile(r"[^,\]}#\n]*")

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._found: Positions = {}
        self._array_lengths: dict[str, int] = {}
        self._line, self._line_start = 1, 0

    def scan(self) -> Positions:
        """Return the positions of all fields, by their paths."""
        table = ""
        while self._skip_space() < len(self._text):
            if self._text[self._at] == "[":
                table = self._table_header()
            else:
                self._pair(table)
        return self._found

    def _table_header(self) -> str:
        position = self._position()
        is_array = self._text.startswith("[[", self._at)
        self._at += 1 + is_array
        parts = self._key_parts()
        self._at += 1 + is_array
        path = ""
        for number, part in enumerate(parts, 1):
            path = join_field(path, part)
            if is_array and number == len(parts):
                self._found.setdefault(path, position)
                self._array_lengths[path] = self._array_lengths.get(path, 0) + 1
            if path in self._array_lengths:
                path += f"[{self._array_lengths[path] - 1}]"
            self._found.setdefault(path, position)
        return path

    def _pair(self, table: str) -> None:
        position = self._position()
        path = table
        for part in self._key_parts():
            path = join_field(path, part)
            self._found.setdefault(path, position)
        self._at += 1  # =
        self._value(path)

    def _key_parts(self) -> list[str]:
        parts = []
        while True:
            quoted, literal, bare = self._take(self._KEY).groups()
            parts.append(_unescaped(quoted) if quoted is not None else literal or bare or "")
            if self._text[self._at] != ".":
                return parts
            self._at += 1

    def _value(self, path: str) -> None:
        opening = self._text[self._skip_space()]
        if opening in "\"'":
            self._take(self._STRING)
            return
        if opening not in "[{":
            self._take(self._SCALAR)
            return
        self._at += 1
        number = 0
        while self._text[self._skip_space()] not in "]}":
            if opening == "{":
                self._pair(path)
            else:
                self._found[f"{path}[{number}]"] = self._position()
                self._value(f"{path}[{number}]")
            number += 1
            if self._text[self._skip_space()] == ",":
                self._at += 1
        self._at += 1

    def _skip_space(self) -> int:
        self._take(self._SPACE)
        return self._at

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str]:
        """Move behind a pattern, which matches here because the text is valid."""
        found = cast("re.Match[str]", pattern.match(self._text, self._at))
        self._at = found.end()
        return found

    def _position(self) -> tuple[int, int]:
        self._line += self._text.count("\n", self._line_start, self._at)
        self._line_start = self._text.rfind("\n", 0, self._at) + 1
        return self._line, self._at - self._line_start + 1


def _unescaped(quoted: str) -> str:
    return str(tomllib.loads(f'key = "{quoted}"')["key"])
