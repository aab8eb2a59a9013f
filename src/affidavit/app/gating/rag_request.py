"""What a run of `gate rag` is asked for, and what its report says of the files."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from affidavit.app.gating.files import BadLines, shown_name
from affidavit.app.gating.rag_sources import Source
from affidavit.gates.rag import RagPolicy
from affidavit.gates.rag_counts import RagCounts
from affidavit.gates.report import Input
from affidavit.gates.tally import LISTED, Listing

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
        Input("gold", _named(request.gold, gold[0]), gold[1], counts.items(), gold[2].count),
        Input("trace", _named(request.trace, traces[0]), traces[1], counts.traces, traces[2].count),
    )


def skipped_of(gold: BadLines, traces: BadLines) -> Listing:
    """Return the lines that were no rows, in their order."""
    first = (*gold.listing().first, *traces.listing().first)
    return Listing(gold.count + traces.count, first[:LISTED])


def _named(given: tuple[str, ...], sources: tuple[Source, ...]) -> str:
    """Return how a report names an input: as the user did."""
    return ", ".join(map(shown_name, given)) or ", ".join(source.shown for source in sources)
