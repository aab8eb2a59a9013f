"""Checks, their verdicts and the composite verdict: answer-eval.md, sections 1, 3 and 4.

A malformed check is refused with its id and field. A well-formed check that does not fit the
evidence (a text where a number is needed) is accepted and gets the verdict `not_evaluable`. The U,
E and C rules of docs/checks.md.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, Final

import msgspec

from affidavit.base.canonical import sorted_compact
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import receipts as faults
from affidavit.base.json_values import JsonValue
from affidavit.base.statistics import rounded
from affidavit.base.text import excerpt
from affidavit.base.timestamps import parse_nanoseconds
from affidavit.base.validation import join_field, problem_and_field
from affidavit.checks.facts import (
    FIRST_FACT_RULE,
    Evidence,
    EvidenceUnavailable,
    Fact,
    Tool,
    ToolName,
    UnitInterval,
    assess_field,
    missing_args,
)
from affidavit.checks.operators import (
    NESTING,
    OPERATORS,
    Expectation,
    ExpectationOutcome,
    ExpectationResult,
    Operand,
    Operator,
    OperatorResult,
)
from affidavit.checks.schemas import find_schema_problem
from affidavit.checks.values import (
    TYPES,
    PathLookup,
    display_value,
    exact_json,
    find_path_problem,
    is_number,
    is_scalar,
    kind_of,
    look_up_path,
)

MAX_EXPECTATIONS: Final = 8
MAX_CHECKS: Final = 20
"""Checks of one receipt. Those beyond are `not_checked`, or are in a linked receipt."""

CheckId = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}\Z")]


class Check(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One check, as it is written and as the receipt repeats it."""

    id: CheckId
    tool: ToolName
    args: dict[str, Any] = {}
    expect: Expectation | list[Expectation] | msgspec.UnsetType = msgspec.UNSET
    observe: bool = False
    required: bool = True

    @property
    def expectations(self) -> tuple[Expectation, ...]:
        """The expectations; none if the check only observes."""
        if isinstance(self.expect, Expectation):
            return (self.expect,)
        return () if self.expect is msgspec.UNSET else tuple(self.expect)

    @property
    def adjudicates(self) -> bool:
        """Say whether the check asserts something. Otherwise it records the value."""
        return not self.observe and self.expect is not msgspec.UNSET


def checks_from_wire(value: JsonValue, file: str | None = None) -> tuple[Check, ...]:
    """Return the checks of a decoded JSON list, or raise the first error."""
    if not isinstance(value, list):
        raise AffidavitError(
            faults.CHECKS_NOT_A_LIST, Where(file, field="checks"), kind=kind_of(value)
        )
    if not value:
        raise AffidavitError(faults.CHECKS_NONE, Where(file, field="checks"))
    seen: set[str] = set()
    checks = []
    for number, member in enumerate(value):
        field = f"checks[{number}]"
        try:
            check = check_from_wire(member, f"number {number + 1}")
        except AffidavitError as error:
            place = join_field(field, error.where.field or "")
            raise AffidavitError(error.fault, Where(file, field=place), **error.values) from None
        if check.id in seen:
            where = Where(file, field=f"{field}.id")
            raise AffidavitError(faults.CHECK_ID_TWICE, where, check=check.id)
        seen.add(check.id)
        checks.append(check)
    return tuple(checks)


def check_from_wire(value: JsonValue, name: str) -> Check:
    """Return one check. Errors use `name` for it until its id is known."""
    try:
        # The check is repeated in the receipt, so it must have a canonical form.
        sorted_compact(value)
        check = msgspec.convert(value, Check)
    except msgspec.ValidationError as error:
        problem, field = problem_and_field(error)
        named = value.get("id") if isinstance(value, dict) else None
        shown = repr(excerpt(named)) if isinstance(named, str) and field != "id" else name
        raise AffidavitError(
            faults.CHECK_FIELD, Where(field=field or None), check=shown, problem=problem
        ) from None
    validate_check(check)
    return check


def validate_check(check: Check, operators: Mapping[str, Operator] = OPERATORS) -> None:
    """Raise if an expectation has an unknown operator or a wrong operand."""
    if isinstance(check.expect, list) and not 1 <= len(check.expect) <= MAX_EXPECTATIONS:
        raise AffidavitError(
            faults.CHECK_EXPECTATIONS,
            Where(field="expect"),
            check=repr(check.id),
            count=len(check.expect),
            limit=MAX_EXPECTATIONS,
        )
    for number, expectation in enumerate(check.expectations):
        place = f"expect[{number}]" if isinstance(check.expect, list) else "expect"
        _validate_expectation(expectation, repr(check.id), place, operators)


