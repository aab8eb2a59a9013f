"""Dates and times of day, whole or in part, and how one bears on another."""

from typing import Final, NamedTuple

from affidavit.judge.lexical.amounts import Relation


class Parts(NamedTuple):
    """One reading of a date or time. What is not said is None; a decade is a range of years."""

    years: tuple[int, int] | None = None
    month: int | None = None
    day: int | None = None
    quarter: int | None = None
    weekday: int | None = None
    minute: int | None = None
    """Minutes after midnight."""


class Moment(NamedTuple):
    """A date or time in a row of tokens, from token `first` up to before token `end`.

    `readings` holds more than one entry where the spelling is open: 03/04/2024, or 5:30 without am
    or pm. `role` is the word that binds it: before, after, until, since and the like.
    """

    readings: tuple[Parts, ...]
    first: int
    end: int
    role: str = ""
    dimension: str = "date"
    is_weak: bool = False
    said_first: int = -1


_EARLIER: Final = frozenset({"before", "until", "till", "by", "prior"})
_LATER: Final = frozenset({"after", "since", "from"})
_SIDES: Final = {"before": -1, "prior": -1, "after": 1}


def compare_moments(claim: Moment, evidence: Moment) -> Relation:
    """Return what a date in the evidence says of a claimed one: the best of all readings."""
    if claim.role in _SIDES and evidence.role not in _EARLIER | _LATER:
        return _on_side(claim, evidence)
    best = max(
        _compare_parts(ours, theirs) for ours in claim.readings for theirs in evidence.readings
    )
    if best >= Relation.LOOSE and _roles_oppose(claim.role, evidence.role):
        return Relation.CONFLICT
    return best


def _on_side(claim: Moment, evidence: Moment) -> Relation:
    """Compare "before 1988" with a date: 24 November 1987 bears it out, 1990 does not."""
    orders = {_order(theirs, ours) for ours in claim.readings for theirs in evidence.readings} - {
        None
    }
    if not orders:
        return Relation.UNKNOWN
    return Relation.SAME if _SIDES[claim.role] in orders else Relation.CONFLICT


def _order(one: Parts, other: Parts) -> int | None:
    """Return -1, 0 or 1 as `one` lies before, on or after `other`; None where that is not said."""
    if one.minute is not None and other.minute is not None:
        return (one.minute > other.minute) - (one.minute < other.minute)
    if one.years is None or other.years is None:
        return None
    if one.years != other.years:
        return -1 if one.years[1] < other.years[0] else 1 if one.years[0] > other.years[1] else None
    for ours, theirs in ((one.month, other.month), (one.day, other.day)):
        if ours is None or theirs is None:
            return 0 if ours == theirs else None
        if ours != theirs:
            return -1 if ours < theirs else 1
    return 0


def _roles_oppose(one: str, other: str) -> bool:
    return (one in _EARLIER and other in _LATER) or (one in _LATER and other in _EARLIER)


def _compare_parts(claim: Parts, evidence: Parts) -> Relation:
    found = [_compare_years(claim.years, evidence.years), _compare_quarters(claim, evidence)]
    pairs = (
        (claim.month, evidence.month),
        (claim.day, evidence.day),
        (claim.weekday, evidence.weekday),
        (claim.minute, evidence.minute),
    )
    found += [_compare_field(ours, theirs) for ours, theirs in pairs]
    said = [relation for relation in found if relation is not None]
    if Relation.CONFLICT in said:
        return Relation.CONFLICT
    if Relation.SAME not in said:
        return Relation.LOOSE if Relation.LOOSE in said else Relation.UNKNOWN
    return Relation.SAME if Relation.UNKNOWN not in said else Relation.LOOSE


def _compare_field(claim: int | None, evidence: int | None) -> Relation | None:
    """None: the claim does not say. UNKNOWN: it does, and the evidence does not."""
    if claim is None:
        return None
    if evidence is None:
        return Relation.UNKNOWN
    return Relation.SAME if claim == evidence else Relation.CONFLICT


def _compare_years(
    claim: tuple[int, int] | None, evidence: tuple[int, int] | None
) -> Relation | None:
    if claim is None:
        return None
    if evidence is None:
        return Relation.UNKNOWN
    if claim[0] <= evidence[0] and evidence[1] <= claim[1]:
        return Relation.SAME
    disjoint = claim[1] < evidence[0] or evidence[1] < claim[0]
    return Relation.CONFLICT if disjoint else Relation.LOOSE


def _compare_quarters(claim: Parts, evidence: Parts) -> Relation | None:
    if claim.quarter is None:
        return None
    theirs = evidence.quarter
    if theirs is None and evidence.month is not None:
        theirs = (evidence.month + 2) // 3
    return _compare_field(claim.quarter, theirs)
