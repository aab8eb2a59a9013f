"""Compare two stored reports of one gate: which items flipped, and how every figure moved.

The items decide: improved, held, regressed, or cannot tell. The checks of an item (C, H and K, or
those of a stable question) are compared in the same way, to show the cause. Latencies have no
items; there the rollback guard decides.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

import msgspec

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.exits import Exit
from affidavit.base.faults import gates as faults
from affidavit.base.statistics import rounded
from affidavit.base.text import excerpt
from affidavit.base.validation import problem_and_field
from affidavit.decision.comparison import OUTCOME_VALUES, Change, Comparison, compare_outcomes
from affidavit.decision.decision import Decision
from affidavit.decision.evaluation import Figure
from affidavit.gates.latency import Configuration, RollbackGuard
from affidavit.gates.metrics import METRICS_BY_KIND
from affidavit.gates.report import ClaimVerdict, ReleaseFigures

SchemaVersion = Annotated[str, msgspec.Meta(pattern=r"^affidavit-gate/1\Z")]


def select_report_of_kind(value: object, kind: str, file: str | None = None) -> object:
    """Return the report of one kind of gate: the value itself, or its part of a report of all.

    A project often stores the report of all its gates. A wrong kind is reported before a missing
    field is.
    """
    found = value.get("kind") if isinstance(value, Mapping) else None
    if not isinstance(value, Mapping) or not isinstance(found, str) or found == kind:
        return value
    parts = value.get("parts")
    if found == "all" and isinstance(parts, Mapping) and kind in parts:
        return select_report_of_kind(parts[kind], kind, file)
    raise _malformed_report(f"it is of the gate {excerpt(found)!r}, not {kind!r}", file, "kind")


class _ItemGroupV1(msgspec.Struct, frozen=True):
    outcome: Literal["pass", "fail", "not_measured"]
    qids: tuple[str, ...]


class _BaselineV1(msgspec.Struct, frozen=True):
    schema_version: SchemaVersion
    kind: str
    items: tuple[_ItemGroupV1, ...]


def outcomes_from_report(
    value: object, kind: str, file: str | None = None
) -> dict[str, bool | None]:
    """Return the outcome of each item of a report of the same kind, as it was written."""
    try:
        baseline = msgspec.convert(select_report_of_kind(value, kind, file), _BaselineV1)
    except msgspec.ValidationError as error:
        problem, field = problem_and_field(error)
        raise _malformed_report(problem, file, field) from None
    return {qid: OUTCOME_VALUES[group.outcome] for group in baseline.items for qid in group.qids}


COMPARISON_SCHEMA: Final = "affidavit-comparison/1"
CHANGE_EXITS: Final[Mapping[Change, Exit]] = {
    Change.IMPROVED: Exit.YES,
    Change.HELD: Exit.YES,
    Change.CANNOT_TELL: Exit.UNKNOWN,
    Change.REGRESSED: Exit.NO,
}
_WORST_FIRST: Final = (Change.REGRESSED, Change.CANNOT_TELL, Change.HELD, Change.IMPROVED)
_OUTCOME: Final = "outcome"
_NAMES: Final = "qids"
_GROUNDED: Final = "G"
"""The check of an answer against its contexts."""


class _ComparedDetails(msgspec.Struct, frozen=True):
    release: ReleaseFigures | None = None
    claims: dict[str, tuple[ClaimVerdict, ...]] = {}


class ComparedReport(msgspec.Struct, frozen=True, kw_only=True):
    """The members of a stored report that are compared."""

    schema_version: SchemaVersion
    kind: str
    decision: Decision
    inputs: dict[str, dict[str, Any]] = {}
    settings: dict[str, Any] = {}
    metrics: dict[str, Figure] = {}
    items: tuple[dict[str, Literal["pass", "fail", "not_measured"] | list[str]], ...] | None = None
    details: _ComparedDetails = _ComparedDetails()
    parts: dict[str, dict[str, Any]] = {}

    def checks(self) -> tuple[str, ...]:
        """Return the names of the checks that items have, the outcome first."""
        found = dict.fromkeys([_OUTCOME])
        for group in self.items or ():
            found.update(dict.fromkeys(name for name in group if name != _NAMES))
        return tuple(found)

    def outcomes(self, check: str) -> dict[str, bool | None]:
        """Return the outcome of one check by item."""
        found: dict[str, bool | None] = {}
        for group in self.items or ():
            held = group.get(check)
            if isinstance(held, str):
                found.update(dict.fromkeys(group[_NAMES], OUTCOME_VALUES[held]))
        return found


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The decision, precision and citation hit rate of a `gate rag` report."""

    decision: Decision
    precision: float | None
    chr: float | None = None


