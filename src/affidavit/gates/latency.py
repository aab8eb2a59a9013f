"""How long answers take: percentiles, the tail, by load and by configuration.

Latencies are counts by value, which can be merged; every percentile is exact. Origin: the latency
page of the RAG document; percentiles interpolate on n - 1 and are not truncated. End to end is from
the question to the validated answer.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from itertools import accumulate
from operator import attrgetter
from typing import Annotated, Final, overload

import msgspec
from msgspec import structs

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.base.json_rows import RowReader
from affidavit.base.statistics import percentile_interval, percentile_of_sorted, rounded
from affidavit.base.text import excerpt
from affidavit.decision.evaluation import Correction, Measure, decide
from affidavit.decision.gate import override_gates
from affidavit.decision.report import Report, ReportInput
from affidavit.gates.metrics import LATENCY_GATES, LATENCY_METRICS
from affidavit.gates.report import (
    ConfigurationFigures,
    LatencyDetails,
    Percentiles,
    ReleaseFigures,
    Tradeoff,
    counted_warning,
    make_report,
    skipped_rows,
)

PERCENTILES: Final = {"p50_ms": 50, "p90_ms": 90, "p95_ms": 95, "p99_ms": 99}
STAGES: Final = ("retrieval_ms", "rerank_ms", "llm_ms", "guard_ms")
_STAGES_OF: Final = attrgetter(*STAGES)
Milliseconds = Annotated[float, msgspec.Meta(ge=0, le=1e12)]


class LatencyRow(msgspec.Struct, frozen=True):
    """One measured answer; `rps` is the load, `config` or `knobs` the configuration.

    Without an answer, `fault` says why, and the row has no latency.
    """

    e2e_ms: Milliseconds | None = None
    qid: str | int | None = None
    rps: Annotated[float, msgspec.Meta(gt=0, le=1e9)] | None = None
    config: str | None = None
    retrieval_ms: Milliseconds | None = None
    rerank_ms: Milliseconds | None = None
    llm_ms: Milliseconds | None = None
    guard_ms: Milliseconds | None = None
    knobs: dict[str, str | int | float | bool | None] | None = None
    fault: str | None = None


LATENCY_READER: Final = RowReader(
    LatencyRow, faults.LATENCY_ROW, ("e2e_ms", "rps", "config", "knobs", "fault", *STAGES)
)


def latencies_from_chunk(
    raw: bytes, first_line: int, file: str | None, on_bad: Callable[[AffidavitError], None]
) -> Iterator[tuple[int, LatencyRow]]:
    """Yield the rows of many lines, each with its line; one without a latency needs a fault."""
    for line, row in LATENCY_READER.from_chunk(raw, first_line, file, on_bad):
        if row.e2e_ms is None and row.fault is None:
            on_bad(untimed(line, file))
        else:
            yield line, row


def latency_from_value(
    value: object, line: int | None = None, file: str | None = None
) -> LatencyRow:
    """Return the row of a decoded value."""
    row = LATENCY_READER.from_value(value, line, file)
    if row.e2e_ms is None and row.fault is None:
        raise untimed(line, file)
    return row


def untimed(line: int | None, file: str | None) -> AffidavitError:
    """Return the error of a row that has neither a latency nor a fault."""
    where = Where(file=file, line=line, field="e2e_ms")
    return AffidavitError(faults.LATENCY_ROW, where, problem="the field is missing")


@dataclass(frozen=True)  # No slots: the figures are cached, because they need sorting.
class Latencies:
    """The number of answers by milliseconds."""

    seen: Mapping[float, int] = field(default_factory=dict)

    def __add__(self, other: "Latencies") -> "Latencies":
        return Latencies(dict(Counter(self.seen) + Counter(other.seen)))

    @property
    def count(self) -> int:
        """How many there are."""
        return sum(self.seen.values())

    @cached_property
    def figures(self) -> Mapping[str, Measure]:
        """The percentiles, and P99 over P50; None if there is nothing to measure."""
        ordered, n = _RepeatedValues(self.seen), self.count
        found = {name: percentile_of_sorted(ordered, at) for name, at in PERCENTILES.items()}
        sure = {name: percentile_interval(ordered, at) for name, at in PERCENTILES.items()}
        middle, tail = found["p50_ms"], found["p99_ms"]
        amplification = tail / middle if middle and tail is not None else None
        values = {**found, "tail_amplification": amplification}
        return {
            name: Measure(
                metric=LATENCY_METRICS[name],
                value=value,
                ci95=sure.get(name),
                count=n,
                interval_at=partial(percentile_interval, ordered, PERCENTILES[name])
                if name in PERCENTILES
                else None,
            )
            for name, value in values.items()
        }


class _RepeatedValues(Sequence[float]):
    """The sorted values with repetitions, as a sequence that is not stored."""

    def __init__(self, seen: Mapping[float, int]) -> None:
        self._values = sorted(seen)
        self._ends = [*accumulate(map(seen.__getitem__, self._values))]

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, index: int) -> float: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[float]: ...
    def __getitem__(self, index: int | slice) -> float | Sequence[float]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        return self._values[bisect_right(self._ends, index)]


@dataclass(frozen=True, slots=True)
class LatencyCounts:
    """Latencies of all answers, and of each load, configuration and stage."""

    everything: Latencies = field(default_factory=Latencies)
    parts: Mapping[tuple[str, str], Latencies] = field(default_factory=dict)
    """By kind of part (`load`, `config`, `stage`) and name."""
    silent_by_load: Mapping[str, int] = field(default_factory=dict)
    """Questions without an answer by load; the key is empty if the load is not known."""

    def __add__(self, other: "LatencyCounts") -> "LatencyCounts":
        names = sorted({*self.parts, *other.parts})
        nothing = Latencies()
        return LatencyCounts(
            self.everything + other.everything,
            {
                name: self.parts.get(name, nothing) + other.parts.get(name, nothing)
                for name in names
            },
            dict(Counter(self.silent_by_load) + Counter(other.silent_by_load)),
        )

    @property
    def silent(self) -> int:
        """How many questions have no answer."""
        return sum(self.silent_by_load.values())

    def measures(self) -> dict[str, Measure]:
        """Return the figures of all answers, and those of each load as `p95_ms/5rps`.

        A missing answer may change every figure of the whole and of its load.
        """
        found = _left_open(self.everything.figures, self.silent)
        for (kind, name), latencies in self.parts.items():
            if kind == "load":
                of_load = _left_open(latencies.figures, self.silent_by_load.get(name, 0))
                found.update({f"{metric}/{name}": made for metric, made in of_load.items()})
        return found

    def of_config(self, name: str) -> Latencies:
        """Return the latencies of one configuration."""
        return self.parts.get(("config", name), Latencies())

    def percentiles(self, part: str) -> dict[str, Percentiles]:
        """Return the rounded figures of each load, configuration or stage by its name."""
        return {
            name: Percentiles(
                n=latencies.count,
                **{metric: rounded(made.value) for metric, made in latencies.figures.items()},
            )
            for (kind, name), latencies in sorted(self.parts.items())
            if kind == part
        }


def _left_open(measures: Mapping[str, Measure], left: int) -> dict[str, Measure]:
    return {
        name: structs.replace(measure, not_measured=left, still_open=left)
        for name, measure in measures.items()
    }


@cache
def load_name(rps: float) -> str:
    """Return the name of a load in a gate: `5rps`, `0.5rps`."""
    return f"{rps:g}rps"


def config_name(row: LatencyRow) -> str | None:
    """Return the name of a row's configuration, or its knobs in sorted order."""
    if row.config is not None or not row.knobs:
        return row.config
    return " ".join(f"{name}={row.knobs[name]}" for name in sorted(row.knobs))


