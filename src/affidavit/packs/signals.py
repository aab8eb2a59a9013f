"""The registry of signals, version 0: what a bundle can show of a run, and by which fields.

Origin: ADR-025, tracks 2 to 4. A signal is found by event type and field, never guessed. A carrier
names the fields that an event of its type has to have; one that is `expected` is a gap where they
are missing, for the event itself shows that there was something to record. A null is present: it
was recorded that there was nothing. docs/signals.md is generated from this table.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

REGISTRY_VERSION: Final = "signals/v0"
RECORDER_PREFIX: Final = "affidavit."
RUN_STARTED: Final = "affidavit.run.started"
RUN_FINISHED: Final = "affidavit.run.finished"
# A finished run may say what it had none of: a list of names of signals.
DECLARED_ABSENT: Final = "absent_signals"


@dataclass(frozen=True, slots=True)
class Carrier:
    """Events of one type that carry a signal.

    Every group of `needs` has to be there, by any of its paths, which start in `data`.
    """

    event_type: str
    needs: tuple[tuple[str, ...], ...]
    expected: bool = True


@dataclass(frozen=True, slots=True)
class Signal:
    """One kind of evidence. `weight` is its share of closure, 0 where replay does without it."""

    name: str
    says: str
    weight: int
    carriers: tuple[Carrier, ...]
    advice: str


def _always(event_type: str, *needs: str) -> Carrier:
    return Carrier(event_type, tuple(tuple(need.split("|")) for need in needs))


def _perhaps(event_type: str, *needs: str) -> Carrier:
    return Carrier(event_type, tuple(tuple(need.split("|")) for need in needs), expected=False)


_SIGNALS: Final = (
    Signal(
        "run_inputs",
        "what the run was given",
        3,
        (_always("affidavit.run.started", "input"),),
        "start the run with its input",
    ),
    Signal(
        "model_outputs",
        "what the models said",
        3,
        (_always("affidavit.model.call", "output"),),
        "record the output of every model call",
    ),
    Signal(
        "tool_io_bodies",
        "what the tools were given and gave back",
        3,
        (
            _always("affidavit.tool.call", "input", "output"),
            _always("assay.tool.decision", "input", "output"),
        ),
        "record the input and the output of every tool call",
    ),
    Signal(
        "model_identity",
        "which models were called",
        2,
        (_always("affidavit.model.call", "model"),),
        "record the model of every model call",
    ),
    Signal(
        "prompt_lineage",
        "which prompts, from which templates",
        2,
        (
            _always("affidavit.prompt", "text"),
            _perhaps("affidavit.model.call", "input"),
        ),
        "record the prompts, or the input of every model call",
    ),
    Signal(
        "rng_seeds",
        "the seeds of whatever is drawn at random",
        2,
        (
            _always("affidavit.rng.seed", "seed"),
            _perhaps("affidavit.model.call", "parameters/seed"),
        ),
        "record the seeds, or give each model call one",
    ),
    Signal(
        "sampling_parameters",
        "the settings of the model calls",
        1,
        (_always("affidavit.model.call", "parameters"),),
        "record the parameters of every model call",
    ),
    Signal(
        "tool_calls",
        "which tools were called",
        1,
        (
            _always("affidavit.tool.call", "tool"),
            _always("assay.tool.decision", "tool"),
        ),
        "record the tool calls",
    ),
    Signal(
        "retrieved_evidence",
        "what was retrieved from sources",
        1,
        (_always("affidavit.retrieval", "results"),),
        "record what each retrieval found",
    ),
    Signal(
        "code_version",
        "which code ran",
        1,
        (
            _always("affidavit.code.version", "version"),
            _perhaps("assay.profile.started", "version|build_id"),
        ),
        "record the version or commit of the code",
    ),
    Signal(
        "environment",
        "where it ran: interpreter, system, packages",
        1,
        (
            _always("affidavit.environment", "values"),
            _perhaps("assay.env.filtered"),
        ),
        "record the environment",
    ),
    Signal(
        "policy_decisions",
        "what a policy allowed and refused",
        0,
        (
            _always("affidavit.policy.decision", "decision"),
            _always("assay.tool.decision", "decision"),
            _always("assay.enforcement_decision.v0", "decision|outcome"),
        ),
        "record the decisions of the policy",
    ),
    Signal(
        "human_approvals",
        "what people approved or refused",
        0,
        (
            _always("affidavit.human.approval", "decision"),
            _perhaps("assay.tool.decision", "approval_state"),
        ),
        "record who approved what",
    ),
    Signal(
        "verdicts",
        "what was decided about the answer or the run",
        0,
        (
            _always("affidavit.verdict", "verdict"),
            _always("affidavit.answer.receipt", "receipt"),
            _always("affidavit.ledger", "ledger"),
            _always("affidavit.gate.report", "report"),
            _always("affidavit.check.run", "check"),
            _perhaps("assay.session.finding", "outcome"),
        ),
        "record the verdict, a receipt, a ledger or a gate report",
    ),
)

REGISTRY: Final[Mapping[str, Signal]] = MappingProxyType({each.name: each for each in _SIGNALS})
# What a replay needs, and how much of it: the weights of `weighted_ratio_v1`.
REPLAY_CRITICAL: Final = tuple(each for each in _SIGNALS if each.weight)
TOTAL_WEIGHT: Final = sum(each.weight for each in REPLAY_CRITICAL)


def carriers_of(event_type: str) -> Iterable[tuple[str, Carrier]]:
    """Yield each signal that events of a type carry, with the fields that show it."""
    for signal in _SIGNALS:
        for carrier in signal.carriers:
            if carrier.event_type == event_type:
                yield signal.name, carrier
