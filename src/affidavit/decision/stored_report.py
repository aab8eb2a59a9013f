"""Read the JSON of a stored report and validate it before it is shown."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal

import msgspec

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.base.validation import problem_and_field

# What only one kind of gate reports: latency by load, the confusion of labels, runs, questions.

Share = float | None
Count = Annotated[int, msgspec.Meta(ge=0)]


class StoredRagOffender(msgspec.Struct, frozen=True):
    """A question that came out wrong."""

    qid: str
    why: str
    failed: tuple[str, ...] = ()
    not_measured: tuple[str, ...] = ()
    question: str = ""
    claim: str = ""
    citations: tuple[str, ...] | None = None
    retrieved_ids: tuple[str, ...] | None = None
    gold_citations: tuple[str, ...] = ()


class StoredDisagreement(msgspec.Struct, frozen=True):
    """A question on which two agents differ."""

    qid: str
    scholar: str
    auditor: str
    final: str
    why: str


class StoredQuestion(msgspec.Struct, frozen=True):
    """A question over its runs."""

    qid: str
    answerable: bool
    runs: Count
    no_answer: Count = 0
    acr: Share = None
    cghc: Share = None
    css: Share = None
    ned50: Share = None
    rcr: Share = None
    refused: Count = 0
    scu_cons: bool | None = None
    failed: tuple[str, ...] = ()
    not_measured: tuple[str, ...] = ()


StoredOffender = StoredRagOffender | StoredDisagreement | StoredQuestion


class StoredPercentiles(msgspec.Struct, frozen=True):
    """The latencies of one load, configuration or stage."""

    n: Count
    p50_ms: float | None = None
    p90_ms: float | None = None
    p95_ms: float | None = None
    p99_ms: float | None = None
    tail_amplification: float | None = None


class StoredConfiguration(msgspec.Struct, frozen=True):
    """What one setting of the knobs costs and gives."""

    config: str
    p95_ms: float | None = None
    precision: float | None = None
    passes: bool = False


class StoredTradeoff(msgspec.Struct, frozen=True):
    """Which configurations are worth having."""

    frontier: tuple[StoredConfiguration, ...] = ()
    dominated: tuple[str | StoredConfiguration, ...] = ()
    not_measured: tuple[str, ...] = ()
    interactive: str | None = None
    batch: str | None = None


class LatencyDetails(msgspec.Struct, frozen=True):
    """Latencies by what they were measured under."""

    load: dict[str, StoredPercentiles] = {}
    config: dict[str, StoredPercentiles] = {}
    stage: dict[str, StoredPercentiles] = {}
    tradeoff: StoredTradeoff | None = None


class LabelPairCount(msgspec.Struct, frozen=True):
    """How often two labels were given to the same question."""

    scholar: str
    auditor: str
    count: Count


class AgreementDetails(msgspec.Struct, frozen=True):
    """The confusion of two agents' labels."""

    confusion: tuple[LabelPairCount, ...] = ()
    base_rate: float | None = None
    expected_agreement: float | None = None
    disagreements: Count = 0


class StabilityRunCounts(msgspec.Struct, frozen=True):
    """How the runs of one seed and jitter came out."""

    seed: int
    jitter: str
    right: Count = 0
    wrong: Count = 0
    not_measured: Count = 0


class StabilityDetails(msgspec.Struct, frozen=True):
    """Questions over their runs, and runs over their questions."""

    questions: tuple[StoredQuestion, ...] = ()
    by_run: tuple[StabilityRunCounts, ...] = ()


class ResearchRunFigure(msgspec.Struct, frozen=True):
    """A figure of one run."""

    value: float | None = None
    numerator: Count | None = None
    denominator: Count | None = None
    not_measured: Count = 0


class ResearchRunDetails(msgspec.Struct, frozen=True):
    """A research run and its figures."""

    run_id: str
    query: str | None = None
    metrics: dict[str, ResearchRunFigure] = {}


class ResearchDetails(msgspec.Struct, frozen=True):
    """Research runs, one by one."""

    runs: tuple[ResearchRunDetails, ...] = ()


class NoDetails(msgspec.Struct, frozen=True):
    """A kind of gate that has nothing of its own."""


Details = LatencyDetails | AgreementDetails | StabilityDetails | ResearchDetails | NoDetails

_DETAILS: Final[Mapping[str, type[Details]]] = MappingProxyType(
    {
        "latency": LatencyDetails,
        "agreement": AgreementDetails,
        "stability": StabilityDetails,
        "research": ResearchDetails,
    }
)
_OFFENDERS: Final[Mapping[str, type[StoredOffender]]] = MappingProxyType(
    {"rag": StoredRagOffender, "agreement": StoredDisagreement, "stability": StoredQuestion}
)


def parse_details(kind: str, details: Mapping[str, Any]) -> Details:
    """Return what only this kind of gate reports."""
    return msgspec.convert(details, _DETAILS.get(kind, NoDetails))