def _validate_expectation(
    expectation: Expectation, check: str, place: str, operators: Mapping[str, Operator]
) -> None:
    operator = operators.get(expectation.op)
    if operator is None:
        raise AffidavitError(
            faults.CHECK_OPERATOR,
            Where(field=f"{place}.op"),
            check=check,
            operator=excerpt(expectation.op),
            known=", ".join(operators),
        )
    if expectation.path is not None and (problem := find_path_problem(expectation.path)):
        raise AffidavitError(
            faults.CHECK_PATH, Where(field=f"{place}.path"), check=check, problem=problem
        )
    if field := _invalid_operand_field(expectation, operator.operand):
        raise AffidavitError(
            faults.CHECK_OPERAND,
            Where(field=f"{place}.{field}"),
            check=check,
            operator=expectation.op,
            takes=operator.operand.value,
        )
    if operator.operand is Operand.SCHEMA and (problem := find_schema_problem(expectation.value)):
        raise AffidavitError(
            faults.CHECK_SCHEMA, Where(field=f"{place}.value"), check=check, problem=problem
        )


def _invalid_operand_field(expectation: Expectation, operand: Operand) -> str | None:
    """Return the field that is missing, superfluous or malformed for the operator, or None."""
    value, tol = expectation.value, expectation.tol
    if operand is Operand.WITHIN:
        if value is msgspec.UNSET or isinstance(value, dict):
            return "value"
        return None if _is_tolerance(tol) else "tol"
    if tol is not None:
        return "tol"
    return None if _OPERAND_CHECKS[operand](value) else "value"


def _is_tolerance(value: Any) -> bool:
    return is_number(value) and value >= 0


def _is_scalar_list(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(is_scalar, value))


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_simple_expectation(value: Any) -> bool:
    """Say whether a value is an expectation that can be applied to a member of a list."""
    try:
        expectation = msgspec.convert(value, Expectation)
        _validate_expectation(expectation, "", "", OPERATORS)
    except (msgspec.ValidationError, AffidavitError):
        return False
    return expectation.op not in NESTING and not OPERATORS[expectation.op].reads_time


def _are_simple_expectations(value: Any) -> bool:
    return (
        isinstance(value, list)
        and 1 <= len(value) <= MAX_EXPECTATIONS
        and all(map(_is_simple_expectation, value))
    )


_OPERAND_CHECKS: Final = {
    Operand.COUNT: _is_count,
    Operand.TYPE: lambda value: isinstance(value, str) and value in TYPES,
    Operand.EXPECTATION: _is_simple_expectation,
    Operand.EXPECTATIONS: _are_simple_expectations,
    Operand.SCHEMA: lambda value: value is not msgspec.UNSET,
    Operand.NOTHING: lambda value: value is msgspec.UNSET,
    Operand.VALUE: lambda value: value is not msgspec.UNSET,
    Operand.PAIR: lambda value: isinstance(value, list) and len(value) == 2,
    Operand.MEMBERS: _is_scalar_list,
    Operand.SECONDS: _is_tolerance,
}


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


class CheckResult(Check, frozen=True, kw_only=True, forbid_unknown_fields=False):
    """A check with its verdict, as the receipt repeats it: no member of the check is left out.

    `confidence` is that of the cited fact. `unavailable` says why there is no evidence.
    """

    args: dict[str, Any]
    observe: bool
    required: bool
    verdict: CheckVerdict
    confidence: UnitInterval | None
    explain: str
    evidence: list[str]
    results: list[ExpectationResult] | msgspec.UnsetType = msgspec.UNSET
    value: Any = msgspec.UNSET
    unavailable: str | msgspec.UnsetType = msgspec.UNSET


class CompositeVerdict(msgspec.Struct, frozen=True):
    """The verdict and confidence of an answer, and whether evidence was unavailable."""

    verdict: AnswerVerdict
    confidence: float
    degraded: bool


def compose(results: Iterable[CheckResult]) -> CompositeVerdict:
    """Return the composite of all results, in any order, by answer-conf/1.

    The confidence of a conjunction is that of its weakest check; the confidence of a contradiction
    is that of its best evidenced counterexample.
    """
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


