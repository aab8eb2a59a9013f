"""Detects in one pass which signals a bundle captured, redacted or misses.

What an event shows follows from which fields it has, unless one of them may have no content. So it
is worked out for the first event with a set of fields, in whatever bundle, and only counted for the
others.
"""

from bisect import insort
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import UNSET, Struct, UnsetType

from affidavit.base.text import excerpt
from affidavit.packs.checks import EventConsumer
from affidavit.packs.event_types import RECORDER_PREFIX, RUN_FINISHED
from affidavit.packs.events import Event, FieldMask, FieldProbe
from affidavit.packs.pointers import (
    ABSENT,
    JsonPointer,
    commitment_in,
    has_content,
    may_lack_content,
    pointer_from,
)
from affidavit.packs.report import Commitment, SignalDetail, SignalState
from affidavit.packs.signals import (
    DECLARED_ABSENT,
    REGISTRY,
    carriers_of,
)

EVENTS_FILE: Final = "events.ndjson"
MAX_PATHS: Final = 3  # Locations that a report names for each signal.
_REDACTED_MARK: Final = b'"$redacted"'


_Place = tuple[int, str]
"""The line of an event, and the pointer to a field of it."""


class SignalCount(Struct):
    """How often a signal was captured, redacted, and absent where it was expected.

    `shown_at` are the first places of the bundle. Events do not come in the order of their lines,
    because those of one type are counted together.
    """

    captured: int = 0
    redacted: int = 0
    gaps: int = 0
    first_gap: _Place | None = None
    shown_at: list[_Place] = []
    commitment: Commitment | UnsetType = UNSET

    def add_gap(self, place: _Place, number: int = 1) -> None:
        """Count events that should show the signal, of which the first is here."""
        self.gaps += number
        if self.first_gap is None or place < self.first_gap:
            self.first_gap = place

    def add_place(self, place: _Place) -> None:
        """Keep a place where the signal is shown, if it is one of the first."""
        if len(self.shown_at) < MAX_PATHS or place < self.shown_at[-1]:
            insort(self.shown_at, place)
            del self.shown_at[MAX_PATHS:]


class CarriedSignal(Struct, frozen=True):
    """A signal that events of one type carry: every group of pointers, by any of its members."""

    name: str
    expected: bool
    groups: tuple[tuple[JsonPointer, ...], ...]
    may_be_empty: frozenset[str]


class _Shown(Struct, frozen=True):
    """What an event shows of a signal, and where: nothing if there is no pointer."""

    is_gap: bool = False
    pointer: str | None = None


class _Carried:
    """What events of one type carry: signals with their pointers, and the paths of these.

    It remembers what events with the same fields showed, for all bundles.
    """

    def __init__(self, signals: tuple[CarriedSignal, ...], paths: frozenset[str]) -> None:
        self.signals = signals
        self.probe = FieldProbe(paths)
        self.shown: dict[FieldMask, tuple[_Shown, ...]] = {}
        self.last: FieldMask | None = None


class TypeSignalCounter:
    """Counts the signals in the events of one type."""

    def __init__(self, carried: _Carried, counts: Mapping[str, SignalCount]) -> None:
        self._carried = carried
        self._counts = tuple(counts[each.name] for each in carried.signals)

    def feed_batch(self, payloads: bytes, lines: Sequence[int]) -> bool:
        """Count events that all have the same fields as the event before them."""
        mask = self._carried.last
        if mask is None or payloads.find(_REDACTED_MARK) >= 0 or may_lack_content(payloads):
            # Which of the fields has no content is seen in each event alone.
            return False
        if not self._carried.probe.all_have(mask, payloads):
            return False
        self._add(mask, lines)
        return True

    def feed(self, event: Event) -> bool:
        """Count what an event shows."""
        raw, carried = bytes(event.head.data), self._carried
        has_redactions = raw.find(_REDACTED_MARK) >= 0
        mask = None if has_redactions or may_lack_content(raw) else carried.probe.mask(raw)
        if mask is None:
            for count, signal in zip(self._counts, carried.signals, strict=True):
                _count_signal(count, signal, event, has_redactions)
            return False
        if mask not in carried.shown:
            carried.shown[mask] = tuple(_shown(each, event.data)[0] for each in carried.signals)
        carried.last = mask  # Only now: other threads may read it.
        self._add(mask, (event.line,))
        return False

    def _add(self, mask: FieldMask, lines: Sequence[int]) -> None:
        """Add events with these fields, none of which is redacted or without content."""
        number = len(lines)
        for count, shown in zip(self._counts, self._carried.shown[mask], strict=True):
            if shown.is_gap:
                count.add_gap((lines[0], shown.pointer or ""), number)
            elif shown.pointer is not None:
                count.captured += number
                for line in lines[:MAX_PATHS]:
                    count.add_place((line, shown.pointer))


