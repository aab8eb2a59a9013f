"""The report of a gate: the details and offenders of each kind, made and parsed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct, UnsetType, structs

from affidavit.base.errors import AffidavitError, Fault, Where
from affidavit.base.faults import gates as faults
from affidavit.base.statistics import rounded
from affidavit.base.validation import problem_and_field
from affidavit.decision.counts import Count, Listing
from affidavit.decision.decision import Decision, GateStatus
from affidavit.decision.evaluation import (
    Figure,
    GateDecision,
    Measure,
    rounded_interval,
)
from affidavit.decision.report import REPORT_SCHEMA, Report, ReportInput
from affidavit.gates.metrics import advice_for

Share = float | None


class ClaimVerdict(Struct, frozen=True, omit_defaults=True):
    """A claim of an answer and the judge's verdict on it.

    `passage` is the sentence that decided, or the nearest one, and `context` names where it is;
    they are left out, as is the `reason`, where the claim is supported.
    """

    claim: str
    verdict: str
    passage: str = ""
    context: str = ""
    reason: str = ""


class RagOffender(Struct, frozen=True, kw_only=True):
    """A question that came out wrong, with what is needed to see why.

    What was not recorded is None, which is not the same as empty.
    """

    qid: str
    why: str
    failed: tuple[str, ...] = ()
    not_measured: tuple[str, ...] = ()
    question: str = ""
    claim: str = ""
    citations: tuple[str, ...] | None = None
    retrieved_ids: tuple[str, ...] | None = None
    gold_citations: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()
    """What a right answer contains, or what the other tool asserts of it."""
    passages: dict[str, str] = {}
    """The texts of the passages by their ids, as far as the file has them."""
    claims: tuple[ClaimVerdict, ...] = ()
    """The claims of the answer that its contexts do not support."""


@dataclass(frozen=True, slots=True)
class PlacedOffender:
    """An offender and the line of its trace; `file` is None for the path of the input."""

    offender: RagOffender
    line: int | None = None
    file: str | None = None


class Disagreement(Struct, frozen=True, kw_only=True):
    """A question on which two agents differ, or agree on what a check rejects."""

    qid: str
    scholar: str
    auditor: str
    final: str
    why: str
    question: str = ""
    scholar_reason: str | None = None
    auditor_reason: str | None = None
    claim: str | None = None
    citations: tuple[str, ...] | None = None
    retrieved_ids: tuple[str, ...] | None = None


class CountedAnswer(Struct, frozen=True):
    """An answer, and in how many runs it was given."""

    text: str
    count: Count


class QuestionFigures(Struct, frozen=True, kw_only=True):
    """A question over its runs; what it asks and what was answered only where it is not stable."""

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
    question: str = ""
    expected: tuple[str, ...] = ()
    answers: tuple[CountedAnswer, ...] = ()
    cited: tuple[str, ...] = ()
    gold_citations: tuple[str, ...] = ()


Offender = RagOffender | Disagreement | QuestionFigures


class Percentiles(Struct, frozen=True, kw_only=True):
    """The latencies of one load, configuration or stage."""

    n: Count
    p50_ms: float | None = None
    p90_ms: float | None = None
    p95_ms: float | None = None
    p99_ms: float | None = None
    tail_amplification: float | None = None


class ConfigurationFigures(Struct, frozen=True):
    """What one setting of the knobs costs and gives."""

    config: str
    p95_ms: float | None = None
    precision: float | None = None
    passes: bool = False
    p99_ms: float | None = None
    chr: float | None = None


class Tradeoff(Struct, frozen=True, kw_only=True):
    """The configurations that no other beats in both figures, from fast to slow, and which to use.

    `interactive` is the fastest of them that passes, `batch` the most precise that passes the
    relaxed gates.
    """

    frontier: tuple[ConfigurationFigures, ...] = ()
    dominated: tuple[str | ConfigurationFigures, ...] = ()
    not_measured: tuple[str, ...] = ()
    interactive: str | None = None
    batch: str | None = None


class ReleaseFigures(Struct, frozen=True):
    """What the rollback guard of the next release compares with."""

    p95_ms: float | None
    precision: float | None


class LatencyDetails(Struct, frozen=True, kw_only=True):
    """Latencies by what they were measured under."""

    load: dict[str, Percentiles] = {}
    config: dict[str, Percentiles] = {}
    stage: dict[str, Percentiles] = {}
    tradeoff: Tradeoff | None = None
    release: ReleaseFigures | None = None


class LabelPairCount(Struct, frozen=True):
    """How often two labels were given to the same question."""

    scholar: str
    auditor: str
    count: Count


class AgentLabelCounts(Struct, frozen=True):
    """How often each agent gave a label."""

    scholar: Count
    auditor: Count


class AgreementDetails(Struct, frozen=True, kw_only=True):
    """The confusion of two agents' labels."""

    confusion: tuple[LabelPairCount, ...] = ()
    base_rate: float | None = None
    expected_agreement: float | None = None
    labels: dict[str, AgentLabelCounts] = {}
    disagreements: Count = 0


class StabilityRunCounts(Struct, frozen=True, kw_only=True):
    """How the runs of one seed and jitter came out."""

    seed: int
    jitter: str
    right: Count = 0
    wrong: Count = 0
    not_measured: Count = 0


class StabilityDetails(Struct, frozen=True):
    """Questions over their runs, and runs over their questions."""

    questions: tuple[QuestionFigures, ...] = ()
    by_run: tuple[StabilityRunCounts, ...] = ()


