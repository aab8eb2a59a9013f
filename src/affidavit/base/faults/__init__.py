"""The closed catalog of faults, one module per area; docs/errors.md is generated from it."""

from collections.abc import Mapping
from types import MappingProxyType, ModuleType
from typing import Final

from affidavit.base.errors import Fault
from affidavit.base.faults import (
    attestation,
    bundles,
    evidence,
    gates,
    receipts,
    service,
    soak,
    store,
    telemetry,
)
from affidavit.base.faults import input as input_faults

_AREAS: Final[tuple[ModuleType, ...]] = (
    input_faults,
    evidence,
    receipts,
    gates,
    service,
    bundles,
    attestation,
    soak,
    telemetry,
    store,
)


def _catalog() -> Mapping[str, Fault]:
    faults = sorted(
        (value for area in _AREAS for value in vars(area).values() if isinstance(value, Fault)),
        key=lambda fault: fault.code,
    )
    return MappingProxyType({fault.code: fault for fault in faults})


CATALOG: Final[Mapping[str, Fault]] = _catalog()
