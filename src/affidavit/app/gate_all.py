"""`gate all`: the gates that affidavit.toml configures, and one decision over them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import structs

from affidavit.app.gate_agreement import AgreementGate, gate_agreement
from affidavit.app.gate_latency import LatencyGate, gate_latency
from affidavit.app.gate_rag import RagPlan, gate_rag
from affidavit.app.gate_research import ResearchGate, gate_research
from affidavit.app.gate_stability import StabilityGate, gate_stability
from affidavit.base.config import ConfigDocument, ConfigFaults, read_config
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.exits import Exit, worst_exit
from affidavit.base.faults import gates as faults
from affidavit.base.faults.input import FILE_MISSING
from affidavit.base.notebook import result_table
from affidavit.decision.baseline import MAX_P95_INCREASE, MAX_PRECISION_DROP, RollbackGuard
from affidavit.decision.decision import Decision
from affidavit.decision.gate import override_gates
from affidavit.decision.metric import METRICS_BY_KIND
from affidavit.decision.report import REPORT_SCHEMA, Report, system_error_report
from affidavit.gates.rag_scoring import DEFAULT_K, REFUSAL

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


# The tables `[gates.*]` of a configuration file, one Struct for each gate.

Name = Annotated[str, msgspec.Meta(min_length=1)]
Names = Name | tuple[Name, ...]
"""One file or several."""
Positive = Annotated[float, msgspec.Meta(gt=0, le=1e9)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class GateTableV1(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings that every gate has."""

    gates: str | tuple[str, ...] = ()
    skip_bad: bool = False
    fail_on_regression: Name | None = None


class RagTableV1(GateTableV1, frozen=True, kw_only=True):
    """`[gates.rag]`."""

    trace: Name | Annotated[tuple[Name, ...], msgspec.Meta(min_length=1)]
    gold: Names = ()
    k: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = DEFAULT_K
    refusal: Name = REFUSAL
    scu_enforced: bool = False
    scu_rules: Name | None = None
    expect_gold_digest: Name | None = None
    allow_missing: bool = False
    jobs: Annotated[int, msgspec.Meta(ge=1, le=256)] = 1


class LatencyTableV1(GateTableV1, frozen=True, kw_only=True):
    """`[gates.latency]`; `accuracy` is a report of gate rag, or one for each configuration."""

    rows: Names
    rps: Positive | None = None
    accuracy: Name | dict[str, Name] | None = None
    slower_by: Annotated[float, msgspec.Meta(ge=0, le=1e9)] = MAX_P95_INCREASE
    worse_by: Share = MAX_PRECISION_DROP


class AgreementTableV1(GateTableV1, frozen=True, kw_only=True):
    """`[gates.agreement]`: pairs, or the labels of both agents."""

    pairs: Names = ()
    scholar: Name | None = None
    auditor: Name | None = None
    allow_missing: bool = False


class StabilityTableV1(GateTableV1, frozen=True, kw_only=True):
    """`[gates.stability]`, over recorded runs."""

    gold: Name
    runs: Names
    refusal: Name = REFUSAL
    expect_gold_digest: Name | None = None
    allow_missing: bool = False


class ResearchTableV1(GateTableV1, frozen=True, kw_only=True):
    """`[gates.research]`."""

    golden: Name
    outputs: Name
    allow_missing: bool = False


AnyGateTable = RagTableV1 | LatencyTableV1 | AgreementTableV1 | StabilityTableV1 | ResearchTableV1


class GatesTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[gates]`: a table for each gate, in the order in which they run, and the history file."""

    rag: RagTableV1 | None = None
    latency: LatencyTableV1 | None = None
    agreement: AgreementTableV1 | None = None
    stability: StabilityTableV1 | None = None
    research: ResearchTableV1 | None = None
    history: Name | None = None

    def tables(self) -> list[tuple[str, AnyGateTable]]:
        """Return each configured gate with its name."""
        tables = {
            "rag": self.rag,
            "latency": self.latency,
            "agreement": self.agreement,
            "stability": self.stability,
            "research": self.research,
        }
        return [(name, table) for name, table in tables.items() if table is not None]


# From the table of a gate to its plan.


@dataclass(frozen=True, slots=True)
class GatePlan:
    """The input files of a gate, and the function that evaluates it."""

    inputs: tuple[str, ...]
    run: Callable[[], Report]


def gate_plan(given: AnyGateTable, folder: Path) -> GatePlan:
    """Return the plan of a gate; its paths are relative to `folder`."""
    found = _ConfigFiles(folder)
    match given:
        case RagTableV1():
            run = _rag(given, found)
        case LatencyTableV1():
            run = _latency(given, found)
        case AgreementTableV1():
            run = _agreement(given, found)
        case StabilityTableV1():
            run = _stability(given, found)
        case ResearchTableV1():
            run = _research(given, found)
    return GatePlan(tuple(found.inputs), run)


class _ConfigFiles:
    """Resolves paths against the folder of the configuration file, and collects them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.inputs: list[str] = []

    def all(self, names: Names) -> tuple[str, ...]:
        listed = (names,) if isinstance(names, str) else names
        places = tuple(str(self._folder / name) for name in listed)
        self.inputs.extend(places)
        return places

    def one(self, name: str) -> str:
        return self.all(name)[0]

    def path(self, name: str | None) -> Path | None:
        return None if name is None else Path(self.one(name))


def _texts(given: str | tuple[str, ...]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else given


def _rag(given: RagTableV1, found: _ConfigFiles) -> Callable[[], Report]:
    plan = RagPlan(
        gold=found.all(given.gold),
        trace=found.all(given.trace),
        gates=_texts(given.gates),
        scu_enforced=given.scu_enforced,
        scu_rules=found.path(given.scu_rules),
        k=given.k,
        refusal=given.refusal,
        allow_missing=given.allow_missing,
        skip_bad=given.skip_bad,
        expect_gold_digest=given.expect_gold_digest,
        baseline=found.path(given.fail_on_regression),
        jobs=given.jobs,
    )
    return lambda: gate_rag(plan)


def _latency(given: LatencyTableV1, found: _ConfigFiles) -> Callable[[], Report]:
    named = given.accuracy if isinstance(given.accuracy, dict) else {}
    known: list[tuple[str | None, Path]] = [
        (name, Path(found.one(path))) for name, path in named.items()
    ]
    if isinstance(given.accuracy, str):
        known.append((None, Path(found.one(given.accuracy))))
    gate = LatencyGate(
        files=found.all(given.rows),
        gates=_texts(given.gates),
        rps=given.rps,
        accuracy=tuple(known),
        guard=RollbackGuard(given.slower_by, given.worse_by),
        skip_bad=given.skip_bad,
        baseline=found.path(given.fail_on_regression),
    )
    return lambda: gate_latency(gate)


def _agreement(given: AgreementTableV1, found: _ConfigFiles) -> Callable[[], Report]:
    gate = AgreementGate(
        pairs=found.all(given.pairs),
        scholar=None if given.scholar is None else found.one(given.scholar),
        auditor=None if given.auditor is None else found.one(given.auditor),
        gates=_texts(given.gates),
        skip_bad=given.skip_bad,
        allow_missing=given.allow_missing,
        baseline=found.path(given.fail_on_regression),
    )
    return lambda: gate_agreement(gate)[0]


def _stability(given: StabilityTableV1, found: _ConfigFiles) -> Callable[[], Report]:
    gate = StabilityGate(
        gold=found.one(given.gold),
        runs=found.all(given.runs),
        gates=_texts(given.gates),
        refusal=given.refusal,
        skip_bad=given.skip_bad,
        allow_missing=given.allow_missing,
        baseline=found.path(given.fail_on_regression),
        expect_gold_digest=given.expect_gold_digest,
    )
    return lambda: gate_stability(gate)


def _research(given: ResearchTableV1, found: _ConfigFiles) -> Callable[[], Report]:
    gate = ResearchGate(
        golden=Path(found.one(given.golden)),
        outputs=Path(found.one(given.outputs)),
        gates=_texts(given.gates),
        skip_bad=given.skip_bad,
        allow_missing=given.allow_missing,
        baseline=found.path(given.fail_on_regression),
    )
    return lambda: gate_research(gate)


# The tables `[gates.*]` of `affidavit.toml` are validated before anything is measured, with the
# line in errors. Paths are relative to the file. Other tables are ignored.

_FAULTS: Final = ConfigFaults(faults.CONFIG_SYNTAX, faults.CONFIG_VALUE, faults.CONFIG_KEY)


@dataclass(frozen=True, slots=True)
class GateConfig:
    """The configured gates in their order, and the path of the history."""

    gates: tuple[tuple[str, GatePlan], ...]
    history: Path | None

    @property
    def inputs(self) -> tuple[str, ...]:
        """The files that the gates read."""
        return tuple(name for _, plan in self.gates for name in plan.inputs)

    def runs(self) -> tuple[tuple[str, Callable[[], Report]], ...]:
        """Return each gate with the function that evaluates it."""
        return tuple((name, plan.run) for name, plan in self.gates)


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
    for name, gate in config.tables():
        _require_gates(gate, name)
        if isinstance(gate, AgreementTableV1):
            _require_labels(gate)
        gates.append((name, gate_plan(gate, folder)))
    if not gates:
        raise AffidavitError(faults.CONFIG_EMPTY)
    return GateConfig(tuple(gates), None if config.history is None else folder / config.history)


def _require_gates(table: AnyGateTable, name: str) -> None:
    """Refuse a malformed gate before anything is measured, while its position is known."""
    texts = (table.gates,) if isinstance(table.gates, str) else table.gates
    try:
        override_gates(texts, (), METRICS_BY_KIND[name])
    except AffidavitError as error:
        raise error.at(field=f"gates.{name}.gates") from None


def _require_labels(table: AgreementTableV1) -> None:
    labels = (table.scholar, table.auditor)
    if bool(table.pairs) is any(labels) or (any(labels) and not all(labels)):
        raise _value_error("gates.agreement", "it needs pairs, or both scholar and auditor")
    if table.scholar is not None and table.scholar == table.auditor:
        problem = "it is the scholar's file, which agrees with itself"
        raise _value_error("gates.agreement.auditor", problem)


def _value_error(field: str, problem: str) -> AffidavitError:
    return AffidavitError(faults.CONFIG_VALUE, Where(field=field), problem=problem)
