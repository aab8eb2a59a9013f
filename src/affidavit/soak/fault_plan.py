"""Which fault is injected at which call: a pure function of the seed, the trial and the call.

A call is named by its service, its point (method and path, or tool) and its number among the calls
of that point in the trial. The order of calls to different points does not matter, so a target that
calls two services at the same time gets the same faults in every run.
"""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from hashlib import sha256
from types import MappingProxyType
from typing import Annotated, Any, Final

from msgspec import Meta, Struct

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import soak as faults
from affidavit.base.json_values import JsonValue
from affidavit.base.text import excerpt
from affidavit.base.validation import suggestion_for


class FaultKind(StrEnum):
    """What goes wrong."""

    LATENCY = "latency"
    """The answer comes late."""
    TIMEOUT = "timeout"
    """No answer comes."""
    RESET = "reset"
    """The connection breaks; an MCP server ends."""
    RATE_LIMIT = "rate-limit"
    """HTTP 429, or an error of the tool."""
    SERVER_ERROR = "server-error"
    """HTTP 503, or an error of the tool."""
    TRUNCATED = "truncated"
    """Only the first half of the body comes."""
    GARBLED = "garbled"
    """Some bytes of the body are changed."""
    STALE = "stale"
    """The answer to the call before; the first half of the lines of a file."""
    DROPPED_RESULT = "dropped-result"
    """The result is empty."""
    REORDERED = "reordered"
    """Lists of results are in another order."""
    JITTER_WS = "jitter-ws"
    JITTER_PUNCT = "jitter-punct"
    JITTER_SYN = "jitter-syn"
    JITTER_ORDER = "jitter-order"


class ServiceKind(StrEnum):
    """What stands between a target and the world."""

    HTTP = "http"
    MCP = "mcp"
    FILE = "file"


_OF_CONTENT: Final = frozenset(
    {
        FaultKind.TRUNCATED,
        FaultKind.GARBLED,
        FaultKind.STALE,
        FaultKind.DROPPED_RESULT,
        FaultKind.REORDERED,
    }
)
APPLICABLE: Final[Mapping[ServiceKind, frozenset[FaultKind]]] = MappingProxyType(
    {
        ServiceKind.HTTP: frozenset(FaultKind),
        ServiceKind.MCP: frozenset(FaultKind),
        ServiceKind.FILE: _OF_CONTENT,
    }
)
_WORD: Final = 1 << 64
_FAULT: Final = re.compile(r"([a-z-]+)=([0-9]+(?:\.[0-9]+)?)")


class FaultLevel(Struct, frozen=True, forbid_unknown_fields=True):
    """A kind of fault, and the share of calls that it hits."""

    kind: FaultKind
    level: Annotated[float, Meta(ge=0, le=1)]


def fault_levels_from(texts: Iterable[str]) -> tuple[FaultLevel, ...]:
    """Return the levels of texts like `latency=0.2,rate-limit=0.1`."""
    found: dict[FaultKind, FaultLevel] = {}
    for text in (part for given in texts for part in given.split(",")):
        match = _FAULT.fullmatch(text.strip())
        if match is None or float(match[2]) > 1:
            raise AffidavitError(faults.FAULT_SYNTAX, text=excerpt(text))
        kind = fault_kind_named(match[1])
        if kind in found:
            raise AffidavitError(faults.FAULT_TWICE, kind=kind.value)
        found[kind] = FaultLevel(kind, float(match[2]))
    if sum(each.level for each in found.values()) > 1:
        raise AffidavitError(faults.FAULT_SUM)
    return tuple(found.values())


def fault_kind_named(name: str) -> FaultKind:
    """Return the kind of fault that a name stands for, or raise."""
    try:
        return FaultKind(name)
    except ValueError:
        known = [kind.value for kind in FaultKind]
        raise AffidavitError(
            faults.FAULT_UNKNOWN, name=excerpt(name), advice=suggestion_for(name, known)
        ) from None


class FaultPlan(Struct, frozen=True, forbid_unknown_fields=True):
    """The faults of one trial."""

    levels: tuple[FaultLevel, ...]
    seed: int
    trial: int
    delay_ms: int = 1000

    def draw(self, service: ServiceKind, name: str, point: str, number: int) -> FaultKind | None:
        """Return the fault of a call, or None. At most one fault hits a call."""
        word = self.word(name, point, number)
        reach = 0.0
        for each in self.levels:
            if each.kind in APPLICABLE[service]:
                reach += each.level
                if word < reach * _WORD:
                    return each.kind
        return None

    def word(self, name: str, point: str, number: int) -> int:
        """Return 64 bits that depend on the call only."""
        text = f"affidavit-fault-1/{self.seed}/{self.trial}/{number}/{name}/{point}"
        return int.from_bytes(sha256(text.encode("utf-8", "surrogateescape")).digest()[:8], "big")


# What the faults of content do. None of them depends on anything but its arguments.


def truncated(body: bytes) -> bytes:
    """Return the first half of a body."""
    return body[: len(body) // 2]


def garbled(body: bytes, word: int) -> bytes:
    """Return a body of which every 32nd byte, from a place that `word` chooses, is changed."""
    changed = bytearray(body)
    for at in range(word % min(32, len(body)) if body else 0, len(body), 32):
        changed[at] ^= 0x15  # A quote becomes a 7 and a letter another one.
    return bytes(changed)


def stale_lines(body: bytes) -> bytes:
    """Return the first half of the lines: an earlier state of a file that grows."""
    lines = body.splitlines(keepends=True)
    return b"".join(lines[: len(lines) // 2])


def reordered(value: JsonValue, word: int) -> JsonValue:
    """Return a value whose lists of objects and texts are rotated, so that another one is first.

    Lists of numbers stay as they are: they are vectors, not results.
    """
    if isinstance(value, dict):
        return {key: reordered(member, word) for key, member in value.items()}
    if not isinstance(value, list):
        return value
    inner = [reordered(member, word) for member in value]
    if len(inner) < 2 or not all(isinstance(member, dict | str) for member in inner):
        return inner
    by = 1 + word % (len(inner) - 1)
    return inner[by:] + inner[:by]


def emptied(value: Any) -> JsonValue:
    """Return an empty value of the same type."""
    if isinstance(value, dict):
        return {}
    if isinstance(value, list):
        return []
    return "" if isinstance(value, str) else None
