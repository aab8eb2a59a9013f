"""The tables of a report: the same rows on the terminal, in Markdown and in HTML."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from affidavit.formats.gate_report import kinds, words
from affidavit.formats.gate_report.wire import ReportV1

SHOWN: Final = 50
"""How many rows a table of parts shows; a title says how many there are."""
_IDS: Final = 8
_TEXT: Final = 160


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of a row; `status` is how its last cell is meant, if it is a result."""

    cells: tuple[str, ...]
    status: str | None = None


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A table with a title. `numbers` are the columns that are aligned to the right."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    numbers: frozenset[int] = frozenset()
    note: str = ""


def gate_table(report: ReportV1) -> ReportTable:
    """Return every gate, and then the figures without a gate; loads have a table of their own."""
    gated = {gate.metric for gate in report.gates}
    gates = [
        Row(
            (
                gate.metric,
                words.figure(gate.value, gate.threshold),
                words.interval(gate.ci95),
                words.wanted(gate),
                words.ABSENT if gate.n is None else str(gate.n),
                str(gate.not_measured),
                words.STATUSES[gate.status],
            ),
            gate.status,
        )
        for gate in report.gates
    ]
    others = [
        Row(
            (
                name,
                words.figure(metric.value),
                words.interval(metric.ci95),
                words.ABSENT,
                words.ABSENT if metric.denominator is None else str(metric.denominator),
                str(metric.not_measured),
                "no gate",
            ),
            "no_gate",
        )
        for name, metric in report.metrics.items()
        if name not in gated and "/" not in name
    ]
    columns = ("Metric", "Value", "95%", "Threshold", "n", "Not measured", "Result")
    return ReportTable("Gates", columns, (*gates, *others), frozenset({1, 4, 5}))


def input_table(report: ReportV1) -> ReportTable:
    """Return what was read."""
    rows = tuple(
        Row((role, given.path, str(given.rows), str(given.skipped), given.digest or words.ABSENT))
        for role, given in report.inputs.items()
    )
    columns = ("Input", "File", "Rows", "Skipped", "Digest")
    return ReportTable("What was read", columns, rows, frozenset({2, 3}))


def offender_table(report: ReportV1) -> ReportTable | None:
    """Return the questions to look at first, or None if there are none to name."""
    offenders = kinds.offenders_of(report.kind, report.offenders)
    if not offenders:
        return None
    first = offenders[0]
    if isinstance(first, kinds.RagOffenderV1):
        columns: tuple[str, ...] = ("Question", "What is wrong", "Answer", "Passages")
        title, note = f"Look at these first ({len(offenders)})", words.CHECKS
    elif isinstance(first, kinds.DisagreementV1):
        columns = ("Question", "Scholar", "Auditor", "Final", "Why")
        title, note = f"Where the agents differ ({len(offenders)})", ""
    else:
        columns = ("Question", "Runs", "Outside its limit", "Not measured")
        title, note = f"Questions that are not stable ({len(offenders)})", ""
    return ReportTable(title, columns, tuple(Row(_offender(each)) for each in offenders), note=note)


def _offender(offender: kinds.Offender) -> tuple[str, ...]:
    if isinstance(offender, kinds.RagOffenderV1):
        return _rag_offender(offender)
    if isinstance(offender, kinds.DisagreementV1):
        why = words.why_in_words(offender.why)
        return offender.qid, offender.scholar, offender.auditor, offender.final, why
    failed = [_limit(name, offender) for name in offender.failed]
    return (
        offender.qid,
        str(offender.runs),
        words.listed(failed, _IDS),
        words.listed(offender.not_measured, _IDS),
    )


def _limit(name: str, question: kinds.QuestionV1) -> str:
    if name == "refused_always":
        return f"refused in {question.refused} of {question.runs} runs, and there is no answer"
    if name == "scu_cons":
        return "constraints not echoed in every run"
    return f"{name} {words.figure(getattr(question, name, None))}"


def _rag_offender(offender: kinds.RagOffenderV1) -> tuple[str, ...]:
    wrong = words.why_in_words(offender.why)
    if offender.failed:
        wrong += f" (fails {', '.join(offender.failed)})"
    passages = (
        f"cited {words.listed(offender.citations, _IDS)};"
        f" gold {words.listed(offender.gold_citations, _IDS)};"
        f" retrieved {words.listed(offender.retrieved_ids, _IDS)}"
    )
    line = "" if offender.line is None else f" (line {offender.line})"
    asked = words.shortened(offender.question, _TEXT)
    question = f"{offender.qid}{line}: {asked}" if asked else f"{offender.qid}{line}"
    return question, wrong, words.shortened(offender.claim, _TEXT) or words.ABSENT, passages


def detail_tables(report: ReportV1) -> Iterator[ReportTable]:
    """Yield what only this kind of gate reports."""
    details = kinds.details_of(report.kind, report.details)
    if isinstance(details, kinds.LatencyV1):
        yield from _latency(details)
    elif isinstance(details, kinds.AgreementV1):
        yield from _confusion(details)
    elif isinstance(details, kinds.StabilityV1):
        yield from _runs_by_place(details)
    elif isinstance(details, kinds.ResearchV1):
        yield from _research(details)


