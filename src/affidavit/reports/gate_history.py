"""The runs of the history: one compact line of JSON each, from which trends are drawn.

A report has no time, so the caller passes the time of a run.
"""

from collections.abc import Iterator
from typing import Annotated, Final

import msgspec

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.base.strict_json import decode
from affidavit.base.validation import problem_and_field
from affidavit.decision.counts import Count
from affidavit.decision.decision import Decision, GateStatus
from affidavit.decision.evaluation import Ci95
from affidavit.decision.gate import Operator
from affidavit.decision.report import Report

HISTORY_SCHEMA: Final = "affidavit-history/1"
_UTC: Final = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})\Z"


class HistoryFigure(msgspec.Struct, frozen=True, omit_defaults=True):
    """A figure of a run; without a value it was not measured."""

    value: float | None = None
    n: Count | None = None
    ci95: Ci95 | None = None
    not_measured: Count = 0


class HistoryGate(msgspec.Struct, frozen=True):
    """A gate and its status."""

    metric: str
    op: Operator
    threshold: float
    status: GateStatus


class HistoryRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run of one gate. `inputs` are digests, which show when the gold set changed."""

    schema_version: Annotated[str, msgspec.Meta(pattern=r"^affidavit-history/1\Z")]
    at: Annotated[str, msgspec.Meta(pattern=_UTC)]
    kind: str
    decision: Decision
    metrics: dict[str, HistoryFigure] = {}
    gates: tuple[HistoryGate, ...] = ()
    inputs: dict[str, str | None] = {}


def history_lines(report: Report, at: str) -> Iterator[bytes]:
    """Yield the line of a run; a report over several gates has a line for each."""
    yield from map(msgspec.json.encode, history_runs(report, at))


def history_runs(report: Report, at: str) -> Iterator[HistoryRun]:
    """Yield the run of a report, or of each of its gates."""
    for part in report.each_part:
        yield history_run(part, at)


def history_run(report: Report, at: str) -> HistoryRun:
    """Return the run of a report."""
    return HistoryRun(
        schema_version=HISTORY_SCHEMA,
        at=at,
        kind=report.kind,
        decision=report.decision,
        metrics={
            name: HistoryFigure(made.value, made.denominator, made.ci95, made.not_measured)
            for name, made in report.metrics.items()
        },
        gates=tuple(
            HistoryGate(made.metric, made.op, made.threshold, made.status) for made in report.gates
        ),
        inputs={role: given.digest for role, given in report.inputs.items()},
    )


def parse_history_line(raw: bytes, line: int, file: str) -> HistoryRun:
    """Return the run of a line, or raise AF431."""
    try:
        return msgspec.convert(decode(raw, first_line=line), HistoryRun)
    except AffidavitError as error:
        # Invalid JSON is reported as an error of the history.
        problem = error.message
    except msgspec.ValidationError as error:
        problem, field = problem_and_field(error)
        problem = f"{field}: {problem}" if field else problem
    raise AffidavitError(faults.HISTORY_LINE, Where(file, line), problem=problem)
