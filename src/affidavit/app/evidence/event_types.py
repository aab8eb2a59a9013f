"""The closed table of the events that Affidavit records, and the fields of their data.

docs/bundles.md shows this table. Other types stand in bundles too, and mean what their makers say;
a type that begins with `affidavit.` is one of these.
"""

from dataclasses import dataclass
from typing import Final

PREFIX: Final = "affidavit."
RUN_STARTED: Final = "affidavit.run.started"
RUN_FINISHED: Final = "affidavit.run.finished"
MODEL_CALL: Final = "affidavit.model.call"
TOOL_CALL: Final = "affidavit.tool.call"
PROMPT: Final = "affidavit.prompt"
RETRIEVAL: Final = "affidavit.retrieval"
RNG_SEED: Final = "affidavit.rng.seed"
POLICY_DECISION: Final = "affidavit.policy.decision"
HUMAN_APPROVAL: Final = "affidavit.human.approval"
ENVIRONMENT: Final = "affidavit.environment"
CODE_VERSION: Final = "affidavit.code.version"
CHECK_RUN: Final = "affidavit.check.run"
RECEIPT: Final = "affidavit.answer.receipt"
LEDGER: Final = "affidavit.ledger"
GATE_REPORT: Final = "affidavit.gate.report"
SOAK_TRIAL: Final = "affidavit.soak.trial"
VERDICT: Final = "affidavit.verdict"


@dataclass(frozen=True, slots=True)
class EventType:
    """A kind of event: what it says, and which fields its data has to have and may have."""

    name: str
    says: str
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()


TYPES: Final = (
    EventType(RUN_STARTED, "a run begins", (), ("input",)),
    EventType(
        RUN_FINISHED,
        "a run ends; without it, it is unfinished",
        ("status",),
        ("error", "output", "absent_signals"),
    ),
    EventType(
        MODEL_CALL,
        "a model was called",
        ("model", "input", "output"),
        ("provider", "parameters", "usage", "error"),
    ),
    EventType(TOOL_CALL, "a tool was called", ("tool", "input", "output"), ("error",)),
    EventType(PROMPT, "a prompt was made", ("text",), ("template", "variables", "role")),
    EventType(RETRIEVAL, "sources were searched", ("query", "results"), ("index",)),
    EventType(RNG_SEED, "a source of chance was seeded", ("seed",), ("generator",)),
    EventType(
        POLICY_DECISION,
        "a policy allowed or refused",
        ("policy", "decision"),
        ("reason", "tool", "policy_digest"),
    ),
    EventType(
        HUMAN_APPROVAL, "a person approved or refused", ("approver", "decision"), ("what", "reason")
    ),
    EventType(ENVIRONMENT, "where it ran", ("values",)),
    EventType(CODE_VERSION, "which code ran", ("version",), ("commit", "digest", "dirty")),
    EventType(CHECK_RUN, "checks were run", ("check",)),
    EventType(RECEIPT, "a signed receipt of an answer", ("receipt",), ("exact",)),
    EventType(LEDGER, "an evidence ledger", ("ledger",)),
    EventType(GATE_REPORT, "the report of a gate", ("report",)),
    EventType(SOAK_TRIAL, "one trial of a soak", ("trial",)),
    EventType(VERDICT, "what was decided", ("verdict",), ("reason", "subject", "score")),
)
