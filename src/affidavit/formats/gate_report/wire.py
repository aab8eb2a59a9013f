"""The JSON report of a gate, read back: what every form of it is made from.

A report that was stored is input like any other, so it is held to its shape before it is shown.
What a form does not show (the outcome of every item) is not read.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

import msgspec

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import reports as faults
from affidavit.formats.gate_report import kinds
from affidavit.gates.rows import placed_problem

Ci95 = tuple[float, float]
Count = kinds.Count


class PlaceV1(msgspec.Struct, frozen=True):
    """Where a row stands."""

    file: str
    line: Annotated[int, msgspec.Meta(ge=1)]


class InputV1(msgspec.Struct, frozen=True):
    """A file that was read; `places` say where the rows of the offenders stand, by qid."""

    path: str
    digest: str | None = None
    rows: Count = 0
    skipped: Count = 0
    skipped_lines: tuple[str, ...] = ()
    places: dict[str, PlaceV1] = {}


class MetricV1(msgspec.Struct, frozen=True):
    """A figure with what it rests on."""

    value: float | None
    numerator: Count | None = None
    denominator: Count | None = None
    ci95: Ci95 | None = None
    not_measured: Count = 0


class GateV1(msgspec.Struct, frozen=True):
    """How one gate came out."""

    metric: str
    op: Literal[">=", ">", "<=", "<"]
    threshold: float
    value: float | None
    status: Literal["pass", "fail", "not_measured"]
    reason: str = ""
    confidence: float | None = None
    n: Count | None = None
    ci95: Ci95 | None = None
    not_measured: Count = 0


class ListingV1(msgspec.Struct, frozen=True):
    """How many there are, and the first of them."""

    total: Count = 0
    first: tuple[str, ...] = ()


class AdviceV1(msgspec.Struct, frozen=True):
    """What to do about metrics that failed."""

    metrics: tuple[str, ...]
    do: str
    pattern: str | None = None


class ComparisonV1(msgspec.Struct, frozen=True):
    """This run against an earlier one."""

    change: str
    why: str
    compared: Count = 0
    broken: ListingV1 = ListingV1()
    mended: ListingV1 = ListingV1()
    lost: ListingV1 = ListingV1()

    @property
    def listings(self) -> tuple[tuple[str, ListingV1], ...]:
        """What changed, each with how it is called, if there is any."""
        named = (
            ("Now wrong", self.broken),
            ("Now right", self.mended),
            ("Right before and not measured now", self.lost),
        )
        return tuple((name, listing) for name, listing in named if listing.total)


class ReportV1(msgspec.Struct, frozen=True):
    """A decision with everything it rests on; `parts` are the reports that it sums up."""

    schema_version: Annotated[str, msgspec.Meta(pattern=r"^affidavit-gate/1\Z")]
    kind: str
    decision: Literal["ship", "no_ship", "inconclusive"]
    reasons: tuple[str, ...] = ()
    inputs: dict[str, InputV1] = {}
    counts: dict[str, int] = {}
    metrics: dict[str, MetricV1] = {}
    gates: tuple[GateV1, ...] = ()
    offenders: tuple[dict[str, Any], ...] = ()
    listings: dict[str, ListingV1] = {}
    warnings: tuple[str, ...] = ()
    next_steps: tuple[AdviceV1, ...] = ()
    details: dict[str, Any] = {}
    comparison: ComparisonV1 | None = None
    stop_reason: str | None = None
    parts: dict[str, dict[str, Any]] = {}


def report_of(wire: Mapping[str, object], file: str | None = None) -> ReportV1:
    """Return a report as it was written; AF430 names the place that is not as it should be."""
    try:
        report = msgspec.convert(wire, ReportV1)
        kinds.details_of(report.kind, report.details)
        kinds.offenders_of(report.kind, report.offenders)
    except msgspec.ValidationError as error:
        problem, field = placed_problem(error)
        raise AffidavitError(
            faults.REPORT_MALFORMED, Where(file=file, field=field), problem=problem
        ) from None
    for field, problem in _contradictions(report):
        raise AffidavitError(
            faults.REPORT_MALFORMED, Where(file=file, field=field), problem=problem
        )
    for part in report.parts.values():
        report_of(part, file)
    return report


def _contradictions(report: ReportV1) -> Iterator[tuple[str, str]]:
    """Yield what no gate writes: a report of another hand must not show as a pass what is none."""
    for place, gate in enumerate(report.gates):
        if gate.status == "pass" and gate.value is None:
            yield f"gates[{place}].status", "what was not measured does not pass"
        if gate.status != "pass" and report.decision == "ship":
            yield "decision", f"it is to ship, although {gate.metric} does not pass"
    for name, part in report.parts.items():
        if part.get("parts"):
            yield f"parts.{name}", "a part has parts of its own"
        if report.decision == "ship" != part.get("decision"):
            yield "decision", f"it is to ship, although its part {name} is not"


def place_of(report: ReportV1, qid: str) -> PlaceV1 | None:
    """Return where the row of an offender stands, if that is known."""
    found = (given.places[qid] for given in report.inputs.values() if qid in given.places)
    return next(found, None)


def each_part(report: ReportV1) -> Iterator[ReportV1]:
    """Yield the reports that a report sums up, or the report itself."""
    if not report.parts:
        yield report
    for part in report.parts.values():
        yield report_of(part)
