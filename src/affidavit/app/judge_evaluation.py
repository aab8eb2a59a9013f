"""Measures a judge on labelled rows.

The labels of public data sets and of users mean:

| label | supported | contradicted |
|---|---|---|
| supported, entailment, supports, true, 1 | yes | no |
| partial, weak | no, but in part | unknown |
| refuted, contradicted, contradiction, refutes | no | yes |
| neutral, not_found, not enough info | no | no |
| not_supported, false, 0 | no | unknown |

Case does not matter, and a space or a hyphen is read as an underscore. Partial support counts as
not supported. A row whose label leaves something unknown is not counted in that figure.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from affidavit.app.judge_scoring import JudgedRow, RowFault, RowOutcome
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import evidence as faults
from affidavit.base.label_statistics import ScoredLabel, evaluate_labels
from affidavit.ledger.model import Verdict
from affidavit.reports.judge_evaluation import SetReport


class LabelMeaning(Struct, frozen=True):
    """What a label says about a claim. `name` is its name in reports."""

    name: str
    is_supported: bool
    is_partial: bool
    is_contradicted: bool | None


SUPPORTED: Final = LabelMeaning("supported", True, False, False)
PARTIAL: Final = LabelMeaning("partial", False, True, None)
REFUTED: Final = LabelMeaning("refuted", False, False, True)
NEUTRAL: Final = LabelMeaning("neutral", False, False, False)
NOT_SUPPORTED: Final = LabelMeaning("not_supported", False, False, None)

MEANINGS: Final = (SUPPORTED, PARTIAL, REFUTED, NEUTRAL, NOT_SUPPORTED)
"""In the order of reports."""

_SPELLINGS: Final[Mapping[str, LabelMeaning]] = MappingProxyType(
    {
        **dict.fromkeys(("supported", "entailment", "supports", "true", "1"), SUPPORTED),
        **dict.fromkeys(("partial", "weak"), PARTIAL),
        **dict.fromkeys(("refuted", "contradicted", "contradiction", "refutes"), REFUTED),
        **dict.fromkeys(("neutral", "not_found", "not_enough_info"), NEUTRAL),
        **dict.fromkeys(("not_supported", "false", "0"), NOT_SUPPORTED),
    }
)


def meaning_of(label: str | None, line: int) -> LabelMeaning:
    """Return the meaning of a row's label; raise if it is missing or unknown."""
    key = (label or "").strip().lower().replace(" ", "_").replace("-", "_")
    found = _SPELLINGS.get(key)
    if found is None:
        problem = "the row has no label" if not key else f"no label is spelled {label!r}"
        raise AffidavitError(
            faults.LABEL_UNKNOWN,
            Where(line=line, field="label"),
            problem=problem,
            known=", ".join(_SPELLINGS),
        )
    return found


NOT_MEASURED = frozenset({faults.CLAIM_EMPTY, faults.CLAIM_TOO_LONG})
"""Faults of a row that no judge could read; any other fault is an error of the file."""


class LabelledRow(Struct, frozen=True):
    """A judged row and the meaning of its label."""

    judged: JudgedRow
    meaning: LabelMeaning


def evaluate_set(name: str, outcomes: Iterable[RowOutcome]) -> SetReport:
    """Return the figures of a set. A row with an unknown label, or without one, is an error."""
    rows, unread = label_rows(outcomes)
    return SetReport(
        name=name,
        count=len(rows) + len(unread),
        not_measured=unread,
        support=evaluate_labels([_support_label(row) for row in rows]),
        contradiction=evaluate_labels(
            [
                ScoredLabel(
                    row.meaning.is_contradicted,
                    row.judged.score.verdict is Verdict.CONTRADICTED,
                    row.judged.score.contradiction,
                )
                for row in rows
                if row.meaning.is_contradicted is not None
            ]
        ),
        confusion=_confusion(rows),
    )


def _confusion(rows: Iterable[LabelledRow]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    counts = Counter((row.meaning.name, row.judged.score.verdict) for row in rows)
    table = (
        (meaning.name, tuple(counts[meaning.name, verdict] for verdict in Verdict))
        for meaning in MEANINGS
    )
    return tuple((name, row) for name, row in table if any(row))


def label_rows(
    outcomes: Iterable[RowOutcome],
) -> tuple[list[LabelledRow], tuple[AffidavitError, ...]]:
    """Return the judged rows with their labels, and the errors of unreadable rows."""
    rows: list[LabelledRow] = []
    unread: list[AffidavitError] = []
    for outcome in outcomes:
        if isinstance(outcome, RowFault):
            if outcome.error.fault not in NOT_MEASURED:
                raise outcome.error
            unread.append(outcome.error)
        else:
            rows.append(LabelledRow(outcome, meaning_of(outcome.score.label, outcome.line)))
    return rows, tuple(unread)


def _support_label(row: LabelledRow) -> ScoredLabel:
    predicted = row.judged.score.verdict is Verdict.SUPPORTED
    return ScoredLabel(row.meaning.is_supported, predicted, row.judged.support)
