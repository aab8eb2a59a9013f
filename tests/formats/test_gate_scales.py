"""The scales of drawings."""

import pytest

from affidavit.formats.gate_report.scales import scale_of
from affidavit.formats.gate_report.wire import GateV1, MetricV1

SCALES: dict[str, tuple[str, MetricV1 | GateV1, tuple[float, float]]] = {
    "a share goes from 0 to 1": ("precision", MetricV1(0.2, ci95=(0.1, 0.3)), (0, 1)),
    "also if it was not measured": (
        "under_refusal",
        GateV1("under_refusal", "<=", 0.05, None, "not_measured"),
        (0, 1),
    ),
    "a coefficient may be below 0": ("kappa", MetricV1(0.1, ci95=(-0.2, 0.4)), (-1, 1)),
    "but need not be": ("kappa", MetricV1(0.5, ci95=(0.2, 0.8)), (0, 1)),
    "milliseconds have room for their interval": (
        "p95_ms/5rps",
        MetricV1(1000, ci95=(900, 2000)),
        (0, 2500),
    ),
    "and for their threshold": ("p95_ms", GateV1("p95_ms", "<=", 4000, 1000, "pass"), (0, 5000)),
    "nothing at all": ("p95_ms", MetricV1(None), (0, 1)),
    "a name that is not known": ("novel", MetricV1(8), (0, 10)),
}


@pytest.mark.parametrize(("name", "made", "wanted"), SCALES.values(), ids=SCALES.keys())
def test_scale(name: str, made: MetricV1 | GateV1, wanted: tuple[float, float]) -> None:
    assert scale_of(name, made) == wanted
