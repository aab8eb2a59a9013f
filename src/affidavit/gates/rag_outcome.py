"""What an engine finds out about a gold set and its traces: all that a report is made of."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from affidavit.gates.offenders import Offender
from affidavit.gates.rag_brought import Brought
from affidavit.gates.rag_counts import RagCounts
from affidavit.gates.rag_profiles import Profile
from affidavit.gates.report import Input


@dataclass(frozen=True, slots=True)
class RagOutcome:
    """Counts, the worst items with their rows, and every item if they were asked for.

    Items may be gone through more than once.
    """

    counts: RagCounts
    inputs: tuple[Input, ...]
    offenders: tuple[Offender, ...]
    items: Iterable[tuple[str, Profile]] | None
    brought: Brought = field(default_factory=Brought)