def latency_counts(rows: Iterable[LatencyRow], rps: float | None = None) -> LatencyCounts:
    """Return the counts of some rows, in one pass. `rps` is the load of rows without one."""
    everything: list[float] = []
    parts: dict[tuple[str, str], list[float]] = {}
    silent: Counter[str] = Counter()
    for row in rows:
        taken, config = row.e2e_ms, config_name(row)
        load = row.rps or rps
        if row.fault is not None or taken is None:
            silent["" if load is None else load_name(load)] += 1
            continue
        everything.append(taken)
        if load is not None:
            parts.setdefault(("load", load_name(load)), []).append(taken)
        if config is not None:
            parts.setdefault(("config", config), []).append(taken)
        for stage, spent in zip(STAGES, _STAGES_OF(row), strict=True):
            if spent is not None:
                parts.setdefault(("stage", stage), []).append(spent)
    return LatencyCounts(
        Latencies(dict(Counter(everything))),
        {name: Latencies(dict(Counter(parts[name]))) for name in sorted(parts)},
        dict(silent),
    )


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
    p99_ms: float | None = None
    chr: float | None = None

    def is_as_good_as(self, other: "Configuration") -> bool:
        """Tell whether P99 and the citation hit rate are not worse, where both have them."""
        slow, right = (self.p99_ms, other.p99_ms), (other.chr, self.chr)
        return all(
            first is None or second is None or first <= second for first, second in (slow, right)
        )


