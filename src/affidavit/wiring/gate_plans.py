"""From the settings of a gate to what decides it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from affidavit.app.gating.agreement import AgreementGate, gate_agreement
from affidavit.app.gating.latency import LatencyGate, gate_latency
from affidavit.app.gating.research import ResearchGate, gate_research
from affidavit.app.gating.stability import StabilityGate, gate_stability
from affidavit.gates.report import Report
from affidavit.gates.tradeoff import RollbackGuard
from affidavit.wiring import gate_settings as settings
from affidavit.wiring.gating import RagPlan, run_rag


@dataclass(frozen=True, slots=True)
class Plan:
    """What a gate reads, and how it is decided."""

    inputs: tuple[str, ...]
    run: Callable[[], Report]


def plan_of(given: settings.AnyGate, folder: Path) -> Plan:
    """Return the plan of a gate; `folder` is where its files are."""
    found = _Files(folder)
    match given:
        case settings.RagV1():
            run = _rag(given, found)
        case settings.LatencyV1():
            run = _latency(given, found)
        case settings.AgreementV1():
            run = _agreement(given, found)
        case settings.StabilityV1():
            run = _stability(given, found)
        case settings.ResearchV1():
            run = _research(given, found)
    return Plan(tuple(found.inputs), run)


class _Files:
    """Files beside the config file, and which of them were named."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.inputs: list[str] = []

    def all(self, names: settings.Names) -> tuple[str, ...]:
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


def _rag(given: settings.RagV1, found: _Files) -> Callable[[], Report]:
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
    return lambda: run_rag(plan)


def _latency(given: settings.LatencyV1, found: _Files) -> Callable[[], Report]:
    named = given.accuracy if isinstance(given.accuracy, dict) else {}
    known: list[tuple[str | None, Path]] = [
        (name, Path(found.one(path))) for name, path in named.items()
    ]
    if isinstance(given.accuracy, str):
        known.append((None, Path(found.one(given.accuracy))))
    gate = LatencyGate(
        found.all(given.rows),
        _texts(given.gates),
        given.rps,
        tuple(known),
        RollbackGuard(given.slower_by, given.worse_by),
        given.skip_bad,
        found.path(given.fail_on_regression),
    )
    return lambda: gate_latency(gate)


def _agreement(given: settings.AgreementV1, found: _Files) -> Callable[[], Report]:
    gate = AgreementGate(
        found.all(given.pairs),
        None if given.scholar is None else found.one(given.scholar),
        None if given.auditor is None else found.one(given.auditor),
        _texts(given.gates),
        given.skip_bad,
        given.allow_missing,
        found.path(given.fail_on_regression),
    )
    return lambda: gate_agreement(gate)[0]


def _stability(given: settings.StabilityV1, found: _Files) -> Callable[[], Report]:
    gate = StabilityGate(
        found.one(given.gold),
        found.all(given.runs),
        _texts(given.gates),
        given.refusal,
        given.skip_bad,
        given.allow_missing,
        found.path(given.fail_on_regression),
        given.expect_gold_digest,
    )
    return lambda: gate_stability(gate)


def _research(given: settings.ResearchV1, found: _Files) -> Callable[[], Report]:
    gate = ResearchGate(
        Path(found.one(given.golden)),
        Path(found.one(given.outputs)),
        _texts(given.gates),
        given.skip_bad,
        given.allow_missing,
        found.path(given.fail_on_regression),
    )
    return lambda: gate_research(gate)