@dataclass(frozen=True, slots=True)
class MetricChange:
    """A figure in both reports; None was not measured."""

    name: str
    before: float | None
    now: float | None
    more_is_better: bool | None

    @property
    def difference(self) -> float | None:
        """The difference between the two values."""
        if self.before is None or self.now is None:
            return None
        return rounded(self.now - self.before)

    @property
    def is_better(self) -> bool | None:
        """Whether the change is an improvement; None if it did not change or this is not known."""
        if not self.difference or self.more_is_better is None:
            return None
        return (self.difference > 0) is self.more_is_better

    def as_wire(self) -> dict[str, object]:
        """Return the figure as JSON."""
        return {"before": self.before, "now": self.now, "difference": self.difference}


class LostSupport(msgspec.Struct, frozen=True):
    """A question whose answer was grounded and is not any more, with the claims of both answers."""

    qid: str
    before: tuple[ClaimVerdict, ...] = ()
    now: tuple[ClaimVerdict, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportComparison:
    """The comparison of two reports of one kind; `parts` compares the parts of both."""

    kind: str
    change: Change
    why: str
    decisions: tuple[Decision, Decision]
    checks: Mapping[str, Comparison]
    metrics: tuple[MetricChange, ...]
    parts: tuple[tuple[str, "ReportComparison"], ...] = ()
    lost_support: tuple[LostSupport, ...] = ()
    """The first questions that lost their support."""

    @property
    def exit(self) -> Exit:
        """The exit code of a command with this result."""
        return CHANGE_EXITS[self.change]

    def as_wire(self) -> dict[str, object]:
        """Return the comparison as JSON."""
        before, now = self.decisions
        wire: dict[str, object] = {
            "schema_version": COMPARISON_SCHEMA,
            "kind": self.kind,
            "change": self.change.value,
            "why": self.why,
            "decision": {"before": before.value, "now": now.value},
            "checks": {name: msgspec.to_builtins(made) for name, made in self.checks.items()},
            "metrics": {moved.name: moved.as_wire() for moved in self.metrics},
        }
        if self.lost_support:
            wire["lost_support"] = msgspec.to_builtins(self.lost_support)
        if self.parts:
            wire["parts"] = {name: part.as_wire() for name, part in self.parts}
        return wire


def parse_compared_report(value: object, file: str | None = None) -> ComparedReport:
    """Return a stored report, validated; the error names the member that is wrong."""
    try:
        report = msgspec.convert(value, ComparedReport)
    except msgspec.ValidationError as error:
        problem, field = problem_and_field(error)
        raise _malformed_report(problem, file, field) from None
    for place, group in enumerate(report.items or ()):
        if not isinstance(group.get(_OUTCOME), str) or not isinstance(group.get(_NAMES), list):
            raise _malformed_report("it needs an outcome and its qids", file, f"items[{place}]")
    return report


def accuracy_from_report(value: object, file: str | None = None) -> Accuracy:
    """Return the accuracy of a `gate rag` report; one without a precision is refused.

    The reference implementation reads keys that its scorer does not write, so that a missing figure
    passes there.
    """
    report = parse_compared_report(select_report_of_kind(value, "rag", file), file)
    if "precision" not in report.metrics:
        raise _malformed_report("the field is missing", file, "metrics.precision")
    hits = report.metrics.get("chr")
    precision = report.metrics["precision"].value
    return Accuracy(report.decision, precision, None if hits is None else hits.value)


def release_from_report(value: object, file: str | None = None) -> Configuration:
    """Return the figures of the release of a latency report, for the rollback guard."""
    report = parse_compared_report(select_report_of_kind(value, "latency", file), file)
    release = report.details.release
    if release is None:
        raise _malformed_report("the field is missing", file, "details.release")
    return Configuration("last", release.p95_ms, release.precision)


def compare_reports(
    before: object, now: object, files: tuple[str | None, str | None] = (None, None)
) -> ReportComparison:
    """Compare two decoded reports of the same kind."""
    first, second = parse_compared_report(before, files[0]), parse_compared_report(now, files[1])
    if first.kind != second.kind:
        problem = f"it is of the gate {second.kind!r}, and the other of {first.kind!r}"
        raise _malformed_report(problem, files[1], "kind")
    if first.parts or second.parts:
        return _compare_parts(first, second, files)
    checks, is_latency = {}, first.kind == "latency"
    if first.items is not None and second.items is not None:
        # One check at a time, because each needs a dictionary of all item names.
        checks = {
            name: compare_outcomes(first.outcomes(name), second.outcomes(name))
            for name in first.checks()
            if name in second.checks()
        }
    if is_latency:
        change, why = _compare_releases(before, now, files)
    elif not checks:
        change, why = Change.CANNOT_TELL, "one of the reports has no items to compare"
    else:
        change, why = _change_of_checks(checks)
    why = "; but ".join([why, *_setup_differences(first, second)])
    return ReportComparison(
        kind=first.kind,
        change=change,
        why=why,
        decisions=(first.decision, second.decision),
        checks=checks,
        metrics=_metric_changes(first, second),
        lost_support=tuple(
            LostSupport(qid, first.details.claims.get(qid, ()), second.details.claims.get(qid, ()))
            for qid in (checks[_GROUNDED].broken.first if _GROUNDED in checks else ())
        ),
    )


def _change_of_checks(checks: Mapping[str, Comparison]) -> tuple[Change, str]:
    """Return the change of the items, unless their answers lost the support of their contexts."""
    made = checks[_OUTCOME]
    grounded = checks.get(_GROUNDED, made)
    if grounded.change is Change.REGRESSED is not made.change:
        return grounded.change, f"answers lost the support of their contexts: {grounded.why}"
    return made.change, made.why


def _setup_differences(first: ComparedReport, second: ComparedReport) -> Iterator[str]:
    """Yield why the same item may mean something else in the two reports."""
    was, is_now = (made.inputs.get("gold") or made.inputs.get("golden") for made in (first, second))
    # Rows that are judged by their contexts alone have no gold items.
    has_items = all(made and made.get("rows") != 0 for made in (was, is_now))
    if was and is_now and has_items and was.get("digest") != is_now.get("digest"):
        if all(_has_one_file(made) for made in (first, second)):
            yield "gold items are in the files of their answers, so it is open whether they changed"
        else:
            yield "the gold set is another one, so items may ask for something else"
    common = sorted(first.settings.keys() & second.settings.keys())
    if other := [name for name in common if first.settings[name] != second.settings[name]]:
        yield f"the settings differ: {', '.join(other)}"


def _has_one_file(made: ComparedReport) -> bool:
    """Tell whether the gold items and the answers of a report were read from one file."""
    gold, trace = made.inputs.get("gold"), made.inputs.get("trace")
    return bool(gold and trace and gold.get("digest") == trace.get("digest"))


def _compare_parts(
    first: ComparedReport, second: ComparedReport, files: tuple[str | None, str | None]
) -> ReportComparison:
    """Compare the parts that both have; a part in only one of them is "cannot tell"."""
    common = [name for name in first.parts if name in second.parts]
    single = sorted(first.parts.keys() ^ second.parts.keys())
    parts = tuple(
        (name, compare_reports(first.parts[name], second.parts[name], files)) for name in common
    )
    said = [f"{name}: {part.change.value.replace('_', ' ')}" for name, part in parts]
    said += [f"{name}: only in one of the reports" for name in single]
    changes = [part.change for _, part in parts] + [Change.CANNOT_TELL] * bool(single or not parts)
    return ReportComparison(
        kind=first.kind,
        change=next(change for change in _WORST_FIRST if change in changes),
        why="; ".join(said),
        decisions=(first.decision, second.decision),
        checks={},
        metrics=(),
        parts=parts,
    )


def _compare_releases(
    before: object, now: object, files: tuple[str | None, str | None]
) -> tuple[Change, str]:
    old, new = release_from_report(before, files[0]), release_from_report(now, files[1])
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


def _metric_changes(first: ComparedReport, second: ComparedReport) -> tuple[MetricChange, ...]:
    known = METRICS_BY_KIND.get(first.kind, {})
    return tuple(
        MetricChange(
            name,
            _metric_value(first, name),
            _metric_value(second, name),
            _more_is_better(known, name),
        )
        for name in dict.fromkeys([*first.metrics, *second.metrics])
    )


def _metric_value(report: ComparedReport, name: str) -> float | None:
    metric = report.metrics.get(name)
    return None if metric is None else metric.value


def _more_is_better(known: Mapping[str, Any], name: str) -> bool | None:
    metric = known.get(name.partition("/")[0])
    return None if metric is None else metric.more_is_better


def _malformed_report(problem: str, file: str | None, field: str | None) -> AffidavitError:
    where = Where(file=file, field=field)
    return AffidavitError(faults.BASELINE_MALFORMED, where, problem=problem)
