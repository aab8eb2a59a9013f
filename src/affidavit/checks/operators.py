"""The closed table of the twenty operators. Origin: answer-eval.md, section 2.

There is no regular expression among them, and nothing can be added at run time: the meaning of a
receipt must not depend on who reads it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from affidavit.checks import amounts, equality, versions
from affidavit.checks.moments import (
    FUTURE_ALLOWED_S,
    NANOSECONDS,
    find_moment,
    is_older,
    seconds_text,
)
from affidavit.checks.outcomes import Expectation, Outcome, not_evaluable, outcome_of
from affidavit.checks.paths import Look
from affidavit.checks.values import kind_of, shown


class Operand(Enum):
    """What an operator is given besides the evidence."""

    NOTHING = "neither `value` nor `tol`"
    VALUE = "`value`, and no `tol`"
    PAIR = "`value`: a list of two, the lower and the upper bound, and no `tol`"
    MEMBERS = "`value`: a list of one or more single values, and no `tol`"
    WITHIN = "`value` and `tol` side by side; `tol` is a number that is not negative"
    SECONDS = "`value`: a number of seconds that is not negative, and no `tol`"


Apply: TypeAlias = Callable[[Look, Expectation, int], Outcome]


@dataclass(frozen=True, slots=True)
class Operator:
    """What an operator takes, and the pure function that it is."""

    operand: Operand
    apply: Apply
    reads_time: bool = False
    """Without a path it reads when the evidence was observed, not the primary value."""


def _of_value(compare: Callable[[Any, Any], Outcome]) -> Apply:
    """Return an operator over the value that was found; without one it cannot be evaluated."""

    def apply(look: Look, wanted: Expectation, at: int) -> Outcome:
        return compare(look.value, wanted.value) if look.found else not_evaluable(look.why)

    return apply


def _of_value_within(compare: Callable[[Any, Any, Any], Outcome]) -> Apply:
    def apply(look: Look, wanted: Expectation, at: int) -> Outcome:
        if not look.found:
            return not_evaluable(look.why)
        return compare(look.value, wanted.value, wanted.tol)

    return apply


def _exists(look: Look, wanted: Expectation, at: int) -> Outcome:
    return not_evaluable(look.why) if look.dotted else outcome_of(look.found, look.why)


def _not_exists(look: Look, wanted: Expectation, at: int) -> Outcome:
    return not_evaluable(look.why) if look.dotted else outcome_of(not look.found, look.why)


def _fresh_within_s(look: Look, wanted: Expectation, at: int) -> Outcome:
    if not look.found:
        return not_evaluable(look.why)
    moment = find_moment(look.value)
    if moment is None:
        return not_evaluable(
            f"the evidence has {kind_of(look.value)} ({shown(look.value)}) here, "
            "not a time such as 2026-01-31T14:30:00Z"
        )
    age = at - moment
    if age < -FUTURE_ALLOWED_S * NANOSECONDS:
        return outcome_of(False, f"FUTURE: the time lies {seconds_text(age)} s ahead of the check")
    if is_older(age, wanted.value):
        return outcome_of(False, f"STALE: the evidence is {seconds_text(age)} s old")
    return outcome_of(True)


OPERATORS: Final[Mapping[str, Operator]] = MappingProxyType(
    {
        "eq": Operator(Operand.VALUE, _of_value(equality.equals)),
        "ne": Operator(Operand.VALUE, _of_value(equality.differs)),
        "lt": Operator(Operand.VALUE, _of_value(amounts.less)),
        "lte": Operator(Operand.VALUE, _of_value(amounts.less_or_equal)),
        "gt": Operator(Operand.VALUE, _of_value(amounts.greater)),
        "gte": Operator(Operand.VALUE, _of_value(amounts.greater_or_equal)),
        "between": Operator(Operand.PAIR, _of_value(amounts.between)),
        "abs_within": Operator(Operand.WITHIN, _of_value_within(amounts.abs_within)),
        "pct_within": Operator(Operand.WITHIN, _of_value_within(amounts.pct_within)),
        "in": Operator(Operand.MEMBERS, _of_value(equality.is_member)),
        "contains": Operator(Operand.VALUE, _of_value(equality.contains)),
        "starts_with": Operator(Operand.VALUE, _of_value(equality.starts_with)),
        "ends_with": Operator(Operand.VALUE, _of_value(equality.ends_with)),
        "semver_eq": Operator(Operand.VALUE, _of_value(versions.same_version)),
        "semver_gte": Operator(Operand.VALUE, _of_value(versions.version_or_later)),
        "semver_lt": Operator(Operand.VALUE, _of_value(versions.earlier_version)),
        "semver_prefix": Operator(Operand.VALUE, _of_value(versions.version_starts)),
        "exists": Operator(Operand.NOTHING, _exists),
        "not_exists": Operator(Operand.NOTHING, _not_exists),
        "fresh_within_s": Operator(Operand.SECONDS, _fresh_within_s, reads_time=True),
    }
)
