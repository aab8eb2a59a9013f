"""Evaluates checks against facts: a verdict for each check, the composite and its confidence."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, Protocol

import msgspec

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import receipts as faults
from affidavit.base.statistics import rounded
from affidavit.base.timestamps import parse_nanoseconds
from affidavit.checks.check import MAX_CHECKS, Check
from affidavit.checks.facts import EvidenceUnavailable, Fact, FactObject, Tool, missing_args
from affidavit.checks.operators import (
    OPERATORS,
    Expectation,
    ExpectationOutcome,
    ExpectationResult,
    OperatorResult,
)
from affidavit.checks.values import PathLookup, display_value, exact_json, is_scalar, look_up_path

# Verdicts of checks, and the composite verdict of an answer: answer-eval.md, sections 3 and 4.
#
# answer-conf/1: the confidence of a conjunction is that of its weakest check; the confidence of a
# contradiction is that of its best evidenced counterexample. The C rules of docs/checks.md.

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


# Evaluates checks against their evidence: a verdict each, with an explanation.
#
# The E rules of docs/checks.md; answer-eval.md, sections 1 and 3.

EVALUATION_RULE: Final = "answer-eval/1"
_MAX_OBSERVED_CHARACTERS: Final = 500
_OUTCOME_WORDS: Final = {
    ExpectationOutcome.HELD: "holds",
    ExpectationOutcome.FAILED: "fails",
    ExpectationOutcome.NOT_EVALUABLE: "cannot be evaluated",
}


class CheckResult(msgspec.Struct, frozen=True):
    """A check with its verdict. `unavailable` says why there is no evidence, if there is none."""

    check: Check
    verdict: CheckVerdict
    explain: str
    results: tuple[ExpectationResult, ...] = ()
    value: Any = msgspec.UNSET
    fact: Fact | None = None
    unavailable: str | None = None

    @property
    def required(self) -> bool:
        """Whether the check counts for the composite verdict."""
        return self.check.required

    @property
    def confidence(self) -> float | None:
        """check_confidence of answer-conf/1: the confidence of the cited fact."""
        if self.fact is None:
            return None
        confidence: float = self.fact.object["verification"]["confidence"]
        return confidence


def checks_needing_evidence(
    checks: Sequence[Check], tools: Mapping[str, Tool]
) -> tuple[Check, ...]:
    """Return the checks whose tools must be queried.

    These are the checks within the cap that name a known tool and have all its arguments.
    """
    return tuple(
        check
        for check in checks[:MAX_CHECKS]
        if (tool := tools.get(check.tool)) and not missing_args(tool.required_args, check.args)
    )


def evaluate(
    checks: Sequence[Check],
    tools: Mapping[str, Tool],
    evidence: Mapping[str, Fact | EvidenceUnavailable],
    at: str,
) -> tuple[CheckResult, ...]:
    """Return the result of every check, in order. `evidence` is by check id.

    `at` is the time of the answer, at which every fact was assessed.
    """
    moment = parse_nanoseconds(at)
    required = {name: tool.required_args for name, tool in tools.items()}
    results = [
        evaluate_check(check, required.get(check.tool), evidence.get(check.id), moment)
        for check in checks[:MAX_CHECKS]
    ]
    for result in results:
        if result.fact is not None:
            _require_matching_evidence(result.check, result.fact.object, at)
    return (*results, *map(not_checked_result, checks[MAX_CHECKS:]))


def evaluate_check(
    check: Check,
    required_args: tuple[str, ...] | None,
    evidence: Fact | EvidenceUnavailable | None,
    at: int,
) -> CheckResult:
    """Return the result of a check within the cap. `required_args` is None for an unknown tool."""
    if required_args is None:
        return CheckResult(
            check,
            CheckVerdict.OUTSIDE_EVIDENCE_COVERAGE,
            f"no tool is named {display_value(check.tool)}",
        )
    if missing := missing_args(required_args, check.args):
        names = ", ".join(map(display_value, missing))
        return CheckResult(
            check,
            CheckVerdict.NOT_EVALUABLE,
            f"{check.tool} needs the argument {names}, and nothing stands in for it",
        )
    if isinstance(evidence, Fact):
        return _adjudicate(check, evidence, at) if check.adjudicates else _observe(check, evidence)
    reason = evidence.reason if evidence else "the tool was not asked"
    return CheckResult(
        check, CheckVerdict.EVIDENCE_UNAVAILABLE, f"no evidence: {reason}", unavailable=reason
    )


def not_checked_result(check: Check) -> CheckResult:
    """Return the result of a check beyond the cap. It is listed, not dropped."""
    return CheckResult(
        check,
        CheckVerdict.NOT_CHECKED,
        f"over the cap: only the first {MAX_CHECKS} checks are made",
    )


def _adjudicate(check: Check, fact: Fact, at: int) -> CheckResult:
    results, explanations = [], []
    for expectation in check.expectations:
        lookup = _look_up(fact.object, expectation)
        result = OPERATORS[expectation.op].apply(lookup, expectation, at)
        results.append(ExpectationResult(result.outcome, _observed_value(lookup)))
        explanations.append(_explanation(expectation, lookup, result))
    outcomes = {result.outcome for result in results}
    verdict = CheckVerdict.SUPPORTED
    if ExpectationOutcome.FAILED in outcomes:
        verdict = CheckVerdict.CONTRADICTED
    elif ExpectationOutcome.NOT_EVALUABLE in outcomes:
        verdict = CheckVerdict.NOT_EVALUABLE
    return CheckResult(check, verdict, "; ".join(explanations), tuple(results), fact=fact)


def _observe(check: Check, fact: Fact) -> CheckResult:
    """Record the value at the first path that the check names, or else the primary value."""
    path = next((one.path for one in check.expectations if one.path is not None), None)
    lookup = _look_up(fact.object, Expectation("exists", path))
    place = path or "the primary value"
    if lookup.value is None:
        reason = lookup.reason or "the evidence has null here, which is no value"
        return CheckResult(check, CheckVerdict.NOT_EVALUABLE, f"{place}: {reason}", fact=fact)
    explain = f"{place}: saw {display_value(lookup.value)}; recorded without a verdict"
    return CheckResult(check, CheckVerdict.VALUE, explain, value=lookup.value, fact=fact)


def _look_up(fact: FactObject, expectation: Expectation) -> PathLookup:
    if expectation.path is not None:
        return look_up_path(fact["raw"], expectation.path)
    if OPERATORS[expectation.op].reads_time:
        observed_at = fact["observed_at"]
        if observed_at is None:
            return PathLookup(False, reason="the evidence states no time of observation")
        return PathLookup(True, observed_at)
    return look_up_path(fact["raw"], fact["value_path"])


def _observed_value(lookup: PathLookup) -> Any:
    value = lookup.value
    too_long = isinstance(value, str) and len(value) > _MAX_OBSERVED_CHARACTERS
    return value if lookup.found and is_scalar(value) and not too_long else msgspec.UNSET


def _explanation(expectation: Expectation, lookup: PathLookup, result: OperatorResult) -> str:
    place = expectation.path
    if place is None:
        is_time = OPERATORS[expectation.op].reads_time
        place = "the time of observation" if is_time else "the primary value"
    saw = f"saw {display_value(lookup.value)}" if lookup.found else "saw nothing"
    expected = expectation.op
    if expectation.value is not msgspec.UNSET:
        expected += f" {_operand_text(expectation.value)}"
    if expectation.tol is not None:
        expected += f" tol {display_value(expectation.tol)}"
    note = f" ({result.note})" if result.note else ""
    return f"{place}: {saw}; {expected} {_OUTCOME_WORDS[result.outcome]}{note}"


def _operand_text(value: Any) -> str:
    if isinstance(value, list):
        more = ", …" if len(value) > 8 else ""
        return f"[{', '.join(map(display_value, value[:8]))}{more}]"
    return display_value(value)


def is_evidence_for(check: Check, fact: FactObject) -> bool:
    """Say whether a fact is evidence for a check: the same tool and the same arguments."""
    args = fact["args"]
    return bool(check.tool == fact["tool"]) and (
        check.args is args or exact_json(check.args) == exact_json(args)
    )


def _require_matching_evidence(check: Check, fact: FactObject, at: str) -> None:
    if not is_evidence_for(check, fact):
        raise AffidavitError(faults.FACT_FOREIGN, check=repr(check.id))
    if fact["assessed_at"] != at:
        assessed = fact["assessed_at"]
        raise AffidavitError(faults.FACT_TIME, check=repr(check.id), assessed=assessed, at=at)
