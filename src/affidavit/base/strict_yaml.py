"""Strict YAML: the values that JSON has, with the position of every field.

Plain scalars follow YAML 1.2: only `true`, `false`, `null` and decimal numbers are special, so
`no`, `1:30` and `2026-01-31` are strings. Refused: duplicate keys, keys that are not strings,
aliases (a few of them can expand to gigabytes), tags, NaN, infinities and multiple documents.
"""

import math
import re
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import receipts as faults
from affidavit.base.json_values import DOCUMENT_LIMITS, MAX_INTEGER, JsonLimits, JsonValue
from affidavit.base.text import excerpt, line_and_column

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
