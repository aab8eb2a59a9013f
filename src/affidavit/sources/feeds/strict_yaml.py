"""Strict YAML: what JSON could say, with the line of every field.

Read as YAML 1.2 reads it: only `true`, `false`, `null`, decimal numbers and texts, so that `no`,
`1:30` and `2026-01-31` stay texts. Refused: two equal keys, keys that are not texts, aliases (a
few of them can stand for gigabytes), tags, NaN and infinities, several documents.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import feeds as faults
from affidavit.base.json_limits import DOCUMENT_LIMITS, MAX_INTEGER, JsonLimits, JsonValue
from affidavit.base.places import excerpt

_TEXT_TAG: Final = "tag:yaml.org,2002:str"
_COLLECTION_TAGS: Final = {"sequence": "tag:yaml.org,2002:seq", "mapping": "tag:yaml.org,2002:map"}


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """A decoded document. `line_of` knows the line of a field such as `tools.leave.sources[1]`."""

    value: JsonValue
    line_of: Callable[[str], int | None]


def yaml_document(raw: bytes, limits: JsonLimits = DOCUMENT_LIMITS) -> YamlDocument:
    """Return the one value that `raw` means, or raise AF350 with the line."""
    import yaml

    if len(raw) > limits.max_bytes:
        raise _problem(f"the document has more than {limits.max_bytes} bytes")
    try:
        text = raw.decode("utf-8")
        root = _composed(text)
    except UnicodeDecodeError:
        raise _problem("the text is not UTF-8") from None
    except RecursionError:
        raise _problem("lists and objects are nested too deeply") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = str(error.problem or error.context or "it cannot be read")
        raise _problem(problem, mark.line + 1 if mark else None) from None
    except yaml.YAMLError:
        raise _problem("it holds a character that no text may hold") from None
    lines: dict[str, int] = {}
    value = None if root is None else _value(root, "", limits.max_depth, lines)
    return YamlDocument(value, lambda field: _nearest(lines, field))


def _composed(text: str) -> Any:
    import yaml

    parser = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class PlainLoader(parser):  # type: ignore[misc, valid-type]  # two parsers, one interface
        """The parser alone: no tag is given to a plain text, and no alias is followed."""

        yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - PyYAML looks for it here

        def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
            # A scalar in quotes is a text whatever it looks like; `_scalar` reads the others.
            if kind is yaml.ScalarNode:
                return "" if implicit[0] else _TEXT_TAG
            return _COLLECTION_TAGS[kind.id]

    for event in yaml.parse(text, parser) if "*" in text else ():
        if isinstance(event, yaml.AliasEvent):
            raise _problem("an alias is not followed; repeat what it stands for", _line(event))
    return yaml.compose(text, PlainLoader)


def _value(node: Any, field: str, depth: int, lines: dict[str, int]) -> JsonValue:
    import yaml

    lines.setdefault(field, _line(node))
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node)
    if depth == 0:
        raise _problem("lists and objects are nested too deeply", lines[field])
    if node.tag not in _COLLECTION_TAGS.values():
        raise _problem(f"the tag {excerpt(node.tag)} is not known", lines[field])
    if isinstance(node, yaml.SequenceNode):
        return [
            _value(member, f"{field}[{number}]", depth - 1, lines)
            for number, member in enumerate(node.value)
        ]
    return _members(node, field, depth, lines)


def _members(node: Any, field: str, depth: int, lines: dict[str, int]) -> dict[str, JsonValue]:
    import yaml

    members: dict[str, JsonValue] = {}
    for key_node, member in node.value:
        line = _line(key_node)
        key = _scalar(key_node) if isinstance(key_node, yaml.ScalarNode) else None
        if not isinstance(key, str):
            raise _problem("a key is not a text; put it in quotes", line)
        if key == "<<":
            raise _problem("a merge key is not followed; repeat what it stands for", line)
        if key in members:
            raise _problem(f"the key {excerpt(key)!r} stands twice", line)
        below = f"{field}.{key}" if field else key
        lines[below] = line
        members[key] = _value(member, below, depth - 1, lines)
    return members


def _scalar(node: Any) -> JsonValue:
    text: str = node.value
    if node.tag == _TEXT_TAG:
        return text
    if node.tag:
        raise _problem(f"the tag {excerpt(node.tag)} is not known", _line(node))
    read = next(read for form, read in _PLAIN if form.fullmatch(text))
    try:
        return read(text)
    except ValueError:
        problem = f"the number {excerpt(text)} cannot be kept exactly; put it in quotes"
        raise _problem(problem, _line(node)) from None


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


def _line(node: Any) -> int:
    line: int = node.start_mark.line
    return line + 1


def _nearest(lines: dict[str, int], field: str) -> int | None:
    """Return the line of a field; of what holds it, if it is not there itself."""
    while field and field not in lines:
        field = re.sub(r"(?:\.[^.\[\]]*|\[[^\[\]]*\]|^[^.\[\]]+)\Z", "", field)
    return lines.get(field)


def _problem(problem: str, line: int | None = None) -> AffidavitError:
    return AffidavitError(faults.TOOLS_SYNTAX, Where(line=line), kind="YAML", problem=problem)
