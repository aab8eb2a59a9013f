"""Two stored reports of one gate: which items flipped, and how every figure moved.

What can be said of the items decides: improved, held, regressed, or cannot tell. The checks of an
item (C, H and K, or those of a stable question) are compared in the same way, to show where it
comes from. Latencies have no items; the rollback guard stands in for the test.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec

from affidavit.base.decision import Decision
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.exits import Exit
from affidavit.base.faults import gates as faults
from affidavit.base.statistics import rounded
from affidavit.gates.comparison import OUTCOMES, Change, Comparison, compare
from affidavit.gates.metrics import BY_KIND
from affidavit.gates.rows import placed_problem
from affidavit.gates.stored import Version, release_of
from affidavit.gates.tradeoff import RollbackGuard

SCHEMA_VERSION: Final = "affidavit-comparison/1"
EXITS: Final[Mapping[Change, Exit]] = {
    Change.IMPROVED: Exit.YES,
    Change.HELD: Exit.YES,
    Change.CANNOT_TELL: Exit.UNKNOWN,
    Change.REGRESSED: Exit.NO,
}
_WORST_FIRST: Final = (Change.REGRESSED, Change.CANNOT_TELL, Change.HELD, Change.IMPROVED)
_OUTCOME: Final = "outcome"
_NAMES: Final = "qids"


class _MetricV1(msgspec.Struct, frozen=True):
    value: float | None


class StoredReportV1(msgspec.Struct, frozen=True):
    """What is compared of a stored report."""

    schema_version: Version
    kind: str
    decision: Decision
    inputs: dict[str, dict[str, Any]] = {}
    settings: dict[str, Any] = {}
    metrics: dict[str, _MetricV1] = {}
    items: tuple[dict[str, Literal["pass", "fail", "not_measured"] | list[str]], ...] | None = None
    details: dict[str, Any] = {}
    parts: dict[str, dict[str, Any]] = {}

    def checks(self) -> tuple[str, ...]:
        """Return the names of the checks that items have, the outcome first."""
        found = dict.fromkeys([_OUTCOME])
        for group in self.items or ():
            found.update(dict.fromkeys(name for name in group if name != _NAMES))
        return tuple(found)

    def outcomes(self, check: str) -> dict[str, bool | None]:
        """Return how one check came out for each item that has it."""
        found: dict[str, bool | None] = {}
        for group in self.items or ():
            held = group.get(check)
            if isinstance(held, str):
                found.update(dict.fromkeys(group[_NAMES], OUTCOMES[held]))
        return found


@dataclass(frozen=True, slots=True)
class Moved:
    """A figure in both reports; None was not measured."""

    name: str
    before: float | None
    now: float | None
    more_is_better: bool | None

    @property
    def difference(self) -> float | None:
        """By how much it moved."""
        if self.before is None or self.now is None:
            return None
        return rounded(self.now - self.before)

    @property
    def is_better(self) -> bool | None:
        """Whether it moved the right way; None if it did not move or cannot be told."""
        if not self.difference or self.more_is_better is None:
            return None
        return (self.difference > 0) is self.more_is_better

    def as_wire(self) -> dict[str, object]:
        """Return the figure as the comparison shows it."""
        return {"before": self.before, "now": self.now, "difference": self.difference}


@dataclass(frozen=True, slots=True)
class ReportComparison:
    """What can be said of two reports of one kind; `parts` are those of a report of several."""

    kind: str
    change: Change
    why: str
    decisions: tuple[Decision, Decision]
    checks: Mapping[str, Comparison]
    metrics: tuple[Moved, ...]
    parts: tuple[tuple[str, "ReportComparison"], ...] = ()

    @property
    def exit(self) -> Exit:
        """How a command ends that finds this."""
        return EXITS[self.change]

    def as_wire(self) -> dict[str, object]:
        """Return the comparison as JSON has it."""
        before, now = self.decisions
        wire: dict[str, object] = {
            "schema_version": SCHEMA_VERSION,
            "kind": self.kind,
            "change": self.change.value,
            "why": self.why,
            "decision": {"before": before.value, "now": now.value},
            "checks": {name: made.as_wire() for name, made in self.checks.items()},
            "metrics": {moved.name: moved.as_wire() for moved in self.metrics},
        }
        if self.parts:
            wire["parts"] = {name: part.as_wire() for name, part in self.parts}
        return wire


def stored_report(value: object, file: str | None = None) -> StoredReportV1:
    """Return a stored report, or say where it is none."""
    try:
        report = msgspec.convert(value, StoredReportV1)
    except msgspec.ValidationError as error:
        problem, field = placed_problem(error)
        raise _refused(problem, file, field) from None
    for place, group in enumerate(report.items or ()):
        if not isinstance(group.get(_OUTCOME), str) or not isinstance(group.get(_NAMES), list):
            raise _refused("it needs an outcome and its qids", file, f"items[{place}]")
    return report


def compare_reports(
    before: object, now: object, files: tuple[str | None, str | None] = (None, None)
) -> ReportComparison:
    """Compare two decoded reports of the same kind."""
    first, second = stored_report(before, files[0]), stored_report(now, files[1])
    if first.kind != second.kind:
        problem = f"it is of the gate {second.kind!r}, and the other of {first.kind!r}"
        raise _refused(problem, files[1], "kind")
    if first.parts or second.parts:
        return _compare_parts(first, second, files)
    checks, is_latency = {}, first.kind == "latency"
    if first.items is not None and second.items is not None:
        # One check at a time: a million items have a million names for each.
        checks = {
            name: compare(first.outcomes(name), second.outcomes(name))
            for name in first.checks()
            if name in second.checks()
        }
    if is_latency:
        change, why = _guarded(before, now, files)
    elif not checks:
        change, why = Change.CANNOT_TELL, "one of the reports has no items to compare"
    else:
        change, why = checks[_OUTCOME].change, checks[_OUTCOME].why
    why = "; but ".join([why, *_measured_otherwise(first, second)])
    return ReportComparison(
        first.kind, change, why, (first.decision, second.decision), checks, _moved(first, second)
    )


def _measured_otherwise(first: StoredReportV1, second: StoredReportV1) -> Iterator[str]:
    """Yield what makes the same name of an item stand for something else."""
    was, is_now = (made.inputs.get("gold") or made.inputs.get("golden") for made in (first, second))
    if was and is_now and was.get("digest") != is_now.get("digest"):
        yield "the gold set is another one, so items may ask for something else"
    common = sorted(first.settings.keys() & second.settings.keys())
    if other := [name for name in common if first.settings[name] != second.settings[name]]:
        yield f"the settings differ: {', '.join(other)}"


def _compare_parts(
    first: StoredReportV1, second: StoredReportV1, files: tuple[str | None, str | None]
) -> ReportComparison:
    """Compare what both have; a part that only one has cannot be told."""
    common = [name for name in first.parts if name in second.parts]
    single = sorted(first.parts.keys() ^ second.parts.keys())
    parts = tuple(
        (name, compare_reports(first.parts[name], second.parts[name], files)) for name in common
    )
    said = [f"{name}: {part.change.value.replace('_', ' ')}" for name, part in parts]
    said += [f"{name}: only in one of the reports" for name in single]
    changes = [part.change for _, part in parts] + [Change.CANNOT_TELL] * bool(single or not parts)
    return ReportComparison(
        first.kind,
        next(change for change in _WORST_FIRST if change in changes),
        "; ".join(said),
        (first.decision, second.decision),
        {},
        (),
        parts,
    )


def _guarded(
    before: object, now: object, files: tuple[str | None, str | None]
) -> tuple[Change, str]:
    old, new = release_of(before, files[0]), release_of(now, files[1])
    guard = RollbackGuard()
    objections = guard.objections(old, new)
    if objections:
        return Change.REGRESSED, "; ".join(objections)
    doubts = [
        doubt
        for doubt in guard.doubts(old, new)
        if not (old.precision is new.precision is None and doubt.startswith("precision"))
    ]
    if doubts:
        return Change.CANNOT_TELL, "; ".join(doubts)
    return Change.HELD, "P95 and precision are within the rollback guard"


def _moved(first: StoredReportV1, second: StoredReportV1) -> tuple[Moved, ...]:
    known = BY_KIND.get(first.kind, {})
    return tuple(
        Moved(name, _value(first, name), _value(second, name), _direction(known, name))
        for name in dict.fromkeys([*first.metrics, *second.metrics])
    )


def _value(report: StoredReportV1, name: str) -> float | None:
    metric = report.metrics.get(name)
    return None if metric is None else metric.value


def _direction(known: Mapping[str, Any], name: str) -> bool | None:
    metric = known.get(name.partition("/")[0])
    return None if metric is None else metric.more_is_better


def _refused(problem: str, file: str | None, field: str | None) -> AffidavitError:
    where = Where(file=file, field=field)
    return AffidavitError(faults.BASELINE_MALFORMED, where, problem=problem)