_PERCENTILES: Final = ("n", "P50 ms", "P90 ms", "P95 ms", "P99 ms", "P99/P50")


def load_of(name: str) -> float:
    """Return the number in the name of a load, `5rps`, for the order of loads."""
    try:
        return float(name.removesuffix("rps"))
    except ValueError:
        return float("inf")


def _latency(details: kinds.LatencyV1) -> Iterator[ReportTable]:
    by_load = dict(sorted(details.load.items(), key=lambda item: (load_of(item[0]), item[0])))
    for title, column, parts in (
        ("By load", "Load", by_load),
        ("By configuration", "Configuration", details.config),
        ("By stage", "Stage", details.stage),
    ):
        if parts:
            yield _percentiles(title, column, parts)
    if details.tradeoff is not None and details.tradeoff.frontier:
        yield _frontier(details.tradeoff)


def _percentiles(title: str, column: str, parts: Mapping[str, kinds.PercentilesV1]) -> ReportTable:
    rows = tuple(
        Row(
            (
                name,
                str(part.n),
                *(words.figure(value, digits=1) for value in _milliseconds(part)),
                words.figure(part.tail_amplification, digits=2),
            )
        )
        for name, part in parts.items()
    )
    shown = _cut(title, rows)
    return ReportTable(shown[0], (column, *_PERCENTILES), shown[1], frozenset(range(1, 7)))


def _milliseconds(part: kinds.PercentilesV1) -> tuple[float | None, ...]:
    return part.p50_ms, part.p90_ms, part.p95_ms, part.p99_ms


def _frontier(tradeoff: kinds.TradeoffV1) -> ReportTable:
    uses = {tradeoff.interactive: "interactive", tradeoff.batch: "batch"}
    if tradeoff.interactive == tradeoff.batch:
        uses = {tradeoff.batch: "interactive and batch"}
    rows = tuple(
        Row(
            (
                made.config,
                words.figure(made.p95_ms, digits=1),
                words.figure(made.precision),
                uses.get(made.config, words.ABSENT),
                words.STATUSES["pass" if made.passes else "fail"],
            ),
            "pass" if made.passes else "fail",
        )
        for made in tradeoff.frontier
    )
    beaten = [each if isinstance(each, str) else each.config for each in tradeoff.dominated]
    note = f"Beaten in both by another: {words.listed(beaten, _IDS)}." if beaten else ""
    if tradeoff.not_measured:
        note = f"{note} Not measured: {words.listed(tradeoff.not_measured, _IDS)}.".strip()
    columns = ("Configuration", "P95 ms", "Precision", "Take it for", "Gates")
    return ReportTable("Worth having", columns, rows, frozenset({1, 2}), note)


def _confusion(details: kinds.AgreementV1) -> Iterator[ReportTable]:
    if not details.confusion:
        return
    labels = sorted({name for pair in details.confusion for name in (pair.scholar, pair.auditor)})
    counts = {(pair.scholar, pair.auditor): pair.count for pair in details.confusion}
    rows = tuple(
        Row((first, *(str(counts.get((first, second), 0)) for second in labels)))
        for first in labels
    )
    note = (
        f"Kappa is read with its base rate, {words.figure(details.base_rate)}; chance alone agrees"
        f" in {words.figure(details.expected_agreement)}."
    )
    columns = ("Scholar, down; auditor, across", *labels)
    numbers = frozenset(range(1, len(labels) + 1))
    yield ReportTable("Labels of the two agents", columns, rows, numbers, note)


def _runs_by_place(details: kinds.StabilityV1) -> Iterator[ReportTable]:
    if not details.by_run:
        return
    rows = tuple(
        Row((str(run.seed), run.jitter, str(run.right), str(run.wrong), str(run.not_measured)))
        for run in details.by_run
    )
    title, shown = _cut("By seed and jitter", rows)
    columns = ("Seed", "Jitter", "Right", "Wrong", "Not measured")
    yield ReportTable(title, columns, shown, frozenset({0, 2, 3, 4}))


def _research(details: kinds.ResearchV1) -> Iterator[ReportTable]:
    if not details.runs:
        return
    names = list(details.runs[0].metrics)
    rows = tuple(
        Row(
            (
                run.run_id,
                run.query or words.ABSENT,
                *(_of(run.metrics.get(name)) for name in names),
            )
        )
        for run in details.runs
    )
    title, shown = _cut("Run by run", rows)
    numbers = frozenset(range(2, len(names) + 2))
    yield ReportTable(title, ("Run", "Golden query", *names), shown, numbers)


def _of(metric: kinds.FigureV1 | None) -> str:
    if metric is None or metric.denominator is None or not metric.denominator:
        return words.ABSENT
    return f"{metric.numerator}/{metric.denominator}"


def _cut(title: str, rows: tuple[Row, ...]) -> tuple[str, tuple[Row, ...]]:
    if len(rows) <= SHOWN:
        return title, rows
    return f"{title} (the first {SHOWN} of {len(rows)})", rows[:SHOWN]