def _shown(signal: CarriedSignal, data: Any) -> tuple[_Shown, list[Any]]:
    """Return what data show of a signal, and the values that show it."""
    values, found_at = [], "/data"
    for group in signal.groups:
        pointer, value = _first_found(group, data, signal.may_be_empty)
        if pointer is None:
            lacking = f"/data{group[0].text}" if signal.expected else None
            return _Shown(signal.expected, lacking), []
        values.append(value)
        found_at = f"/data{pointer.text}"
    return _Shown(pointer=found_at), values


def _count_signal(
    count: SignalCount, signal: CarriedSignal, event: Event, has_redactions: bool
) -> None:
    shown, values = _shown(signal, event.data)
    if shown.pointer is None:
        return
    place = event.line, shown.pointer
    if shown.is_gap:
        count.add_gap(place)
        return
    count.add_place(place)
    found = map(_commitment_within, values) if has_redactions else ()
    commitment = next((each for each in found if each is not None), None)
    if commitment is None:
        count.captured += 1
        return
    count.redacted += 1
    if count.commitment is UNSET:
        size = commitment.get("size_bytes", UNSET)
        count.commitment = Commitment(commitment["alg"], commitment["digest"], size)


def _first_found(
    group: tuple[JsonPointer, ...], data: Any, may_be_empty: frozenset[str]
) -> tuple[JsonPointer | None, Any]:
    """Return the first pointer to something that has content, and the value there."""
    for pointer in group:
        value = pointer.find(data)
        is_given = value == {} and pointer.text in may_be_empty
        if value is not ABSENT and (is_given or has_content(value)):
            return pointer, value
    return None, ABSENT


def _commitment_within(value: Any) -> Mapping[str, Any] | None:
    """Return the first commitment in a value, searching lists and objects."""
    pending = [value]
    while pending:
        here = pending.pop()
        commitment = commitment_in(here)
        if commitment is not None:
            return commitment
        if isinstance(here, dict):
            pending.extend(reversed(here.values()))
        elif isinstance(here, list):
            pending.extend(reversed(here))
    return None


def evidence_path(place: _Place) -> str:
    """Return the location of a field as `events.ndjson:<line><pointer>`."""
    line, pointer = place
    return f"{EVENTS_FILE}:{line}{pointer}"


def _carried_by(event_type: str) -> _Carried:
    carriers = tuple(carriers_of(event_type))
    return _Carried(
        tuple(
            CarriedSignal(
                name,
                carrier.expected,
                tuple(tuple(pointer_from(f"/{path}") for path in group) for group in carrier.needs),
                frozenset(f"/{path}" for path in carrier.may_be_empty),
            )
            for name, carrier in carriers
        ),
        frozenset(path for _, each in carriers for group in each.needs for path in group),
    )


_CARRYING_TYPES: Final = sorted(
    {carrier.event_type for signal in REGISTRY.values() for carrier in signal.carriers}
)
CARRIED: Final[Mapping[str, _Carried]] = {kind: _carried_by(kind) for kind in _CARRYING_TYPES}


def _not_found(state: SignalState, reason: str) -> dict[str, SignalDetail]:
    """Return the detail of each signal that no event shows."""
    details = {}
    for name, signal in REGISTRY.items():
        # The first carrier says where the signal is expected.
        carrier = signal.carriers[0]
        fields = [f"/data/{group[0]}" for group in carrier.needs] or ["/data"]
        expected = tuple(f"{carrier.event_type}{pointer}" for pointer in fields)
        details[name] = SignalDetail(state, reason, expected)
    return details


