"""`gate all`: every gate that a project configures, and one decision over them.

The worst of them decides. A gate that could not be tried, because a file of it is missing or
malformed, has decided nothing: the whole is inconclusive then, never to ship.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from affidavit.base.decision import Decision
from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit, gravest
from affidavit.gates.report import SCHEMA_VERSION, Report, system_error_wire

KIND: Final = "all"


@dataclass(frozen=True, slots=True)
class Part:
    """One gate: its report as JSON has it, how it would end alone, and why it was not tried."""

    name: str
    wire: Mapping[str, Any]
    exit: Exit
    error: AffidavitError | None = None

    @property
    def reasons(self) -> Iterable[str]:
        """Why it does not ship, each with the name of the gate."""
        return (f"{self.name}: {reason}" for reason in self.wire["reasons"])


@dataclass(frozen=True, slots=True)
class Everything:
    """All gates of a project."""

    parts: tuple[Part, ...]

    @property
    def exit(self) -> Exit:
        """How the command ends: as the worst of the gates does."""
        return gravest(part.exit for part in self.parts)

    @property
    def decision(self) -> Decision:
        """One decision over all: a gate that says no decides, what is open leaves it open."""
        decisions = {Decision(part.wire["decision"]) for part in self.parts}
        if Decision.NO_SHIP in decisions:
            return Decision.NO_SHIP
        return Decision.SHIP if decisions == {Decision.SHIP} else Decision.INCONCLUSIVE

    def as_wire(self) -> dict[str, object]:
        """Return one report: figures and gates with the name of their part, and the parts."""
        return {
            "schema_version": SCHEMA_VERSION,
            "kind": KIND,
            "decision": self.decision.value,
            "reasons": [reason for part in self.parts for reason in part.reasons],
            "inputs": self._merged("inputs"),
            "counts": self._merged("counts"),
            "settings": {},
            "metrics": self._merged("metrics"),
            "gates": [
                {**gate, "metric": f"{part.name}.{gate['metric']}"}
                for part in self.parts
                for gate in part.wire["gates"]
            ],
            "offenders": [],
            "listings": self._merged("listings"),
            "warnings": [
                f"{part.name}: {said}" for part in self.parts for said in part.wire["warnings"]
            ],
            "next_steps": [step for part in self.parts for step in part.wire.get("next_steps", ())],
            "details": {},
            "parts": {part.name: part.wire for part in self.parts},
        }

    def _merged(self, field: str) -> dict[str, object]:
        return {
            f"{part.name}.{name}": value
            for part in self.parts
            for name, value in part.wire.get(field, {}).items()
        }


def decide_all(gates: Iterable[tuple[str, Callable[[], Report]]]) -> Everything:
    """Try every gate, also after one could not be tried."""
    return Everything(tuple(_part(name, decide) for name, decide in gates))


def _part(name: str, decide: Callable[[], Report]) -> Part:
    try:
        report = decide()
    except AffidavitError as error:
        wire = system_error_wire(name, error)
        place = str(error.where)
        wire["reasons"] = [f"{place}: {error.message}" if place else error.message]
        return Part(name, wire, error.fault.exit, error)
    return Part(name, report.as_wire(), report.ruling.exit)
