"""Amounts with a bound ("at least 14", "10 to 15", "about 500") and how one bears on another."""

from enum import IntEnum, StrEnum
from fractions import Fraction
from typing import Final, NamedTuple


class Bound(StrEnum):
    """What the words around a number make of it."""

    EXACT = ""
    """A bare number."""
    EXACTLY = "exactly"
    """Said outright."""
    ABOUT = "about"
    RANGE = "between"
    AT_LEAST = "at least"
    AT_MOST = "at most"
    WITHIN = "within"
    MORE = "more than"
    LESS = "less than"


class Relation(IntEnum):
    """What evidence says of a claimed fact, the better the higher."""

    CONFLICT = 0
    """Both cannot hold."""
    UNKNOWN = 1
    """They do not speak of the same thing, or leave it open."""
    LOOSE = 2
    """The evidence agrees, but says less, or adds a limit that the claim drops."""
    SAME = 3
    """The evidence entails the claimed fact."""


class Amount(NamedTuple):
    """A number or a range, and its bound. `step` is the last written digit's size, if rounded."""

    bound: Bound
    low: Fraction
    high: Fraction
    step: Fraction = Fraction(0)

    @property
    def is_point(self) -> bool:
        """Whether one number is meant, exactly or about."""
        return self.bound in (Bound.EXACT, Bound.EXACTLY, Bound.ABOUT)

    def scaled(self, factor: Fraction) -> "Amount":
        """Return the amount in another unit."""
        return Amount(self.bound, self.low * factor, self.high * factor, self.step * factor)


_UP: Final = frozenset({Bound.AT_LEAST, Bound.MORE})
_DOWN: Final = frozenset({Bound.AT_MOST, Bound.WITHIN, Bound.LESS})
STRICT: Final = frozenset({Bound.MORE, Bound.LESS})
# "about 500" is met by 5% more or less; what was rounded by its writer by 2%.
_ABOUT: Final = Fraction(1, 20)
_ROUNDED: Final = Fraction(1, 50)


def compare(claim: Amount, evidence: Amount, tolerance: Fraction = Fraction(0)) -> Relation:
    """Return what `evidence` says of `claim`; `tolerance` is the share that conversion may cost.

    The bounds of rules ("at least", "at most", "within") are facts of their own: another number
    there is another rule, even where one range lies inside of the other.
    """
    if claim.is_point and evidence.is_point:
        return _points(claim, evidence, tolerance)
    if claim.is_point:
        return _point_in_bounds(claim, evidence, tolerance)
    if evidence.is_point:
        return _bounds_on_point(claim, evidence, tolerance)
    return _both_bounded(claim, evidence, tolerance)


def _near(one: Fraction, other: Fraction, share: Fraction) -> bool:
    return abs(one - other) <= share * abs(other)


def _points(claim: Amount, evidence: Amount, tolerance: Fraction) -> Relation:
    if _near(claim.low, evidence.low, tolerance):
        hedged = claim.bound is Bound.EXACTLY and evidence.bound is Bound.ABOUT
        return Relation.LOOSE if hedged else Relation.SAME
    if claim.bound is Bound.ABOUT and _near(claim.low, evidence.low, _ABOUT):
        rounder = _digits(claim.low) < _digits(evidence.low)
        return Relation.SAME if rounder else Relation.LOOSE
    if claim.step and not evidence.step and _near(claim.low, evidence.low, _ROUNDED):
        return Relation.SAME if _rounds_to(claim, evidence) else Relation.CONFLICT
    if evidence.bound is Bound.ABOUT and _near(claim.low, evidence.low, _ABOUT):
        return Relation.LOOSE
    return Relation.LOOSE if _rounds_to(claim, evidence) else Relation.CONFLICT


def _digits(value: Fraction) -> int:
    """Return how many digits of a number tell: "about 500" rounds 510, "about 78" does not 80."""
    return len(f"{float(value):.12g}".replace(".", "").strip("0"))


