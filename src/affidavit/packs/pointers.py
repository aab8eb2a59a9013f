"""JSON pointers (RFC 6901) into events and manifests, parsed once.

Origin: Assay's engine. The leading slash may be left out, and "" and "/" mean the whole document.
A null counts as present. Whether a value holds anything is another question: `has_content`.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import Struct

from affidavit.base.json_values import JsonValue


class _Absent:
    """The type of ABSENT, which stands for a field that does not exist."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent()

REDACTED: Final = "$redacted"
# What stands for a value that could not be recorded: {"$unrecorded": {"reason": ...}}.
UNRECORDED: Final = "$unrecorded"


class JsonPointer(Struct, frozen=True):
    """A path into a document: its text and its steps."""

    text: str
    steps: tuple[str, ...]

    def find(self, document: JsonValue) -> Any:
        """Return the value that the pointer leads to, or ABSENT."""
        return value_at(document, self.steps)

    @property
    def required_bytes(self) -> bytes | None:
        """Bytes that every JSON text without escapes contains if it has the field.

        None if the last step may be the index of an array.
        """
        if not self.steps or self.steps[-1].isdigit():
            return None
        return f'"{self.steps[-1]}"'.encode("utf-8", "surrogatepass")


def value_at(document: JsonValue, steps: Iterable[str]) -> Any:
    """Return the value that steps lead to, or ABSENT."""
    value: Any = document
    for step in steps:
        if type(value) is dict:
            value = value.get(step, ABSENT)
        elif type(value) is list:
            value = _member(value, step)
        else:
            return ABSENT
    return value


def _member(values: list[Any], step: str) -> Any:
    # RFC 6901 allows ASCII digits without a leading zero; int() would accept more.
    is_index = step.isascii() and step.isdigit() and (step == "0" or step[0] != "0")
    if not is_index or len(step) > 9 or int(step) >= len(values):
        return ABSENT
    return values[int(step)]


def pointer_from(text: str) -> JsonPointer:
    """Parse a pointer. A `~` that is neither ~0 nor ~1 stands for itself."""
    body = text.removeprefix("/")
    return JsonPointer(text, pointer_steps(body) if body else ())


def pointer_steps(body: str) -> tuple[str, ...]:
    """Return the steps between the slashes, unescaped (RFC 6901, section 4)."""
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in body.split("/"))


def child_pointer(pointer: str, step: str | int) -> str:
    """Return the pointer of a member."""
    return f"{pointer}/{str(step).replace('~', '~0').replace('/', '~1')}"


def commitment_in(value: object) -> Mapping[str, Any] | None:
    """Return the commitment of a redacted value, or None for any other value."""
    if type(value) is not dict or len(value) != 1:
        return None
    commitment = value.get(REDACTED)
    if type(commitment) is not dict:
        return None
    named = (commitment.get("alg"), commitment.get("digest"))
    return commitment if all(isinstance(each, str) and each for each in named) else None


_WHITE_SPACE: Final = " \t\r\n\v\f"
# Every canonical JSON text of a value without content contains one of these.
_BLANK_HINTS: Final = (b"null", b'""', b"[]", b"{}", b'" ', b'"\\', b'"$unrecorded"')


def has_content(value: object) -> bool:
    """Return whether a value holds anything: a number, true, false, or a text that is not blank.

    Lists and objects have content if a value in them has. A commitment has, too, but a mark that
    stands for a value that could not be recorded has none.
    """
    pending = [value]
    while pending:
        here = pending.pop()
        if isinstance(here, dict):
            pending.extend(() if UNRECORDED in here else here.values())
        elif isinstance(here, list):
            pending.extend(here)
        elif here is not None and not (isinstance(here, str) and not here.strip(_WHITE_SPACE)):
            return True
    return False


def may_lack_content(text: bytes) -> bool:
    """Return whether a value somewhere in canonical JSON may have no content."""
    return any(text.find(hint) >= 0 for hint in _BLANK_HINTS)
