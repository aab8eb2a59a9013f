"""The four figures of research runs, per query and over all (micro).

Origin: the research document, "Metrics and computation". Everything is read from stored artifacts;
a run's own word about its success counts for nothing, except the reason for which it stopped.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Final

from affidavit.gates.comparison import Comparison, compare, doubts_of, regressions
from affidavit.gates.decision import Measure, measure_of, rule_on
from affidavit.gates.metrics import RESEARCH
from affidavit.gates.report import Input, Item, Report
from affidavit.gates.research_rows import GoldenV1, ResearchOutputV1, StepV1, collapsed
from affidavit.gates.tally import NOTHING_LISTED, Listing, Tally, all_of, listing_of
from affidavit.gates.thresholds import RESEARCH_GATES, gates_with

KIND = "research"
AMISS: Final = (
    "claims_without_evidence",
    "evidence_not_found",
    "runs_that_did_not_abstain",
    "steps_without_manifest",
)
"""What is listed by name of what a figure counts as a miss, each with its run."""


@dataclass(frozen=True, slots=True)
class Run:
    """The stored artifacts of one run.

    `events` is None where none were stored: then nobody knows the steps. Manifests that were not
    stored are manifests that are missing.
    """

    output: ResearchOutputV1
    events: tuple[StepV1, ...] | None = ()
    manifests: tuple[StepV1, ...] = ()


@dataclass(frozen=True, slots=True)
class ResearchCounts:
    """The figures of some runs by name, what is amiss, and the runs that no query asks for."""

    tallies: Mapping[str, Tally]
    unmatched: Listing = NOTHING_LISTED
    amiss: Mapping[str, Listing] = field(
        default_factory=lambda: dict.fromkeys(AMISS, NOTHING_LISTED)
    )

    def __add__(self, other: "ResearchCounts") -> "ResearchCounts":
        return ResearchCounts(
            {name: self.tallies[name] + other.tallies[name] for name in RESEARCH},
            self.unmatched + other.unmatched,
            {name: self.amiss[name] + other.amiss[name] for name in AMISS},
        )

    def measures(self, *, allow_missing: bool = False) -> dict[str, Measure]:
        """Return every figure by its name."""
        return {
            name: measure_of(metric, self.tallies[name], allow_missing=allow_missing)
            for name, metric in RESEARCH.items()
        }


NO_RUNS = ResearchCounts(dict.fromkeys(RESEARCH, Tally()))


def run_counts(run: Run, query: GoldenV1 | None) -> ResearchCounts:
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


def _steps(rows: Iterable[StepV1], run_id: str) -> frozenset[int | str]:
    """Return the distinct steps of a run; a row that names another run is not of this one."""
    return frozenset(row.step_id for row in rows if row.run_id in (None, run_id))


def absent_counts(query: GoldenV1) -> ResearchCounts:
    """Return the counts of a golden query that no run answers: not measured."""
    required = len(frozenset(query.required_evidence_ids))
    return ResearchCounts(
        {
            **NO_RUNS.tallies,
            "golden_recall": Tally(absent=required),
            "abstention_accuracy": Tally(absent=int(not query.evidence_sufficient)),
        }
    )


def matched(output: ResearchOutputV1, queries: Iterable[GoldenV1]) -> GoldenV1 | None:
    """Return the golden query of a run: by golden_id, else by its objective."""
    given = tuple(queries)
    if output.golden_id is not None:
        return next((query for query in given if query.golden_id == output.golden_id), None)
    wanted = collapsed(output.objective)
    return next((query for query in given if collapsed(query.objective) == wanted), None)


def research_report(
    queries: Iterable[GoldenV1],
    runs: Iterable[Run],
    inputs: Iterable[Input],
    *,
    overrides: Iterable[str] = (),
    allow_missing: bool = False,
    comparison_with: Mapping[str, bool | None] | None = None,
) -> Report:
    """Return the report of some runs against the golden queries.

    `comparison_with` is how the runs of an earlier report came out.
    """
    golden = tuple(queries)
    scored = sorted(
        ((run.output.run_id, matched(run.output, golden), run) for run in runs),
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
    given, items = tuple(inputs), tuple(_item(run_id, counts) for run_id, _, counts in each)
    doubts = (*gaps, *(() if each else ("there are no runs",)), *_skipped(given))
    comparison = _compared(comparison_with, items)
    ruling = rule_on(
        gates_with(overrides, RESEARCH_GATES, RESEARCH),
        measures,
        doubts=(*doubts, *doubts_of(comparison)),
        refusals=regressions(comparison),
    )
    return Report(
        KIND,
        ruling,
        given,
        measures,
        warnings=_warnings(total, gap if absent and allow_missing else None),
        listings={
            "queries_without_runs": missing,
            "runs_without_query": total.unmatched,
            **total.amiss,
        },
        counts={"golden": len(golden), "runs": len(each)},
        settings={"allow_missing": allow_missing},
        details={"runs": [_run_wire(*row) for row in each]},
        items=items,
        comparison=comparison,
    )


def _compared(
    before: Mapping[str, bool | None] | None, items: tuple[Item, ...]
) -> Comparison | None:
    return None if before is None else compare(before, {item.name: item.outcome for item in items})


def _skipped(inputs: tuple[Input, ...]) -> tuple[str, ...]:
    skipped = sum(given.skipped for given in inputs)
    return (f"runs that could not be read and were skipped: {skipped}",) if skipped else ()


def query_name(query: GoldenV1) -> str:
    """Return how a golden query is called: by its id, else by its objective."""
    return query.golden_id or collapsed(query.objective)


def _item(run_id: str, counts: ResearchCounts) -> Item:
    """Return whether nothing that was measured in a run is amiss; None if nothing was."""
    checks = []
    for name, tally in counts.tallies.items():
        if tally.misses or tally.hits or tally.not_measured:
            checks.append((name, False if tally.misses else None if tally.not_measured else True))
    return Item(run_id, all_of(held for _, held in checks) if checks else None, tuple(checks))


def _warnings(total: ResearchCounts, gap: str | None) -> tuple[str, ...]:
    strays = total.unmatched.total
    said = (f"runs that no golden query asks for: {strays}",) if strays else ()
    return said if gap is None else (*said, gap)


def _run_wire(run_id: str, query: GoldenV1 | None, counts: ResearchCounts) -> dict[str, object]:
    return {
        "run_id": run_id,
        "query": None if query is None else query_name(query),
        "metrics": {name: measure.as_wire() for name, measure in counts.measures().items()},
    }
