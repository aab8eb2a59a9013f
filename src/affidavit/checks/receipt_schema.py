"""The structs of answer/v1 and fact/v1: the shape that a replay reads, and that others may publish.

Unknown fields are refused, so that nothing in a receipt is read by half.
"""

from typing import Annotated, Any, Final, Literal

import msgspec

from affidavit.checks.check import Check, CheckId, ToolName
from affidavit.checks.expectations import Expectation, ExpectationOutcome
from affidavit.checks.fact_confidence import SourceRecord
from affidavit.checks.verdicts import AnswerVerdict, CheckVerdict

ANSWER_SCHEMA: Final = "answer/v1"

UnitInterval = Annotated[float, msgspec.Meta(ge=0, le=1)]
NonNegativeNumber = Annotated[int, msgspec.Meta(ge=0)] | Annotated[float, msgspec.Meta(ge=0)]


class _ReceiptPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a receipt."""


class ToleranceRecordV1(_ReceiptPart, frozen=True, omit_defaults=True):
    """How far sources may be apart: one of the two."""

    abs: NonNegativeNumber | None = None
    pct: NonNegativeNumber | None = None


class SignalsV1(_ReceiptPart, frozen=True):
    """The signals of fact-conf/1."""

    signed: bool
    source_present: bool
    fresh: bool
    corroborated: bool
    conflict: bool


class VerificationV1(_ReceiptPart, frozen=True):
    """What the sources together are worth."""

    rule: Literal["fact-conf/1"]
    confidence: UnitInterval
    sources: int
    verified: bool
    signals: SignalsV1
    note: str


class FactV1(_ReceiptPart, frozen=True):
    """One piece of evidence."""

    schema: Literal["fact/v1"]
    id: str
    tool: ToolName
    args: dict[str, Any]
    value_path: str | None
    value: Any
    unit: str | None
    licence: str | None
    observed_at: str | None
    assessed_at: str
    max_age_s: NonNegativeNumber | None
    tolerance: ToleranceRecordV1 | None
    sources: list[SourceRecord]
    verification: VerificationV1
    attestation: Any
    raw: Any


class ExpectationResultV1(_ReceiptPart, frozen=True):
    """What one expectation came to."""

    outcome: ExpectationOutcome
    observed: Any = msgspec.UNSET


class CheckResultV1(_ReceiptPart, frozen=True):
    """A check as it was asked, with its verdict."""

    id: CheckId
    tool: ToolName
    args: dict[str, Any]
    observe: bool
    required: bool
    verdict: CheckVerdict
    confidence: UnitInterval | None
    explain: str
    evidence: list[str]
    expect: Expectation | list[Expectation] | msgspec.UnsetType = msgspec.UNSET
    results: list[ExpectationResultV1] | msgspec.UnsetType = msgspec.UNSET
    value: Any = msgspec.UNSET
    unavailable: str | msgspec.UnsetType = msgspec.UNSET

    def asked(self) -> Check:
        """Return the check alone."""
        return Check(self.id, self.tool, self.args, self.expect, self.observe, self.required)


class EvaluatorV1(_ReceiptPart, frozen=True):
    """Which rules, in which version, gave the verdicts."""

    engine_version: str
    rules: list[str]


class ToolRequirementsV1(_ReceiptPart, frozen=True):
    """What a verdict depends on in a tool's declaration."""

    required_args: list[str]


class ReproduceV1(_ReceiptPart, frozen=True):
    """All that a replay needs besides checks and evidence."""

    evaluator: EvaluatorV1
    canonicalization: str
    max_checks: int
    tools: dict[str, ToolRequirementsV1]


class QuestionRouteV1(_ReceiptPart, frozen=True):
    """How a question became checks."""

    router_version: str
    router_sha256: str
    route_id: str
    form: Literal["declarative", "interrogative"]


class AnswerV1(_ReceiptPart, frozen=True):
    """A receipt's body, without receipt_id, signature and anchor."""

    schema: Literal["answer/v1"]
    generated_at: str
    issuer: str
    verdict: AnswerVerdict
    confidence: UnitInterval
    confidence_rule: str
    degraded: bool
    checks: list[CheckResultV1]
    not_checked: list[str]
    evidence_index: dict[str, FactV1]
    reproduce: ReproduceV1
    advisory: bool
    disclaimers: list[str]
    question: str | msgspec.UnsetType = msgspec.UNSET
    route: QuestionRouteV1 | msgspec.UnsetType = msgspec.UNSET
    served_by: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET


class RefusalV1(_ReceiptPart, frozen=True):
    """A signed refusal: no checks, no evidence, nothing to replay but this shape."""

    schema: Literal["answer/v1"]
    generated_at: str
    issuer: str
    verdict: Literal["outside_evidence_coverage"]
    confidence: UnitInterval
    confidence_rule: str
    unrouted: list[str]
    coverage: dict[str, Any]
    note: str
    advisory: bool
    disclaimers: list[str]
    served_by: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