def _composite_confidence(verdict: AnswerVerdict, required: list[CheckResult]) -> float:
    if verdict is AnswerVerdict.INSUFFICIENT_EVIDENCE:
        return 0.0
    if verdict is AnswerVerdict.CONTRADICTED:
        required = [result for result in required if result.verdict is CheckVerdict.CONTRADICTED]
    known = [0.0 if result.confidence is None else result.confidence for result in required]
    return rounded(
        max(known) if verdict is AnswerVerdict.CONTRADICTED else min(known), CONFIDENCE_DECIMALS
    )


EVALUATION_RULE: Final = "answer-eval/1"
_MAX_OBSERVED_CHARACTERS: Final = 500
_OUTCOME_WORDS: Final = {
    ExpectationOutcome.HELD: "holds",
    ExpectationOutcome.FAILED: "fails",
    ExpectationOutcome.NOT_EVALUABLE: "cannot be evaluated",
}


def checks_needing_evidence(
    checks: Sequence[Check], tools: Mapping[str, Tool]
) -> tuple[Check, ...]:
    """Return the checks whose tools must be queried.

    These are the checks that name a known tool and have all its arguments.
    """
    return tuple(
        check
        for check in checks
        if (tool := tools.get(check.tool)) and not missing_args(tool.required_args, check.args)
    )


def require_declared_args(checks: Sequence[Check], tools: Mapping[str, Tool]) -> None:
    """Raise if a check has an argument that its tool does not declare.

    No source would read it, and the receipt would say that it was asked.
    """
    for number, check in enumerate(checks):
        if tool := tools.get(check.tool):
            declared = (*tool.required_args, *tool.optional_args)
            for name in check.args:
                if name not in declared:
                    raise AffidavitError(
                        faults.CHECK_ARGUMENT,
                        Where(field=f"checks[{number}].args"),
                        check=repr(check.id),
                        tool=check.tool,
                        argument=excerpt(name),
                        known=", ".join(declared) or "no argument",
                    )


def evaluate(
    checks: Sequence[Check],
    tools: Mapping[str, Tool],
    evidence: Mapping[str, Evidence | EvidenceUnavailable],
    at: str,
) -> tuple[CheckResult, ...]:
    """Return the result of every check, in order. `evidence` is by check id.

    `at` is the time of the answer, at which every fact was assessed.
    """
    moment = parse_nanoseconds(at)
    results = []
    for check in checks[:MAX_CHECKS]:
        tool, found = tools.get(check.tool), evidence.get(check.id)
        result = evaluate_check(check, tool.required_args if tool else None, found, moment)
        if result.evidence and isinstance(found, Evidence):
            _require_matching_evidence(check, found.fact, at)
        results.append(result)
    return (*results, *map(not_checked_result, checks[MAX_CHECKS:]))


def evaluate_check(
    check: Check,
    required_args: tuple[str, ...] | None,
    evidence: Evidence | EvidenceUnavailable | None,
    at: int,
    operators: Mapping[str, Operator] = OPERATORS,
) -> CheckResult:
    """Return the result of a check within the cap. `required_args` is None for an unknown tool."""
    if required_args is None:
        explain = f"no tool is named {display_value(check.tool)}"
        return _result(check, CheckVerdict.OUTSIDE_EVIDENCE_COVERAGE, explain)
    if missing := missing_args(required_args, check.args):
        names = ", ".join(map(display_value, missing))
        explain = f"{check.tool} needs the argument {names}, and nothing stands in for it"
        return _result(check, CheckVerdict.NOT_EVALUABLE, explain)
    if isinstance(evidence, Evidence):
        if check.adjudicates:
            return _adjudicate(check, evidence, at, operators)
        return _observe(check, evidence)
    reason = evidence.reason if evidence else "the tool was not asked"
    explain = f"no evidence: {reason}"
    return _result(check, CheckVerdict.EVIDENCE_UNAVAILABLE, explain, unavailable=reason)


def not_checked_result(check: Check) -> CheckResult:
    """Return the result of a check beyond the cap. It is listed, not dropped."""
    explain = f"over the cap: only the first {MAX_CHECKS} checks are made"
    return _result(check, CheckVerdict.NOT_CHECKED, explain)


