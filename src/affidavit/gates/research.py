"""Research runs against golden queries: rows, the four figures, and the report."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Final, Literal

import msgspec

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.base.json_rows import RowReader
from affidavit.base.validation import problem_and_field
from affidavit.decision.comparison import (
    Comparison,
    compare_outcomes,
    comparison_doubts,
    regression_reasons,
)
from affidavit.decision.counts import EMPTY_LISTING, Listing, Tally, all_hold, listing_of
from affidavit.decision.evaluation import Correction, Measure, decide, measure_from_tally
from affidavit.decision.gate import override_gates
from affidavit.decision.report import Report, ReportInput, ReportItem, group_items
from affidavit.gates.metrics import RESEARCH_GATES, RESEARCH_METRICS
from affidavit.gates.report import ResearchDetails, ResearchRunDetails, make_report

# Origin: the research document and the decisions on it. A run consists of its stored output, the
# manifests of its steps and its events. Unknown fields are ignored.

_WHITE_SPACE: Final = re.compile(r"\s+")


class GoldenQuery(msgspec.Struct, frozen=True):
    """A golden query."""

    objective: str
    required_evidence_ids: tuple[str, ...]
    evidence_sufficient: bool
    golden_id: str | None = None


class ResearchSpan(msgspec.Struct, frozen=True):
    """The location of a quote in its chunk."""

    start: int
    end: int


class ResearchEvidence(msgspec.Struct, frozen=True):
    """An evidence record; one without a quote, a span and a source does not count."""

    evidence_id: str
    chunk_id: str | None = None
    source_id: str | None = None
    quote: str | None = None
    span: ResearchSpan | None = None

    @property
    def counts(self) -> bool:
        """Whether the record has a quote, a span and a source."""
        span = self.span
        return (
            bool(self.quote and self.quote.strip() and self.source_id)
            and span is not None
            and 0 <= span.start < span.end
        )


class ResearchEvidenceRef(msgspec.Struct, frozen=True):
    """A reference to a record that is an object instead of an id."""

    evidence_id: str


class ResearchClaim(msgspec.Struct, frozen=True):
    """A claim of a run."""

    claim_id: str
    status: Literal["verified", "candidate", "retracted"]
    statement: str = ""
    evidence_refs: tuple[str | ResearchEvidenceRef, ...] = ()

    @property
    def evidence_ids(self) -> frozenset[str]:
        """The ids of the evidence records of the claim."""
        return frozenset(
            ref if isinstance(ref, str) else ref.evidence_id for ref in self.evidence_refs
        )


StopReason = Literal[
    "OBJECTIVE_ACHIEVED", "BUDGET_EXCEEDED", "NO_EVIDENCE", "HUMAN_REQUESTED", "SYSTEM_ERROR"
]


class ResearchOutput(msgspec.Struct, frozen=True):
    """`output.json` of a run."""

    run_id: str
    objective: str
    stop_reason: StopReason
    claims: tuple[ResearchClaim, ...]
    evidence: tuple[ResearchEvidence, ...]
    golden_id: str | None = None
    schema_version: str | int | None = None


class ResearchStep(msgspec.Struct, frozen=True):
    """A line of `events.jsonl` or `manifests.jsonl`; only its step is used."""

    step_id: int | str
    run_id: str | None = None


OUTPUT_READER: Final = RowReader(
    ResearchOutput, faults.RESEARCH_OUTPUT, ("run_id", "stop_reason", "claims", "evidence")
)
STEP_READER: Final = RowReader(ResearchStep, faults.RESEARCH_OUTPUT, ("step_id", "run_id"))


def golden_queries(value: object, file: str | None = None) -> tuple[GoldenQuery, ...]:
    """Return the golden queries of a decoded file: a list of them, or a single one.

    An error stops the evaluation with SYSTEM_ERROR, as the document requires.
    """
    listed = [value] if isinstance(value, dict) else value
    try:
        queries = msgspec.convert(listed, tuple[GoldenQuery, ...])
    except msgspec.ValidationError as error:
        problem, field = problem_and_field(error)
        raise _malformed(problem, file, field) from None
    if not queries:
        raise _malformed("the list is empty", file, None)
    seen: set[str] = set()
    for index, query in enumerate(queries):
        for name in {query.golden_id or "", collapse_white_space(query.objective)} - {""}:
            if name in seen:
                raise _malformed(f"two queries are called {name!r}", file, f"[{index}]")
            seen.add(name)
    return queries


def _malformed(problem: str, file: str | None, field: str | None) -> AffidavitError:
    where = Where(file=file, field=field)
    return AffidavitError(faults.GOLDEN_MALFORMED, where, problem=problem)


def collapse_white_space(objective: str) -> str:
    """Return an objective with white space collapsed, as runs are matched by it."""
    return _WHITE_SPACE.sub(" ", objective).strip()


# The four figures of research runs, per query and over all (micro).
# Origin: the research document, "Metrics and computation". Everything is computed from stored
# artifacts. What a run says about its own success is ignored, except its stop reason.

RESEARCH_KIND = "research"
PROBLEM_LISTINGS: Final = (
    "claims_without_evidence",
    "evidence_not_found",
    "runs_that_did_not_abstain",
    "steps_without_manifest",
)
"""The listings of misses, each with its run."""


@dataclass(frozen=True, slots=True)
class ResearchRun:
    """The stored artifacts of one run.

    `events` is None if none were stored; then the steps are not known. A manifest that was not
    stored counts as missing.
    """

    output: ResearchOutput
    events: tuple[ResearchStep, ...] | None = ()
    manifests: tuple[ResearchStep, ...] = ()


@dataclass(frozen=True, slots=True)
class ResearchCounts:
    """The tallies of some runs, their problems, and the runs without a golden query."""

    tallies: Mapping[str, Tally]
    unmatched: Listing = EMPTY_LISTING
    amiss: Mapping[str, Listing] = field(
        default_factory=lambda: dict.fromkeys(PROBLEM_LISTINGS, EMPTY_LISTING)
    )

    def __add__(self, other: "ResearchCounts") -> "ResearchCounts":
        return ResearchCounts(
            {name: self.tallies[name] + other.tallies[name] for name in RESEARCH_METRICS},
            self.unmatched + other.unmatched,
            {name: self.amiss[name] + other.amiss[name] for name in PROBLEM_LISTINGS},
        )

    def measures(self, *, allow_missing: bool = False) -> dict[str, Measure]:
        """Return every figure by its name."""
        return {
            name: measure_from_tally(metric, self.tallies[name], allow_missing=allow_missing)
            for name, metric in RESEARCH_METRICS.items()
        }


NO_RUNS = ResearchCounts(dict.fromkeys(RESEARCH_METRICS, Tally()))


def run_counts(run: ResearchRun, query: GoldenQuery | None) -> ResearchCounts:
    """Return the counts of one run, with the golden query that it answers, if there is one."""
    output = run.output
    complete = {record.evidence_id for record in output.evidence if record.counts}
    verified = [claim for claim in output.claims if claim.status == "verified"]
    bare = [claim.claim_id for claim in verified if not claim.evidence_ids & complete]
    steps = _steps(run.events or (), output.run_id)
    unrecorded = steps - _steps(run.manifests, output.run_id)
    required = frozenset() if query is None else frozenset(query.required_evidence_ids)
    lacking = required - complete
    is_to_abstain = query is not None and not query.evidence_sufficient
    went_on = is_to_abstain and not (output.stop_reason == "NO_EVIDENCE" and not verified)
    return ResearchCounts(
        {
            "evidence_coverage_rate": Tally(len(verified) - len(bare), len(bare)),
            "golden_recall": Tally(len(required - lacking), len(lacking)),
            "abstention_accuracy": Tally(int(is_to_abstain and not went_on), int(went_on)),
            "manifest_integrity": Tally(
                len(steps - unrecorded), len(unrecorded), int(run.events is None)
            ),
        },
        listing_of((output.run_id,) if query is None else ()),
        {
            "claims_without_evidence": _listed(output.run_id, bare),
            "evidence_not_found": _listed(output.run_id, lacking),
            "runs_that_did_not_abstain": listing_of((output.run_id,) if went_on else ()),
            "steps_without_manifest": _listed(output.run_id, unrecorded),
        },
    )


def _listed(run_id: str, names: Iterable[int | str]) -> Listing:
    return listing_of(f"{run_id}: {name}" for name in names)


def _steps(rows: Iterable[ResearchStep], run_id: str) -> frozenset[int | str]:
    """Return the distinct steps of a run; rows of other runs are ignored."""
    return frozenset(row.step_id for row in rows if row.run_id in (None, run_id))


def absent_counts(query: GoldenQuery) -> ResearchCounts:
    """Return the counts of a golden query without a run, which is not measured."""
    required = len(frozenset(query.required_evidence_ids))
    return ResearchCounts(
        {
            **NO_RUNS.tallies,
            "golden_recall": Tally(absent=required),
            "abstention_accuracy": Tally(absent=int(not query.evidence_sufficient)),
        }
    )


def match_query(output: ResearchOutput, queries: Iterable[GoldenQuery]) -> GoldenQuery | None:
    """Return the golden query of a run: by golden_id, else by its objective."""
    given = tuple(queries)
    if output.golden_id is not None:
        return next((query for query in given if query.golden_id == output.golden_id), None)
    wanted = collapse_white_space(output.objective)
    return next((query for query in given if collapse_white_space(query.objective) == wanted), None)


def research_report(
    queries: Iterable[GoldenQuery],
    runs: Iterable[ResearchRun],
    inputs: Mapping[str, ReportInput],
    *,
    overrides: Iterable[str] = (),
    correction: Correction | None = None,
    allow_missing: bool = False,
    comparison_with: Mapping[str, bool | None] | None = None,
) -> Report:
    """Return the report of some runs against the golden queries.

    `comparison_with` has the outcomes of the runs of an earlier report.
    """
    golden = tuple(queries)
    scored = sorted(
        ((run.output.run_id, match_query(run.output, golden), run) for run in runs),
        key=lambda row: row[0],
    )
    each = [(run_id, query, run_counts(run, query)) for run_id, query, run in scored]
    answered = [query for _, query, _ in each]
    absent = [query for query in golden if query not in answered]
    parts = [*(counts for *_, counts in each), *map(absent_counts, absent)]
    total = reduce(lambda first, second: first + second, parts, NO_RUNS)
    measures = total.measures(allow_missing=allow_missing)
    missing = listing_of(query_name(query) for query in absent)
    gap = f"{missing.total} of {len(golden)} golden queries have no run"
    gaps = (gap,) if absent and not allow_missing else ()
    items = tuple(_item(run_id, counts) for run_id, _, counts in each)
    doubts = (*gaps, *(() if each else ("there are no runs",)), *_skipped(inputs))
    comparison = _compare_with_baseline(comparison_with, items)
    decision = decide(
        override_gates(overrides, RESEARCH_GATES, RESEARCH_METRICS),
        measures,
        doubts=(*doubts, *comparison_doubts(comparison)),
        refusals=regression_reasons(comparison),
        correction=correction,
    )
    return make_report(
        RESEARCH_KIND,
        decision,
        measures,
        inputs=dict(inputs),
        warnings=_warnings(total, gap if absent and allow_missing else None),
        listings={
            "queries_without_runs": missing,
            "runs_without_query": total.unmatched,
            **total.amiss,
        },
        counts={"golden": len(golden), "runs": len(each)},
        settings={"allow_missing": allow_missing},
        details=ResearchDetails(tuple(_run_details(*row) for row in each)),
        items=group_items(item.group for item in items),
        comparison=comparison,
    )


def _compare_with_baseline(
    before: Mapping[str, bool | None] | None, items: tuple[ReportItem, ...]
) -> Comparison | None:
    return (
        None
        if before is None
        else compare_outcomes(before, {item.name: item.outcome for item in items})
    )


def _skipped(inputs: Mapping[str, ReportInput]) -> tuple[str, ...]:
    skipped = sum(given.skipped for given in inputs.values())
    return (f"runs that could not be read and were skipped: {skipped}",) if skipped else ()


def query_name(query: GoldenQuery) -> str:
    """Return the name of a golden query: its id, else its objective."""
    return query.golden_id or collapse_white_space(query.objective)


def _item(run_id: str, counts: ResearchCounts) -> ReportItem:
    """Return whether a run has no problem; None if nothing was measured."""
    checks = []
    for name, tally in counts.tallies.items():
        if tally.misses or tally.hits or tally.not_measured:
            checks.append((name, False if tally.misses else None if tally.not_measured else True))
    return ReportItem(
        run_id, all_hold(held for _, held in checks) if checks else None, tuple(checks)
    )


def _warnings(total: ResearchCounts, gap: str | None) -> tuple[str, ...]:
    strays = total.unmatched.total
    said = (f"runs that no golden query asks for: {strays}",) if strays else ()
    return said if gap is None else (*said, gap)


def _run_details(
    run_id: str, query: GoldenQuery | None, counts: ResearchCounts
) -> ResearchRunDetails:
    return ResearchRunDetails(
        run_id,
        None if query is None else query_name(query),
        {name: measure.figure for name, measure in counts.measures().items()},
    )
