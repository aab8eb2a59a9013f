"""JSON values: their Python types, the limits of what is read, and the walk that refuses what
cannot be written.
"""

import gc
import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from affidavit.base.errors import AffidavitError, Fault, Where
from affidavit.base.faults.input import (
    JSON_DEPTH,
    JSON_NUMBER_DOMAIN,
    JSON_UNICODE,
    NOT_A_JSON_VALUE,
)
from affidavit.base.text import field_path

# What JSON we read: the kinds of value, and the limits a caller passes in.

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"

# Beyond 2^53 - 1 neighbouring integers are one and the same number to JavaScript and to every other
# reader that keeps numbers as doubles (RFC 8259, section 6).
MAX_INTEGER: Final = 2**53 - 1

# orjson writes no deeper, and our proofs write what they have read. A test holds it to that.
MAX_DEPTH: Final = 254


@dataclass(frozen=True, slots=True)
class JsonLimits:
    """How large a document may be; every limit is the largest that is still accepted.

    `max_keys` is per object, `max_string` counts characters (not bytes) of a text or a key.
    """

    max_bytes: int = 16 * 1024 * 1024
    max_depth: int = (
        64  # As in Assay's VerifyLimits, so that either tool reads the other's bundles.
    )
    max_keys: int = 100_000
    max_string: int = 4 * 1024 * 1024

    def __post_init__(self) -> None:
        if not 0 <= self.max_depth <= MAX_DEPTH:
            raise ValueError(f"max_depth must be from 0 to {MAX_DEPTH}, not {self.max_depth}")


DOCUMENT_LIMITS: Final = JsonLimits()
# One line of a JSON lines file: Assay's max_line_bytes.
LINE_LIMITS: Final = JsonLimits(max_bytes=1024 * 1024)


# A value that is to be written as JSON, as a tree: walked without recursion, refused by code.
#
# What may be written is what `strict_json` reads, and besides: tuples, which become lists, and
# members of an Enum, which stand for their values (`json.dumps` does so for StrEnum and IntEnum).

_CONTAINERS: Final = frozenset({dict, list, tuple})
_SCALARS: Final = frozenset({str, int, bool, float, type(None)})
JSON_TYPES: Final = _CONTAINERS | _SCALARS
_Members: TypeAlias = Iterator[tuple[str | int | None, object]]
_WRITTEN_PLACE: Final = "in a value that is to be written"


def iterate_levels(value: object) -> Iterator[list[object]]:
    """Yield the value, then what it holds, then what that holds, down to the last leaves.

    The collector's own traversal reads the members of a list, tuple or dict at the speed of C; a
    text or number has none. Whether the keys of a dict stand among them differs between versions
    of Python. A caller that finds something else in a level takes it out, or stops: otherwise its
    class would be walked too.
    """
    level = [value]
    while level:
        yield level
        level = gc.get_referents(*level)


def floats_in(value: object) -> list[float]:
    """Return the floats of a value that orjson has written; refuse what orjson should not have.

    That is NaN and the infinities, which it writes as null, and UUIDs and its own fragments.
    """
    floats: list[float] = []
    for level in iterate_levels(value):
        kinds = set(map(type, level))
        if not kinds <= JSON_TYPES:
            level[:] = map(enum_value, level)
            kinds = set(map(type, level))
            if not kinds <= JSON_TYPES:
                raise unwritable_error(value)
        if float in kinds:
            floats += [member for member in level if isinstance(member, float)]
    if not all(map(math.isfinite, floats)):
        raise unwritable_error(value)
    return floats


def enum_value(member: object) -> object:
    """Return what a member of an Enum stands for; anything else is itself."""
    while isinstance(member, Enum):
        member = member.value
    return member


def unwritable_error(value: object) -> AffidavitError:
    """Return the error for a value that is not to be written: the first fault in it, and its field.

    In depth first, so that a value that holds itself is found to be too deep, and soon.
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
    """Return what is wrong with a member itself, not with what it holds."""
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
            problem = "half of a surrogate pair has no meaning alone"
            return JSON_UNICODE, {"problem": problem, "place": _WRITTEN_PLACE}
    return None


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