def _result(
    check: Check,
    verdict: CheckVerdict,
    explain: str,
    cited: Evidence | None = None,
    *,
    confidence: float | None = None,
    results: list[ExpectationResult] | msgspec.UnsetType = msgspec.UNSET,
    value: Any = msgspec.UNSET,
    unavailable: str | msgspec.UnsetType = msgspec.UNSET,
) -> CheckResult:
    return CheckResult(
        id=check.id,
        tool=check.tool,
        args=check.args,
        expect=check.expect,
        observe=check.observe,
        required=check.required,
        verdict=verdict,
        confidence=confidence,
        explain=explain,
        evidence=[cited.digest] if cited else [],
        results=results,
        value=value,
        unavailable=unavailable,
    )


def _adjudicate(
    check: Check, evidence: Evidence, at: int, operators: Mapping[str, Operator]
) -> CheckResult:
    results, explanations = [], []
    for expectation in check.expectations:
        lookup = _look_up(evidence.fact, expectation)
        result = operators[expectation.op].apply(lookup, expectation, at)
        results.append(ExpectationResult(result.outcome, _observed_value(lookup)))
        explanations.append(_explanation(expectation, lookup, result))
    outcomes = {result.outcome for result in results}
    verdict = CheckVerdict.SUPPORTED
    if ExpectationOutcome.FAILED in outcomes:
        verdict = CheckVerdict.CONTRADICTED
    elif ExpectationOutcome.NOT_EVALUABLE in outcomes:
        verdict = CheckVerdict.NOT_EVALUABLE
    confidence, conflict = _assess(evidence.fact, check.expectations)
    explain = "; ".join((*explanations, *conflict))
    return _result(check, verdict, explain, evidence, confidence=confidence, results=results)


def _observe(check: Check, evidence: Evidence) -> CheckResult:
    """Record the value at the first path that the check names, or else the primary value."""
    path = next((one.path for one in check.expectations if one.path is not None), None)
    lookup = _look_up(evidence.fact, Expectation("exists", path))
    place = path or "the primary value"
    confidence, conflict = _assess(evidence.fact, (Expectation("eq", path),))
    if lookup.value is None:
        reason = lookup.reason or "the evidence has null here, which is no value"
        explain, verdict, value = f"{place}: {reason}", CheckVerdict.NOT_EVALUABLE, msgspec.UNSET
    else:
        explain = f"{place}: saw {display_value(lookup.value)}; recorded without a verdict"
        is_first = evidence.fact.verification.rule == FIRST_FACT_RULE
        verdict = CheckVerdict.VALUE
        value = lookup.value if is_first else _observed_value(lookup)
    explain = "; ".join((explain, *conflict))
    return _result(check, verdict, explain, evidence, confidence=confidence, value=value)


def _assess(fact: Fact, expectations: Iterable[Expectation]) -> tuple[float, tuple[str, ...]]:
    """Return the lowest confidence in the fields that a check reads, and the conflict, if any."""
    confidences: list[float] = []
    conflicts: list[str] = []
    for expectation in expectations:
        operator = OPERATORS[expectation.op]
        confidence, found = assess_field(
            fact,
            expectation.path,
            presence=operator.operand is Operand.NOTHING,
            is_time=operator.reads_time and expectation.path is None,
        )
        confidences.append(confidence)
        conflicts += found
    others = ", ".join(dict.fromkeys(conflicts))
    return min(confidences), (f"sources conflict: {others}",) if others else ()


def _look_up(fact: Fact, expectation: Expectation) -> PathLookup:
    if expectation.path is not None:
        lookup = look_up_path(fact.raw, expectation.path)
        if lookup.unfit and fact.verification.rule == FIRST_FACT_RULE:
            # Engine 1.0.0 called a key of a list absent, and its receipts are replayed as such.
            return msgspec.structs.replace(lookup, unfit=False)
        return lookup
    if OPERATORS[expectation.op].reads_time:
        if fact.observed_at is None:
            return PathLookup(False, reason="the evidence states no time of observation")
        return PathLookup(True, fact.observed_at)
    return look_up_path(fact.raw, fact.value_path)


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


def is_evidence_for(check: Check, fact: Fact) -> bool:
    """Say whether a fact is evidence for a check: the same tool and the same arguments."""
    return check.tool == fact.tool and (
        check.args is fact.args or exact_json(check.args) == exact_json(fact.args)
    )


def _require_matching_evidence(check: Check, fact: Fact, at: str) -> None:
    if not is_evidence_for(check, fact):
        raise AffidavitError(faults.FACT_FOREIGN, check=repr(check.id))
    if fact.assessed_at != at:
        assessed = fact.assessed_at
        raise AffidavitError(faults.FACT_TIME, check=repr(check.id), assessed=assessed, at=at)
