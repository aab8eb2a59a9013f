"""The gate language, which every command shares: parse gates, print them, override defaults.

A gate is a metric, an operator and a threshold: `precision>=0.80`. `=` stands for the operator of
the metric's own direction (`precision=0.80`), `@95` asks for a confidence (`precision>=0.80@95`),
`/` names a part of the rows (`p95_ms/5rps<=2500`), and `=off` removes a gate (`chr=off`). Commas or
spaces separate several gates in one text. The caller passes the table of metrics.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal, NoReturn

from msgspec import Struct, structs

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import gates as faults
from affidavit.base.text import excerpt
from affidavit.decision.metric import RANGE_DESCRIPTIONS, Metric, MetricKind, MetricTable

# A name may end in "@k", as the seed documents write recall; the score of another tool has the name
# of the tool before a dot. A part is printed in the report, so a
# lone surrogate, which a command line can contain, is refused.
_GATE: Final = re.compile(
    r"(?P<name>[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)*(?:@k)?)(?:/(?P<part>[^\s<>=@,/\ud800-\udfff]+))?"
    r"\s*(?P<operator>>=|<=|>|<|==|=)\s*(?P<number>[^\s@]+?)(?:@(?P<confidence>[^\s@%]+)%?)?",
)
Operator = Literal[">=", ">", "<=", "<"]
_OPERATORS: Final[Mapping[str, Operator]] = {">=": ">=", ">": ">", "<=": "<=", "<": "<"}
_SPACED: Final = re.compile(r"\s*(>=|<=|==|=|>|<)\s*")
_MIN_CONFIDENCE: Final = 50.0
_MAX_CONFIDENCE: Final = 99.9
_MIN_MISSPELT: Final = 5
"""Shorter names are too easily like another."""


# A number as people and spreadsheets write it. Python also accepts `1_000`, digits of other
# scripts, `nan` and `infinity`; in a measurement or a gate those are mistakes. Each digit matches
# in one way only, so that a long row of digits takes linear time.
_NUMBER: Final = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")


def parse_number(text: str) -> float | None:
    """Return the number of a text, or None; a number out of range is infinite."""
    return float(text) if _NUMBER.fullmatch(text) else None


def meets_threshold(value: float, operator: str, threshold: float) -> bool:
    """Tell whether `value` is `>=`, `>`, `<=` or `<` a threshold; both are unrounded."""
    if value == threshold:
        return operator.endswith("=")
    return (value > threshold) is operator.startswith(">")


def threshold_text(number: float) -> str:
    """Return the shortest text that parses to the same number."""
    return str(int(number)) if number == int(number) else repr(number)


class Gate(Struct, frozen=True, kw_only=True):
    """A metric with the threshold that it must reach (`>=`, `>`) or not exceed (`<=`, `<`).

    `part` names a slice of the rows, such as the load of a latency. With a `confidence`, the worse
    bound of the Wilson interval must meet the threshold too.
    """

    metric: Metric
    operator: Operator
    threshold: float
    part: str | None = None
    confidence: float | None = None

    def __str__(self) -> str:
        return gate_text(self.key, self.operator, self.threshold, self.percent)

    @property
    def key(self) -> str:
        """The metric's name, with the part if there is one."""
        return _key(self.metric, self.part)

    @property
    def percent(self) -> float | None:
        """The confidence as a percentage, without floating point noise."""
        return None if self.confidence is None else round(self.confidence * 100, 6)

    def holds(self, value: float) -> bool:
        """Tell whether a value satisfies the gate; both are unrounded."""
        return meets_threshold(value, self.operator, self.threshold)


def _key(metric: Metric, part: str | None) -> str:
    return metric.name if part is None else f"{metric.name}/{part}"


def gate_text(key: str, operator: str, threshold: float, percent: float | None) -> str:
    """Return a gate as a user writes it."""
    confidence = "" if percent is None else f"@{threshold_text(percent)}"
    return f"{key}{operator}{threshold_text(threshold)}{confidence}"


def parse_default_gates(metrics: MetricTable, text: str) -> tuple[Gate, ...]:
    """Return the default gates of a command, written as a user writes them."""
    return override_gates([text], (), metrics)


def override_gates(
    overrides: Iterable[str],
    defaults: Iterable[Gate],
    metrics: MetricTable,
    *,
    is_open: bool = False,
) -> tuple[Gate, ...]:
    """Return the default gates with some replaced, added, or removed (`chr=off`).

    Each text may hold several gates, separated by commas or spaces. Two gates on one metric are an
    error: the order of options must not matter. With `is_open`, gates on unknown metrics are left
    out, because a file that was not read yet may have them, unless the name looks misspelt.
    """
    changed: dict[str, Gate | None] = {}
    for text in _split_gates(overrides):
        key, gate = parse_gate(text, metrics, is_open=is_open)
        if key in changed:
            raise AffidavitError(faults.GATE_TWICE, metric=key)
        changed[key] = gate
    merged = {**{gate.key: gate for gate in defaults}, **changed}
    return tuple(gate for gate in merged.values() if gate is not None)