_MISSING: Final = _not_found(SignalState.MISSING, "no event of the run shows it")
_UNKNOWN: Final = _not_found(SignalState.UNKNOWN, "no event could have shown it")


class SignalDetector:
    """Counts the signals in the events of a bundle."""

    def __init__(self) -> None:
        self._counts = {name: SignalCount() for name in REGISTRY}
        self._counters: dict[str, TypeSignalCounter] = {}
        # The reason and the location of each declaration; the reason is empty if there is none.
        self._declared: dict[str, tuple[str, str]] = {}
        self._by_recorder = False
        self.declared: frozenset[str] = frozenset()

    def consumer_for(self, event_type: str) -> EventConsumer | None:
        """Return the consumer of a type's events; None if they carry no signal."""
        if event_type.startswith(RECORDER_PREFIX):
            self._by_recorder = True
        if event_type == RUN_FINISHED:
            return self
        counter = self._counters.get(event_type)
        carried = CARRIED.get(event_type)
        if counter is None and carried is not None:
            counter = self._counters[event_type] = TypeSignalCounter(carried, self._counts)
        return counter

    def feed_batch(self, payloads: bytes, lines: Sequence[int]) -> bool:
        """Reject batches: every end of a run is read."""
        return False

    def feed(self, event: Event) -> bool:
        """Read which signals a finished run declares absent.

        Earlier recorders wrote a list, without reasons.
        """
        declared = event.data.get(DECLARED_ABSENT) if isinstance(event.data, dict) else None
        if isinstance(declared, list):
            declared = {name: None for name in declared if isinstance(name, str)}
        for name, reason in declared.items() if isinstance(declared, dict) else ():
            said = reason.strip() if isinstance(reason, str) else ""
            path = evidence_path((event.line, f"/data/{DECLARED_ABSENT}"))
            self._declared.setdefault(name, (said, path))
        return False

    def finish(self) -> Mapping[str, SignalDetail]:
        """Return the state of every signal, in the order of the registry.

        `declared` are the signals that count as captured because the run says that it had none.
        """
        # A run that shows nothing of what it did cannot say that there was nothing.
        shows_work = any(
            count.captured or count.redacted
            for name, count in self._counts.items()
            if name != "run_inputs"
        )
        others = _MISSING if self._by_recorder else _UNKNOWN
        found = {
            name: self._detail(name, count, shows_work=shows_work)
            if count.captured or count.redacted or count.gaps or name in self._declared
            else others[name]
            for name, count in self._counts.items()
        }
        self.declared = frozenset(
            name
            for name, detail in found.items()
            if detail.status is SignalState.CAPTURED and not self._counts[name].captured
        )
        return found

    def _detail(self, name: str, count: SignalCount, *, shows_work: bool) -> SignalDetail:
        seen = count.captured + count.redacted + count.gaps
        if count.first_gap is not None:
            reason = f"{count.gaps} of {seen} events that should show it do not"
            return SignalDetail(SignalState.MISSING, reason, (evidence_path(count.first_gap),))
        paths = tuple(map(evidence_path, count.shown_at))
        if count.redacted:
            reason = f"{count.redacted} of {seen} are redacted, each with a commitment"
            return SignalDetail(SignalState.REDACTED, reason, paths, count.commitment)
        if count.captured:
            events = "1 event" if seen == 1 else f"{seen} events"
            return SignalDetail(SignalState.CAPTURED, f"found in {events}", paths)
        return self._declared_detail(name, shows_work=shows_work)

    def _declared_detail(self, name: str, *, shows_work: bool) -> SignalDetail:
        said, path = self._declared[name]
        if not REGISTRY[name].can_be_absent:
            problem = "every run has some, although the run says that it had none"
        elif not said:
            problem = "the run says that it had none, and not why"
        elif not shows_work:
            problem = "the run says that it had none, and shows nothing of what it did"
        else:
            reason = f"the run says that it had none: {excerpt(said)}"
            return SignalDetail(SignalState.CAPTURED, reason, (path,))
        return SignalDetail(SignalState.MISSING, problem, (path,))
