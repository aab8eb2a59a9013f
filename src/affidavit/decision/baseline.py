"""Baselines: the figures of an earlier report, the rollback guard and the latency trade-off."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from affidavit.base.statistics import rounded
from affidavit.decision.report_details import ConfigurationFigures, Tradeoff

# Latency against accuracy: which configurations are worth having, and the guard of a release.
#
# Origin: the latency page of the RAG document.


@dataclass(frozen=True, slots=True)
class Configuration:
    """The latency and precision of one configuration; None if not measured.

    `passes` is about all gates, `passes_relaxed` about those for batch work.
    """

    name: str
    p95_ms: float | None
    precision: float | None
    passes: bool = False
    passes_relaxed: bool = False


def find_tradeoff(configurations: Iterable[Configuration]) -> Tradeoff:
    """Return the configurations that no other beats strictly in both figures."""
    given = sorted(configurations, key=lambda made: made.name)
    known = [
        (made.p95_ms, made.precision, made)
        for made in given
        if made.p95_ms is not None and made.precision is not None
    ]
    kept = [
        (slow, -right, made.name, made)
        for slow, right, made in known
        if not any(other < slow and better > right for other, better, _ in known)
    ]
    frontier = tuple(made for *_, made in sorted(kept, key=lambda row: row[:3]))
    named = {made.name for made in frontier}
    measured = {made.name for *_, made in known}
    # The frontier goes from fast and coarse to slow and precise.
    return Tradeoff(
        frontier=tuple(
            ConfigurationFigures(
                made.name, rounded(made.p95_ms), rounded(made.precision), made.passes
            )
            for made in frontier
        ),
        dominated=tuple(made.name for made in given if made.name in measured - named),
        not_measured=tuple(made.name for made in given if made.name not in measured),
        interactive=next((made.name for made in frontier if made.passes), None),
        batch=_most_precise(frontier),
    )


def _most_precise(frontier: tuple[Configuration, ...]) -> str | None:
    passing = [made for made in frontier if made.passes_relaxed]
    best = max(passing, key=lambda made: made.precision or 0.0, default=None)
    return None if best is None else best.name


MAX_P95_INCREASE: Final = 0.15
MAX_PRECISION_DROP: Final = 0.02


@dataclass(frozen=True, slots=True)
class RollbackGuard:
    """How much worse a release may be than the last one.

    P95 may rise by a share of the old value. Precision may fall by points: 0.02 allows 0.90 to
    become 0.88. The document says only "2 %"; points are the stricter reading below 1.
    """

    slower_by: float = MAX_P95_INCREASE
    worse_by: float = MAX_PRECISION_DROP

    def objections(self, before: Configuration, now: Configuration) -> tuple[str, ...]:
        """Return why the release should be rolled back."""
        found = []
        if before.p95_ms is not None and now.p95_ms is not None:
            limit = before.p95_ms * (1 + self.slower_by)
            if rounded(now.p95_ms) > rounded(limit):
                found.append(
                    f"P95 rose from {rounded(before.p95_ms, 1)} to {rounded(now.p95_ms, 1)} ms,"
                    f" beyond {rounded(limit, 1)}"
                )
        if before.precision is not None and now.precision is not None:
            floor = before.precision - self.worse_by
            if rounded(now.precision) < rounded(floor):
                found.append(
                    f"precision fell from {rounded(before.precision, 4)} to"
                    f" {rounded(now.precision, 4)}, below {rounded(floor, 4)}"
                )
        return tuple(found)

    def doubts(self, before: Configuration, now: Configuration) -> tuple[str, ...]:
        """Return why the guard could not compare a figure."""
        pairs = {
            "P95": (before.p95_ms, now.p95_ms),
            "precision": (before.precision, now.precision),
        }
        return tuple(
            f"{name} was not measured in both releases, so the rollback guard cannot compare it"
            for name, pair in pairs.items()
            if None in pair
        )
