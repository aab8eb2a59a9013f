"""Verifies the events of a bundle as they are unpacked, in portions of whole lines."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import bundles as faults
from affidavit.base.faults.input import JSON_LONG_LINE
from affidavit.seal.bundle.archive import EVENTS
from affidavit.seal.bundle.event import Place, event_from_line
from affidavit.seal.bundle.event_batches import Pattern, Proven, pattern_of, prove
from affidavit.seal.bundle.limits import BundleLimits
from affidavit.seal.bundle.merkle import marked_lines
from affidavit.seal.bundle.totals import Totals


@dataclass(frozen=True, slots=True)
class Lines:
    """Whole lines, each verified, and the number of the first, counted from 1."""

    text: bytes
    first: int

    def each(self) -> Iterator[tuple[int, bytes]]:
        """Yield each line without its line feed, with its number."""
        return enumerate(self.text[:-1].split(b"\n"), self.first)


class EventVerifier:
    """Verifies one event after another; what they come to is in `totals`."""

    def __init__(self, run_id: str, limits: BundleLimits) -> None:
        self.totals = Totals()
        self._run_id = run_id
        self._limits = limits
        self._json_limits = limits.for_json(limits.max_line_bytes)
        # The data of an event stands one level below its line.
        self._data_limits = replace(self._json_limits, max_depth=limits.max_json_depth - 1)
        self._source: str | None = None
        self._pattern: Pattern | None = None

    def verify(self, text: bytes) -> Lines:
        """Verify whole lines, which end with a line feed."""
        first = self.totals.count
        proven = None
        # A line within a text that is short enough is short enough.
        if len(text) <= self._limits.max_line_bytes and self._pattern is not None:
            proven = prove(text, first, self._pattern, self._data_limits)
        if proven is None or first + len(proven.hashes) > self._limits.max_events:
            proven = Proven(list(self._one_by_one(text, first)), marked_lines(text))
        self.totals.add(text, proven.hashes, proven.leaves)
        return Lines(text, first + 1)

    def _one_by_one(self, text: bytes, first: int) -> Iterator[bytes]:
        for sequence, line in enumerate(text[:-1].split(b"\n"), first):
            if len(line) > self._limits.max_line_bytes:
                raise self._long_line(sequence)
            if sequence >= self._limits.max_events:
                limit = self._limits.max_events
                where = Where(EVENTS, sequence + 1)
                raise AffidavitError(faults.LIMIT_EVENTS, where, limit=limit, name="max_events")
            place = Place(self._run_id, sequence, self._source)
            event = event_from_line(line, sequence + 1, place, self._json_limits)
            self._source = event.source
            yield event.assaycontenthash.removeprefix("sha256:").encode()
        self._pattern = pattern_of(event)

    def whole_lines(self, portions: Iterable[bytes]) -> Iterator[bytes]:
        """Yield what comes in portions as texts of whole lines; a line that is too long is refused.

        The first line comes alone: the others are verified by what they have in common with it.
        """
        held: list[bytes] = []
        held_bytes, is_first = 0, True
        for portion in portions:
            end = portion.find(b"\n") if is_first else portion.rfind(b"\n")
            if end < 0:
                held.append(portion)
                held_bytes += len(portion)
                # One byte more is its line feed, perhaps.
                if held_bytes > self._limits.max_line_bytes:
                    raise self._long_line(self.totals.count)
                continue
            held.append(portion[: end + 1])
            yield b"".join(held)
            rest = portion[end + 1 :]
            if is_first and (last := rest.rfind(b"\n")) >= 0:
                yield rest[: last + 1]
                rest = rest[last + 1 :]
            held, held_bytes, is_first = [rest], len(rest), False
        if held_bytes:
            where = Where(EVENTS, self.totals.count + 1)
            problem = "its line has no line feed"
            raise AffidavitError(faults.BUNDLE_EVENT, where, problem=problem)

    def _long_line(self, sequence: int) -> AffidavitError:
        limit = self._limits.max_line_bytes
        return AffidavitError(JSON_LONG_LINE, Where(EVENTS, sequence + 1), limit=limit)
