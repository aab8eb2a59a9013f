"""`gate agreement`: two agents over the same questions, from pairs or from two files of labels."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from affidavit.app.gate_inputs import (
    BadLines,
    GatePlan,
    InputLines,
    Name,
    Names,
    baseline_outcomes,
    listed,
)
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
    agreement_report,
    join_labels,
)
from affidavit.gates.report import Disagreement
from affidavit.reports.gate_tables import escape_controls

KIND = "agreement"
_ESCAPES: Final = {ord(each): f"\\{name}" for each, name in zip("\\\t\n\r", "\\tnr", strict=True)}
_ACTS: Final = ("=", "+", "-", "@", '"')
COLUMNS = ("qid", "scholar", "auditor", "final", "why")


class AgreementPlan(GatePlan, frozen=True, kw_only=True):
    """`[gates.agreement]`: pairs, or the labels of both agents."""

    PATHS = ("pairs", "scholar", "auditor")

    pairs: Names = ()
    scholar: Name | None = None
    auditor: Name | None = None
    allow_missing: bool = False

    @property
    def has_pairs_or_labels(self) -> bool:
        """Whether the plan names either pairs or the labels of both agents."""
        labels = (self.scholar, self.auditor)
        return not any(labels) if self.pairs else all(labels)


@dataclass(frozen=True, slots=True)
class _Labelled:
    pairs: tuple[LabelPair, ...]
    inputs: dict[str, ReportInput]
    duplicates: int
    unpaired: tuple[str, ...] = ()


def gate_agreement(plan: AgreementPlan) -> tuple[Report, AgreementCounts]:
    """Return the report, and the counts with every disagreement."""
    before = baseline_outcomes(plan.fail_on_regression, KIND)
    if plan.scholar is not None and plan.auditor is not None:
        found = _from_labels(plan.scholar, plan.auditor, plan.skip_bad)
    else:
        found = _from_pairs(listed(plan.pairs), plan.skip_bad)
    counts, items = agreement_counts(found.pairs), agreement_items(found.pairs)
    outcomes = {item.name: item.outcome for item in items}
    report = agreement_report(
        counts,
        found.inputs,
        overrides=listed(plan.gates),
        correction=plan.correction,
        unpaired=found.unpaired,
        duplicates=found.duplicates,
        allow_missing=plan.allow_missing,
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
    rows = (COLUMNS, *(_fields(made) for made in counts.disagreements))
    return "".join("\t".join(map(_cell, row)) + "\n" for row in rows).encode(
        "utf-8", "backslashreplace"
    )


def _fields(made: Disagreement) -> tuple[str, ...]:
    return made.qid, made.scholar, made.auditor, made.final, made.why


def _cell(text: str) -> str:
    """Return the text of a cell, escaped.

    A tab or line break in a qid must not start another cell, and its first letter must not start a
    spreadsheet formula or a quoted text.
    """
    safe = escape_controls(text.translate(_ESCAPES))
    return f"\\u{ord(safe[0]):04x}{safe[1:]}" if safe.startswith(_ACTS) else safe
