"""What the fault proxies share: counting calls, and changing requests and answers."""

from collections import Counter
from collections.abc import Mapping
from threading import Lock
from types import MappingProxyType
from typing import Any, Final

from affidavit.base.errors import AffidavitError
from affidavit.base.strict_json import decode
from affidavit.gates.stability import apply_jitter
from affidavit.soak.fault_plan import (
    FaultKind,
    FaultPlan,
    ServiceKind,
    emptied,
    garbled,
    reordered,
    stale_lines,
    truncated,
)

JITTERS: Final[Mapping[FaultKind, str]] = MappingProxyType(
    {
        FaultKind.JITTER_WS: "ws",
        FaultKind.JITTER_PUNCT: "punct",
        FaultKind.JITTER_SYN: "syn",
        FaultKind.JITTER_ORDER: "order",
    }
)
_QUESTIONS: Final = ("prompt", "input", "query", "question", "q", "text")
"""The members of a request that may hold the words of a user, besides the messages of a chat."""


class CallCounter:
    """Numbers the calls of a trial by their points, and counts what was injected."""

    def __init__(self, plan: FaultPlan, service: ServiceKind, name: str) -> None:
        self.plan = plan
        self._service = service
        self._name = name
        self._calls: Counter[str] = Counter()
        self._lock = Lock()
        self.injected: Counter[str] = Counter()

    def draw(self, point: str) -> tuple[FaultKind | None, int]:
        """Return the fault of the next call of a point, and bits for what it does."""
        with self._lock:
            number = self._calls[point]
            self._calls[point] += 1
        kind = self.plan.draw(self._service, self._name, point, number)
        return kind, self.plan.word(self._name, point, number)

    def count(self, kind: FaultKind) -> None:
        """Count a fault that has really changed something."""
        with self._lock:
            self.injected[kind.value] += 1


def changed_body(kind: FaultKind, body: bytes, word: int) -> bytes:
    """Return a body with a fault of content; unchanged if the fault cannot apply to it."""
    if kind is FaultKind.TRUNCATED:
        return truncated(body)
    if kind is FaultKind.GARBLED:
        return garbled(body, word)
    try:
        value = decode(body)
    except AffidavitError:
        return b"" if kind is FaultKind.DROPPED_RESULT else body
    changed = emptied(value) if kind is FaultKind.DROPPED_RESULT else reordered(value, word)
    return body if changed == value else encoded(changed)


def encoded(value: Any) -> bytes:
    """Return a value as JSON."""
    import msgspec

    return msgspec.json.encode(value)


def changed_file(kind: FaultKind, body: bytes, word: int) -> bytes:
    """Return the content of a file with a fault; lines are reordered where it is not JSON."""
    if kind is FaultKind.STALE:
        return stale_lines(body)
    changed = changed_body(kind, body, word)
    if kind is FaultKind.REORDERED and changed == body:
        lines = body.splitlines(keepends=True)
        by = 1 + word % (len(lines) - 1) if len(lines) > 1 else 0
        return b"".join(lines[by:] + lines[:by])
    return changed


def changed_request(kind: FaultKind, value: Any) -> Any:
    """Return a request whose question is jittered, or whose last tool result is dropped.

    It is the same object if the request has neither.
    """
    if kind is FaultKind.DROPPED_RESULT:
        return _with_message(value, "tool", lambda text: "")
    jitter = JITTERS.get(kind)
    if jitter is None or not isinstance(value, dict):
        return value
    changed = _with_message(value, "user", lambda text: apply_jitter(text, jitter))
    if changed is not value:
        return changed
    for name in _QUESTIONS:
        if isinstance(value.get(name), str):
            text = apply_jitter(value[name], jitter)
            return value if text == value[name] else {**value, name: text}
    return value


def _with_message(value: Any, role: str, change: Any) -> Any:
    """Return a chat request whose last message of a role has a changed text."""
    messages = value.get("messages") if isinstance(value, dict) else None
    if not isinstance(messages, list):
        return value
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        if isinstance(message, dict) and message.get("role") == role:
            text = message.get("content")
            if not isinstance(text, str) or change(text) == text:
                return value
            new = {**message, "content": change(text)}
            return {**value, "messages": [*messages[:at], new, *messages[at + 1 :]]}
    return value
