"""The words, numbers and tables of a gate report, the same in every rendering."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from affidavit.decision.counts import Listing
from affidavit.decision.decision import status_words
from affidavit.decision.evaluation import Figure, GateResult
from affidavit.decision.gate import threshold_text
from affidavit.decision.report import Report, RowLocation
from affidavit.gates.report import (
    AgreementDetails,
    ClaimVerdict,
    Disagreement,
    LatencyDetails,
    Offender,
    Percentiles,
    QuestionFigures,
    RagOffender,
    ResearchDetails,
    StabilityDetails,
    Tradeoff,
)

ABSENT: Final = "–"
_NAMES: Final = 10
_LONGEST_NAME: Final = 80
_LONGEST_LINE: Final = 300
"""A skipped line starts with its path, which may be long, before the problem."""
DECISION_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {"ship": "Ship", "no_ship": "Do not ship", "inconclusive": "Could not tell"}
)
KIND_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "rag": "RAG answers",
        "latency": "Latency",
        "agreement": "Agreement of two agents",
        "stability": "Stability over runs",
        "research": "Research runs",
        "all": "All gates",
    }
)
METRIC_DESCRIPTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "precision": "right answers of those given",
        "chr": "answers that cite a gold passage",
        "under_refusal": "answered, though there is no answer",
        "over_refusal": "refused, though there is an answer",
        "scu": "answers that keep their constraints",
        "scu_violations": "answers that break a constraint",
        "recall_at_k": "all gold passages among the first k",
        "chr_at_k": "a gold passage among the first k",
        "containment": "answers that hold a gold text",
        "groundedness": "claims that the contexts support",
        "contradicted": "claims that a context contradicts",
        "unsupported": "claims without support in the contexts",
        "citation_precision": "citations of a context that supports the claim",
        "citation_recall": "supported claims with such a citation",
        "context_precision": "contexts that a supported claim rests on",
        "context_recall": "claims of the reference that are in the contexts",
        "relevance": "answers that speak of what was asked",
        "refusals": "answers that refuse",
        "p50_ms": "median, milliseconds",
        "p90_ms": "90th percentile, milliseconds",
        "p95_ms": "95th percentile, milliseconds",
        "p99_ms": "99th percentile, milliseconds",
        "tail_amplification": "P99 over P50",
        "percent_agreement": "questions with the same label",
        "kappa": "agreement beyond chance",
        "overruled": "accepted by both agents, rejected by a check",
        "abstain_rate": "questions that an agent abstains from",
        "stable": "questions with the same answer in every run",
        "evidence_coverage_rate": "verified claims with evidence",
        "golden_recall": "required evidence that was found",
        "abstention_accuracy": "abstained where there is no evidence",
        "manifest_integrity": "steps with a manifest",
    }
)
_REASON_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "wrong_answer": "wrong answer",
        "refused_answerable": "refused, though there is an answer",
        "answered_unanswerable": "answered, though there is no answer",
        "contradicts_contexts": "says otherwise than its contexts",
        "not_grounded": "says what its contexts do not",
        "hard_flag": "a deterministic check flagged it",
        "citation_out_of_scope": "it cites what was not retrieved",
        "shared_refusal": "both refused",
        "auditor_veto": "the auditor did not accept it",
        "auditor_ok": "the auditor accepted it",
        "incoherent_pair": "the labels do not fit together",
    }
)
UNGROUNDED_REASONS: Final = frozenset({"contradicts_contexts", "not_grounded"})
"""Why a row is an offender that has no gold item, or whose answer the gold item accepts."""
CHECKS_LEGEND: Final = (
    "C: the claim holds a gold text. H: a gold passage is cited, and nothing that was not"
    " retrieved. K: the constraints are echoed and none is contradicted."
)
# Zero-width joiners are kept: some scripts and emoji need them.
_CONTROLS: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U000e0000-\U000e0fff]"
)


def escape_controls(text: str) -> str:
    """Return a text with control and invisible characters as escapes."""
    return _CONTROLS.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def describe_kind(report: Report) -> str:
    """Return the title of a report's kind."""
    return KIND_NAMES.get(report.kind, report.kind)


def describe_metric(key: str) -> str:
    """Return the description of a metric and its part; empty if it is not known."""
    name, _, part = key.partition("/")
    said = METRIC_DESCRIPTIONS.get(name, "")
    return f"{said} at {part}" if said and part else said


def describe_reason(why: str) -> str:
    """Return the description of a reason."""
    return _REASON_NAMES.get(why, why.replace("_", " "))


