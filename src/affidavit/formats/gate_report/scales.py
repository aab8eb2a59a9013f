"""On which scale a figure is drawn: it follows from what kind of number it is."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from affidavit.formats.gate_report.wire import GateV1, MetricV1
from affidavit.gates.metrics import BY_KIND, Kind

_KIND_OF: Final[Mapping[str, Kind]] = MappingProxyType(
    {name: metric.kind for table in BY_KIND.values() for name, metric in table.items()}
)


def scale_of(name: str, made: GateV1 | MetricV1) -> tuple[float, float]:
    """Return the ends of a figure's scale; a name that no table knows is taken for an amount."""
    ends = (made.value or 0.0, *(made.ci95 or ()))
    kind = _KIND_OF.get(name.partition("/")[0])
    if kind is Kind.SHARE:
        return 0.0, 1.0
    if kind is Kind.COEFFICIENT:
        return (-1.0 if min(ends) < 0 else 0.0), 1.0
    threshold = made.threshold if isinstance(made, GateV1) else 0.0
    return 0.0, max(*ends, threshold) * 1.25 or 1.0
