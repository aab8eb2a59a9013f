"""A recorded gate report, decided a second time from the figures that it holds.

Not covered: whether the figures are those of the rows, which are not part of a report; and what
kept a decision from being to ship beside the gates, which a report has in words only.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from affidavit.base.decision import Decision, GateStatus
from affidavit.base.errors import AffidavitError
from affidavit.base.statistics import Rate
from affidavit.gates.decision import Measure, rule_on
from affidavit.gates.metrics import BY_KIND, Kind
from affidavit.gates.report import SCHEMA_VERSION
from affidavit.gates.thresholds import Gate, gates_with

# Figures are recorded with six decimals: so near to a threshold, either side is right.
_ROUNDED_BY: Final = 5e-7


class GateV1(msgspec.Struct):
    """What a replay needs of a gate's result."""

    metric: str
    op: str
    threshold: float
    confidence: float | None
    value: float | None
    status: GateStatus
    reason: str


class MetricV1(msgspec.Struct):
    """What a replay needs of a figure."""

    value: float | None
    numerator: int | None
    denominator: int | None
    not_measured: int


class GateReportV1(msgspec.Struct):
    """What a replay needs of a report."""

    schema_version: str
    kind: str
    decision: Decision
    reasons: tuple[str, ...]
    gates: tuple[GateV1, ...]
    metrics: dict[str, MetricV1]
    settings: dict[str, Any] = {}


class NotReplayableError(ValueError):
    """Says why something that is recorded cannot be run again."""


def gate_differences(report: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what does not follow from the figures of a report, or raise why nothing can."""
    try:
        wire = msgspec.convert(report, GateReportV1)
    except msgspec.ValidationError as error:
        raise NotReplayableError(f"it is no gate report with gates: {error}") from None
    if wire.schema_version != SCHEMA_VERSION or wire.kind not in BY_KIND:
        raise NotReplayableError(f"{wire.kind} reports of {wire.schema_version} are not replayed")
    return (*_gates(wire), *_decision(wire))


def _gates(wire: GateReportV1) -> Iterator[str]:
    for each in wire.gates:
        sure = "" if each.confidence is None else f"@{each.confidence!r}"
        text = f"{each.metric}{each.op}{each.threshold!r}{sure}"
        try:
            (gate,) = gates_with([text], (), BY_KIND[wire.kind])
        except AffidavitError as error:
            raise NotReplayableError(error.message) from None
        figure = wire.metrics.get(each.metric)
        if figure is None:
            figure = MetricV1(None, None, None, 0)
        if figure.value != each.value:
            yield f"{text} was decided on {each.value}, and the metric is {figure.value}"
            continue
        possible = _statuses(gate, figure, allow_missing=wire.settings.get("allow_missing") is True)
        if each.status not in possible:
            said = " or ".join(sorted(possible))
            yield f"{text} is recorded as {each.status}, and follows as {said}"


def _statuses(gate: Gate, figure: MetricV1, *, allow_missing: bool) -> set[GateStatus]:
    """Return how the gate can come out.

    One way, unless missing items were allowed, for then a report does not say how many of them are
    still open; or the figure is rounded and next to the threshold.
    """
    value = _value_of(gate, figure)
    values = [value]
    if value is not None and figure.numerator is None:
        is_near = abs(value - gate.threshold) <= _ROUNDED_BY
        values += [value - 2 * _ROUNDED_BY, value + 2 * _ROUNDED_BY] if is_near else []
    still_open = {figure.not_measured, 0} if allow_missing else {figure.not_measured}
    rate = None
    if figure.numerator is not None and figure.denominator is not None:
        rate = Rate(figure.numerator, figure.denominator)
    return {
        rule_on(
            [gate],
            {gate.key: Measure(gate.metric, each, rate, None, figure.not_measured, left)},
        )
        .results[0]
        .status
        for each in values
        for left in still_open
    }


def _value_of(gate: Gate, figure: MetricV1) -> float | None:
    """Return the figure, unrounded where it is a share or a count."""
    if figure.value is None or figure.numerator is None or not figure.denominator:
        return figure.value
    if gate.metric.kind is Kind.COUNT:
        return float(figure.numerator)
    return figure.numerator / figure.denominator


def _decision(wire: GateReportV1) -> Iterator[str]:
    statuses = {each.status for each in wire.gates}
    of_gates = {each.reason for each in wire.gates if each.status is not GateStatus.PASSED}
    others = [reason for reason in wire.reasons if reason not in of_gates]
    said = wire.decision
    if GateStatus.FAILED in statuses:
        follows = {Decision.NO_SHIP}
    elif others:
        # Something beside the gates spoke against it; in words, so both are possible.
        follows = {Decision.NO_SHIP, Decision.INCONCLUSIVE}
    elif statuses == {GateStatus.PASSED}:
        follows = {Decision.SHIP}
    else:
        follows = {Decision.INCONCLUSIVE}
    if said not in follows:
        yield f"the decision is recorded as {said}, and follows as {' or '.join(sorted(follows))}"
