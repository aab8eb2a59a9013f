"""JSON values: their Python types, the limits for reading, and errors for unwritable values."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, TypeAlias

from affidavit.base.errors import AffidavitError, Fault, Where
from affidavit.base.faults.input import (
    JSON_DEPTH,
    JSON_NUMBER_DOMAIN,
    JSON_UNICODE,
    NOT_A_JSON_VALUE,
)
from affidavit.base.text import field_path

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"

# Beyond 2^53 - 1, readers that store numbers as doubles cannot tell neighbouring integers apart
# (RFC 8259, section 6).
MAX_INTEGER: Final = 2**53 - 1

# The deepest nesting that orjson writes; strict decoding writes each value once. A test checks it.
MAX_DEPTH: Final = 254


@dataclass(frozen=True, slots=True)
class JsonLimits:
    """The largest accepted document.

    `max_keys` is per object; `max_string` counts the characters of a string or key, not its bytes.
    The position of the fault is only searched for in a refused text of up to `max_scan_bytes`:
    that takes up to 1.5 s of CPU per megabyte, which a service must not give to every caller.
    """

    max_bytes: int = 16 * 1024 * 1024
    max_depth: int = (
        64  # As in Assay's VerifyLimits, so that either tool reads the other's bundles.
    )
    max_keys: int = 100_000
    max_string: int = 4 * 1024 * 1024
    max_scan_bytes: int = 16 * 1024 * 1024

    def __post_init__(self) -> None:
        if not 0 <= self.max_depth <= MAX_DEPTH:
            raise ValueError(f"max_depth must be from 0 to {MAX_DEPTH}, not {self.max_depth}")


DOCUMENT_LIMITS: Final = JsonLimits()
# One line of a JSON lines file: Assay's max_line_bytes.
LINE_LIMITS: Final = JsonLimits(max_bytes=1024 * 1024)


# Values that can be written are those that `strict_json` reads, tuples (written as lists) and
# members of an Enum (written as their values, as `json.dumps` does for StrEnum and IntEnum).

_CONTAINERS: Final = frozenset({dict, list, tuple})
JSON_TYPES: Final = _CONTAINERS | {str, int, bool, type(None), float}
_Members: TypeAlias = Iterator[tuple[str | int | None, object]]
_WRITTEN_PLACE: Final = "in a value to write"


def iterate_containers(value: JsonValue) -> Iterator[list[JsonValue] | dict[str, JsonValue]]:
    """Yield every list and object of a decoded value, outermost first."""
    pending: list[Any] = [value] if type(value) in _CONTAINERS else []
    for container in pending:
        yield container
        members = container.values() if type(container) is dict else container
        pending += [member for member in members if type(member) in _CONTAINERS]


def floats_in(value: object) -> list[float]:
    """Return all floats of a value that orjson has written.

    NaN and the infinities, which orjson writes as null, are refused; so are UUIDs and orjson's own
    fragments. orjson has refused every other type and values that contain themselves.
    """
    floats: list[float] = []
    pending: list[Any] = [value]
    for member in pending:
        kind = type(member)
        # Every writer writes these alike. They are the most frequent, and `is` is the fastest test.
        if kind is str or kind is int or kind is bool or member is None:
            continue
        if kind is dict:
            pending += member.values()
        elif kind is list or kind is tuple:
            pending += member
        elif kind is float:
            floats.append(member)
        elif isinstance(member, Enum):
            pending.append(member.value)
        else:
            raise unwritable_error(value)
    if not all(map(math.isfinite, floats)):
        raise unwritable_error(value)
    return floats


def enum_value(member: object) -> object:
    """Return the value of a member of an Enum; return anything else unchanged."""
    while isinstance(member, Enum):
        member = member.value
    return member


def unwritable_error(value: object) -> AffidavitError:
    """Return the error for a value that cannot be written: its first fault, with the field.

    The walk goes depth first, so a value that contains itself soon turns out to be too deep.
    """
    open_members: list[_Members] = [iter([(None, value)])]
    steps: list[str | int | None] = [None]
    while open_members:
        for steps[-1], wrapped in open_members[-1]:
            member = enum_value(wrapped)
            if fault := _fault_of(member, depth=len(open_members)):
                kind, values = fault
                return AffidavitError(kind, Where(field=field_path(steps)), **values)
            if members := _members_of(member):
                open_members.append(members)
                steps.append(None)
                break
        else:
            open_members.pop()
            steps.pop()
    return AffidavitError(NOT_A_JSON_VALUE, kind=type(value).__name__)


def _members_of(member: object) -> _Members | None:
    if isinstance(member, dict):
        return iter(member.items())
    if isinstance(member, list | tuple):
        return iter(enumerate(member))
    return None


def _fault_of(member: object, depth: int) -> tuple[Fault, dict[str, object]] | None:
    """Return what is wrong with a member itself; its own members are not examined."""
    if type(member) not in JSON_TYPES:
        return NOT_A_JSON_VALUE, {"kind": type(member).__name__}
    if isinstance(member, float) and not math.isfinite(member):
        return JSON_NUMBER_DOMAIN, {"number": member, "place": _WRITTEN_PLACE}
    if isinstance(member, int) and abs(member) > MAX_INTEGER:
        return JSON_NUMBER_DOMAIN, {
            "number": f"of {member.bit_length()} bits",
            "place": _WRITTEN_PLACE,
        }
    if type(member) in _CONTAINERS and depth > MAX_DEPTH:
        return JSON_DEPTH, {"limit": MAX_DEPTH, "place": _WRITTEN_PLACE}
    texts = member if isinstance(member, dict) else [member] if isinstance(member, str) else ()
    for text in texts:
        if type(text) is not str:
            return NOT_A_JSON_VALUE, {"kind": f"{type(text).__name__} (as a key)"}
        if not _is_unicode(text):
            problem = "lone surrogate in a string"
            return JSON_UNICODE, {"problem": problem, "place": _WRITTEN_PLACE}
    return None


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
