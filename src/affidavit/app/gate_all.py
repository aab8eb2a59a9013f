"""`gate all`: the gates that affidavit.toml configures, and one decision over them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from msgspec import Struct, structs

from affidavit.app.gate_agreement import AgreementPlan, gate_agreement
from affidavit.app.gate_inputs import GatePlan, Name, listed
from affidavit.app.gate_latency import LatencyPlan, gate_latency
from affidavit.app.gate_rag import RagPlan, gate_rag
from affidavit.app.gate_research import ResearchPlan, gate_research
from affidavit.app.gate_stability import StabilityPlan, gate_stability
from affidavit.base.config import ConfigDocument, ConfigFaults, read_config
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.exits import Exit, worst_exit
from affidavit.base.faults import gates as faults
from affidavit.base.faults.input import FILE_MISSING
from affidavit.base.notebook import result_table
from affidavit.decision.decision import Decision
from affidavit.decision.gate import override_gates
from affidavit.decision.report import REPORT_SCHEMA, Report, system_error_report
from affidavit.gates.metrics import GATE_NAMES_BY_KIND

# The worst gate decides. If a gate could not be evaluated, because one of its files is missing or
# malformed, the decision is never to ship.

KIND: Final = "all"
Member = TypeVar("Member")


@dataclass(frozen=True, slots=True)
class GateOutcome:
    """One gate: its report, its exit code, and the error if it could not be evaluated."""

    name: str
    report: Report
    exit: Exit
    error: AffidavitError | None = None


@dataclass(frozen=True, slots=True)
class AllGatesReport:
    """All gates of a project."""

    parts: tuple[GateOutcome, ...]

    @property
    def exit(self) -> Exit:
        """The exit code of the command: the worst of the gates."""
        return worst_exit(part.exit for part in self.parts)

    @property
    def decision(self) -> Decision:
        """One decision over all: no_ship if any gate says so, ship if all do."""
        decisions = {part.report.decision for part in self.parts}
        if Decision.NO_SHIP in decisions:
            return Decision.NO_SHIP
        return Decision.SHIP if decisions == {Decision.SHIP} else Decision.INCONCLUSIVE

    @property
    def report(self) -> Report:
        """One report: figures and gates under the name of their part, and the parts."""
        named = [(part.name, part.report) for part in self.parts]
        return Report(
            schema_version=REPORT_SCHEMA,
            kind=KIND,
            decision=self.decision,
            reasons=tuple(f"{name}: {each}" for name, part in named for each in part.reasons),
            inputs=_merged((name, part.inputs) for name, part in named),
            counts=_merged((name, part.counts) for name, part in named),
            metrics=_merged((name, part.metrics) for name, part in named),
            gates=tuple(
                structs.replace(gate, metric=f"{name}.{gate.metric}")
                for name, part in named
                for gate in part.gates
            ),
            listings=_merged((name, part.listings) for name, part in named),
            warnings=tuple(f"{name}: {each}" for name, part in named for each in part.warnings),
            next_steps=tuple(step for _, part in named for step in part.next_steps),
            parts=dict(named),
        )

    def _repr_html_(self) -> str:
        rows = (
            (part.report.decision.value, part.name, "; ".join(part.report.reasons))
            for part in self.parts
        )
        return result_table("All gates", self.decision.value, ("Decision", "Gate", "Reasons"), rows)


def _merged(members: Iterable[tuple[str, Mapping[str, Member]]]) -> dict[str, Member]:
    return {f"{part}.{name}": value for part, each in members for name, value in each.items()}


def run_all_gates(gates: Iterable[tuple[str, Callable[[], Report]]]) -> AllGatesReport:
    """Evaluate every gate, also after one could not be evaluated."""
    return AllGatesReport(tuple(_gate_outcome(name, decide) for name, decide in gates))


def _gate_outcome(name: str, decide: Callable[[], Report]) -> GateOutcome:
    try:
        report = decide()
    except AffidavitError as error:
        place = str(error.where)
        reason = f"{place}: {error.message}" if place else error.message
        failed = system_error_report(name, error, reason)
        return GateOutcome(name, failed, error.fault.exit, error)
    return GateOutcome(name, report, report.decision.exit)


# The tables `[gates.*]` of `affidavit.toml` are validated before anything is measured, with the
# line in errors. Paths are relative to the file. Other tables are ignored.

_FAULTS: Final = ConfigFaults(faults.CONFIG_SYNTAX, faults.CONFIG_VALUE, faults.CONFIG_KEY)


class GatesTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[gates]`: the plan of each gate, in the order in which they run, and the history file."""

    rag: RagPlan | None = None
    latency: LatencyPlan | None = None
    agreement: AgreementPlan | None = None
    stability: StabilityPlan | None = None
    research: ResearchPlan | None = None
    history: Name | None = None


