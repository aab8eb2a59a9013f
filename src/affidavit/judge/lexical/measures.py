"""What a number in the evidence says of a claimed one, once both speak of the same thing."""

from fractions import Fraction
from typing import Final

from affidavit.judge.lexical.amounts import Amount, Relation, compare
from affidavit.judge.lexical.quantities import Quantity
from affidavit.judge.lexical.units import PERIODS_A_YEAR

_CROSS_SYSTEM: Final = Fraction(1, 100)  # "5 miles" for 8 km: conversion in prose is rounded.
_EXACT: Final = Fraction(0)
_SHORTEST_MONTH, _LONGEST_MONTH = Fraction(28), Fraction(31)
_NO_UNIT: Final = frozenset({"count", "ordinal", "label", "version"})
_DOLLARS: Final = frozenset(
    f"money-{code}" for code in ("dollar", "usd", "aud", "cad", "nzd", "sgd", "hkd")
)
_COMPATIBLE: Final = frozenset(
    frozenset(pair) for pair in (("money-gbp", "pound"), ("mass", "pound"))
)


def compare_quantities(claim: Quantity, evidence: Quantity) -> Relation:
    """Return what `evidence` says of `claim`, were both of the same thing."""
    if claim.exact_text or evidence.exact_text:
        return _compare_labels(claim, evidence)
    units = frozenset((claim.dimension, evidence.dimension))
    if units == {"days", "months"}:
        return _days_and_months(claim, evidence)
    if units == {"ratio", "count"}:
        # "5%" is 0.05; any other pair of a share and a count speaks of two things.
        same = claim.amount.low == evidence.amount.low < 1
        return Relation.SAME if same else Relation.UNKNOWN
    if not _comparable(units):
        # The same number in another unit is a changed unit; another number is another thing.
        same = claim.written == evidence.written and not units & _NO_UNIT
        return Relation.CONFLICT if same else Relation.UNKNOWN
    tolerance = _CROSS_SYSTEM if claim.system != evidence.system else _EXACT
    relation = compare(*_at_one_rate(claim, evidence), tolerance)
    if relation is Relation.LOOSE and _only_unit_differs(claim, evidence):
        return Relation.CONFLICT
    return _refined(claim, evidence, relation)


def _only_unit_differs(claim: Quantity, evidence: Quantity) -> bool:
    """Tell "more than 60 minutes" from "more than 60 hours": within it, and a changed unit."""
    same_number = claim.written == evidence.written
    return same_number and claim.amount.low != evidence.amount.low


def _comparable(units: frozenset[str]) -> bool:
    plain_dollars = "money-dollar" in units and units <= _DOLLARS
    return len(units) == 1 or plain_dollars or units in _COMPATIBLE


def _compare_labels(claim: Quantity, evidence: Quantity) -> Relation:
    if claim.exact_text == evidence.exact_text:
        return Relation.SAME
    if claim.written == evidence.written and claim.written:
        return Relation.SAME
    both_named = {claim.dimension, evidence.dimension} <= {"label", "version"}
    same_kind = both_named and claim.label == evidence.label
    return Relation.CONFLICT if same_kind else Relation.UNKNOWN


def _days_and_months(claim: Quantity, evidence: Quantity) -> Relation:
    """Take "30 days" for about a month, close and never the same; "10 days" is none."""
    days, months = (claim, evidence) if claim.dimension == "days" else (evidence, claim)
    low, high = months.amount.low * _SHORTEST_MONTH, months.amount.high * _LONGEST_MONTH
    return Relation.LOOSE if low <= days.amount.low <= high else Relation.CONFLICT


def _at_one_rate(claim: Quantity, evidence: Quantity) -> tuple[Amount, Amount]:
    """Return both amounts per year where both are rates of different periods."""
    if not claim.per or not evidence.per:
        return claim.amount, evidence.amount
    ours, theirs = PERIODS_A_YEAR[claim.per], PERIODS_A_YEAR[evidence.per]
    if ours == theirs:
        return claim.amount, evidence.amount
    return claim.amount.scaled(ours), evidence.amount.scaled(theirs)


def _refined(claim: Quantity, evidence: Quantity, relation: Relation) -> Relation:
    if relation < Relation.LOOSE:
        return relation
    if {claim.role, evidence.role} == {"from", "to"}:
        return Relation.CONFLICT  # "From 5 to 7" is not "from 7 to 5".
    kinds = {claim.day_kind, evidence.day_kind}
    if "business" in kinds and len(kinds) == 2:
        return Relation.CONFLICT if "calendar" in kinds else Relation.LOOSE
    return relation
