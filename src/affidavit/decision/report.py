"""The report of a gate: one value that every page, file and command is made from.

Machines rely on its form: a change of it is a new `schema_version`. Nothing in it depends on the
clock or on the number of processes, and nothing but `inputs` on the order of the rows: what names
the files as they were read (digests, lines) stands there and nowhere else.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from affidavit.base.errors import AffidavitError
from affidavit.base.notebook import result_table
from affidavit.decision.advice import Advice, advice_for
from affidavit.decision.comparison import Comparison
from affidavit.decision.counts import Listing
from affidavit.decision.decision import Decision
from affidavit.decision.evaluation import GateDecision, Measure

REPORT_SCHEMA: Final = "affidavit-gate/1"
Checks = tuple[tuple[str, bool | None], ...]
OUTCOME_NAMES: Final[Mapping[bool | None, str]] = {
    True: "pass",
    False: "fail",
    None: "not_measured",
}


@dataclass(frozen=True, slots=True)
class RowLocation:
    """Where a row stands."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class ReportInput:
    """A file or table that was read: what it is, where it stood, and how much was in it.

    `skipped_lines` are the first lines that were no rows, each with its place and what is wrong
    with it; `places` say where the rows of the offenders stand, by qid.
    """

    role: str
    path: str
    digest: str | None
    rows: int
    skipped: int = 0
    skipped_lines: tuple[str, ...] = ()
    places: Mapping[str, RowLocation] = field(default_factory=dict)

    def as_wire(self) -> dict[str, object]:
        """Return the input as a report shows it."""
        wire: dict[str, object] = {
            "path": self.path,
            "digest": self.digest,
            "rows": self.rows,
            "skipped": self.skipped,
        }
        if self.skipped_lines:
            wire["skipped_lines"] = list(self.skipped_lines)
        if self.places:
            wire["places"] = {qid: asdict(place) for qid, place in self.places.items()}
        return wire


@dataclass(frozen=True, slots=True)
class ReportItem:
    """How one item came out; `checks` are C, H and K, or what else a gate looks at."""

    name: str
    outcome: bool | None
    checks: Checks = ()


@dataclass(frozen=True, slots=True)
class ItemGroup:
    """The items that came out alike: a million of them are some groups of names."""

    outcome: bool | None
    checks: Checks
    names: Sequence[str]

    def as_wire(self) -> dict[str, object]:
        """Return the group as a report shows it."""
        checks = {name: OUTCOME_NAMES[held] for name, held in self.checks}
        return {"outcome": OUTCOME_NAMES[self.outcome], **checks, "qids": sorted(self.names)}


def group_items(items: Iterable[ReportItem | ItemGroup]) -> tuple[ItemGroup, ...]:
    """Return items by how they came out."""
    groups: dict[tuple[bool | None, Checks], list[str]] = {}
    for item in items:
        names = item.names if isinstance(item, ItemGroup) else (item.name,)
        groups.setdefault((item.outcome, item.checks), []).extend(names)
    return tuple(ItemGroup(outcome, checks, names) for (outcome, checks), names in groups.items())


@dataclass(frozen=True, slots=True)
class Report:
    """A decision with everything it rests on.

    `details` is what only one kind of gate has: latency by load, stability per question.
    """

    kind: str
    ruling: GateDecision
    inputs: tuple[ReportInput, ...]
    measures: Mapping[str, Measure]
    offenders: tuple[Mapping[str, object], ...] = ()
    warnings: tuple[str, ...] = ()
    listings: Mapping[str, Listing] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)
    details: Mapping[str, object] = field(default_factory=dict)
    items: tuple[ReportItem | ItemGroup, ...] | None = None
    comparison: Comparison | None = None

    @property
    def next_steps(self) -> tuple[Advice, ...]:
        """What to do about the gates that failed, and about those that are open."""
        listed = [name for name, listing in self.listings.items() if listing.total]
        return advice_for(self.ruling.failed, self.ruling.unsure, listed)

    def as_wire(self) -> dict[str, Any]:
        """Return the report as JSON has it."""
        wire: dict[str, Any] = {
            "schema_version": REPORT_SCHEMA,
            "kind": self.kind,
            "decision": self.ruling.decision.value,
            "reasons": list(self.ruling.reasons),
            "inputs": {given.role: given.as_wire() for given in self.inputs},
            "counts": dict(self.counts),
            "settings": dict(self.settings),
            "metrics": {name: measure.as_wire() for name, measure in self.measures.items()},
            "gates": [result.as_wire() for result in self.ruling.results],
            "offenders": [dict(offender) for offender in self.offenders],
            "listings": {name: listing.as_wire() for name, listing in self.listings.items()},
            "warnings": list(self.warnings),
            "next_steps": [advice.as_wire() for advice in self.next_steps],
            "details": dict(self.details),
        }
        if self.items is not None:
            groups = (group.as_wire() for group in group_items(self.items))
            wire["items"] = sorted(groups, key=lambda group: str([*group.items()][:-1]))
        if self.comparison is not None:
            wire["comparison"] = self.comparison.as_wire()
        return wire

    def _repr_html_(self) -> str:
        rows = (
            (result.status.value, result.gate.key, str(result.gate), result.reason)
            for result in self.ruling.results
        )
        columns = ("Status", "Metric", "Gate", "Reason")
        return result_table(f"Gate {self.kind}", self.ruling.decision.value, columns, rows)


def system_error_report(kind: str, error: AffidavitError) -> dict[str, Any]:
    """Return the report of an evaluation that stopped: it names what is missing.

    Origin: the research document, "Stop semantics". The exit code is the error's.
    """
    return {
        "schema_version": REPORT_SCHEMA,
        "kind": kind,
        "decision": Decision.INCONCLUSIVE.value,
        "stop_reason": "SYSTEM_ERROR",
        "reasons": [error.message],
        "error": error.as_wire(),
        "inputs": {},
        "metrics": {},
        "gates": [],
        "offenders": [],
        "warnings": [],
    }