def _rounds_to(claim: Amount, evidence: Amount) -> bool:
    return claim.step > evidence.step and abs(claim.low - evidence.low) * 2 <= claim.step


def _point_in_bounds(claim: Amount, evidence: Amount, tolerance: Fraction) -> Relation:
    at_low = _near(claim.low, evidence.low, tolerance)
    at_high = _near(claim.low, evidence.high, tolerance)
    if at_low or at_high:
        # "14 days" repeats "at least 14 days" and "within 14 days"; of "up to 14" it says too much.
        plain = evidence.bound in (Bound.AT_LEAST, Bound.WITHIN)
        return Relation.SAME if plain and claim.bound is not Bound.EXACTLY else Relation.LOOSE
    if not _holds(evidence, claim.low):
        return Relation.CONFLICT
    is_open = evidence.bound in STRICT or evidence.bound is Bound.RANGE
    return Relation.UNKNOWN if is_open else Relation.CONFLICT


def _bounds_on_point(claim: Amount, evidence: Amount, tolerance: Fraction) -> Relation:
    at_end = _near(evidence.low, claim.low, tolerance) or _near(evidence.low, claim.high, tolerance)
    if at_end and claim.bound not in STRICT:
        return Relation.SAME
    if not _holds(claim, evidence.low):
        close = evidence.bound is Bound.ABOUT and _near(claim.low, evidence.low, _ABOUT)
        return Relation.LOOSE if close else Relation.CONFLICT
    return Relation.SAME if claim.bound in STRICT else Relation.LOOSE


def _holds(bounded: Amount, value: Fraction) -> bool:
    match bounded.bound:
        case Bound.AT_LEAST:
            return value >= bounded.low
        case Bound.MORE:
            return value > bounded.low
        case Bound.AT_MOST | Bound.WITHIN:
            return value <= bounded.high
        case Bound.LESS:
            return value < bounded.high
        case _:
            return bounded.low <= value <= bounded.high


def _both_bounded(claim: Amount, evidence: Amount, tolerance: Fraction) -> Relation:
    equal = _near(claim.low, evidence.low, tolerance) and _near(
        claim.high, evidence.high, tolerance
    )
    for direction in (_UP, _DOWN):
        if claim.bound in direction and evidence.bound in direction:
            return _same_direction(claim, evidence, equal)
    if Bound.RANGE in (claim.bound, evidence.bound):
        return _with_range(claim, evidence, equal)
    if equal:
        return Relation.CONFLICT
    apart = not _holds(claim, evidence.low) and not _holds(evidence, claim.low)
    return Relation.CONFLICT if apart else Relation.UNKNOWN


def _same_direction(claim: Amount, evidence: Amount, equal: bool) -> Relation:
    if equal:
        same = (claim.bound in STRICT) == (evidence.bound in STRICT)
        return Relation.SAME if same else Relation.LOOSE
    inside = _holds(claim, evidence.low) and claim.bound in STRICT
    return Relation.LOOSE if inside and not _is_shifted(claim, evidence) else Relation.CONFLICT


def _is_shifted(claim: Amount, evidence: Amount) -> bool:
    """Say whether only the magnitude differs: "over 13.5 thousand" for "over 13.5 billion"."""
    if not claim.low or not evidence.low:
        return False
    ratio = max(claim.low / evidence.low, evidence.low / claim.low)
    return ratio.denominator == 1 and set(str(ratio.numerator)) == {"1", "0"}


def _with_range(claim: Amount, evidence: Amount, equal: bool) -> Relation:
    if equal:
        return Relation.SAME if claim.bound is evidence.bound else Relation.UNKNOWN
    if claim.bound is evidence.bound:
        return Relation.CONFLICT
    ends = (_holds(claim, evidence.low), _holds(claim, evidence.high))
    if evidence.bound is Bound.RANGE and all(ends):
        return Relation.SAME
    meets = any(ends) or _holds(evidence, claim.low) or _holds(evidence, claim.high)
    return Relation.UNKNOWN if meets else Relation.CONFLICT
