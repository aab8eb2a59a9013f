"""What a run of `gate rag` is asked for, and what its report says of the files."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from affidavit.app.gating.files import BadLines, shown_name
from affidavit.app.gating.rag_sources import Source
from affidavit.gates.rag import TRACES, RagPolicy
from affidavit.gates.rag_counts import RagCounts
from affidavit.gates.report import Input

Read = tuple[tuple[Source, ...], str | None, BadLines]
"""An input that was read: its files, its digest, and the lines that were no rows."""


@dataclass(frozen=True, slots=True)
class RagRequest:
    """What a run is asked for. Without a gold set the traces' files hold it too."""

    gold: tuple[str, ...]
    trace: tuple[str, ...]
    policy: RagPolicy = field(default_factory=RagPolicy)
    skip_bad: bool = False
    expect_gold_digest: str | None = None
    baseline: Mapping[str, bool | None] | None = None
    items: bool = True
    jobs: int = 1

    @property
    def needs_items(self) -> bool:
        """Whether every item is wanted by its name."""
        return self.items or self.baseline is not None


def inputs_of(
    request: RagRequest, gold: Read, traces: Read, counts: RagCounts
) -> tuple[Input, Input]:
    """Return what a report says of the two inputs."""
    return (
        _input("gold", request.gold, gold, counts.items()),
        _input(TRACES, request.trace, traces, counts.traces),
    )


def _input(role: str, given: tuple[str, ...], read: Read, rows: int) -> Input:
    sources, digest, bad = read
    return Input(role, _named(given, sources), digest, rows, bad.count, bad.said())


def _named(given: tuple[str, ...], sources: tuple[Source, ...]) -> str:
    """Return how a report names an input: as the user did."""
    return ", ".join(map(shown_name, given)) or ", ".join(source.shown for source in sources)
