"""The scales of drawings."""

import pytest

from affidavit.decision.decision import GateStatus
from affidavit.decision.evaluation import Figure, GateResult
from affidavit.reports.gate_charts import axis_range

SCALES: dict[str, tuple[str, Figure | GateResult, tuple[float, float]]] = {
    "a share goes from 0 to 1": ("precision", Figure(value=0.2, ci95=(0.1, 0.3)), (0, 1)),
    "also if it was not measured": (
        "under_refusal",
        GateResult(
            metric="under_refusal", op="<=", threshold=0.05, value=None, status=GateStatus.OPEN
        ),
        (0, 1),
    ),
    "a coefficient may be below 0": ("kappa", Figure(value=0.1, ci95=(-0.2, 0.4)), (-1, 1)),
    "but need not be": ("kappa", Figure(value=0.5, ci95=(0.2, 0.8)), (0, 1)),
    "milliseconds have room for their interval": (
        "p95_ms/5rps",
        Figure(value=1000, ci95=(900, 2000)),
        (0, 2500),
    ),
    "and for their threshold": (
        "p95_ms",
        GateResult(metric="p95_ms", op="<=", threshold=4000, value=1000, status=GateStatus.PASSED),
        (0, 5000),
    ),
    "nothing at all": ("p95_ms", Figure(value=None), (0, 1)),
    "a name that is not known": ("novel", Figure(value=8), (0, 10)),
}


@pytest.mark.parametrize(("name", "made", "wanted"), SCALES.values(), ids=SCALES.keys())
def test_scale(name: str, made: Figure | GateResult, wanted: tuple[float, float]) -> None:
    assert axis_range(name, made) == wanted
