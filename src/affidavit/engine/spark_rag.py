"""`gate rag` on Spark: gold items and the last traces are joined, so neither need fit in memory."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from msgspec import UNSET

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.base.text import excerpt
from affidavit.decision.counts import MAX_LISTED, Listing, listing_of
from affidavit.decision.report import ReportInput
from affidavit.engine.spark import SparkRow, read_input
from affidavit.gates.rag_counts import ItemProfile, RagCounts, count_profiles
from affidavit.gates.rag_report import RagResult, make_offender
from affidavit.gates.rag_rows import (
    GoldItem,
    TraceRow,
    gold_from_line,
    gold_from_value,
    qid_of,
    require_digest,
    trace_from_line,
    trace_from_value,
)
from affidavit.gates.rag_scoring import RagScorer, RagSettings
from affidavit.gates.report import PlacedOffender

if TYPE_CHECKING:
    from pyspark.rdd import RDD
    from pyspark.sql import SparkSession

Row = TypeVar("Row", GoldItem, TraceRow)
_NOTHING: Final = RagCounts()


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkRagRun:
    """The settings of a run on Spark. `gold` and `trace` are paths for Spark, `shown` their names
    as the user gave them; `digest` combines the digests of several files.
    """

    gold: tuple[str, ...]
    trace: tuple[str, ...]
    shown: tuple[str, str]
    settings: RagSettings
    skip_bad: bool
    items: bool
    expect_gold_digest: str | None
    digest: Callable[[list[str]], str | None]


@dataclass(frozen=True, slots=True)
class _KeyedRow:
    """A row by its qid: its number, how many rows had this qid, and the row itself."""

    line: SparkRow
    count: int = 1
    second: SparkRow | None = None

    def later(self, other: "_KeyedRow") -> "_KeyedRow":
        """Return the later of two rows, with both counted."""
        last = max(self.line, other.line, key=lambda line: line.number)
        return _KeyedRow(last, self.count + other.count)

    def earlier(self, other: "_KeyedRow") -> "_KeyedRow":
        """Return the earlier of two rows, with the second one overall."""
        lines = sorted(
            (line for line in (self.line, self.second, other.line, other.second) if line),
            key=lambda line: line.number,
        )
        return _KeyedRow(lines[0], self.count + other.count, lines[1])


def score_rag_on_spark(spark: "SparkSession", run: SparkRagRun) -> RagResult:
    """Evaluate a run on Spark."""
    given_gold, given_traces = read_input(spark, run.gold), read_input(spark, run.trace)
    digest = run.digest([*given_gold.digests])
    require_digest(digest or "", run.expect_gold_digest, run.gold[0])
    gold_bad = _bad_lines(given_gold.lines, _gold_in, run.skip_bad)
    gold = given_gold.lines.flatMap(_by_qid(_gold_in)).reduceByKey(_KeyedRow.earlier)
    _require_distinct_gold(gold)
    trace_bad = _bad_lines(given_traces.lines, _trace_in, run.skip_bad)
    last = given_traces.lines.flatMap(_by_qid(_trace_in)).reduceByKey(_KeyedRow.later)
    joined = gold.fullOuterJoin(last).persist()
    counts = _counts(joined, run.settings)
    items = _items(joined, run.settings) if run.items else None
    return RagResult(
        counts,
        {
            "gold": ReportInput(
                path=run.shown[0],
                digest=digest,
                rows=counts.items(),
                skipped=gold_bad.total,
                skipped_lines=gold_bad.first or UNSET,
            ),
            "trace": ReportInput(
                path=run.shown[1],
                digest=run.digest([*given_traces.digests]),
                rows=counts.traces,
                skipped=trace_bad.total,
                skipped_lines=trace_bad.first or UNSET,
            ),
        },
        _offenders(joined, counts, run.settings),
        items,
    )


def _gold_in(line: SparkRow) -> GoldItem:
    if isinstance(line.content, bytes):
        return gold_from_line(line.content, line.line, line.file)
    return gold_from_value(line.content, line.line, line.file)


def _trace_in(line: SparkRow) -> TraceRow:
    if isinstance(line.content, bytes):
        return trace_from_line(line.content, line.line, line.file)
    return trace_from_value(line.content, line.line, line.file)


def _is_blank(line: SparkRow) -> bool:
    return isinstance(line.content, bytes) and not line.content.strip()


def _by_qid(
    row_in: Callable[[SparkRow], Row],
) -> Callable[[SparkRow], Iterator[tuple[str, _KeyedRow]]]:
    def keyed(line: SparkRow) -> Iterator[tuple[str, _KeyedRow]]:
        if _is_blank(line):
            return
        try:
            row = row_in(line)
        except AffidavitError:  # Reported by _bad_lines.
            return
        yield qid_of(row), _KeyedRow(line)

    return keyed


def _bad_lines(lines: "RDD[SparkRow]", row_in: Callable[[SparkRow], Row], skip: bool) -> Listing:
    """Return the lines that are not rows, or raise at the first of them."""

    def bad(line: SparkRow) -> Iterator[tuple[int, AffidavitError]]:
        if not _is_blank(line):
            try:
                row_in(line)
            except AffidavitError as error:
                yield line.number, error

    found = lines.flatMap(bad).persist()
    first = [error for _, error in found.takeOrdered(MAX_LISTED, key=lambda each: each[0])]
    if first and not skip:
        raise first[0]
    said = (f"{error.where}: {error.message} ({error.fault.code})" for error in first)
    return Listing(found.count() if first else 0, tuple(said))


def _require_distinct_gold(gold: "RDD[tuple[str, _KeyedRow]]") -> None:
    twice = gold.filter(lambda item: item[1].second is not None)
    first = twice.takeOrdered(1, key=lambda item: item[1].second.number)
    for qid, kept in first:
        where = Where(kept.second.file, kept.second.line, "qid")
        raise AffidavitError(faults.GOLD_TWICE, where, qid=excerpt(qid))


JoinedRow = tuple[str, tuple[_KeyedRow | None, _KeyedRow | None]]


def _profiles(
    items: Iterable[JoinedRow], settings: RagSettings
) -> Iterator[tuple[str, ItemProfile]]:
    scorer = RagScorer(settings)
    for qid, (gold, trace) in items:
        if gold is not None:
            found = None if trace is None else _trace_in(trace.line)
            yield qid, scorer.score(_gold_in(gold.line), found)


def _counts(joined: "RDD[JoinedRow]", settings: RagSettings) -> RagCounts:
    def of_part(items: Iterable[JoinedRow]) -> Iterator[RagCounts]:
        kept = list(items)
        counts = count_profiles(_profiles(kept, settings))
        strays = [(qid, trace) for qid, (gold, trace) in kept if gold is None and trace is not None]
        yield counts + RagCounts(
            traces=sum(trace.count for _, (_, trace) in kept if trace is not None),
            duplicates=sum(
                trace.count - 1 for _, (gold, trace) in kept if gold is not None and trace
            ),
            strays=Listing(
                sum(trace.count for _, trace in strays), listing_of(qid for qid, _ in strays).first
            ),
        )

    parts: Any = joined.mapPartitions(of_part)
    counts: RagCounts = parts.treeReduce(lambda one, other: one + other)
    return counts


def _items(joined: "RDD[JoinedRow]", settings: RagSettings) -> list[tuple[str, ItemProfile]]:
    items: list[tuple[str, ItemProfile]]
    items = joined.mapPartitions(lambda items: _profiles(items, settings)).collect()
    return items


def _offenders(
    joined: "RDD[JoinedRow]", counts: RagCounts, settings: RagSettings
) -> tuple[PlacedOffender, ...]:
    qids = [qid for *_, qid in counts.offenders]
    wanted = frozenset(qids)
    found = dict(joined.filter(lambda item: item[0] in wanted).collect())
    scorer = RagScorer(settings)
    offenders = []
    for qid in qids:
        gold, trace = found[qid]
        item, run = _gold_in(gold.line), _trace_in(trace.line)
        profile = scorer.score(item, run)
        place = trace.line
        offenders.append(make_offender(item, run, profile, line=place.line, file=place.file))
    return tuple(offenders)
