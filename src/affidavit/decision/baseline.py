"""Baselines: the figures of an earlier report, the rollback guard and the latency trade-off."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Final, TypeVar

import msgspec

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.base.statistics.arithmetic import rounded
from affidavit.base.text import excerpt
from affidavit.base.validation import problem_and_field
from affidavit.decision.decision import Decision
from affidavit.decision.report_details import ConfigurationFigures, Tradeoff

# Latency against accuracy: which configurations are worth having, and the guard of a release.
#
# Origin: the latency page of the RAG document.


@dataclass(frozen=True, slots=True)
class Configuration:
    """The latency and precision of one configuration; None if not measured.

    `passes` is about all gates, `passes_relaxed` about those for batch work.
    """

    name: str
    p95_ms: float | None
    precision: float | None
    passes: bool = False
    passes_relaxed: bool = False


def find_tradeoff(configurations: Iterable[Configuration]) -> Tradeoff:
    """Return the configurations that no other beats strictly in both figures."""
    given = sorted(configurations, key=lambda made: made.name)
    known = [
        (made.p95_ms, made.precision, made)
        for made in given
        if made.p95_ms is not None and made.precision is not None
    ]
    kept = [
        (slow, -right, made.name, made)
        for slow, right, made in known
        if not any(other < slow and better > right for other, better, _ in known)
    ]
    frontier = tuple(made for *_, made in sorted(kept, key=lambda row: row[:3]))
    named = {made.name for made in frontier}
    measured = {made.name for *_, made in known}
    # The frontier goes from fast and coarse to slow and precise.
    return Tradeoff(
        frontier=tuple(
            ConfigurationFigures(
                made.name, rounded(made.p95_ms), rounded(made.precision), made.passes
            )
            for made in frontier
        ),
        dominated=tuple(made.name for made in given if made.name in measured - named),
        not_measured=tuple(made.name for made in given if made.name not in measured),
        interactive=next((made.name for made in frontier if made.passes), None),
        batch=_most_precise(frontier),
    )


def _most_precise(frontier: tuple[Configuration, ...]) -> str | None:
    passing = [made for made in frontier if made.passes_relaxed]
    best = max(passing, key=lambda made: made.precision or 0.0, default=None)
    return None if best is None else best.name


MAX_P95_INCREASE: Final = 0.15
MAX_PRECISION_DROP: Final = 0.02


@dataclass(frozen=True, slots=True)
class RollbackGuard:
    """How much worse a release may be than the last one.

    P95 may rise by a share of the old value. Precision may fall by points: 0.02 allows 0.90 to
    become 0.88. The document says only "2 %"; points are the stricter reading below 1.
    """

    slower_by: float = MAX_P95_INCREASE
    worse_by: float = MAX_PRECISION_DROP

    def objections(self, before: Configuration, now: Configuration) -> tuple[str, ...]:
        """Return why the release should be rolled back."""
        found = []
        if before.p95_ms is not None and now.p95_ms is not None:
            limit = before.p95_ms * (1 + self.slower_by)
            if rounded(now.p95_ms) > rounded(limit):
                found.append(
                    f"P95 rose from {rounded(before.p95_ms, 1)} to {rounded(now.p95_ms, 1)} ms,"
                    f" beyond {rounded(limit, 1)}"
                )
        if before.precision is not None and now.precision is not None:
            floor = before.precision - self.worse_by
            if rounded(now.precision) < rounded(floor):
                found.append(
                    f"precision fell from {rounded(before.precision, 4)} to"
                    f" {rounded(now.precision, 4)}, below {rounded(floor, 4)}"
                )
        return tuple(found)

    def doubts(self, before: Configuration, now: Configuration) -> tuple[str, ...]:
        """Return why the guard could not compare a figure."""
        pairs = {
            "P95": (before.p95_ms, now.p95_ms),
            "precision": (before.precision, now.precision),
        }
        return tuple(
            f"{name} was not measured in both releases, so the rollback guard cannot compare it"
            for name, pair in pairs.items()
            if None in pair
        )


# What other gates read from a stored report: its precision, and the figures of its release.

SchemaVersion = Annotated[str, msgspec.Meta(pattern=r"^affidavit-gate/1\Z")]


class _FigureV1(msgspec.Struct, frozen=True):
    value: float | None


class _RagMetricsV1(msgspec.Struct, frozen=True):
    precision: _FigureV1


class _RagV1(msgspec.Struct, frozen=True):
    schema_version: SchemaVersion
    kind: str
    decision: Decision
    metrics: _RagMetricsV1


class _ReleaseV1(msgspec.Struct, frozen=True):
    p95_ms: float | None
    precision: float | None


class _DetailsV1(msgspec.Struct, frozen=True):
    release: _ReleaseV1


class _LatencyV1(msgspec.Struct, frozen=True):
    schema_version: SchemaVersion
    kind: str
    details: _DetailsV1


Stored = TypeVar("Stored", _RagV1, _LatencyV1)


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The decision and precision of a `gate rag` report."""

    decision: Decision
    precision: float | None


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
    raise _malformed_baseline(f"it is of the gate {excerpt(found)!r}, not {kind!r}", file, "kind")


def accuracy_from_report(value: object, file: str | None = None) -> Accuracy:
    """Return the accuracy of a `gate rag` report; one without a precision is refused.

    The reference implementation reads keys that its scorer does not write, so that a missing figure
    passes there.
    """
    report = _convert_report(value, _RagV1, "rag", file)
    return Accuracy(report.decision, report.metrics.precision.value)


def release_from_report(value: object, file: str | None = None) -> Configuration:
    """Return the figures of the release of a latency report, for the rollback guard."""
    release = _convert_report(value, _LatencyV1, "latency", file).details.release
    return Configuration("last", release.p95_ms, release.precision)


def _convert_report(value: object, form: type[Stored], kind: str, file: str | None) -> Stored:
    try:
        return msgspec.convert(select_report_of_kind(value, kind, file), form)
    except msgspec.ValidationError as error:
        problem, field = problem_and_field(error)
        raise _malformed_baseline(problem, file, field) from None


def _malformed_baseline(problem: str, file: str | None, field: str | None) -> AffidavitError:
    return AffidavitError(faults.BASELINE_MALFORMED, Where(file=file, field=field), problem=problem)
