"""The fault surface: a soak for each kind and level of fault, with the same seeds."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import affidavit
from affidavit.app.soak import SoakOptions, prepare_soak
from affidavit.app.soak_trials import run_trials
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import soak as faults
from affidavit.base.text import excerpt
from affidavit.decision.gate import parse_number
from affidavit.soak.fault_plan import FaultKind, FaultLevel, fault_kind_named
from affidavit.soak.policy import SoakCounts, StopReason
from affidavit.soak.surface import SurfaceCell, SurfaceReport, surface_cell


@dataclass(frozen=True, slots=True)
class Grid:
    """The rows and columns of a surface."""

    kinds: tuple[FaultKind, ...]
    levels: tuple[float, ...]


def grid_from(kinds: str, levels: str) -> Grid:
    """Return the grid of texts like `reset,stale` and `0.1,0.5`."""
    shares = []
    for text in levels.split(","):
        share = parse_number(text.strip())
        if share is None or not 0 <= share <= 1:
            raise AffidavitError(faults.FAULT_SYNTAX, text=excerpt(text))
        shares.append(share)
    named = dict.fromkeys(fault_kind_named(name.strip()) for name in kinds.split(","))
    return Grid(tuple(named), tuple(sorted(set(shares))))


def run_surface(
    options: SoakOptions, grid: Grid, on_cell: Callable[[int, int, str], None]
) -> SurfaceReport:
    """Measure every cell. Without faults all kinds are the same, so level 0 is run once."""
    options.services.require_for(FaultLevel(kind, 1.0) for kind in grid.kinds)
    cells: list[SurfaceCell] = []
    without: tuple[SoakCounts, int] | None = None
    plan = None
    total = len(grid.kinds) * len(grid.levels)
    for kind in grid.kinds:
        for level in grid.levels:
            on_cell(len(cells), total, f"{kind.value} at {level:g}")
            if level == 0 and without is not None:
                cells.append(surface_cell(kind, level, *without))
                continue
            asked = replace(options, faults=(FaultLevel(kind, level),))
            with TemporaryDirectory() as folder:
                run, _ = prepare_soak(asked, Path(folder))
                plan = run.plan
                trials, ended = run_trials(run, (), lambda trial: None)
            if ended is StopReason.INTERRUPTED:
                raise KeyboardInterrupt
            injected = sum(sum(trial.faults.values()) for trial in trials)
            measured = SoakCounts.of(trials), injected
            if level == 0:
                without = measured
            cells.append(surface_cell(kind, level, *measured))
    return SurfaceReport(
        tool_version=affidavit.__version__,
        target=options.target,
        seed=options.seed,
        iterations=options.iterations,
        packs=() if plan is None else tuple(f"{each.name}@{each.version}" for each in plan.packs),
        levels=grid.levels,
        kinds=grid.kinds,
        cells=tuple(cells),
    )