def _split_gates(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        # Runs of spaces are collapsed first: on a long run the pattern would take quadratic time.
        spaced = " ".join(text.split())
        yield from _SPACED.sub(r"\1", spaced).replace(",", " ").split()


def parse_gate(
    text: str, metrics: MetricTable, *, is_open: bool = False
) -> tuple[str, Gate | None]:
    """Return the key of one gate and the gate itself, which is None for `chr=off`.

    With `is_open` it is also None for a metric that is not known yet.
    """
    found = _GATE.fullmatch(text.strip())
    if found is None:
        _refuse_syntax(text, metrics)
    metric = _find_metric(found["name"], metrics)
    if metric is None and is_open and not _is_misspelt(found["name"], metrics):
        return found["name"], None
    if metric is None:
        _refuse_metric(found["name"], metrics)
    if found["part"] is not None and metric.kind is not MetricKind.AMOUNT:
        _refuse_metric(f"{metric.name}/{found['part']}", metrics)
    if found["operator"] == "=" and found["number"] == "off" and found["confidence"] is None:
        return _key(metric, found["part"]), None
    operator = _OPERATORS.get(found["operator"], metric.operator)
    metric = _directed(metric, operator, text)
    value = parse_number(found["number"])
    if value is None:
        _refuse_syntax(text, metrics)
    gate = Gate(
        metric=metric,
        operator=operator,
        threshold=_checked_threshold(metric, value, text),
        part=found["part"],
        confidence=_parse_confidence(metric, found["confidence"], text),
    )
    return gate.key, gate


def _directed(metric: Metric, operator: Operator, text: str) -> Metric:
    """Return the metric with a direction; a gate in the other direction is refused."""
    if metric.more_is_better is None:
        return structs.replace(metric, more_is_better=operator.startswith(">"))
    if operator[0] != metric.operator[0]:
        raise AffidavitError(
            faults.GATE_DIRECTION,
            text=excerpt(text),
            metric=metric.name,
            operator=metric.operator,
        )
    return metric


def _refuse_syntax(text: str, metrics: MetricTable) -> NoReturn:
    example = next(iter(metrics.values()))
    raise AffidavitError(
        faults.GATE_SYNTAX, text=excerpt(text), metric=example.name, operator=example.operator
    )


def _is_misspelt(name: str, metrics: MetricTable) -> bool:
    """Tell whether a name differs from a known one by a letter or two."""
    words = _with_a_letter_less(name)
    return len(name) >= _MIN_MISSPELT and any(
        not words.isdisjoint(_with_a_letter_less(known)) for known in metrics
    )


def _with_a_letter_less(word: str) -> frozenset[str]:
    return frozenset({word, *(word[:at] + word[at + 1 :] for at in range(len(word)))})


def _find_metric(name: str, metrics: MetricTable) -> Metric | None:
    for metric in metrics.values():
        if name == metric.name or name in metric.aliases:
            return metric
    return None


def _refuse_metric(name: str, metrics: MetricTable) -> NoReturn:
    raise AffidavitError(faults.GATE_METRIC, metric=excerpt(name), known=", ".join(metrics))


def _checked_threshold(metric: Metric, value: float, text: str) -> float:
    low = -1 if metric.kind is MetricKind.COEFFICIENT else 0
    high = math.inf if metric.kind in (MetricKind.COUNT, MetricKind.AMOUNT) else 1
    is_whole = metric.kind is not MetricKind.COUNT or value % 1 == 0
    if not math.isfinite(value) or not low <= value <= high or not is_whole:
        raise AffidavitError(
            faults.GATE_RANGE,
            text=excerpt(text),
            metric=metric.name,
            range=RANGE_DESCRIPTIONS[metric.kind],
        )
    return value + 0.0  # "-0" is 0.


def _parse_confidence(metric: Metric, percent: str | None, text: str) -> float | None:
    if percent is None:
        return None
    value = parse_number(percent)
    if metric.kind is not MetricKind.SHARE and not metric.has_interval:
        problem = f"{metric.name} is not a share and has no interval"
    elif value is None or not _MIN_CONFIDENCE <= value <= _MAX_CONFIDENCE:
        problem = f"{excerpt(percent)} is not a percentage from 50 to 99.9"
    else:
        return value / 100
    raise AffidavitError(faults.GATE_CONFIDENCE, text=excerpt(text), problem=problem)
