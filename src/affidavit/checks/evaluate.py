"""A check against its evidence: the verdict, and an explanation that names what was seen.

The E rules of docs/checks.md; answer-eval.md, sections 1 and 3.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import checks as faults
from affidavit.checks.facts import Fact, FactObject, Unavailable
from affidavit.checks.moments import moment_from
from affidavit.checks.operators import OPERATORS
from affidavit.checks.outcomes import Expectation, Held, Outcome
from affidavit.checks.paths import Look, look_at
from affidavit.checks.tools import Tool, missing_args
from affidavit.checks.unit import MAX_CHECKS, Check
from affidavit.checks.values import exact_text, is_single, shown
from affidavit.checks.verdicts import Verdict

RULE: Final = "answer-eval/1"
_ECHOED_LETTERS: Final = 500
_SAYS: Final = {
    Held.HELD: "holds",
    Held.FAILED: "fails",
    Held.NOT_EVALUABLE: "cannot be evaluated",
}


class Seen(msgspec.Struct, frozen=True):
    """What one expectation came to: what was seen (UNSET if nothing, or not a single value)."""

    held: Held
    observed: Any


class CheckResult(msgspec.Struct, frozen=True):
    """A check with its verdict. `unavailable` says why its evidence was lost, if it was."""

    check: Check
    verdict: Verdict
    explain: str
    seen: tuple[Seen, ...] = ()
    value: Any = msgspec.UNSET
    fact: Fact | None = None
    unavailable: str | None = None

    @property
    def required(self) -> bool:
        """Whether the check moves the composite."""
        return self.check.required

    @property
    def confidence(self) -> float | None:
        """check_confidence of answer-conf/1: that of the fact it cites; None without a fact."""
        if self.fact is None:
            return None
        confidence: float = self.fact.object["verification"]["confidence"]
        return confidence


def needs_evidence(checks: Sequence[Check], tools: Mapping[str, Tool]) -> tuple[Check, ...]:
    """Return the checks for which tools must be asked: within the cap, known, all arguments there.

    Two checks with the same tool and the same arguments can share one fact.
    """
    return tuple(
        check
        for check in checks[:MAX_CHECKS]
        if (tool := tools.get(check.tool)) and not missing_args(tool.required_args, check.args)
    )


def evaluate(
    checks: Sequence[Check],
    tools: Mapping[str, Tool],
    evidence: Mapping[str, Fact | Unavailable],
    at: str,
) -> tuple[CheckResult, ...]:
    """Return the result of every check, in order; `evidence` is by the check's id.

    `at` is the time of the answer, at which every fact was assessed too.
    """
    moment = moment_from(at)
    required = {name: tool.required_args for name, tool in tools.items()}
    results = [
        settle(check, required.get(check.tool), evidence.get(check.id), moment)
        for check in checks[:MAX_CHECKS]
    ]
    for result in results:
        if result.fact is not None:
            _require_own(result.check, result.fact.object, at)
    return (*results, *map(over_the_cap, checks[MAX_CHECKS:]))


def settle(
    check: Check,
    required_args: tuple[str, ...] | None,
    evidence: Fact | Unavailable | None,
    at: int,
) -> CheckResult:
    """Return the result of a check within the cap. `required_args` is None for unknown tools."""
    if required_args is None:
        return CheckResult(
            check,
            Verdict.OUTSIDE_EVIDENCE_COVERAGE,
            f"no tool is named {shown(check.tool)}",
        )
    if missing := missing_args(required_args, check.args):
        names = ", ".join(map(shown, missing))
        return CheckResult(
            check,
            Verdict.NOT_EVALUABLE,
            f"{check.tool} needs the argument {names}, and nothing stands in for it",
        )
    if isinstance(evidence, Fact):
        return (
            _adjudicated(check, evidence, at) if check.adjudicates else _observed(check, evidence)
        )
    reason = evidence.reason if evidence else "the tool was not asked"
    return CheckResult(
        check, Verdict.EVIDENCE_UNAVAILABLE, f"no evidence: {reason}", unavailable=reason
    )


def over_the_cap(check: Check) -> CheckResult:
    """Return the result of a check beyond the cap: it is listed, never dropped in silence."""
    return CheckResult(
        check, Verdict.NOT_CHECKED, f"over the cap: only the first {MAX_CHECKS} checks are made"
    )


def _adjudicated(check: Check, fact: Fact, at: int) -> CheckResult:
    seen, said = [], []
    for expectation in check.expectations:
        look = _look(fact.object, expectation)
        outcome = OPERATORS[expectation.op].apply(look, expectation, at)
        seen.append(Seen(outcome.held, _echo(look)))
        said.append(_explained(expectation, look, outcome))
    results = {one.held for one in seen}
    verdict = Verdict.SUPPORTED
    if Held.FAILED in results:
        verdict = Verdict.CONTRADICTED
    elif Held.NOT_EVALUABLE in results:
        verdict = Verdict.NOT_EVALUABLE
    return CheckResult(check, verdict, "; ".join(said), tuple(seen), fact=fact)


def _observed(check: Check, fact: Fact) -> CheckResult:
    """Return what stands at the first path that the check names, else the primary value."""
    path = next((one.path for one in check.expectations if one.path is not None), None)
    look = _look(fact.object, Expectation("exists", path))
    place = path or "the primary value"
    if look.value is None:
        why = look.why or "the evidence has null here, which is no value"
        return CheckResult(check, Verdict.NOT_EVALUABLE, f"{place}: {why}", fact=fact)
    said = f"{place}: saw {shown(look.value)}; recorded without a verdict"
    return CheckResult(check, Verdict.VALUE, said, value=look.value, fact=fact)


def _look(fact: FactObject, expectation: Expectation) -> Look:
    if expectation.path is not None:
        return look_at(fact["raw"], expectation.path)
    if OPERATORS[expectation.op].reads_time:
        observed_at = fact["observed_at"]
        if observed_at is None:
            return Look(False, why="the evidence states no time of observation")
        return Look(True, observed_at)
    return look_at(fact["raw"], fact["value_path"])


def _echo(look: Look) -> Any:
    value = look.value
    too_long = isinstance(value, str) and len(value) > _ECHOED_LETTERS
    return value if look.found and is_single(value) and not too_long else msgspec.UNSET


def _explained(expectation: Expectation, look: Look, outcome: Outcome) -> str:
    place = expectation.path
    if place is None:
        is_time = OPERATORS[expectation.op].reads_time
        place = "the time of observation" if is_time else "the primary value"
    saw = f"saw {shown(look.value)}" if look.found else "saw nothing"
    wanted = expectation.op
    if expectation.value is not msgspec.UNSET:
        wanted += f" {_operand_text(expectation.value)}"
    if expectation.tol is not None:
        wanted += f" tol {shown(expectation.tol)}"
    why = f" ({outcome.why})" if outcome.why else ""
    return f"{place}: {saw}; {wanted} {_SAYS[outcome.held]}{why}"


def _operand_text(value: Any) -> str:
    if isinstance(value, list):
        more = ", …" if len(value) > 8 else ""
        return f"[{', '.join(map(shown, value[:8]))}{more}]"
    return shown(value)


def is_own(check: Check, fact: FactObject) -> bool:
    """Say whether a fact answers what a check asks: the same tool, the same arguments."""
    args = fact["args"]
    return bool(check.tool == fact["tool"]) and (
        check.args is args or exact_text(check.args) == exact_text(args)
    )


def _require_own(check: Check, fact: FactObject, at: str) -> None:
    if not is_own(check, fact):
        raise AffidavitError(faults.FACT_FOREIGN, check=repr(check.id))
    if fact["assessed_at"] != at:
        assessed = fact["assessed_at"]
        raise AffidavitError(faults.FACT_TIME, check=repr(check.id), assessed=assessed, at=at)