_GATES: Final[Mapping[str, Callable[[Any], Report]]] = {
    "rag": gate_rag,
    "latency": gate_latency,
    "agreement": lambda plan: gate_agreement(plan)[0],
    "stability": gate_stability,
    "research": gate_research,
}


@dataclass(frozen=True, slots=True)
class GateConfig:
    """The configured gates in their order, and the path of the history."""

    gates: tuple[tuple[str, GatePlan], ...]
    history: Path | None

    @property
    def inputs(self) -> tuple[str, ...]:
        """The files that the gates read."""
        return tuple(name for _, plan in self.gates for name in plan.inputs())

    def runs(self) -> tuple[tuple[str, Callable[[], Report]], ...]:
        """Return each gate with the function that evaluates it."""
        return tuple((name, partial(_GATES[name], plan)) for name, plan in self.gates)


def load_gate_config(path: Path) -> GateConfig:
    """Return the gates of a config file; a file that configures none is an error."""
    try:
        document = read_config(path, _FAULTS)
    except AffidavitError as error:
        if error.fault is FILE_MISSING:
            raise AffidavitError(faults.CONFIG_MISSING, error.where) from None
        raise
    try:
        return _config(document, path.parent)
    except AffidavitError as error:
        raise document.locate(error) from None


def gate_config_from(table: Any, folder: Path) -> GateConfig:
    """Return the gates of the table `gates`; its paths are relative to `folder`."""
    return _config(ConfigDocument({"gates": table}, None, _FAULTS, dict), folder)


def _config(document: ConfigDocument, folder: Path) -> GateConfig:
    table = document.value.get("gates")
    if not table:
        raise AffidavitError(faults.CONFIG_EMPTY)
    if not isinstance(table, dict):
        raise document.error("gates are tables with a name each, such as [gates.rag]", "gates")
    config = document.decode(GatesTable, table, "gates")
    gates = []
    for name in _GATES:
        plan: GatePlan | None = getattr(config, name)
        if plan is not None:
            _require_gates(plan, name)
            gates.append((name, plan.in_folder(folder)))
    if not gates:
        raise AffidavitError(faults.CONFIG_EMPTY)
    return GateConfig(tuple(gates), None if config.history is None else folder / config.history)


def _require_gates(plan: GatePlan, name: str) -> None:
    """Refuse a malformed gate before anything is measured, while its position is known."""
    try:
        override_gates(listed(plan.gates), (), GATE_NAMES_BY_KIND[name], is_open=name == "rag")
    except AffidavitError as error:
        raise error.at(field=f"gates.{name}.gates") from None
    if isinstance(plan, AgreementPlan):
        if not plan.has_pairs_or_labels:
            raise _value_error("gates.agreement", "it needs pairs, or both scholar and auditor")
        if plan.scholar is not None and plan.scholar == plan.auditor:
            problem = "it is the scholar's file, which agrees with itself"
            raise _value_error("gates.agreement.auditor", problem)


def _value_error(field: str, problem: str) -> AffidavitError:
    return AffidavitError(faults.CONFIG_VALUE, Where(field=field), problem=problem)
