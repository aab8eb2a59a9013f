"""The scales of drawings."""

import pytest

from affidavit.decision.stored_report import StoredGateResult, StoredMeasure
from affidavit.reports.gate_charts import axis_range

SCALES: dict[str, tuple[str, StoredMeasure | StoredGateResult, tuple[float, float]]] = {
    "a share goes from 0 to 1": ("precision", StoredMeasure(0.2, ci95=(0.1, 0.3)), (0, 1)),
    "also if it was not measured": (
        "under_refusal",
        StoredGateResult("under_refusal", "<=", 0.05, None, "not_measured"),
        (0, 1),
    ),
    "a coefficient may be below 0": ("kappa", StoredMeasure(0.1, ci95=(-0.2, 0.4)), (-1, 1)),
    "but need not be": ("kappa", StoredMeasure(0.5, ci95=(0.2, 0.8)), (0, 1)),
    "milliseconds have room for their interval": (
        "p95_ms/5rps",
        StoredMeasure(1000, ci95=(900, 2000)),
        (0, 2500),
    ),
    "and for their threshold": (
        "p95_ms",
        StoredGateResult("p95_ms", "<=", 4000, 1000, "pass"),
        (0, 5000),
    ),
    "nothing at all": ("p95_ms", StoredMeasure(None), (0, 1)),
    "a name that is not known": ("novel", StoredMeasure(8), (0, 10)),
}


@pytest.mark.parametrize(("name", "made", "wanted"), SCALES.values(), ids=SCALES.keys())
def test_scale(
    name: str, made: StoredMeasure | StoredGateResult, wanted: tuple[float, float]
) -> None:
    assert axis_range(name, made) == wanted
