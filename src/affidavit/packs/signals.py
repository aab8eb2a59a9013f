"""The registry of signals, version 0: what a bundle can show about a run, and in which fields.

Origin: ADR-025, tracks 2 to 4. A signal is detected by event type and field, never guessed. A
carrier names the fields that events of its type must have. If a carrier is `expected`, an event
without these fields is a gap, because the event itself shows that there was something to record. A
field without content (null, a blank text, an empty list or object) counts as absent.
docs/signals.md is generated from this table.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct

REGISTRY_VERSION: Final = "signals/v1"
# A finished run may name the signals that it had none of, each with the reason.
DECLARED_ABSENT: Final = "absent_signals"


class Carrier(Struct, frozen=True):
    """Events of one type that carry a signal.

    They must have one path of every group in `needs`; the paths start in `data`. An empty object
    at a path of `may_be_empty` is content: a tool that takes no arguments is given none.
    """

    event_type: str
    needs: tuple[tuple[str, ...], ...]
    expected: bool = True
    may_be_empty: tuple[str, ...] = ()


class Signal(Struct, frozen=True):
    """One kind of evidence. `weight` is its share of closure, 0 if a replay does not need it.

    A run can declare that it had none, unless every run has some.
    """

    name: str
    says: str
    weight: int
    carriers: tuple[Carrier, ...]
    advice: str
    can_be_absent: bool = True


def _expected(event_type: str, *needs: str) -> Carrier:
    return Carrier(event_type, tuple(tuple(need.split("|")) for need in needs))


def _call(event_type: str) -> Carrier:
    return Carrier(event_type, (("input",), ("output",)), may_be_empty=("input",))


def _optional(event_type: str, *needs: str) -> Carrier:
    return Carrier(event_type, tuple(tuple(need.split("|")) for need in needs), expected=False)


_SIGNALS: Final = (
    Signal(
        "run_inputs",
        "what the run was given",
        3,
        (_expected("affidavit.run.started", "input"),),
        "start the run with its input",
    ),
    Signal(
        "model_outputs",
        "what the models said",
        3,
        (_expected("affidavit.model.call", "output"),),
        "record the output of every model call",
    ),
    Signal(
        "tool_io_bodies",
        "what the tools were given and gave back",
        3,
        (_call("affidavit.tool.call"), _call("assay.tool.decision")),
        "record the input and the output of every tool call",
    ),
    Signal(
        "model_identity",
        "which models were called",
        2,
        (_expected("affidavit.model.call", "model"),),
        "record the model of every model call",
    ),
    Signal(
        "prompt_lineage",
        "which prompts, from which templates",
        2,
        (_expected("affidavit.prompt", "text"), _optional("affidavit.model.call", "input")),
        "record the prompts, or the input of every model call",
    ),
    Signal(
        "rng_seeds",
        "the seeds of whatever is drawn at random",
        2,
        (
            _expected("affidavit.rng.seed", "seed"),
            _optional("affidavit.model.call", "parameters/seed"),
        ),
        "record the seeds, or give each model call one",
    ),
    Signal(
        "sampling_parameters",
        "the settings of the model calls",
        1,
        (_expected("affidavit.model.call", "parameters"),),
        "record the parameters of every model call",
    ),
    Signal(
        "tool_calls",
        "which tools were called",
        1,
        (_expected("affidavit.tool.call", "tool"), _expected("assay.tool.decision", "tool")),
        "record the tool calls",
    ),
    Signal(
        "retrieved_evidence",
        "what was retrieved from sources",
        1,
        (_expected("affidavit.retrieval", "results"),),
        "record what each retrieval found",
    ),
    Signal(
        "code_version",
        "which code ran",
        1,
        (
            _expected("affidavit.code.version", "version"),
            _optional("assay.profile.started", "version|build_id"),
        ),
        "record the version or commit of the code",
        can_be_absent=False,
    ),
    Signal(
        "environment",
        "where it ran: interpreter, system, packages",
        1,
        (_expected("affidavit.environment", "values"), _optional("assay.env.filtered")),
        "record the environment",
        can_be_absent=False,
    ),
    Signal(
        "policy_decisions",
        "what a policy allowed and refused",
        0,
        (
            _expected("affidavit.policy.decision", "decision"),
            _expected("assay.tool.decision", "decision"),
            _expected("assay.enforcement_decision.v0", "decision|outcome"),
        ),
        "record the decisions of the policy",
    ),
    Signal(
        "human_approvals",
        "what people approved or refused",
        0,
        (
            _expected("affidavit.human.approval", "decision"),
            _optional("assay.tool.decision", "approval_state"),
        ),
        "record who approved what",
    ),
    Signal(
        "verdicts",
        "what was decided about the answer or the run",
        0,
        (
            _expected("affidavit.verdict", "verdict"),
            _expected("affidavit.answer.receipt", "receipt"),
            _expected("affidavit.ledger", "ledger"),
            _expected("affidavit.gate.report", "report"),
            _expected("affidavit.check.run", "check"),
            _optional("assay.session.finding", "outcome"),
        ),
        "record the verdict, a receipt, a ledger or a gate report",
    ),
)

REGISTRY: Final[Mapping[str, Signal]] = MappingProxyType({each.name: each for each in _SIGNALS})
# The signals that a replay needs, weighted for `weighted_ratio_v1`.
REPLAY_CRITICAL: Final = tuple(each for each in _SIGNALS if each.weight)
TOTAL_WEIGHT: Final = sum(each.weight for each in REPLAY_CRITICAL)


def carriers_of(event_type: str) -> Iterable[tuple[str, Carrier]]:
    """Yield each signal that events of a type carry, with its carrier."""
    for signal in _SIGNALS:
        for carrier in signal.carriers:
            if carrier.event_type == event_type:
                yield signal.name, carrier