def format_figure(value: float | None, beside: float | None = None, digits: int = 4) -> str:
    """Return a number with few digits, but enough that it differs from an unequal `beside`.

    A precision of 0.799999 fails a gate of 0.8 and must not be shown as 0.8.
    """
    if value is None:
        return ABSENT
    for places in range(digits, 17):
        short = round(value, places)
        if beside is None or (short == beside) == (value == beside):
            break
    return threshold_text(short)


def format_value(made: Figure | GateResult, beside: float | None = None) -> str:
    """Return the value of a figure; where it has only bounds, these."""
    if made.value is None and made.bounds is not None:
        return format_interval(made.bounds)
    return format_figure(made.value, beside)


def format_interval(ci95: Sequence[float] | None) -> str:
    """Return an interval with enough digits to tell its ends apart, or a dash."""
    if ci95 is None:
        return ABSENT
    low, high = ci95
    digits = next((n for n in range(2, 6) if round(high - low, n) >= 10 ** (1 - n)), 6)
    return f"{format_figure(low, digits=digits)} to {format_figure(high, digits=digits)}"


def format_threshold(gate: GateResult) -> str:
    """Return the condition of a gate: `>= 0.8`, `>= 0.8 at 95%`."""
    sure = "" if gate.confidence is None else f" at {format_figure(gate.confidence)}%"
    corrected = f" ({format_figure(gate.corrected)}% by Holm)" if gate.corrected else ""
    return f"{gate.op} {threshold_text(gate.threshold)}{sure}{corrected}"


def shortened(text: str, longest: int) -> str:
    """Return a text on one line, shortened with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"


def short_name(name: str) -> str:
    """Return a user's name, such as a qid, shortened for the report."""
    return shortened(name, _LONGEST_NAME)


def list_names(
    names: Sequence[str], most: int, total: int | None = None, longest: int = _LONGEST_NAME
) -> str:
    """Return the first names and how many more there are."""
    if not names:
        return ABSENT
    more = (len(names) if total is None else total) - min(len(names), most)
    said = ", ".join(shortened(name, longest) for name in names[:most])
    return f"{said} and {more} more" if more > 0 else said


def listings_beyond_offenders(report: Report) -> Iterator[tuple[str, str]]:
    """Yield the listings that the offenders do not already cover."""
    named = {offender.qid for offender in report.offenders}
    for name, listing in report.listings.items():
        if listing.total and (len(listing.first) < listing.total or not named >= {*listing.first}):
            said = list_names(listing.first, _NAMES, listing.total)
            yield _title_with_total(name.replace("_", " "), listing.total), said
    skipped = [line for given in report.inputs.values() for line in given.skipped_lines or ()]
    if skipped:
        total = sum(given.skipped for given in report.inputs.values())
        yield (
            _title_with_total("skipped lines", total),
            list_names(skipped, _NAMES, total, _LONGEST_LINE),
        )


def _title_with_total(title: str, total: int) -> str:
    return f"{title.capitalize()} ({total})"


_COUNTED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "pass": "passed",
        "fail": "failed",
        "not measured": "not measured",
        "could not tell": "undecided",
        "nothing to measure": "with nothing to measure",
    }
)


def headline(report: Report) -> str:
    """Return the decision and the numbers of gates by status."""
    said = DECISION_NAMES[report.decision]
    counts = Counter(status_words(gate.status, gate.value) for gate in report.gates)
    parts = ", ".join(f"{counts[name]} {word}" for name, word in _COUNTED.items() if counts[name])
    return f"{said}: {parts}" if parts else said


_MAX_IDS: Final = 8
OPEN_OFFENDERS: Final = 10
"""How many offenders every rendering shows openly; all others are folded. Origin: section 6 of the
RAG document, "the top 10 offenders"."""
_MAX_TEXT: Final = 600
_MAX_PASSAGE: Final = 400
_MAX_PASSAGES: Final = 4


@dataclass(frozen=True, slots=True)
class TableRow:
    """The cells of a row; `status` is the status of its last cell, if it is a result."""

    cells: tuple[str, ...]
    status: str | None = None


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A table with a title. `numbers` are the columns that are aligned to the right.

    Rows from `folded_from` on are folded where a rendering can fold, and in short lines elsewhere.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    numbers: frozenset[int] = frozenset()
    note: str = ""
    folded_from: int | None = None

    @property
    def open_rows(self) -> tuple[TableRow, ...]:
        """The rows that are not folded."""
        return self.rows[: self.folded_from]

    @property
    def folded_rows(self) -> tuple[TableRow, ...]:
        """The rows that are folded."""
        return () if self.folded_from is None else self.rows[self.folded_from :]


