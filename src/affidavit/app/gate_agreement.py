"""`gate agreement`: two agents over the same questions, from pairs or from two files of labels."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from msgspec import structs

from affidavit.app.gate_inputs import BadLines, InputLines, baseline_outcomes
from affidavit.base.json_rows import keep_last
from affidavit.decision.comparison import compare_outcomes
from affidavit.decision.report import Report, ReportInput
from affidavit.gates.agreement import (
    LABEL_READER,
    PAIR_READER,
    AgreementCounts,
    LabelPair,
    LabelRow,
    agreement_counts,
    agreement_items,
    join_labels,
)
from affidavit.gates.run_reports import agreement_report
from affidavit.reports.gate_wording import escape_controls

KIND = "agreement"
_ESCAPES: Final = {ord(each): f"\\{name}" for each, name in zip("\\\t\n\r", "\\tnr", strict=True)}
_ACTS: Final = ("=", "+", "-", "@", '"')
COLUMNS = ("qid", "scholar", "auditor", "final", "why")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementGate:
    """The settings of the gate: `pairs`, or the labels of each agent."""

    pairs: tuple[str, ...] = ()
    scholar: str | None = None
    auditor: str | None = None
    gates: tuple[str, ...] = ()
    skip_bad: bool = False
    allow_missing: bool = False
    baseline: Path | None = None


@dataclass(frozen=True, slots=True)
class _Labelled:
    pairs: tuple[LabelPair, ...]
    inputs: dict[str, ReportInput]
    duplicates: int
    unpaired: tuple[str, ...] = ()


def gate_agreement(asked: AgreementGate) -> tuple[Report, AgreementCounts]:
    """Return the report, and the counts with every disagreement."""
    before = baseline_outcomes(asked.baseline, KIND)
    if asked.scholar is not None and asked.auditor is not None:
        found = _from_labels(asked.scholar, asked.auditor, asked.skip_bad)
    else:
        found = _from_pairs(asked.pairs, asked.skip_bad)
    counts, items = agreement_counts(found.pairs), agreement_items(found.pairs)
    outcomes = {item.name: item.outcome for item in items}
    report = agreement_report(
        counts,
        found.inputs,
        overrides=asked.gates,
        unpaired=found.unpaired,
        duplicates=found.duplicates,
        allow_missing=asked.allow_missing,
        items=items,
        comparison=None if before is None else compare_outcomes(before, outcomes),
    )
    return report, counts


def _from_pairs(names: Iterable[str], skip_bad: bool) -> _Labelled:
    lines = InputLines("pairs", names, BadLines(skip_bad))
    rows = (row for _, row in lines.rows(PAIR_READER.from_chunk))
    last, duplicates = keep_last(rows, lambda pair: str(pair.qid))
    return _Labelled(tuple(last.values()), {lines.role: lines.as_input()}, duplicates)


def _from_labels(scholar: str, auditor: str, skip_bad: bool) -> _Labelled:
    first, first_input, first_lost = _labels("scholar", scholar, skip_bad)
    second, second_input, second_lost = _labels("auditor", auditor, skip_bad)
    pairs, unpaired = join_labels(first, second)
    inputs = {"scholar": first_input, "auditor": second_input}
    return _Labelled(pairs, inputs, first_lost + second_lost, unpaired)


def _labels(role: str, name: str, skip_bad: bool) -> tuple[dict[str, LabelRow], ReportInput, int]:
    lines = InputLines(role, [name], BadLines(skip_bad))
    rows = (row for _, row in lines.rows(LABEL_READER.from_chunk))
    last, duplicates = keep_last(rows, lambda label: str(label.qid))
    return last, lines.as_input(), duplicates


def disagreements_tsv(counts: AgreementCounts) -> bytes:
    """Return every disagreement as tab-separated values with a header.

    The header is written even without disagreements, so that an older file is not taken for this
    run's.
    """
    rows = (COLUMNS, *(structs.astuple(made) for made in counts.disagreements))
    return "".join("\t".join(map(_cell, row)) + "\n" for row in rows).encode(
        "utf-8", "backslashreplace"
    )


def _cell(text: str) -> str:
    """Return the text of a cell, escaped.

    A tab or line break in a qid must not start another cell, and its first letter must not start a
    spreadsheet formula or a quoted text.
    """
    safe = escape_controls(text.translate(_ESCAPES))
    return f"\\u{ord(safe[0]):04x}{safe[1:]}" if safe.startswith(_ACTS) else safe