def find_tradeoff(configurations: Iterable[Configuration]) -> Tradeoff:
    """Return the configurations that no other beats.

    One is beaten by another that is strictly better in P95 and precision, and not worse in P99 and
    citation hits.
    """
    given = sorted(configurations, key=lambda made: made.name)
    known = [
        (made.p95_ms, made.precision, made)
        for made in given
        if made.p95_ms is not None and made.precision is not None
    ]
    kept = [
        (slow, -right, made.name, made)
        for slow, right, made in known
        if not any(
            other < slow and better > right and rival.is_as_good_as(made)
            for other, better, rival in known
        )
    ]
    frontier = tuple(made for *_, made in sorted(kept, key=lambda row: row[:3]))
    named = {made.name for made in frontier}
    measured = {made.name for *_, made in known}
    # The frontier goes from fast and coarse to slow and precise.
    return Tradeoff(
        frontier=tuple(
            ConfigurationFigures(
                made.name,
                p95_ms=rounded(made.p95_ms),
                precision=rounded(made.precision),
                passes=made.passes,
                p99_ms=rounded(made.p99_ms),
                chr=rounded(made.chr),
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


_MAX_NAMED: Final = 8


def latency_report(
    counts: LatencyCounts,
    inputs: Mapping[str, ReportInput],
    *,
    overrides: Iterable[str] = (),
    correction: Correction | None = None,
    tradeoff: Tradeoff | None = None,
    releases: tuple[Configuration, Configuration] | None = None,
    guard: RollbackGuard | None = None,
    precision: float | None = None,
    refusals: Iterable[str] = (),
    doubts: Iterable[str] = (),
) -> Report:
    """Return the report of latencies; `releases` are the last one and this one, for the guard.

    `precision` is stored for the guard of the next release. `refusals` and `doubts` come from the
    accuracy report of the same release.
    """
    watch = guard or RollbackGuard()
    measures = counts.measures()
    guarded = (
        ((), ()) if releases is None else (watch.objections(*releases), watch.doubts(*releases))
    )
    decision = decide(
        override_gates(overrides, LATENCY_GATES, LATENCY_METRICS),
        measures,
        doubts=(*doubts, *skipped_rows(inputs), *guarded[1]),
        refusals=(*refusals, *guarded[0]),
        correction=correction,
    )
    return make_report(
        "latency",
        decision,
        measures,
        inputs=dict(inputs),
        warnings=(
            *counted_warning("questions without an answer, which have no latency", counts.silent),
            *_tradeoff_warnings(tradeoff),
        ),
        counts={"answers": counts.everything.count, "no_answer": counts.silent},
        details=LatencyDetails(
            load=counts.percentiles("load"),
            config=counts.percentiles("config"),
            stage=counts.percentiles("stage"),
            tradeoff=tradeoff,
            release=ReleaseFigures(rounded(measures["p95_ms"].value), rounded(precision)),
        ),
    )


def _tradeoff_warnings(tradeoff: Tradeoff | None) -> tuple[str, ...]:
    """Warn if no configuration has both figures: a name may be misspelt on one side."""
    if tradeoff is None or tradeoff.frontier:
        return ()
    names = ", ".join(excerpt(name) for name in tradeoff.not_measured[:_MAX_NAMED])
    return (f"no configuration has both a latency and a precision, of {names}",)