class ResearchRunDetails(Struct, frozen=True):
    """A research run and its figures."""

    run_id: str
    query: str | None = None
    metrics: dict[str, Figure] = {}


class ResearchDetails(Struct, frozen=True):
    """Research runs, one by one."""

    runs: tuple[ResearchRunDetails, ...] = ()


class ScoreFigures(Struct, frozen=True, kw_only=True):
    """The scores of one name that the files of another tool have."""

    n: Count
    mean: float | None
    min: float | None
    max: float | None
    not_measured: Count
    labels: Count


class RagDetails(Struct, frozen=True):
    """The scores of other tools, and the claims of every answer that was judged, if there are any.

    The claims are stored for later comparisons.
    """

    other_scores: dict[str, ScoreFigures] | UnsetType = UNSET
    claims: dict[str, tuple[ClaimVerdict, ...]] | UnsetType = UNSET


class NoDetails(Struct, frozen=True):
    """The details of a gate that has none."""


Details = (
    LatencyDetails | AgreementDetails | StabilityDetails | ResearchDetails | RagDetails | NoDetails
)
_DETAILS: Final[Mapping[str, type[Details]]] = MappingProxyType(
    {
        "latency": LatencyDetails,
        "agreement": AgreementDetails,
        "stability": StabilityDetails,
        "research": ResearchDetails,
        "rag": RagDetails,
    }
)
_OFFENDERS: Final[Mapping[str, type[Offender]]] = MappingProxyType(
    {"rag": RagOffender, "agreement": Disagreement, "stability": QuestionFigures}
)


def parse_details(kind: str, details: Mapping[str, Any]) -> Details:
    """Return what only this kind of gate reports."""
    return msgspec.convert(details, _DETAILS.get(kind, NoDetails))


def parse_offenders(kind: str, offenders: Sequence[Mapping[str, Any]]) -> tuple[Offender, ...]:
    """Return the offenders of a kind of gate; a kind that names none has none to show."""
    form = _OFFENDERS.get(kind)
    return () if form is None else tuple(msgspec.convert(each, form) for each in offenders)


def make_report(
    kind: str,
    made: GateDecision,
    measures: Mapping[str, Measure],
    *,
    listings: Mapping[str, Listing] | None = None,
    settings: Mapping[str, Any] = MappingProxyType({}),
    **members: Any,
) -> Report:
    """Return the report of a decision, with figures rounded as they are stored.

    Numbers are rounded here and not before: a gate compares exact values.
    """
    listed = dict(listings or {})
    named = [name for name, listing in listed.items() if listing.total]
    return Report(
        schema_version=REPORT_SCHEMA,
        kind=kind,
        decision=made.decision,
        reasons=made.reasons,
        settings={**settings, **({"correction": made.correction} if made.correction else {})},
        metrics={name: measure.figure for name, measure in measures.items()},
        gates=tuple(
            structs.replace(
                result,
                value=rounded(result.value),
                ci95=rounded_interval(result.ci95),
                bounds=rounded_interval(result.bounds),
            )
            for result in made.results
        ),
        listings=listed,
        next_steps=advice_for(made.failed, made.not_measured, named),
        **members,
    )


def parse_report(
    value: object, file: str | None = None, fault: Fault = faults.REPORT_MALFORMED
) -> Report:
    """Return a stored report, validated; the error (AF430) names the member that is wrong.

    The items are left out: nothing that is rendered needs them.
    """
    try:
        report = _with_types(msgspec.convert(_without_items(value), Report))
    except msgspec.ValidationError as error:
        problem, field = problem_and_field(error)
        raise AffidavitError(fault, Where(file=file, field=field), problem=problem) from None
    for field, problem in _contradictions(report):
        raise AffidavitError(fault, Where(file=file, field=field), problem=problem)
    return report


def _without_items(value: object) -> object:
    if not isinstance(value, Mapping):
        return value
    kept = {name: member for name, member in value.items() if name != "items"}
    if isinstance(parts := kept.get("parts"), Mapping):
        kept["parts"] = {name: _without_items(part) for name, part in parts.items()}
    return kept


def _with_types(report: Report) -> Report:
    return structs.replace(
        report,
        details=parse_details(report.kind, report.details),
        offenders=parse_offenders(report.kind, report.offenders),
        parts={name: _with_types(part) for name, part in report.parts.items()},
    )


def _contradictions(report: Report) -> Iterator[tuple[str, str]]:
    """Yield what no gate writes: an edited report must not show a pass that is none."""
    for place, gate in enumerate(report.gates):
        if gate.status is GateStatus.EMPTY:
            yield f"gates[{place}].status", "only the gates of a ledger have this status"
        if gate.status is GateStatus.PASSED and gate.value is None and gate.bounds is None:
            yield f"gates[{place}].status", "what was not measured does not pass"
        if gate.status is not GateStatus.PASSED and report.decision is Decision.SHIP:
            yield "decision", f"it is to ship, although {gate.metric} does not pass"
    for name, part in report.parts.items():
        if part.parts:
            yield f"parts.{name}", "a part has parts of its own"
        if report.decision is Decision.SHIP is not part.decision:
            yield "decision", f"it is to ship, although its part {name} is not"
        yield from _contradictions(part)


def skipped_rows(inputs: Mapping[str, ReportInput]) -> tuple[str, ...]:
    """Return the warning about lines that were skipped, if there are any."""
    skipped = sum(given.skipped for given in inputs.values())
    return counted_warning("lines that were not rows and were skipped", skipped)


def counted_warning(text: str, count: int) -> tuple[str, ...]:
    """Return a warning with its count, unless the count is 0."""
    return (f"{text}: {count}",) if count else ()
