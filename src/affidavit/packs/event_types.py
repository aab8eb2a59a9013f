"""The types of events that Affidavit records, with the fields of their data.

docs/bundles.md shows this table. Bundles hold other types, too, but only these begin with
`affidavit.`.
"""

from dataclasses import dataclass
from typing import Final

RECORDER_PREFIX: Final = "affidavit."
RUN_STARTED: Final = "affidavit.run.started"
RUN_FINISHED: Final = "affidavit.run.finished"
STEP: Final = "affidavit.step"
BLOB: Final = "affidavit.blob"
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
PROCESS_EXITED: Final = "affidavit.process.exited"
VERDICT: Final = "affidavit.verdict"
INCIDENT: Final = "affidavit.incident"
INCIDENT_REPORT: Final = "affidavit.incident.report"


@dataclass(frozen=True, slots=True)
class EventType:
    """A type of event: its meaning, and the required and optional fields of its data."""

    name: str
    says: str
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()


EVENT_TYPES: Final = (
    EventType(RUN_STARTED, "a run begins", (), ("input",)),
    EventType(
        RUN_FINISHED,
        "a run ends; without it, the run is unfinished",
        ("status",),
        ("error", "output", "absent_signals"),
    ),
    EventType(
        MODEL_CALL,
        "a model was called",
        ("model", "input", "output"),
        ("provider", "parameters", "usage", "error", "operation", "response", "tools"),
    ),
    EventType(
        TOOL_CALL,
        "a tool was called",
        ("tool", "input", "output"),
        ("error", "call_id", "description", "mcp"),
    ),
    EventType(STEP, "a step of the program ended", ("name",), ("input", "output", "error")),
    EventType(BLOB, "a part of a large body", ("digest", "part", "parts", "text")),
    EventType(PROMPT, "a prompt was built", ("text",), ("template", "variables", "role")),
    EventType(RETRIEVAL, "sources were searched", ("query", "results"), ("index",)),
    EventType(RNG_SEED, "a random generator was seeded", ("seed",), ("generator",)),
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
    EventType(PROCESS_EXITED, "a command ended", ("code",), ("command",)),
    EventType(VERDICT, "what was decided", ("verdict",), ("reason", "subject", "score")),
    EventType(INCIDENT, "something went wrong", ("incident", "severity"), ("what",)),
    EventType(INCIDENT_REPORT, "an incident was reported", ("incident", "authority"), ("what",)),
)

RECORDED_TYPES: Final = frozenset(each.name for each in EVENT_TYPES)
"""All types of events that begin with the prefix."""

# Any event may state where it stands in a trace: `data.span`.
SPAN: Final = "span"
