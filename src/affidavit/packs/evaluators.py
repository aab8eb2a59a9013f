"""How a rule looks at a bundle: one pass, one watcher per rule.

A watcher is fed the events of the types that it wants and says when it has seen enough; most need
one event. When the pass is over it says what is wrong, or nothing.
"""

from dataclasses import dataclass
from typing import Protocol

from affidavit.packs.events import Event
from affidavit.packs.findings import EventLocation
from affidavit.packs.model import Severity

EventTypes = frozenset[str] | None


@dataclass(frozen=True, slots=True)
class SearchHints:
    """Without which a rule finds nothing: keys of payloads, or bytes of payloads or of lines."""

    keys: frozenset[str]
    in_payloads: frozenset[bytes]
    in_lines: frozenset[bytes]


@dataclass(frozen=True, slots=True)
class RuleViolation:
    """Why a rule fires; `severity` where it is not the rule's own."""

    message: str
    location: EventLocation | None = None
    severity: Severity | None = None


class EventConsumer(Protocol):
    """What looks at events."""

    def feed(self, event: Event) -> bool:
        """Look at an event; say whether enough was seen."""
        ...

    def takes(self, payloads: bytes, count: int) -> bool:
        """Take many events of one type at once, payloads one a line; False if each is to be fed."""
        ...


class RuleEvaluator(EventConsumer, Protocol):
    """One rule at work.

    `marks`: where some events hold none of them and no escape, none of them is what the rule looks
    for. None: it has to see every event.
    """

    marks: SearchHints | None

    def wants(self, event_type: str) -> bool:
        """Say whether events of a type matter to the rule."""
        ...

    def finish(self) -> RuleViolation | None:
        """Say what is wrong when all events were fed."""
        ...


class ScopedEvaluator:
    """What every watcher of events has: the exact types that its rule is about, or all."""

    marks: SearchHints | None = None

    def __init__(self, scope: EventTypes) -> None:
        self.scope = scope

    def wants(self, event_type: str) -> bool:
        """Say whether events of a type matter to the rule."""
        return self.scope is None or event_type in self.scope

    def takes(self, payloads: bytes, count: int) -> bool:
        """Take none together: order or content counts."""
        return False


class FixedEvaluator:
    """A rule that no event can change."""

    marks: SearchHints | None = None

    def __init__(self, problem: RuleViolation | None) -> None:
        self._problem = problem

    def wants(self, event_type: str) -> bool:
        """Want nothing."""
        return False

    def feed(self, event: Event) -> bool:
        """Have seen enough."""
        return True

    def takes(self, payloads: bytes, count: int) -> bool:
        """Take them all: none matters."""
        return True

    def finish(self) -> RuleViolation | None:
        """Say what was known before."""
        return self._problem