def gate_table(report: Report) -> ReportTable:
    """Return the gates, then the figures without a gate; loads have their own table."""
    gated = {gate.metric for gate in report.gates}
    gates = [
        TableRow(
            (
                gate.metric,
                format_value(gate, gate.threshold),
                format_interval(gate.ci95),
                format_threshold(gate),
                ABSENT if gate.n is None else str(gate.n),
                str(gate.not_measured),
                status_words(gate.status, gate.value),
            ),
            gate.status,
        )
        for gate in report.gates
    ]
    others = [
        TableRow(
            (
                name,
                format_value(metric),
                format_interval(metric.ci95),
                ABSENT,
                ABSENT if metric.denominator is None else str(metric.denominator),
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


def input_table(report: Report) -> ReportTable:
    """Return the inputs."""
    rows = tuple(
        TableRow(
            (
                role,
                given.path,
                str(given.rows),
                str(given.skipped),
                given.digest or ABSENT,
            )
        )
        for role, given in report.inputs.items()
    )
    columns = ("Input", "File", "Rows", "Skipped", "Digest")
    return ReportTable("What was read", columns, rows, frozenset({2, 3}))


def offender_table(report: Report) -> ReportTable | None:
    """Return the offenders, or None if there are none."""
    offenders = report.offenders
    if not offenders:
        return None
    first, note = offenders[0], ""
    counted = _shown_of_total(report, len(offenders))
    if isinstance(first, RagOffender):
        columns: tuple[str, ...] = ("Question", "What is wrong", "Expected", "Answer", "Passages")
        by_gold = any(each.why not in UNGROUNDED_REASONS for each in offenders)
        title, note = f"Look at these first ({counted})", CHECKS_LEGEND if by_gold else ""
    elif isinstance(first, Disagreement):
        columns = ("Question", "Scholar", "Auditor", "Final", "Why", "Answer", "Passages")
        title = f"Where the agents differ or are overruled ({counted})"
    else:
        columns = ("Question", "Runs", "Outside its limit", "Expected", "Answers", "Passages")
        title = f"Questions that are not stable ({counted})"
    rows = tuple(TableRow(_offender(report, each)) for each in offenders)
    return ReportTable(title, columns, rows, note=note, folded_from=OPEN_OFFENDERS)


def _shown_of_total(report: Report, shown: int) -> str:
    """Return the number shown, and the total if it is larger."""
    details = report.details
    total = report.counts.get("wrong", report.listings.get("unstable", Listing()).total)
    total = max(total, report.counts.get("ungrounded", 0))
    if isinstance(details, AgreementDetails):
        total = details.disagreements
    return str(shown) if total <= shown else f"{shown} of {total}"


def _offender(report: Report, offender: Offender) -> tuple[str, ...]:
    if isinstance(offender, RagOffender):
        return _rag_offender(offender, report.location_of(offender.qid))
    if isinstance(offender, Disagreement):
        return _disagreement(offender)
    failed = [_limit(name, offender) for name in offender.failed]
    failed += [f"{name} not measured" for name in offender.not_measured]
    answers = [f"{each.count} times: {each.text}" for each in offender.answers]
    return (
        _asked(offender.qid, offender.question),
        _runs(offender),
        list_names(failed, _MAX_IDS),
        _texts(offender.expected),
        _texts(answers),
        f"cited {list_names(offender.cited, _MAX_IDS)};"
        f" gold {list_names(offender.gold_citations, _MAX_IDS)}",
    )


def _disagreement(offender: Disagreement) -> tuple[str, ...]:
    return (
        _asked(offender.qid, offender.question),
        _label(offender.scholar, offender.scholar_reason),
        _label(offender.auditor, offender.auditor_reason),
        short_name(offender.final),
        describe_reason(offender.why),
        shortened(offender.claim or "", _MAX_TEXT) or ABSENT,
        f"cited {_recorded(offender.citations)}; retrieved {_recorded(offender.retrieved_ids)}",
    )


def _label(label: str, reason: str | None) -> str:
    said = shortened(reason or "", _MAX_TEXT)
    return f"{short_name(label)}: {said}" if said else short_name(label)


def _asked(name: str, question: str, place: RowLocation | None = None) -> str:
    line = "" if place is None else f" (line {place.line})"
    said = shortened(question, _MAX_TEXT)
    return f"{short_name(name)}{line}: {said}" if said else f"{short_name(name)}{line}"


def _texts(texts: Sequence[str]) -> str:
    """Return some texts in one cell."""
    said = " | ".join(shortened(text, _MAX_TEXT) for text in texts[:_MAX_IDS])
    more = len(texts) - _MAX_IDS
    return f"{said} and {more} more" if more > 0 else said or ABSENT


def _runs(question: QuestionFigures) -> str:
    silent = question.no_answer
    return f"{question.runs} ({silent} without an answer)" if silent else str(question.runs)


def _limit(name: str, question: QuestionFigures) -> str:
    if name == "refused_always":
        return f"has no answer, but was refused in {question.refused} of {question.runs} runs only"
    if name == "scu_cons":
        return "constraints not echoed in every run"
    return f"{name} {format_figure(getattr(question, name, None))}"


def _recorded(ids: tuple[str, ...] | None) -> str:
    return "not recorded" if ids is None else list_names(ids, _MAX_IDS)


def _rag_offender(offender: RagOffender, place: RowLocation | None) -> tuple[str, ...]:
    wrong = describe_reason(offender.why)
    checks = [f"fails {', '.join(offender.failed)}"] if offender.failed else []
    if offender.not_measured:
        checks.append(f"{', '.join(offender.not_measured)} not measured")
    if checks:
        wrong += f" ({'; '.join(checks)})"
    recorded = (
        f"cited {_recorded(offender.citations)};"
        f" gold {list_names(offender.gold_citations, _MAX_IDS)};"
        f" retrieved {_recorded(offender.retrieved_ids)}"
    )
    is_ungrounded = offender.why in UNGROUNDED_REASONS
    passages = [] if is_ungrounded else [recorded, *_passage_texts(offender)]
    return (
        _asked(offender.qid, offender.question, place),
        wrong,
        _texts(offender.expected),
        shortened(offender.claim, _MAX_TEXT) or ABSENT,
        "; ".join([*map(_judged_claim, offender.claims[:_MAX_IDS]), *passages]) or ABSENT,
    )


def _judged_claim(claim: ClaimVerdict) -> str:
    """Return a claim that is not supported, with the nearest passage and the reason."""
    verdict = claim.verdict.replace("_", " ")
    said = f'{verdict}: "{shortened(claim.claim, _MAX_PASSAGE)}"'
    if claim.passage:
        said += f', {claim.context} says "{shortened(claim.passage, _MAX_PASSAGE)}"'
    return f"{said} ({shortened(claim.reason, _MAX_PASSAGE)})" if claim.reason else said


def _passage_texts(offender: RagOffender) -> Iterator[str]:
    """Yield the texts of the passages that matter most: gold ones, then cited, then retrieved."""
    named = (*offender.gold_citations, *(offender.citations or ()), *(offender.retrieved_ids or ()))
    known = [name for name in dict.fromkeys(named) if name in offender.passages]
    for name in known[:_MAX_PASSAGES]:
        yield f"{short_name(name)} = {shortened(offender.passages[name], _MAX_PASSAGE)}"
    if len(known) > _MAX_PASSAGES:
        yield f"and {len(known) - _MAX_PASSAGES} more passages"


# The tables that only one kind of gate has: loads, labels, runs.

MAX_DETAIL_ROWS: Final = 50
"""How many rows such a table shows; its title has the total."""
_MAX_DETAIL_IDS: Final = 8
_MAX_QUERY: Final = 160
_MAX_LABELS: Final = 30
"""The agents have four; a report from elsewhere may have any number."""


def detail_tables(report: Report) -> Iterator[ReportTable]:
    """Yield the tables that only this kind of gate has."""
    details = report.details
    if isinstance(details, LatencyDetails):
        yield from _latency(details)
    elif isinstance(details, AgreementDetails):
        yield from _confusion(details)
    elif isinstance(details, StabilityDetails):
        yield from _runs_by_place(details)
    elif isinstance(details, ResearchDetails):
        yield from _research(details)


_PERCENTILES: Final = ("n", "P50 ms", "P90 ms", "P95 ms", "P99 ms", "P99/P50")


def load_of(name: str) -> float:
    """Return the number in the name of a load, such as `5rps`, for sorting."""
    try:
        return float(name.removesuffix("rps"))
    except ValueError:
        return float("inf")


def _latency(details: LatencyDetails) -> Iterator[ReportTable]:
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


def _percentiles(title: str, column: str, parts: Mapping[str, Percentiles]) -> ReportTable:
    rows = tuple(
        TableRow(
            (
                short_name(name),
                str(part.n),
                *(format_figure(value, digits=1) for value in _milliseconds(part)),
                format_figure(part.tail_amplification, digits=2),
            )
        )
        for name, part in parts.items()
    )
    shown = _cut(title, rows)
    return ReportTable(shown[0], (column, *_PERCENTILES), shown[1], frozenset(range(1, 7)))


def _milliseconds(part: Percentiles) -> tuple[float | None, ...]:
    return part.p50_ms, part.p90_ms, part.p95_ms, part.p99_ms


def _frontier(tradeoff: Tradeoff) -> ReportTable:
    uses = {tradeoff.interactive: "interactive", tradeoff.batch: "batch"}
    if tradeoff.interactive == tradeoff.batch:
        uses = {tradeoff.batch: "interactive and batch"}
    rows = tuple(
        TableRow(
            (
                short_name(made.config),
                format_figure(made.p95_ms, digits=1),
                format_figure(made.p99_ms, digits=1),
                format_figure(made.precision),
                format_figure(made.chr),
                uses.get(made.config, ABSENT),
                "pass" if made.passes else "fail",
            ),
            "pass" if made.passes else "fail",
        )
        for made in tradeoff.frontier
    )
    beaten = [each if isinstance(each, str) else each.config for each in tradeoff.dominated]
    note = f"Beaten by another: {list_names(beaten, _MAX_DETAIL_IDS)}." if beaten else ""
    if tradeoff.not_measured:
        names = list_names(tradeoff.not_measured, _MAX_DETAIL_IDS)
        note = f"{note} Not measured: {names}.".strip()
    columns = (
        *("Configuration", "P95 ms", "P99 ms", "Precision", "CHR"),
        *("Take it for", "Gates"),
    )
    title, shown = _cut("Worth having", rows)
    return ReportTable(title, columns, shown, frozenset(range(1, 5)), note)


def _confusion(details: AgreementDetails) -> Iterator[ReportTable]:
    if not details.confusion:
        return
    named = {name for pair in details.confusion for name in (pair.scholar, pair.auditor)}
    labels = sorted(named)[:_MAX_LABELS]
    counts = {(pair.scholar, pair.auditor): pair.count for pair in details.confusion}
    rows = tuple(
        TableRow((first, *(str(counts.get((first, second), 0)) for second in labels)))
        for first in labels
    )
    note = (
        f"Kappa is read with its base rate, {format_figure(details.base_rate)};"
        " chance alone agrees"
        f" in {format_figure(details.expected_agreement)}."
    )
    columns = ("Scholar, down; auditor, across", *labels)
    numbers = frozenset(range(1, len(labels) + 1))
    yield ReportTable("Labels of the two agents", columns, rows, numbers, note)


def _runs_by_place(details: StabilityDetails) -> Iterator[ReportTable]:
    if not details.by_run:
        return
    rows = tuple(
        TableRow(
            (
                str(run.seed),
                short_name(run.jitter),
                str(run.right),
                str(run.wrong),
                str(run.not_measured),
            )
        )
        for run in details.by_run
    )
    title, shown = _cut("By seed and jitter", rows)
    columns = ("Seed", "Jitter", "Right", "Wrong", "Not measured")
    yield ReportTable(title, columns, shown, frozenset({0, 2, 3, 4}))


def _research(details: ResearchDetails) -> Iterator[ReportTable]:
    if not details.runs:
        return
    names = list(details.runs[0].metrics)
    rows = tuple(
        TableRow(
            (
                short_name(run.run_id),
                shortened(run.query or ABSENT, _MAX_QUERY),
                *(_numerator_of_denominator(run.metrics.get(name)) for name in names),
            )
        )
        for run in details.runs
    )
    title, shown = _cut("Run by run", rows)
    numbers = frozenset(range(2, len(names) + 2))
    yield ReportTable(title, ("Run", "Golden query", *names), shown, numbers)


def _numerator_of_denominator(metric: Figure | None) -> str:
    if metric is None or metric.denominator is None or not metric.denominator:
        return ABSENT
    return f"{metric.numerator}/{metric.denominator}"


def _cut(title: str, rows: tuple[TableRow, ...]) -> tuple[str, tuple[TableRow, ...]]:
    if len(rows) <= MAX_DETAIL_ROWS:
        return title, rows
    return f"{title} (the first {MAX_DETAIL_ROWS} of {len(rows)})", rows[:MAX_DETAIL_ROWS]
