"""The report of a decision: the one value that is stored, printed and rendered.

Its fields are the members of the JSON, in their order; a change of the form needs another
`schema_version`. A report depends neither on the clock nor on the number of processes. Only
`inputs` depends on the order of rows: file digests and line numbers appear nowhere else.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from affidavit.base.errors import AffidavitError
from affidavit.base.notebook import result_table
from affidavit.decision.comparison import OUTCOME_NAMES, Comparison
from affidavit.decision.counts import Count, Listing
from affidavit.decision.decision import Decision
from affidavit.decision.evaluation import (
    Figure,
    GateResult,
)

REPORT_SCHEMA: Final = "affidavit-gate/1"
Checks = tuple[tuple[str, bool | None], ...]
_OPTIONAL: Final = ("stop_reason", "error", "items", "comparison", "parts")
_NOT_IN_ERRORS: Final = ("counts", "settings", "listings", "next_steps", "details")


class RowLocation(Struct, frozen=True):
    """The file and line of a row."""

    file: str
    line: Annotated[int, Meta(ge=1)]


class ReportInput(Struct, frozen=True, kw_only=True):
    """A file or table that was read.

    `skipped_lines` describes the first lines that could not be read. `places` has the locations of
    the rows of offenders, by qid.
    """

    path: str
    digest: str | None = None
    rows: Count = 0
    skipped: Count = 0
    skipped_lines: tuple[str, ...] | UnsetType = UNSET
    places: dict[str, RowLocation] | UnsetType = UNSET


class ReportItem(Struct, frozen=True):
    """The outcome of one item; `checks` are C, H and K, or the checks of another gate."""

    name: str
    outcome: bool | None
    checks: Checks = ()

    @property
    def group(self) -> tuple[tuple[str], bool | None, Checks]:
        """The item as a group of one, for `group_items`."""
        return (self.name,), self.outcome, self.checks


ItemGroup = dict[str, str | list[str]]
"""The names (`qids`) of all items with the same `outcome` and the same checks."""


def group_items(
    items: Iterable[tuple[Sequence[str], bool | None, Checks]],
) -> tuple[ItemGroup, ...]:
    """Return items by outcome and checks: a million items are a few groups of names."""
    groups: dict[tuple[bool | None, Checks], list[str]] = {}
    for names, outcome, checks in items:
        groups.setdefault((outcome, checks), []).extend(names)
    made: list[ItemGroup] = [
        {
            "outcome": OUTCOME_NAMES[outcome],
            **{name: OUTCOME_NAMES[held] for name, held in checks},
            "qids": sorted(names),
        }
        for (outcome, checks), names in groups.items()
    ]
    return tuple(sorted(made, key=lambda group: str([*group.items()][:-1])))


class Advice(Struct, frozen=True):
    """What to do about some metrics, and the pattern of the problem map that treats it."""

    metrics: tuple[str, ...]
    do: str
    pattern: str | None = None


class Report(Struct, frozen=True, kw_only=True):
    """A decision with everything behind it.

    `details` and `offenders` have a type for each kind of gate (`gates.report`). `parts` are the
    reports that a report over several gates sums up; `error` is why a gate could not be evaluated.
    """

    schema_version: Annotated[str, Meta(pattern=r"^affidavit-gate/1\Z")]
    kind: str
    decision: Decision
    stop_reason: str | None = None
    reasons: tuple[str, ...] = ()
    error: dict[str, Any] | None = None
    inputs: dict[str, ReportInput] = {}
    counts: dict[str, int] = {}
    settings: dict[str, Any] = {}
    metrics: dict[str, Figure] = {}
    gates: tuple[GateResult, ...] = ()
    offenders: tuple[Any, ...] = ()
    listings: dict[str, Listing] = {}
    warnings: tuple[str, ...] = ()
    next_steps: tuple[Advice, ...] = ()
    details: Any = {}
    items: tuple[ItemGroup, ...] | None = None
    comparison: Comparison | None = None
    parts: "dict[str, Report]" = {}

    @property
    def each_part(self) -> "tuple[Report, ...]":
        """The reports that this one sums up, or the report itself."""
        return tuple(self.parts.values()) or (self,)

    def location_of(self, qid: str) -> RowLocation | None:
        """Return the location of an offender's row, if it is known."""
        places = (given.places or {} for given in self.inputs.values())
        return next((found[qid] for found in places if qid in found), None)

    def _repr_html_(self) -> str:
        rows = ((gate.status.value, gate.metric, gate.gate, gate.reason) for gate in self.gates)
        columns = ("Status", "Metric", "Gate", "Reason")
        return result_table(f"Gate {self.kind}", self.decision.value, columns, rows)

    def members(self) -> Iterator[tuple[str, Any]]:
        """Yield the members of the JSON; what a report does not have is left out."""
        for name in self.__struct_fields__:
            value = getattr(self, name)
            is_absent = name in _OPTIONAL and (value is None or value == {})
            if not is_absent and not (self.error is not None and name in _NOT_IN_ERRORS):
                yield name, value

    def to_builtins(self) -> dict[str, Any]:
        """Return the report as decoded JSON."""
        members = {
            name: {part: report.to_builtins() for part, report in value.items()}
            if name == "parts"
            else value
            for name, value in self.members()
        }
        made: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(members))
        return made


def system_error_report(kind: str, error: AffidavitError, reason: str | None = None) -> Report:
    """Return the report of a gate that could not be evaluated.

    Origin: the research document, "Stop semantics". The exit code is the error's.
    """
    return Report(
        schema_version=REPORT_SCHEMA,
        kind=kind,
        decision=Decision.INCONCLUSIVE,
        stop_reason="SYSTEM_ERROR",
        reasons=(reason or error.message,),
        error=error.as_wire(),
    )