def parse_offenders(
    kind: str, offenders: Sequence[Mapping[str, Any]]
) -> tuple[StoredOffender, ...]:
    """Return the offenders of a kind of gate; a kind that names none has none to show."""
    form = _OFFENDERS.get(kind)
    return () if form is None else tuple(msgspec.convert(each, form) for each in offenders)


# The JSON report of a gate, read back: what every form of it is made from.
#
# A report that was stored is input like any other, so it is held to its shape before it is shown.
# What a form does not show (the outcome of every item) is not read.

Ci95 = tuple[float, float]
NonNegativeCount = Count


class StoredRowLocation(msgspec.Struct, frozen=True):
    """Where a row stands."""

    file: str
    line: Annotated[int, msgspec.Meta(ge=1)]


class StoredInput(msgspec.Struct, frozen=True):
    """A file that was read; `places` say where the rows of the offenders stand, by qid."""

    path: str
    digest: str | None = None
    rows: NonNegativeCount = 0
    skipped: NonNegativeCount = 0
    skipped_lines: tuple[str, ...] = ()
    places: dict[str, StoredRowLocation] = {}


class StoredMeasure(msgspec.Struct, frozen=True):
    """A figure with what it rests on."""

    value: float | None
    numerator: NonNegativeCount | None = None
    denominator: NonNegativeCount | None = None
    ci95: Ci95 | None = None
    not_measured: NonNegativeCount = 0


class StoredGateResult(msgspec.Struct, frozen=True):
    """How one gate came out."""

    metric: str
    op: Literal[">=", ">", "<=", "<"]
    threshold: float
    value: float | None
    status: Literal["pass", "fail", "not_measured"]
    reason: str = ""
    confidence: float | None = None
    n: NonNegativeCount | None = None
    ci95: Ci95 | None = None
    not_measured: NonNegativeCount = 0


class StoredListing(msgspec.Struct, frozen=True):
    """How many there are, and the first of them."""

    total: NonNegativeCount = 0
    first: tuple[str, ...] = ()


class StoredAdvice(msgspec.Struct, frozen=True):
    """What to do about metrics that failed."""

    metrics: tuple[str, ...]
    do: str
    pattern: str | None = None


class StoredComparison(msgspec.Struct, frozen=True):
    """This run against an earlier one."""

    change: str
    why: str
    compared: NonNegativeCount = 0
    broken: StoredListing = StoredListing()
    mended: StoredListing = StoredListing()
    lost: StoredListing = StoredListing()

    @property
    def listings(self) -> tuple[tuple[str, StoredListing], ...]:
        """What changed, each with how it is called, if there is any."""
        named = (
            ("Now wrong", self.broken),
            ("Now right", self.mended),
            ("Right before and not measured now", self.lost),
        )
        return tuple((name, listing) for name, listing in named if listing.total)


class StoredReport(msgspec.Struct, frozen=True):
    """A decision with everything it rests on; `parts` are the reports that it sums up."""

    schema_version: Annotated[str, msgspec.Meta(pattern=r"^affidavit-gate/1\Z")]
    kind: str
    decision: Literal["ship", "no_ship", "inconclusive"]
    reasons: tuple[str, ...] = ()
    inputs: dict[str, StoredInput] = {}
    counts: dict[str, int] = {}
    metrics: dict[str, StoredMeasure] = {}
    gates: tuple[StoredGateResult, ...] = ()
    offenders: tuple[dict[str, Any], ...] = ()
    listings: dict[str, StoredListing] = {}
    warnings: tuple[str, ...] = ()
    next_steps: tuple[StoredAdvice, ...] = ()
    details: dict[str, Any] = {}
    comparison: StoredComparison | None = None
    stop_reason: str | None = None
    parts: dict[str, dict[str, Any]] = {}


def parse_report(wire: Mapping[str, object], file: str | None = None) -> StoredReport:
    """Return a report as it was written; AF430 names the place that is not as it should be."""
    try:
        report = msgspec.convert(wire, StoredReport)
        parse_details(report.kind, report.details)
        parse_offenders(report.kind, report.offenders)
    except msgspec.ValidationError as error:
        problem, field = problem_and_field(error)
        raise AffidavitError(
            faults.REPORT_MALFORMED, Where(file=file, field=field), problem=problem
        ) from None
    for field, problem in _contradictions(report):
        raise AffidavitError(
            faults.REPORT_MALFORMED, Where(file=file, field=field), problem=problem
        )
    for part in report.parts.values():
        parse_report(part, file)
    return report


def _contradictions(report: StoredReport) -> Iterator[tuple[str, str]]:
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


def row_location(report: StoredReport, qid: str) -> StoredRowLocation | None:
    """Return where the row of an offender stands, if that is known."""
    found = (given.places[qid] for given in report.inputs.values() if qid in given.places)
    return next(found, None)


def each_report_part(report: StoredReport) -> Iterator[StoredReport]:
    """Yield the reports that a report sums up, or the report itself."""
    if not report.parts:
        yield report
    for part in report.parts.values():
        yield parse_report(part)
