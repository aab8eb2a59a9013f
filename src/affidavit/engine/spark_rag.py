"""`gate rag` on Spark: gold items and the last traces are joined, so neither need fit in memory."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.base.places import excerpt
from affidavit.engine.spark import Line, read_input, session
from affidavit.gates.offenders import Offender, offender_of
from affidavit.gates.rag_counting import counts_of
from affidavit.gates.rag_counts import RagCounts
from affidavit.gates.rag_outcome import RagOutcome
from affidavit.gates.rag_profiles import Profile
from affidavit.gates.rag_rows import (
    GoldV1,
    TraceV1,
    gold_from_line,
    gold_from_value,
    hold_to_digest,
    qid_of,
    trace_from_line,
    trace_from_value,
)
from affidavit.gates.rag_scoring import RagScorer, RagSettings
from affidavit.gates.report import Input
from affidavit.gates.tally import LISTED, Listing, listing_of

if TYPE_CHECKING:
    from pyspark.rdd import RDD

Row = TypeVar("Row", GoldV1, TraceV1)
_NOTHING: Final = RagCounts()


@dataclass(frozen=True, slots=True)
class SparkRun:
    """What a run on Spark is asked for. `gold` and `trace` are what Spark reads, and `shown` how
    the user named them; `digest` makes one digest of those of several files.
    """

    master: str
    gold: tuple[str, ...]
    trace: tuple[str, ...]
    shown: tuple[str, str]
    settings: RagSettings
    skip_bad: bool
    items: bool
    expect_gold_digest: str | None
    digest: Callable[[list[str]], str | None]


@dataclass(frozen=True, slots=True)
class _Kept:
    """A row by its qid: where it stands, how many there were, and its line."""

    line: Line
    count: int = 1
    second: Line | None = None

    def later(self, other: "_Kept") -> "_Kept":
        """Return the last of two; both count."""
        last = max(self.line, other.line, key=lambda line: line.number)
        return _Kept(last, self.count + other.count)

    def earlier(self, other: "_Kept") -> "_Kept":
        """Return the first of two, with the second of all."""
        lines = sorted(
            (line for line in (self.line, self.second, other.line, other.second) if line),
            key=lambda line: line.number,
        )
        return _Kept(lines[0], self.count + other.count, lines[1])


def found_on_spark(run: SparkRun) -> RagOutcome:
    """Find out on Spark what a report is made of."""
    with session(run.master) as spark:
        given_gold, given_traces = read_input(spark, run.gold), read_input(spark, run.trace)
        digest = run.digest([*given_gold.digests])
        hold_to_digest(digest or "", run.expect_gold_digest, run.gold[0])
        gold_bad = _bad_lines(given_gold.lines, _gold_in, run.skip_bad)
        gold = given_gold.lines.flatMap(_by_qid(_gold_in)).reduceByKey(_Kept.earlier)
        _refuse_twice(gold)
        trace_bad = _bad_lines(given_traces.lines, _trace_in, run.skip_bad)
        last = given_traces.lines.flatMap(_by_qid(_trace_in)).reduceByKey(_Kept.later)
        joined = gold.fullOuterJoin(last).persist()
        counts = _counts(joined, run.settings)
        items = _items(joined, run.settings) if run.items else None
        return RagOutcome(
            counts,
            (
                Input("gold", run.shown[0], digest, counts.items(), gold_bad.total, gold_bad.first),
                Input(
                    "trace",
                    run.shown[1],
                    run.digest([*given_traces.digests]),
                    counts.traces,
                    trace_bad.total,
                    trace_bad.first,
                ),
            ),
            _offenders(joined, counts, run.settings),
            items,
        )


def _gold_in(line: Line) -> GoldV1:
    if isinstance(line.content, bytes):
        return gold_from_line(line.content, line.line, line.file)
    return gold_from_value(line.content, line.line, line.file)


def _trace_in(line: Line) -> TraceV1:
    if isinstance(line.content, bytes):
        return trace_from_line(line.content, line.line, line.file)
    return trace_from_value(line.content, line.line, line.file)


def _is_blank(line: Line) -> bool:
    return isinstance(line.content, bytes) and not line.content.strip()


def _by_qid(row_in: Callable[[Line], Row]) -> Callable[[Line], Iterator[tuple[str, _Kept]]]:
    def keyed(line: Line) -> Iterator[tuple[str, _Kept]]:
        if _is_blank(line):
            return
        try:
            row = row_in(line)
        except AffidavitError:  # Told of by _bad_lines.
            return
        yield qid_of(row), _Kept(line)

    return keyed


def _bad_lines(lines: "RDD[Line]", row_in: Callable[[Line], Row], skip: bool) -> Listing:
    """Return the lines that are no rows, or stop at the first of them."""

    def bad(line: Line) -> Iterator[tuple[int, AffidavitError]]:
        if not _is_blank(line):
            try:
                row_in(line)
            except AffidavitError as error:
                yield line.number, error

    found = lines.flatMap(bad).persist()
    first = [error for _, error in found.takeOrdered(LISTED, key=lambda each: each[0])]
    if first and not skip:
        raise first[0]
    said = (f"{error.where}: {error.message} ({error.fault.code})" for error in first)
    return Listing(found.count() if first else 0, tuple(said))


def _refuse_twice(gold: "RDD[tuple[str, _Kept]]") -> None:
    twice = gold.filter(lambda item: item[1].second is not None)
    first = twice.takeOrdered(1, key=lambda item: item[1].second.number)
    for qid, kept in first:
        where = Where(kept.second.file, kept.second.line, "qid")
        raise AffidavitError(faults.GOLD_TWICE, where, qid=excerpt(qid))


Joined = tuple[str, tuple[_Kept | None, _Kept | None]]


def _profiles(items: Iterable[Joined], settings: RagSettings) -> Iterator[tuple[str, Profile]]:
    scorer = RagScorer(settings)
    for qid, (gold, trace) in items:
        if gold is not None:
            found = None if trace is None else _trace_in(trace.line)
            yield qid, scorer.score(_gold_in(gold.line), found)


def _counts(joined: "RDD[Joined]", settings: RagSettings) -> RagCounts:
    def of_part(items: Iterable[Joined]) -> Iterator[RagCounts]:
        kept = list(items)
        counts = counts_of(_profiles(kept, settings))
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


def _items(joined: "RDD[Joined]", settings: RagSettings) -> list[tuple[str, Profile]]:
    items: list[tuple[str, Profile]]
    items = joined.mapPartitions(lambda items: _profiles(items, settings)).collect()
    return items


def _offenders(
    joined: "RDD[Joined]", counts: RagCounts, settings: RagSettings
) -> tuple[Offender, ...]:
    qids = [qid for *_, qid in counts.offenders]
    wanted = frozenset(qids)
    found = dict(joined.filter(lambda item: item[0] in wanted).collect())
    scorer = RagScorer(settings)
    offenders = []
    for qid in qids:
        gold, trace = found[qid]
        item, run = _gold_in(gold.line), _trace_in(trace.line)
        profile = scorer.score(item, run)
        offenders.append(offender_of(item, run, profile, trace.line.line, trace.line.file))
    return tuple(offenders)
