"""Verdicts of checks, and the composite verdict of an answer: answer-eval.md, sections 3 and 4.

answer-conf/1: the confidence of a conjunction is that of its weakest check; the confidence of a
contradiction is that of its best evidenced counterexample. The C rules of docs/checks.md.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final, Protocol

import msgspec

from affidavit.base.statistics.arithmetic import rounded

CONFIDENCE_RULE: Final = "answer-conf/1"
CONFIDENCE_DECIMALS: Final = 2


class CheckVerdict(StrEnum):
    """The verdict of a check."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    VALUE = "value"
    NOT_EVALUABLE = "not_evaluable"
    EVIDENCE_UNAVAILABLE = "evidence_unavailable"
    OUTSIDE_EVIDENCE_COVERAGE = "outside_evidence_coverage"
    NOT_CHECKED = "not_checked"

    # An Enum's own hash runs in Python, several times for each check.
    __hash__ = str.__hash__


class AnswerVerdict(StrEnum):
    """The verdict of an answer. The last is that of a refusal, which has no checks."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    INSUFFICIENT_EVIDENCE = "insufficient_evidence"
    EVIDENCED = "evidenced"
    OUTSIDE_EVIDENCE_COVERAGE = "outside_evidence_coverage"


class ComposableResult(Protocol):
    """The part of a check's result that the composite depends on."""

    @property
    def verdict(self) -> CheckVerdict:
        """The verdict of the check."""

    @property
    def required(self) -> bool:
        """Whether the check counts for the composite."""

    @property
    def confidence(self) -> float | None:
        """The confidence of the cited fact; None if it cites none."""


class CompositeVerdict(msgspec.Struct, frozen=True):
    """The verdict and confidence of an answer, and whether evidence was unavailable."""

    verdict: AnswerVerdict
    confidence: float
    degraded: bool


def compose(results: Iterable[ComposableResult]) -> CompositeVerdict:
    """Return the composite of all results, in any order."""
    everything = tuple(results)
    required = [result for result in everything if result.required]
    verdict = _composite_verdict({result.verdict for result in required})
    return CompositeVerdict(
        verdict,
        _composite_confidence(verdict, required),
        any(result.verdict is CheckVerdict.EVIDENCE_UNAVAILABLE for result in everything),
    )


def _composite_verdict(verdicts: set[CheckVerdict]) -> AnswerVerdict:
    if CheckVerdict.CONTRADICTED in verdicts:
        return AnswerVerdict.CONTRADICTED
    # Without a required check nothing was measured, and that is never a pass.
    if not verdicts or verdicts - {CheckVerdict.SUPPORTED, CheckVerdict.VALUE}:
        return AnswerVerdict.INSUFFICIENT_EVIDENCE
    return (
        AnswerVerdict.SUPPORTED if CheckVerdict.SUPPORTED in verdicts else AnswerVerdict.EVIDENCED
    )


def _composite_confidence(verdict: AnswerVerdict, required: list[ComposableResult]) -> float:
    if verdict is AnswerVerdict.INSUFFICIENT_EVIDENCE:
        return 0.0
    if verdict is AnswerVerdict.CONTRADICTED:
        required = [result for result in required if result.verdict is CheckVerdict.CONTRADICTED]
    known = [0.0 if result.confidence is None else result.confidence for result in required]
    return rounded(
        max(known) if verdict is AnswerVerdict.CONTRADICTED else min(known), CONFIDENCE_DECIMALS
    )
