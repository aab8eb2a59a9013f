"""The fault surface: how often a target passes under each kind and level of fault."""

from collections.abc import Sequence
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from affidavit.base.statistics import rounded, wilson
from affidavit.soak.fault_plan import FaultKind
from affidavit.soak.figures import Ci95, rounded_ci95
from affidavit.soak.policy import SoakCounts
from affidavit.soak.trial import Count, Position

SURFACE_VERSION: Final = "affidavit-surface/1"


class SurfaceCell(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The runs under one kind and level. A cell without a judged run is empty: not measured.

    `injected` counts the faults that really hit a call: a level without one shows nothing.
    """

    kind: FaultKind
    level: Annotated[float, Meta(ge=0, le=1)]
    counts: SoakCounts
    injected: Count
    pass_rate: float | None
    ci95: Ci95 | None


class SurfaceReport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `affidavit sim surface --report` writes."""

    schema_version: Literal["affidavit-surface/1"] = SURFACE_VERSION
    tool_version: str
    target: str
    seed: Count
    iterations: Position
    packs: tuple[str, ...]
    levels: tuple[float, ...]
    kinds: tuple[FaultKind, ...]
    cells: tuple[SurfaceCell, ...]

    def cell(self, kind: FaultKind, level: float) -> SurfaceCell:
        """Return one cell."""
        return next(each for each in self.cells if (each.kind, each.level) == (kind, level))

    @property
    def has_judged(self) -> bool:
        """Whether anything was measured."""
        return any(cell.counts.judged for cell in self.cells)


def surface_cell(kind: FaultKind, level: float, counts: SoakCounts, injected: int) -> SurfaceCell:
    """Return the cell of some runs."""
    return SurfaceCell(
        kind=kind,
        level=level,
        counts=counts,
        injected=injected,
        pass_rate=rounded(counts.rate.value),
        ci95=rounded_ci95(wilson(counts.rate)),
    )


def weakest(cells: Sequence[SurfaceCell]) -> SurfaceCell | None:
    """Return the measured cell with the lowest pass rate."""
    measured = [cell for cell in cells if cell.pass_rate is not None]
    return min(measured, key=lambda cell: cell.pass_rate or 0.0, default=None)
