"""Strict YAML: what JSON could say, with the line of every field.

Read as YAML 1.2 reads it: only `true`, `false`, `null`, decimal numbers and texts, so that `no`,
`1:30` and `2026-01-31` stay texts. Refused: two equal keys, keys that are not texts, aliases (a
few of them can stand for gigabytes), tags, NaN and infinities, several documents.
"""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import receipts as faults
from affidavit.base.json_values import DOCUMENT_LIMITS, MAX_INTEGER, JsonLimits, JsonValue
from affidavit.base.text import excerpt

_TAGS: Final = {kind: f"tag:yaml.org,2002:{kind}" for kind in ("str", "seq", "map")}
_Places = dict[str, tuple[int, int]]
_HALF: Final = re.compile("[\ud800-\udfff]")  # the parser that is written in Python lets it pass


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """A decoded document. `line_of` knows the line of a field such as `tools.leave.sources[1]`.

    `column_of` knows where on that line it begins; both count from 1.
    """

    value: JsonValue
    line_of: Callable[[str], int | None]
    column_of: Callable[[str], int | None]


def yaml_document(raw: bytes, limits: JsonLimits = DOCUMENT_LIMITS) -> YamlDocument:
    """Return the one value that `raw` means, or raise AF350 with the line."""
    import yaml

    if len(raw) > limits.max_bytes:
        raise _problem(f"the document has more than {limits.max_bytes} bytes")
    places: _Places = {}
    try:
        text = raw.decode("utf-8")
        # Events, and not the parser's own tree: that is built by recursion in C, without a bound.
        events = yaml.parse(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        value = _only_document(events, limits.max_depth, places)
    except UnicodeDecodeError:
        raise _problem("the text is not UTF-8") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = str(error.problem or error.context or "it cannot be read")
        raise _problem(problem, mark.line + 1 if mark else None) from None
    except yaml.YAMLError:
        raise _problem("it holds a character that no text may hold") from None
    return YamlDocument(
        value,
        lambda field: _nearest(places, field)[0],
        lambda field: _nearest(places, field)[1],
    )


def _only_document(events: Iterator[Any], depth: int, places: _Places) -> JsonValue:
    import yaml

    next(events)  # the stream begins
    if isinstance(next(events), yaml.StreamEndEvent):
        return None
    value = _value(next(events), events, "", depth, places)
    next(events)  # the document ends
    after = next(events)
    if not isinstance(after, yaml.StreamEndEvent):
        raise _problem("a second document begins; one is taken", _line(after))
    return value


def _value(event: Any, events: Iterator[Any], field: str, depth: int, places: _Places) -> JsonValue:
    import yaml

    place = places.setdefault(field, _place(event))
    if isinstance(event, yaml.AliasEvent):
        raise _problem("an alias is not followed; repeat what it stands for", place[0])
    if isinstance(event, yaml.ScalarEvent):
        return _scalar(event)
    if depth == 0:
        raise _problem("lists and objects are nested too deeply", place[0])
    is_list = isinstance(event, yaml.SequenceStartEvent)
    if event.tag not in (None, _TAGS["seq" if is_list else "map"]):
        raise _problem(f"the tag {excerpt(event.tag)} is not known", place[0])
    if is_list:
        return [
            _value(member, events, f"{field}[{number}]", depth - 1, places)
            for number, member in enumerate(_until_end(events))
        ]
    return _members(events, field, depth - 1, places)


def _until_end(events: Iterator[Any]) -> Iterator[Any]:
    """Yield the first event of each member of a list or object, which the caller reads on."""
    import yaml

    return iter(
        lambda: None if isinstance(event := next(events), yaml.CollectionEndEvent) else event, None
    )


def _members(
    events: Iterator[Any], field: str, depth: int, places: _Places
) -> dict[str, JsonValue]:
    import yaml

    members: dict[str, JsonValue] = {}
    for event in _until_end(events):
        line = _line(event)
        key = _scalar(event) if isinstance(event, yaml.ScalarEvent) else None
        if not isinstance(key, str):
            raise _problem("a key is not a text; put it in quotes", line)
        if key == "<<":
            raise _problem("a merge key is not followed; repeat what it stands for", line)
        if key in members:
            raise _problem(f"the key {excerpt(key)!r} stands twice", line)
        below = f"{field}.{key}" if field else key
        places[below] = _place(event)
        members[key] = _value(next(events), events, below, depth, places)
    return members


def _scalar(event: Any) -> JsonValue:
    text: str = event.value
    if event.tag not in (None, _TAGS["str"]):
        raise _problem(f"the tag {excerpt(event.tag)} is not known", _line(event))
    if not text.isascii() and _HALF.search(text):
        raise _problem("half of a character is no text", _line(event))
    # A scalar in quotes is a text whatever it looks like.
    if event.tag or not event.implicit[0]:
        return text
    read = next(read for form, read in _PLAIN if form.fullmatch(text))
    try:
        return read(text)
    except ValueError:
        problem = f"the number {excerpt(text)} cannot be kept exactly; put it in quotes"
        raise _problem(problem, _line(event)) from None


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


def _no_number(text: str) -> None:
    raise ValueError


# What a text without quotes stands for; the first form that fits.
_PLAIN: Final[tuple[tuple[re.Pattern[str], Callable[[str], JsonValue]], ...]] = (
    (re.compile(r"~|null|Null|NULL|"), lambda text: None),
    (re.compile(r"true|True|TRUE"), lambda text: True),
    (re.compile(r"false|False|FALSE"), lambda text: False),
    (re.compile(r"[-+]?[0-9]+"), _integer),
    (re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"), _decimal),
    (re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"), _no_number),
    (re.compile(r".*", re.DOTALL), str),
)


def _line(event: Any) -> int:
    line: int = event.start_mark.line
    return line + 1


def _place(event: Any) -> tuple[int, int]:
    return _line(event), event.start_mark.column + 1


def _nearest(places: _Places, field: str) -> tuple[int | None, int | None]:
    """Return the place of a field; of what holds it, if it is not there itself."""
    while field and field not in places:
        field = re.sub(r"(?:\.[^.\[\]]*|\[[^\[\]]*\]|^[^.\[\]]+)\Z", "", field)
    return places.get(field, (None, None))


def _problem(problem: str, line: int | None = None) -> AffidavitError:
    return AffidavitError(faults.TOOLS_SYNTAX, Where(line=line), kind="YAML", problem=problem)
