"""The structs of answer/v1 and fact/v1, as a replay reads them.

Unknown fields are refused, so that no part of a receipt is ignored.
"""

from typing import Annotated, Any, Final, Literal

import msgspec

from affidavit.checks.check import Check, CheckId, ToolName
from affidavit.checks.evaluation import AnswerVerdict, CheckVerdict
from affidavit.checks.facts import FactSignals, NonNegativeNumber, SourceRecord, Tolerance
from affidavit.checks.operators import Expectation, ExpectationResult

ANSWER_SCHEMA: Final = "answer/v1"

UnitInterval = Annotated[float, msgspec.Meta(ge=0, le=1)]


class _ReceiptPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a receipt."""


class VerificationV1(_ReceiptPart, frozen=True, kw_only=True):
    """The assessment of all sources together."""

    rule: Literal["fact-conf/1"]
    confidence: UnitInterval
    sources: int
    verified: bool
    signals: FactSignals
    note: str


class FactV1(_ReceiptPart, frozen=True, kw_only=True):
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
    tolerance: Tolerance | None
    sources: list[SourceRecord]
    verification: VerificationV1
    attestation: Any
    raw: Any


class CheckResultV1(_ReceiptPart, frozen=True, kw_only=True):
    """A check as it was requested, with its verdict."""

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
    results: list[ExpectationResult] | msgspec.UnsetType = msgspec.UNSET
    value: Any = msgspec.UNSET
    unavailable: str | msgspec.UnsetType = msgspec.UNSET

    def check(self) -> Check:
        """Return the check without its result."""
        return Check(
            id=self.id,
            tool=self.tool,
            args=self.args,
            expect=self.expect,
            observe=self.observe,
            required=self.required,
        )


class EvaluatorV1(_ReceiptPart, frozen=True):
    """The rules that gave the verdicts, and their version."""

    engine_version: str
    rules: list[str]


class ToolRequirementsV1(_ReceiptPart, frozen=True):
    """The part of a tool's declaration that a verdict depends on."""

    required_args: list[str]


class ReproduceV1(_ReceiptPart, frozen=True):
    """What a replay needs besides checks and evidence."""

    evaluator: EvaluatorV1
    canonicalization: str
    max_checks: int
    tools: dict[str, ToolRequirementsV1]


class QuestionRoute(_ReceiptPart, frozen=True):
    """The route that compiled a question to checks."""

    router_version: str
    router_sha256: str
    route_id: str
    form: Literal["declarative", "interrogative"]


class AnswerV1(_ReceiptPart, frozen=True, kw_only=True):
    """The body of a receipt, without receipt_id, signature and anchor."""

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
    route: QuestionRoute | msgspec.UnsetType = msgspec.UNSET
    served_by: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET


class RefusalV1(_ReceiptPart, frozen=True, kw_only=True):
    """The body of a signed refusal, which has no checks and no evidence."""

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
