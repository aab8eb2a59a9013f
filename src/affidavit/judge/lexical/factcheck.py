"""What the evidence says of each claimed fact: the best bound one decides, not the equal one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from affidavit.judge.lexical.amounts import Relation
from affidavit.judge.lexical.candidates import REPEATED, Candidate, Place, candidates_for
from affidavit.judge.lexical.claims import Part
from affidavit.judge.lexical.facts import Fact
from affidavit.judge.lexical.moments import Moment

_ENOUGH_CONTEXT: Final = 0.35
_ENOUGH_HEAD: Final = 0.4
_CONFLICT_CONTEXT: Final = 0.5
_CONFLICT_HEAD: Final = 0.62
_VERBATIM: Final = 2  # Of four neighbours.
_SURE: Final = 0.75
_FULL_BONUS: Final = 0.15
# So much worse bound may an agreeing fact be than a conflicting one: a little; more where the
# conflicting one is what another fact of the claim speaks of, or the fact is too exact for chance.
_MARGIN: Final = 0.06
_MARGIN_EXPLAINED: Final = 0.2
_MARGIN_EXACT: Final = 0.3


@dataclass(frozen=True, slots=True)
class FactFinding:
    """The fact of the evidence that speaks of a claimed one, if any, and what it says."""

    claimed: Fact
    relation: Relation
    found: Fact | None = None
    sentence: int = -1
    context: float = 0.0


def check_fact(part: Part, fact: Fact, places: Sequence[Place]) -> FactFinding:
    """Return what the sentences at `places` say of the claimed fact."""
    candidates = list(candidates_for(part, fact, places))
    agreeing = _best([c for c in candidates if c.relation > Relation.CONFLICT and _is_bound(c)])
    against = _best(
        [c for c in candidates if c.relation is Relation.CONFLICT and _opposes(fact, c)]
    )
    if agreeing and (not against or _is_outweighed(fact, agreeing, against)):
        return _finding(fact, agreeing)
    equal = _best([c for c in candidates if c.relation is Relation.SAME])
    if equal and against and _is_preferred(equal, against):
        stated = equal.verbatim >= _VERBATIM
        return _finding(fact, equal if stated else replace(equal, relation=Relation.LOOSE))
    if against:
        return _finding(fact, against)
    if equal and _is_exact(fact):
        return _finding(fact, replace(equal, relation=Relation.LOOSE))
    return FactFinding(fact, Relation.UNKNOWN)


def _is_preferred(equal: Candidate, against: Candidate) -> bool:
    """Say whether the very fact that was claimed outweighs another that is better bound.

    So it does where it stands between the same words, and where another sentence states it, unless
    the other repeats all of the rest.
    """
    if equal.verbatim >= _VERBATIM and equal.verbatim > against.verbatim + 1:
        return True
    is_firm = against.binding.context >= REPEATED or against.in_row or against.takes_place
    return equal.sentence != against.sentence and not is_firm


def _is_outweighed(fact: Fact, agreeing: Candidate, against: Candidate) -> bool:
    """Say whether an agreeing fact is bound as well as a conflicting one, or nearly so."""
    if against.takes_place and not agreeing.takes_place:
        return False
    return agreeing.score >= against.score - _margin(fact, against)


def _margin(fact: Fact, against: Candidate) -> float:
    if against.is_explained:
        return _MARGIN_EXPLAINED
    return _MARGIN_EXACT if _is_exact(fact) else _MARGIN


def _is_exact(fact: Fact) -> bool:
    """A full date, or a number of three digits or more, is hardly met by chance."""
    if isinstance(fact, Moment):
        return any(parts.years and parts.month for parts in fact.readings)
    return len(str(fact.written.numerator).rstrip("0")) >= 3


def _best(candidates: Sequence[Candidate]) -> Candidate | None:
    return max(
        candidates,
        key=lambda c: (
            round(c.score + _FULL_BONUS * c.is_equal, 6),
            -c.sentence,
        ),
        default=None,
    )


def _is_bound(candidate: Candidate) -> bool:
    binding = candidate.binding
    return binding.context >= _ENOUGH_CONTEXT and binding.head >= _ENOUGH_HEAD


def _opposes(fact: Fact, candidate: Candidate) -> bool:
    binding = candidate.binding
    if candidate.takes_place and binding.context >= _CONFLICT_CONTEXT:
        return True
    if fact.is_weak:
        return binding.context >= _SURE and binding.head >= 0.9
    is_loose = isinstance(fact, Moment) or fact.dimension == "label" or not candidate.is_anchored
    needed = _SURE if is_loose or _is_of_another_kind(fact, candidate.found) else _CONFLICT_CONTEXT
    return binding.context >= needed and binding.head >= _CONFLICT_HEAD


def _is_of_another_kind(fact: Fact, found: Fact) -> bool:
    """Tell "three weeks" and "41 years", "$150 per month" and "$1,000": often two matters."""
    if isinstance(fact, Moment) or isinstance(found, Moment):
        return False
    other_unit = fact.amount.low * found.written != found.amount.low * fact.written
    return (other_unit and fact.written != found.written) or fact.per != found.per


def _finding(fact: Fact, chosen: Candidate) -> FactFinding:
    return FactFinding(fact, chosen.relation, chosen.found, chosen.sentence, chosen.binding.context)
