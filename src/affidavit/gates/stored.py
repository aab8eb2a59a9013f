"""What a stored report says to other gates: its precision, and what a release took."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, TypeVar

import msgspec

from affidavit.base.decision import Decision
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.base.places import excerpt
from affidavit.gates.rows import placed_problem
from affidavit.gates.tradeoff import Configuration

Version = Annotated[str, msgspec.Meta(pattern=r"^affidavit-gate/1\Z")]


class _FigureV1(msgspec.Struct, frozen=True):
    value: float | None


class _RagMetricsV1(msgspec.Struct, frozen=True):
    precision: _FigureV1


class _RagV1(msgspec.Struct, frozen=True):
    schema_version: Version
    kind: str
    decision: Decision
    metrics: _RagMetricsV1


class _ReleaseV1(msgspec.Struct, frozen=True):
    p95_ms: float | None
    precision: float | None


class _DetailsV1(msgspec.Struct, frozen=True):
    release: _ReleaseV1


class _LatencyV1(msgspec.Struct, frozen=True):
    schema_version: Version
    kind: str
    details: _DetailsV1


Stored = TypeVar("Stored", _RagV1, _LatencyV1)


@dataclass(frozen=True, slots=True)
class Accuracy:
    """What `gate rag` found."""

    decision: Decision
    precision: float | None


def report_of_kind(value: object, kind: str, file: str | None = None) -> object:
    """Return the report of one kind of gate: the value itself, or its part of a report of all.

    What a project keeps is often the report of all its gates. Another kind is said before any
    field is looked for that only this kind has.
    """
    found = value.get("kind") if isinstance(value, Mapping) else None
    if not isinstance(value, Mapping) or not isinstance(found, str) or found == kind:
        return value
    parts = value.get("parts")
    if found == "all" and isinstance(parts, Mapping) and kind in parts:
        return report_of_kind(parts[kind], kind, file)
    raise _refused(f"it is of the gate {excerpt(found)!r}, not {kind!r}", file, "kind")


def accuracy_of(value: object, file: str | None = None) -> Accuracy:
    """Return what a report of `gate rag` says; one without a precision is refused.

    The reference reads keys that its scorer does not write, and an absent figure passes there.
    """
    report = _converted(value, _RagV1, "rag", file)
    return Accuracy(report.decision, report.metrics.precision.value)


def release_of(value: object, file: str | None = None) -> Configuration:
    """Return what the release of a latency report took, for the rollback guard."""
    release = _converted(value, _LatencyV1, "latency", file).details.release
    return Configuration("last", release.p95_ms, release.precision)


def _converted(value: object, form: type[Stored], kind: str, file: str | None) -> Stored:
    try:
        return msgspec.convert(report_of_kind(value, kind, file), form)
    except msgspec.ValidationError as error:
        problem, field = placed_problem(error)
        raise _refused(problem, file, field) from None


def _refused(problem: str, file: str | None, field: str | None) -> AffidavitError:
    return AffidavitError(faults.BASELINE_MALFORMED, Where(file=file, field=field), problem=problem)
