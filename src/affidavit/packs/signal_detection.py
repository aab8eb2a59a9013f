"""Detects in one pass which signals a bundle captured, redacted or misses.

What an event shows follows from which fields it has, unless one of them may have no content. So it
is worked out for the first events with each set of fields, and only counted for the others.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from msgspec import UNSET, Struct, UnsetType

from affidavit.base.text import excerpt
from affidavit.packs.checks import EventConsumer
from affidavit.packs.event_types import RECORDER_PREFIX, RUN_FINISHED
from affidavit.packs.events import Event, FieldMask, field_probe
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


class SignalCount(Struct):
    """How often a signal was captured, redacted, and absent where it was expected."""

    captured: int = 0
    redacted: int = 0
    gaps: int = 0
    first_gap: str = ""
    paths: list[str] = []
    commitment: Commitment | UnsetType = UNSET


class CarriedSignal(Struct, frozen=True):
    """A signal that events of one type carry: every group of pointers, by any of its members."""

    name: str
    expected: bool
    groups: tuple[tuple[JsonPointer, ...], ...]
    may_be_empty: frozenset[str]


class SignalRequirement(Struct, frozen=True):
    """A signal that an event can show, and its count in this bundle."""

    count: SignalCount
    signal: CarriedSignal


class _SignalEffect(StrEnum):
    CAPTURED = "captured"
    REDACTED = "redacted"
    GAP = "gap"
    NOTHING = "nothing"


class TypeSignalCounter:
    """Counts the signals in the events of one type."""

    def __init__(self, needs: tuple[SignalRequirement, ...], paths: frozenset[str]) -> None:
        self._needs = needs
        self._probe = field_probe(paths)
        self._seen: dict[FieldMask, int] = {}
        self._effects: dict[FieldMask, tuple[_SignalEffect, ...]] = {}
        self._last: FieldMask | None = None

    def feed_batch(self, payloads: bytes, count: int) -> bool:
        """Count events that all have the same fields as the event before them."""
        mask = self._last
        if mask is None or self._seen[mask] < MAX_PATHS or payloads.find(_REDACTED_MARK) >= 0:
            return False
        if may_lack_content(payloads):
            # Which of the fields has none is seen in each event alone.
            return False
        is_same = self._probe.all_have(mask, payloads)
        self._seen[mask] += count * is_same
        return is_same

    def feed(self, event: Event) -> bool:
        """Count what an event shows."""
        raw = bytes(event.head.data)
        has_redactions = raw.find(_REDACTED_MARK) >= 0
        mask = None if has_redactions or may_lack_content(raw) else self._probe.mask(raw)
        if mask is None:
            self._inspect(event, has_redactions=has_redactions)
            return False
        self._last = mask
        seen = self._seen.get(mask, 0)
        if seen < MAX_PATHS:
            # The report names the location of the first ones.
            self._effects[mask] = self._inspect(event, has_redactions=False)
        self._seen[mask] = seen + 1
        return False

    def _inspect(self, event: Event, *, has_redactions: bool) -> tuple[_SignalEffect, ...]:
        return tuple(_count_signal(need, event, has_redactions) for need in self._needs)

    def finish(self) -> None:
        """Add the events that were only counted."""
        for mask, seen in self._seen.items():
            for need, effect in zip(self._needs, self._effects[mask], strict=True):
                more = max(0, seen - MAX_PATHS)
                need.count.captured += more * (effect is _SignalEffect.CAPTURED)
                need.count.gaps += more * (effect is _SignalEffect.GAP)


def _count_signal(need: SignalRequirement, event: Event, has_redactions: bool) -> _SignalEffect:
    count, data = need.count, event.data
    commitment, found_at = None, "/data"
    for group in need.signal.groups:
        pointer, value = _first_found(group, data, need.signal.may_be_empty)
        if pointer is None:
            if not need.signal.expected:
                return _SignalEffect.NOTHING
            count.gaps += 1
            count.first_gap = count.first_gap or evidence_path(event, f"/data{group[0].text}")
            return _SignalEffect.GAP
        found_at = f"/data{pointer.text}"
        if has_redactions:
            commitment = commitment or _commitment_within(value)
    if len(count.paths) < MAX_PATHS:
        count.paths.append(evidence_path(event, found_at))
    if commitment is None:
        count.captured += 1
        return _SignalEffect.CAPTURED
    count.redacted += 1
    if count.commitment is UNSET:
        size = commitment.get("size_bytes", UNSET)
        count.commitment = Commitment(commitment["alg"], commitment["digest"], size)
    return _SignalEffect.REDACTED


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


def evidence_path(event: Event, pointer: str) -> str:
    """Return the location of a field as `events.ndjson:<line><pointer>`."""
    return f"{EVENTS_FILE}:{event.line}{pointer}"


class _Carried(Struct, frozen=True):
    """What events of one type carry: signals with their pointers, and all paths of these."""

    signals: tuple[CarriedSignal, ...]
    paths: frozenset[str]


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
            needs = tuple(
                SignalRequirement(self._counts[each.name], each) for each in carried.signals
            )
            counter = self._counters[event_type] = TypeSignalCounter(needs, carried.paths)
        return counter

    def feed_batch(self, payloads: bytes, count: int) -> bool:
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
            path = evidence_path(event, f"/data/{DECLARED_ABSENT}")
            self._declared.setdefault(name, (said, path))
        return False

    def finish(self) -> Mapping[str, SignalDetail]:
        """Return the state of every signal, in the order of the registry.

        `declared` are the signals that count as captured because the run says that it had none.
        """
        for counter in self._counters.values():
            counter.finish()
        # A run that shows nothing of what it did cannot say that there was nothing.
        shows_work = any(
            count.captured or count.redacted
            for name, count in self._counts.items()
            if name != "run_inputs"
        )
        found = {
            name: self._detail(name, count, shows_work=shows_work)
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
        paths = tuple(count.paths)
        if count.gaps:
            reason = f"{count.gaps} of {seen} events that should show it do not"
            return SignalDetail(SignalState.MISSING, reason, (count.first_gap,))
        if count.redacted:
            reason = f"{count.redacted} of {seen} are redacted, each with a commitment"
            return SignalDetail(SignalState.REDACTED, reason, paths, count.commitment)
        if count.captured:
            events = "1 event" if seen == 1 else f"{seen} events"
            return SignalDetail(SignalState.CAPTURED, f"found in {events}", paths)
        if name in self._declared:
            return self._declared_detail(name, shows_work=shows_work)
        return (_MISSING if self._by_recorder else _UNKNOWN)[name]

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
