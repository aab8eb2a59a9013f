"""Pairs of events: what starts also finishes, in the same run and in this order.

Assay only asks whether both kinds occur somewhere. Here a pair is one of the same thing: what the
`*` of both patterns stands for has to be equal, so `a.started` is not finished by `b.finished`.
"""

from typing import Final

from affidavit.base.places import excerpt
from affidavit.packs.events import Event
from affidavit.packs.findings import Location, location_of
from affidavit.packs.model import EventPairs
from affidavit.packs.watching import Problem, Scope, Scoped

# Pairs that may be open at once. A bundle has one run, and few things in it run side by side.
MAX_OPEN: Final = 10_000

_Key = tuple[str, tuple[str, ...]]


class PairsWatcher(Scoped):
    """Follows what is open, and remembers the first event that has no partner."""

    def __init__(self, check: EventPairs, scope: Scope) -> None:
        super().__init__(scope)
        self._start, self._finish = check.start, check.finish
        self._by_stem = check.start.stars == check.finish.stars
        self._open: dict[_Key, list[Location]] = {}
        self._opened = 0
        self._started = self._finished = 0
        self._loose = 0
        self._first_loose: Location | None = None
        self._overflowed = False

    def wants(self, event_type: str) -> bool:
        """Say whether a type starts or finishes something."""
        return super().wants(event_type) and (
            self._start.matches(event_type) or self._finish.matches(event_type)
        )

    def feed(self, event: Event) -> bool:
        """Open or close a pair."""
        kind = event.head.type
        stem = self._start.parts(kind)
        if stem is not None:
            self._started += 1
            self._overflowed |= self._opened >= MAX_OPEN
            if not self._overflowed:
                self._opened += 1
                self._open.setdefault(self._key(event, stem), []).append(location_of(event))
            return False
        self._finished += 1
        begun = self._open.get(self._key(event, self._finish.parts(kind) or ()))
        if begun:
            begun.pop()
            self._opened -= 1
        elif not self._overflowed:
            self._loose += 1
            self._first_loose = self._first_loose or location_of(event)
        return False

    def _key(self, event: Event, stem: tuple[str, ...]) -> _Key:
        return event.head.assayrunid, stem if self._by_stem else ()

    def finish(self) -> Problem | None:
        """Say what has no partner."""
        start, finish = excerpt(self._start.text), excerpt(self._finish.text)
        if not self._started and not self._finished:
            return Problem(f"Missing both start ({start}) and finish ({finish}) events")
        if not self._started:
            return Problem(f"Missing start event matching '{start}'", self._first_loose)
        if self._overflowed:
            return Problem(f"More than {MAX_OPEN} events matching '{start}' are open at once")
        dangling = [place for places in self._open.values() for place in places]
        first = min(dangling, key=lambda place: place.line, default=None)
        if first is not None and not self._finished:
            return Problem(f"Missing finish event matching '{finish}'", first)
        if first is not None:
            return Problem(f"{len(dangling)} started events have no finish event", first)
        if self._loose:
            message = f"{self._loose} finished events have no start event before them"
            return Problem(message, self._first_loose)
        return None
