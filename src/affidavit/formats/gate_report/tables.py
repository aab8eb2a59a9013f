"""The tables of every report: the same rows on the terminal, in Markdown and in HTML."""

from dataclasses import dataclass
from typing import Final

from affidavit.formats.gate_report import kinds, words
from affidavit.formats.gate_report.wire import ListingV1, PlaceV1, ReportV1, place_of

_IDS: Final = 8
_MOST_OFFENDERS: Final = 50
"""A gate names ten; a report that was written by another hand may name any number."""
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
        title, note = f"Where the agents differ ({_of_all(report, len(offenders))})", ""
    else:
        columns = ("Question", "Runs", "Outside its limit", "Not measured")
        title, note = f"Questions that are not stable ({_of_all(report, len(offenders))})", ""
    rows = tuple(Row(_offender(report, each)) for each in offenders[:_MOST_OFFENDERS])
    return ReportTable(title, columns, rows, note=note)


def _of_all(report: ReportV1, shown: int) -> str:
    """Return how many are shown, of how many there are."""
    details = kinds.details_of(report.kind, report.details)
    total = report.listings.get("unstable", ListingV1()).total
    if isinstance(details, kinds.AgreementV1):
        total = details.disagreements
    return str(shown) if total <= shown else f"{shown} of {total}"


def _offender(report: ReportV1, offender: kinds.Offender) -> tuple[str, ...]:
    if isinstance(offender, kinds.RagOffenderV1):
        return _rag_offender(offender, place_of(report, offender.qid))
    if isinstance(offender, kinds.DisagreementV1):
        why = words.why_in_words(offender.why)
        labels = (offender.scholar, offender.auditor, offender.final)
        return words.named(offender.qid), *map(words.named, labels), why
    failed = [_limit(name, offender) for name in offender.failed]
    return (
        words.named(offender.qid),
        _runs(offender),
        words.listed(failed, _IDS),
        words.listed(offender.not_measured, _IDS),
    )


def _runs(question: kinds.QuestionV1) -> str:
    silent = question.no_answer
    return f"{question.runs} ({silent} without an answer)" if silent else str(question.runs)


def _limit(name: str, question: kinds.QuestionV1) -> str:
    if name == "refused_always":
        return f"has no answer, but was refused in {question.refused} of {question.runs} runs only"
    if name == "scu_cons":
        return "constraints not echoed in every run"
    return f"{name} {words.figure(getattr(question, name, None))}"


def _recorded(ids: tuple[str, ...] | None) -> str:
    return "not recorded" if ids is None else words.listed(ids, _IDS)


def _rag_offender(offender: kinds.RagOffenderV1, place: PlaceV1 | None) -> tuple[str, ...]:
    wrong = words.why_in_words(offender.why)
    checks = [f"fails {', '.join(offender.failed)}"] if offender.failed else []
    if offender.not_measured:
        checks.append(f"{', '.join(offender.not_measured)} not measured")
    if checks:
        wrong += f" ({'; '.join(checks)})"
    passages = (
        f"cited {_recorded(offender.citations)};"
        f" gold {words.listed(offender.gold_citations, _IDS)};"
        f" retrieved {_recorded(offender.retrieved_ids)}"
    )
    line = "" if place is None else f" (line {place.line})"
    asked = words.shortened(offender.question, _TEXT)
    name = f"{words.named(offender.qid)}{line}"
    question = f"{name}: {asked}" if asked else name
    return question, wrong, words.shortened(offender.claim, _TEXT) or words.ABSENT, passages
